// The range to be stretched, from a histogram: entry 0 holds the low ends, entry 1 the scales.
fn auto_levels_percentiles(index: u32, u: AutoLevelsPercentiles) -> vec4u {
    var pixels = 0u;
    for (var bin = 0u; bin < 256u; bin += 1u) {
        pixels += buffer(bin).x;
    }
    let whole = pixels / 10000u;
    let rest = pixels % 10000u;
    let low_cut = vec3u(whole * u.low + rest * u.low / 10000u);
    let high_cut = vec3u(whole * u.high + rest * u.high / 10000u);
    // Bins from each end until more pixels than the cut have been seen.
    var below = vec3u(0u);
    var above = vec3u(0u);
    var skipped_below = vec3u(0u);
    var skipped_above = vec3u(0u);
    for (var bin = 0u; bin < 256u; bin += 1u) {
        below += buffer(bin).rgb;
        above += buffer(255u - bin).rgb;
        skipped_below += select(vec3u(0u), vec3u(1u), below <= low_cut);
        skipped_above += select(vec3u(0u), vec3u(1u), above <= high_cut);
    }
    var low = vec3f(skipped_below) / 255.0;
    var high = (255.0 - vec3f(skipped_above)) / 255.0;
    if u.joint != 0u {
        low = vec3f(min(low.r, min(low.g, low.b)));
        high = vec3f(max(high.r, max(high.g, high.b)));
    }
    let range = high - low;
    let wide = range >= vec3f(1e-4);
    let offset = select(vec3f(0.0), low, wide);
    let scale = select(vec3f(1.0), 1.0 / max(range, vec3f(1e-4)), wide);
    return bitcast<vec4u>(vec4f(select(offset, scale, index == 1u), 0.0));
}
