// Luma of a pixel.
fn grayscale(color: vec4f, u: Grayscale) -> vec4f {
    return vec4f(vec3f(weighted_luma(color.rgb, u.weights)), color.a);
}
