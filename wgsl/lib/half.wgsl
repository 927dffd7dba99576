// Half floats in the low 16 bits of four words. Bits and integers as far as can be, because drivers lack unpack2x16float and
// may flush small numbers; four at a time, because some translators make a branch of each choice between single numbers.

// The values as finite numbers: NaN gives 0, the infinities the largest numbers.
fn half_to_float(bits: vec4u) -> vec4f {
    let magnitude = bits & vec4u(0x7fffu);
    // The exponents of the two formats are biased by 15 and 127. Below 0x0400 a half counts in 2^-24.
    let normal = bitcast<vec4f>((magnitude << vec4u(13u)) + vec4u((127u - 15u) << 23u));
    let subnormal = vec4f(magnitude) * (1.0 / 16777216.0);
    var float_bits = bitcast<vec4u>(select(normal, subnormal, magnitude < vec4u(0x0400u)));
    float_bits = select(float_bits, vec4u(0x7f7fffffu), magnitude == vec4u(0x7c00u)) | ((bits & vec4u(0x8000u)) << vec4u(16u));
    return bitcast<vec4f>(select(float_bits, vec4u(0u), magnitude > vec4u(0x7c00u)));
}

// The nearest half floats, halves to even. Beyond the range it is the largest, 65504; NaN gives 0.
fn float_to_half(value: vec4f) -> vec4u {
    let bits = bitcast<vec4u>(value);
    let magnitude = bits & vec4u(0x7fffffffu);
    // The mantissa with its leading bit, and how many of its places are dropped: 13, and more where the half is
    // subnormal.
    let mantissa = (magnitude & vec4u(0x007fffffu)) | vec4u(0x00800000u);
    let exponent = magnitude >> vec4u(23u);
    let dropped = clamp(vec4u(126u) - min(exponent, vec4u(126u)), vec4u(13u), vec4u(25u));
    let kept = mantissa >> dropped;
    let rest = mantissa & ((vec4u(1u) << dropped) - vec4u(1u));
    let middle = vec4u(1u) << (dropped - vec4u(1u));
    // An odd number is rounded up from its middle on, an even one beyond it.
    let up = vec4u(rest + (kept & vec4u(1u)) > middle);
    // The leading bit counts as one exponent, and a carry out of the mantissa as the next.
    let base = (max(exponent, vec4u(113u)) - vec4u(113u)) << vec4u(10u);
    let half = min(base + kept + up, vec4u(0x7bffu)) | ((bits >> vec4u(16u)) & vec4u(0x8000u));
    return select(half, vec4u(0u), magnitude > vec4u(0x7f800000u));
}
