// White where the luma reaches a value.
fn threshold(color: vec4f, u: Threshold) -> vec4f {
    return vec4f(vec3f(select(0.0, 1.0, luma709(color.rgb) >= u.value)), color.a);
}
