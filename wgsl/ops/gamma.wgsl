// A power curve.
fn gamma(color: vec4f, u: Gamma) -> vec4f {
    return vec4f(safe_pow3(color.rgb, u.exponent), color.a);
}
