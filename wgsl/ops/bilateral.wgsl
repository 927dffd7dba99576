// A weight that falls with distance and with difference of colour.
fn bilateral(sample: vec4f, center: vec4f, offset: vec2f, u: Bilateral) -> f32 {
    let d = sample - center;
    let difference = dot(d.rgb, d.rgb) * (1.0 / 3.0) + d.a * d.a;
    let exponent = dot(offset, offset) * u.space + difference * u.range;
    // Below -80 the weight is nothing, and the exponential would leave the normal numbers.
    return exp(clamp(exponent, -80.0, 0.0));
}
