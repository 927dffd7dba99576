// A tone curve from a table; each entry holds a sample and the way to the next.
fn curves(color: vec4f, u: Curves) -> vec4f {
    let scaled = (color.rgb - u.start) * u.scale;
    let place = select(vec3f(0.0), min(scaled, vec3f(1020.0)), scaled > vec3f(0.0));
    let part = min(vec3u(place), vec3u(1020u));
    let red = table(part.x);
    let green = table(part.y);
    let blue = table(part.z);
    let samples = vec3f(red.x, green.x, blue.x);
    let steps = vec3f(red.y, green.y, blue.y);
    let curved = samples + steps * (place - vec3f(part));
    return vec4f(select(color.rgb, curved, u.channels > vec3f(0.5)), color.a);
}
