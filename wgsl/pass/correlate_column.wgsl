// Weighted sum down a column: four strips below each other share each read.
fn GATHER(x: i32, y: i32) -> Column {
    var sum = Column();
    var low = vec4f(0.0);
    for (var quad = 0; quad < QUADS; quad += 1) {
        let high = WEIGHTS(u32(quad));
        let top = y - REACH + quad * 4;
        let s0 = EDGE_ROW(x, top);
        let s1 = EDGE_ROW(x, top + 1);
        let s2 = EDGE_ROW(x, top + 2);
        let s3 = EDGE_ROW(x, top + 3);
        sum.r0 = strip_add(sum.r0, strip_sum(s0, s1, s2, s3, high));
        sum.r1 = strip_add(sum.r1, strip_sum(s0, s1, s2, s3, vec4f(low.w, high.xyz)));
        sum.r2 = strip_add(sum.r2, strip_sum(s0, s1, s2, s3, vec4f(low.zw, high.xy)));
        sum.r3 = strip_add(sum.r3, strip_sum(s0, s1, s2, s3, vec4f(low.yzw, high.x)));
        low = high;
    }
    return sum;
}
