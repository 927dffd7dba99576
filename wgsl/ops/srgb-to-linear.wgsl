// Light of sRGB-encoded values, mirrored below 0.
fn srgb_to_linear(color: vec4f) -> vec4f {
    let size = abs(color.rgb);
    let curved = safe_pow3((size + 0.055) * (1.0 / 1.055), 2.4);
    let light = select(size * (1.0 / 12.92), curved, size > vec3f(0.04045));
    return vec4f(select(light, -light, color.rgb < vec3f(0.0)), color.a);
}
