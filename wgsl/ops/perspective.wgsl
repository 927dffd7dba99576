// The place in the source that comes to an output pixel; far outside for what lies beyond the horizon.
fn perspective(at: vec2f, u: Perspective) -> vec2f {
    let point = vec3f(at, 1.0);
    let w = dot(u.w, point);
    let place = vec2f(dot(u.x, point), dot(u.y, point)) * (1.0 / max(w, 1e-12));
    return select(vec2f(-1e6), clamp(place, vec2f(-1e6), vec2f(1e6)), vec2<bool>(w > 1e-12));
}
