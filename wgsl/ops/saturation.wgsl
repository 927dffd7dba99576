// Distances from the luma, multiplied. As green plus differences the luma of grey is exactly that grey.
fn saturation(color: vec4f, u: Saturation) -> vec4f {
    let luma = color.g + 0.2126 * (color.r - color.g) + 0.0722 * (color.b - color.g);
    return vec4f(luma + (color.rgb - luma) * u.amount, color.a);
}
