// Weighted sum down a column: eight strips below each other share each read. The last four weights are zeros, since the
// lower strips take each input by the weights that the upper ones took four inputs before.
fn GATHER(x: i32, y: i32) -> Tall {
    var sum = Tall();
    var lowest = vec4f(0.0);
    var low = vec4f(0.0);
    for (var quad = 0; quad < QUADS; quad += 1) {
        let high = WEIGHTS(u32(quad));
        let top = y - REACH + quad * 4;
        let s0 = EDGE_ROW(x, top);
        let s1 = EDGE_ROW(x, top + 1);
        let s2 = EDGE_ROW(x, top + 2);
        let s3 = EDGE_ROW(x, top + 3);
        sum.top = column_correlate(sum.top, s0, s1, s2, s3, low, high);
        sum.bottom = column_correlate(sum.bottom, s0, s1, s2, s3, lowest, low);
        lowest = low;
        low = high;
    }
    return sum;
}
