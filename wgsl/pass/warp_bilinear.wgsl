// Two by two pixels about the source coordinate.
fn GATHER_pixel(x: i32, y: i32) -> vec4f {
    let corner = warp_coordinate(SOURCE(x, y)) - 0.5;
    let first = floor(corner);
    let t = corner - first;
    let at = vec2i(first);
    let top = mix(EDGE(at), EDGE(at + vec2i(1, 0)), t.x);
    let bottom = mix(EDGE(at + vec2i(0, 1)), EDGE(at + vec2i(1, 1)), t.x);
    return mix(top, bottom, t.y);
}
