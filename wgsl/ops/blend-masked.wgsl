// The source seen through a mask. The mask is premultiplied, so its luma is luma times alpha.
fn blend_masked(first: vec4f, second: vec4f) -> vec4f {
    return first * clamp(luma709(second.rgb), 0.0, 1.0);
}
