// The source seen through a mask. The mask is premultiplied, so its luma is luma times alpha.
fn blend_masked(first: vec4f, second: vec4f) -> vec4f {
    let luma = second.g + 0.2126 * (second.r - second.g) + 0.0722 * (second.b - second.g);
    return first * clamp(luma, 0.0, 1.0);
}
