// sRGB encoding of light.
fn linear_to_srgb(color: vec4f) -> vec4f {
    return vec4f(linear_to_srgb3(color.rgb), color.a);
}
