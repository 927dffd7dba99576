// One colour everywhere.
fn solid(u: Solid) -> vec4f {
    return u.color;
}
