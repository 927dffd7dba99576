// Weighted sum down a column, one strip at a time.
fn GATHER(x: i32, y: i32) -> Strip {
    var sum = Strip();
    for (var quad = 0; quad < QUADS; quad += 1) {
        let weights = WEIGHTS(u32(quad));
        let top = y - REACH + quad * 4;
        let s0 = EDGE_ROW(x, top);
        let s1 = EDGE_ROW(x, top + 1);
        let s2 = EDGE_ROW(x, top + 2);
        let s3 = EDGE_ROW(x, top + 3);
        sum = strip_add(sum, strip_sum(s0, s1, s2, s3, weights));
    }
    return sum;
}
