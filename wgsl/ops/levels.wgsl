// A range stretched to another, with a power curve between.
fn levels(color: vec4f, u: Levels) -> vec4f {
    let inside = clamp((color.rgb - u.black) * u.scale, vec3f(0.0), vec3f(1.0));
    return vec4f(u.low + safe_pow3(inside, u.exponent) * u.range, color.a);
}
