// Distances from middle grey, multiplied.
fn contrast(color: vec4f, u: Contrast) -> vec4f {
    return vec4f((color.rgb - 0.5) * u.amount + 0.5, color.a);
}
