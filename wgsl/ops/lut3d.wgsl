// A colour look-up table: a cube with red fastest (method 0 tetrahedral, 1 trilinear), or a table per channel (2).
fn lut3d(color: vec4f, u: Lut3d) -> vec4f {
    let scaled = (color.rgb - u.low) * u.scale;
    let place = select(vec3f(0.0), min(scaled, vec3f(f32(u.size - 1u))), scaled > vec3f(0.0));
    let base = min(vec3u(place), vec3u(u.size - 2u));
    let part = place - vec3f(base);
    let row = u.size;
    let plane = u.size * u.size;
    let near = base.x + row * base.y + plane * base.z;
    let far = 1u + row + plane;
    var found = vec3f(0.0);
    if u.method == 2u {
        let low = vec3f(table(base.x).x, table(base.y).y, table(base.z).z);
        let high = vec3f(table(base.x + 1u).x, table(base.y + 1u).y, table(base.z + 1u).z);
        found = low * (1.0 - part) + high * part;
    } else if u.method == 1u {
        let a = table(near).rgb * (1.0 - part.x) + table(near + 1u).rgb * part.x;
        let b = table(near + row).rgb * (1.0 - part.x) + table(near + row + 1u).rgb * part.x;
        let c = table(near + plane).rgb * (1.0 - part.x) + table(near + plane + 1u).rgb * part.x;
        let d = table(near + far - 1u).rgb * (1.0 - part.x) + table(near + far).rgb * part.x;
        found = (a * (1.0 - part.y) + b * part.y) * (1.0 - part.z) + (c * (1.0 - part.y) + d * part.y) * part.z;
    } else {
        // From the dark corner to the bright one, first along the axis with the largest fraction, last along that with
        // the smallest. Among equal fractions any order will do: the corner it decides on has weight 0.
        let by_green = select(vec2u(plane, 1u), vec2u(row), vec2<bool>(part.y >= part.z, part.y <= part.x));
        let decided = vec2<bool>(part.x >= max(part.y, part.z), part.z <= min(part.x, part.y));
        let ends = select(by_green, vec2u(1u, plane), decided);
        let high = max(max(part.x, part.y), part.z);
        let low = min(min(part.x, part.y), part.z);
        let middle = max(min(part.x, part.y), min(max(part.x, part.y), part.z));
        found = table(near).rgb * (1.0 - high) + table(near + ends.x).rgb * (high - middle)
            + table(near + far - ends.y).rgb * (middle - low) + table(near + far).rgb * low;
    }
    return vec4f(color.rgb * (1.0 - u.strength) + found * u.strength, color.a);
}
