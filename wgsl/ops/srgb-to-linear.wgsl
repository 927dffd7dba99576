// Light of sRGB-encoded values.
fn srgb_to_linear(color: vec4f) -> vec4f {
    return vec4f(srgb_to_linear3(color.rgb), color.a);
}
