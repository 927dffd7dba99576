// Curves of red, green and blue, or of luma, whose change is added to all three.
fn equalize(color: vec4f, u: Equalize) -> vec4f {
    if u.per_channel != 0u {
        return vec4f(
            equalize_level(color.r).x, equalize_level(color.g).y, equalize_level(color.b).z, color.a,
        );
    }
    let luma = luma709(color.rgb);
    return vec4f(color.rgb + (equalize_level(luma).w - luma), color.a);
}

// The four curves at a value: between two bins.
fn equalize_level(value: f32) -> vec4f {
    let place = clamp(value, 0.0, 1.0) * 255.0;
    let bin = min(u32(place), 254u);
    return mix(bitcast<vec4f>(buffer(bin)), bitcast<vec4f>(buffer(bin + 1u)), place - f32(bin));
}
