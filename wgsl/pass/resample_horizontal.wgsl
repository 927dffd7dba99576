// Change of width. The table holds, for each output column, its first source column, then its weights in fours.
fn GATHER_pixel(x: i32, y: i32) -> vec4f {
    let base = u32(min(x, SIZE - 1)) * ENTRIES;
    let start = i32(TABLE(base).x);
    var sum = vec4f(0.0);
    for (var quad = 0; quad < QUADS; quad += 1) {
        let weights = TABLE(base + 1u + u32(quad));
        let left = start + quad * 4;
        sum += EDGE(vec2i(left, y)) * weights.x + EDGE(vec2i(left + 1, y)) * weights.y
            + EDGE(vec2i(left + 2, y)) * weights.z + EDGE(vec2i(left + 3, y)) * weights.w;
    }
    return sum;
}

fn GATHER(x: i32, y: i32) -> Strip {
    return Strip(GATHER_pixel(x, y), GATHER_pixel(x + 1, y), GATHER_pixel(x + 2, y), GATHER_pixel(x + 3, y));
}
