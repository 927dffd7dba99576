// Light multiplied by a power of two.
fn exposure(color: vec4f, u: Exposure) -> vec4f {
    return vec4f(color.rgb * u.gain, color.a);
}
