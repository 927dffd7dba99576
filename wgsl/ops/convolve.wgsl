// A weighted sum and the picture it was made from: adds the bias, and picks whose alpha counts.
fn convolve(first: vec4f, second: vec4f, u: Convolve) -> vec4f {
    let alpha = second.a + (first.a - second.a) * u.own_alpha;
    return vec4f(second.rgb + u.bias * alpha, alpha);
}
