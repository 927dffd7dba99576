// Four by four pixels about the source coordinate, Catmull-Rom.
fn GATHER_pixel(x: i32, y: i32) -> vec4f {
    let corner = warp_coordinate(SOURCE(x, y)) - 0.5;
    let first = floor(corner);
    let t = corner - first;
    let at = vec2i(first) - vec2i(1);
    let across = catmull_rom(t.x);
    let down = catmull_rom(t.y);
    var sum = vec4f(0.0);
    for (var row = 0; row < 4; row += 1) {
        let line = EDGE(at + vec2i(0, row)) * across.x + EDGE(at + vec2i(1, row)) * across.y
            + EDGE(at + vec2i(2, row)) * across.z + EDGE(at + vec2i(3, row)) * across.w;
        sum += line * down[row];
    }
    return sum;
}
