// A constant added to each channel.
fn brightness(color: vec4f, u: Brightness) -> vec4f {
    return vec4f(color.rgb + u.amount, color.a);
}
