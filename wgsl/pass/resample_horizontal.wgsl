// Change of width. Four neighbouring outputs share each read; for each strip of outputs there are its first source column,
// then for every four source columns the weights by which each of the outputs takes them.
fn GATHER(x: i32, y: i32) -> Strip {
    let strip = min(x / 4, COUNT - 1);
    let base = u32(strip % PERIOD) * ENTRIES;
    let start = i32(WINDOWS(base).x) + strip / PERIOD * ADVANCE;
    var sum = Strip();
    for (var quad = 0; quad < QUADS; quad += 1) {
        let left = start + quad * 4;
        let s0 = EDGE(vec2i(left, y));
        let s1 = EDGE(vec2i(left + 1, y));
        let s2 = EDGE(vec2i(left + 2, y));
        let s3 = EDGE(vec2i(left + 3, y));
        let first = base + 1u + u32(quad) * 4u;
        let a = WINDOWS(first);
        let b = WINDOWS(first + 1u);
        let c = WINDOWS(first + 2u);
        let d = WINDOWS(first + 3u);
        sum.a += s0 * a.x + s1 * a.y + s2 * a.z + s3 * a.w;
        sum.b += s0 * b.x + s1 * b.y + s2 * b.z + s3 * b.w;
        sum.c += s0 * c.x + s1 * c.y + s2 * c.z + s3 * c.w;
        sum.d += s0 * d.x + s1 * d.y + s2 * d.z + s3 * d.w;
    }
    return sum;
}
