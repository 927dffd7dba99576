// Half floats by integer arithmetic: not every driver has the built-in conversions.

fn half_to_float(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let exponent = (bits >> 10u) & 31u;
    let mantissa = bits & 1023u;
    let normal = bitcast<f32>(sign | ((exponent + 112u) << 23u) | (mantissa << 13u));
    let small = f32(mantissa) * (1.0 / 16777216.0);
    let special = bitcast<f32>(sign | 0x7f800000u | (mantissa << 13u));
    let value = select(normal, select(small, -small, sign != 0u), exponent == 0u);
    return select(value, special, exponent == 31u);
}

// To the nearest, halves to even; beyond 65504 saturates, NaN is 0.
fn float_to_half(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    // Normal: drop 13 bits with rounding to even.
    let rounded = (size + 0xfffu + ((size >> 13u) & 1u)) >> 13u;
    let normal = rounded - (112u << 10u);
    // Below 2^-14: a multiple of 2^-24, rounded to even by hand.
    let scaled = bitcast<f32>(size) * 16777216.0;
    let whole = floor(min(scaled, 2048.0));
    let rest = scaled - whole;
    let up = rest > 0.5 || (rest == 0.5 && (u32(whole) & 1u) == 1u);
    let small = u32(whole) + select(0u, 1u, up);
    let half = select(normal, small, size < 0x38800000u);
    let clamped = select(half, 0x7bffu, size >= 0x477ff000u);
    return select(sign | clamped, 0u, size > 0x7f800000u);
}
