// One colour turning into another along a line.
fn linear_gradient(at: vec2f, u: LinearGradient) -> vec4f {
    let weight = clamp(dot(at - u.origin, u.direction), 0.0, 1.0);
    return u.start * (1.0 - weight) + u.end * weight;
}
