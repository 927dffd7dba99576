// The place in the source that comes to an output pixel.
fn affine(at: vec2f, u: AffineWarp) -> vec2f {
    let point = vec3f(at, 1.0);
    return vec2f(dot(u.x, point), dot(u.y, point));
}
