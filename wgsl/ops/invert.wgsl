// The negative, as much of it as asked for.
fn invert(color: vec4f, u: Invert) -> vec4f {
    return vec4f(color.rgb * u.factor + u.offset, color.a);
}
