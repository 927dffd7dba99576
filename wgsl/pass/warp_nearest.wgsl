// The pixel that contains the source coordinate.
fn GATHER_pixel(x: i32, y: i32) -> vec4f {
    return EDGE(vec2i(floor(warp_coordinate(SOURCE(x, y)))));
}
