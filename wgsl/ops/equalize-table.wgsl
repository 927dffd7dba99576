// The share of pixels up to each bin, the lowest bin in use set aside; red, green, blue, luma.
fn equalize_table(index: u32) -> vec4u {
    var pixels = vec4u(0u);
    var first = vec4u(0u);
    var seen = vec4u(0u);
    for (var bin = 0u; bin < 256u; bin += 1u) {
        let counts = buffer(bin);
        // While no pixel has been seen, this is the lowest bin in use, or none yet.
        first = select(first, counts, pixels == vec4u(0u));
        pixels += counts;
        seen += select(vec4u(0u), counts, bin <= index);
    }
    let rest = pixels - first;
    let above = max(seen, first) - first;
    let level = vec4f(above) / max(vec4f(rest), vec4f(1.0));
    return bitcast<vec4u>(select(level, vec4f(f32(index) / 255.0), rest == vec4u(0u)));
}
