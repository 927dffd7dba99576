// The first two entries of the statistics: the least and the greatest of each channel.
fn min_max(index: u32) -> vec4u {
    return buffer(index);
}
