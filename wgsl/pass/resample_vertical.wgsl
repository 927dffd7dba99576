// Change of height: the weights of a row are those of all its pixels. For each row of outputs there are its first source
// row, then its weights in fours.
fn GATHER(x: i32, y: i32) -> Strip {
    let row = min(y, COUNT - 1);
    let base = u32(row % PERIOD) * ENTRIES;
    let start = i32(WINDOWS(base).x) + row / PERIOD * ADVANCE;
    var sum = Strip();
    for (var quad = 0; quad < QUADS; quad += 1) {
        let weights = WINDOWS(base + 1u + u32(quad));
        let top = start + quad * 4;
        let s0 = EDGE_ROW(x, top);
        let s1 = EDGE_ROW(x, top + 1);
        let s2 = EDGE_ROW(x, top + 2);
        let s3 = EDGE_ROW(x, top + 3);
        sum = strip_add(sum, strip_sum(s0, s1, s2, s3, weights));
    }
    return sum;
}
