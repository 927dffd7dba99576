// A weighted sum of opaque pixels, which stays opaque whatever the weights made of alpha.
fn convolve_bias(color: vec4f, u: ConvolveBias) -> vec4f {
    return vec4f(color.rgb + u.bias, 1.0);
}
