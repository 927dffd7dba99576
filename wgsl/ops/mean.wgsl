// The third entry of the statistics: the mean of each channel.
fn mean() -> vec4u {
    return buffer(2u);
}
