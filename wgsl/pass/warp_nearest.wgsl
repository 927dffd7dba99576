// The pixel that contains the source coordinate.
fn GATHER_pixel(x: i32, y: i32) -> vec4f {
    let source = SOURCE(x, y);
    return EDGE(vec2i(floor(vec2f(warp_coordinate(source.x), warp_coordinate(source.y)))));
}
