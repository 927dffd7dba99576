// The value of a half float in the low 16 bits, as a finite number: NaN gives 0, the infinities the largest numbers.
// Bits and integers only, because drivers lack unpack2x16float and may flush small numbers.
fn half_to_float(bits: u32) -> f32 {
    let magnitude = bits & 0x7fffu;
    // Below 0x0400 the half counts in 2^-24: shift the leading bit out to where a normal number has it, and count.
    let shift = select(0u, countLeadingZeros(magnitude | 1u) - 21u, magnitude < 0x0400u);
    let mantissa = ((magnitude << shift) & 0x03ffu) << 13u;
    let exponent = select(magnitude >> 10u, 1u, magnitude < 0x0400u) + 112u - shift;
    var float_bits = (exponent << 23u) | mantissa;
    float_bits = select(float_bits, 0u, magnitude == 0u);
    float_bits = select(float_bits, 0x7f7fffffu, magnitude == 0x7c00u);
    // A NaN has no sign either.
    let sign = select((bits & 0x8000u) << 16u, 0u, magnitude > 0x7c00u);
    return bitcast<f32>(select(float_bits, 0u, magnitude > 0x7c00u) | sign);
}

// The nearest half float, halves to even, in the low 16 bits. Beyond the range it is the largest, 65504; NaN gives 0.
fn float_to_half(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let magnitude = bits & 0x7fffffffu;
    // The mantissa with its leading bit, and how many of its places are dropped: 13, and more where the half is
    // subnormal.
    let mantissa = (magnitude & 0x007fffffu) | 0x00800000u;
    let exponent = magnitude >> 23u;
    let dropped = clamp(126u - min(exponent, 126u), 13u, 25u);
    let kept = mantissa >> dropped;
    let rest = mantissa & ((1u << dropped) - 1u);
    let middle = 1u << (dropped - 1u);
    let up = select(0u, 1u, rest > middle || (rest == middle && (kept & 1u) == 1u));
    // The leading bit counts as one exponent, and a carry out of the mantissa as the next.
    let base = select(0u, (exponent - 113u) << 10u, exponent > 113u);
    let half = min(base + kept + up, 0x7bffu) | ((bits >> 16u) & 0x8000u);
    return select(half, 0u, magnitude > 0x7f800000u);
}
