// Colours divided by alpha; nothing is seen of a transparent pixel, so it is black.
fn unpremultiply(color: vec4f) -> vec4f {
    let straight = color.rgb * (1.0 / max(color.a, SMALLEST));
    return vec4f(select(vec3f(0.0), straight, vec3<bool>(color.a > 0.0)), color.a);
}
