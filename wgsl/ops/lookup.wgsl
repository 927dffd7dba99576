// Each channel by the table's: between the two entries at a value.
fn lookup(color: vec4f, u: Lookup) -> vec4f {
    let found = vec3f(
        lookup_entries(color.r, u.last).r, lookup_entries(color.g, u.last).g, lookup_entries(color.b, u.last).b,
    );
    // `mix` may be first + (second - first) * weight, in which a large value would swallow what was found.
    return vec4f(color.rgb * (1.0 - u.strength) + found * u.strength, color.a);
}

// The table at a value.
fn lookup_entries(value: f32, last: u32) -> vec4f {
    let place = clamp(value, 0.0, 1.0) * f32(last);
    let index = min(u32(place), max(last, 1u) - 1u);
    let next = min(index + 1u, last);
    return mix(bitcast<vec4f>(buffer(index)), bitcast<vec4f>(buffer(next)), place - f32(index));
}
