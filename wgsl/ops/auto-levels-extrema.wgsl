// The range to be stretched, from the extrema: entry 0 holds the low ends, entry 1 the scales.
fn auto_levels_extrema(index: u32, u: AutoLevelsExtrema) -> vec4u {
    var low = bitcast<vec4f>(buffer(0u)).rgb;
    var high = bitcast<vec4f>(buffer(1u)).rgb;
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
