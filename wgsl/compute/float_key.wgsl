// An integer for each float, by its bits, in the same order; of both zeros the same.
fn float_key(bits: u32) -> u32 {
    let plain = select(bits, 0u, bits == 0x80000000u);
    return select(plain ^ 0x80000000u, ~plain, plain >> 31u == 1u);
}
