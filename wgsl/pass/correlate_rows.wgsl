// Weighted sum over HEIGHT rows: four neighbouring outputs share each read. Weights stand in fours, padded with zeros.
fn GATHER(x: i32, y: i32) -> Strip {
    var sum = Strip();
    for (var row = 0; row < HEIGHT; row += 1) {
        var low = vec4f(0.0);
        for (var quad = 0; quad < QUADS; quad += 1) {
            let high = WEIGHTS(u32(row * QUADS + quad));
            let s = EDGE_STRIP(x - REACH + quad * 4, y + row - ANCHOR);
            sum.a += s.a * high.x + s.b * high.y + s.c * high.z + s.d * high.w;
            sum.b += s.a * low.w + s.b * high.x + s.c * high.y + s.d * high.z;
            sum.c += s.a * low.z + s.b * low.w + s.c * high.x + s.d * high.y;
            sum.d += s.a * low.y + s.b * low.z + s.c * low.w + s.d * high.x;
            low = high;
        }
    }
    return sum;
}
