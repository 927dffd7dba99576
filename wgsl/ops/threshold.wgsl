// White where the luma reaches a value.
fn threshold(color: vec4f, u: Threshold) -> vec4f {
    return vec4f(select(vec3f(0.0), vec3f(1.0), vec3<bool>(luma709(color.rgb) >= u.value)), color.a);
}
