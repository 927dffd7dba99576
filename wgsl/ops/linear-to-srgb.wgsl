// sRGB encoding of light, mirrored below 0.
fn linear_to_srgb(color: vec4f) -> vec4f {
    let size = abs(color.rgb);
    let curved = 1.055 * safe_pow3(size, 1.0 / 2.4) - 0.055;
    let value = select(size * 12.92, curved, size > vec3f(0.0031308));
    return vec4f(select(value, -value, color.rgb < vec3f(0.0)), color.a);
}
