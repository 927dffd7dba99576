// One colour turning into another with the distance from a point.
fn radial_gradient(at: vec2f, u: RadialGradient) -> vec4f {
    let weight = clamp(length(at - u.center) * u.scale, 0.0, 1.0);
    return u.start * (1.0 - weight) + u.end * weight;
}
