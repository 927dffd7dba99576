// Half floats two to a word, by integers alone because drivers lack unpack2x16float, or flush small numbers.

fn half_to_single(bits: u32) -> f32 {
    let magnitude = bits & 0x7fffu;
    // Below 0x0400 the half counts in 2^-24, which a float holds exactly.
    if magnitude < 0x0400u {
        let value = f32(magnitude) * 5.9604644775390625e-8;
        return select(value, -value, (bits & 0x8000u) != 0u);
    }
    // Infinity and NaN have all bits of the exponent set in both.
    let exponent = select((magnitude >> 10u) + 112u, 255u, magnitude >= 0x7c00u);
    return bitcast<f32>(((bits & 0x8000u) << 16u) | (exponent << 23u) | ((magnitude & 0x03ffu) << 13u));
}

fn unpack_vector(words: vec2u) -> vec4f {
    return vec4f(
        half_to_single(words.x & 0xffffu),
        half_to_single(words.x >> 16u),
        half_to_single(words.y & 0xffffu),
        half_to_single(words.y >> 16u),
    );
}
