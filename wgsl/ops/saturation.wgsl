// Distances from the luma, multiplied.
fn saturation(color: vec4f, u: Saturation) -> vec4f {
    let luma = luma709(color.rgb);
    return vec4f(luma + (color.rgb - luma) * u.amount, color.a);
}
