// Colours divided by alpha; nothing is seen of a transparent pixel, so it is black.
fn unpremultiply(color: vec4f) -> vec4f {
    let scale = select(0.0, 1.0 / max(color.a, 1.175494351e-38), color.a > 0.0);
    return vec4f(color.rgb * scale, color.a);
}
