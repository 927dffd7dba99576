// A colour stretched by a measured range: low ends, then scales.
fn auto_levels(color: vec4f) -> vec4f {
    let low = bitcast<vec4f>(buffer(0u)).rgb;
    let scale = bitcast<vec4f>(buffer(1u)).rgb;
    return vec4f((color.rgb - low) * scale, color.a);
}
