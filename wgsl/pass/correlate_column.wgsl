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
        sum = column_correlate(sum, s0, s1, s2, s3, low, high);
        low = high;
    }
    return sum;
}
