// Weighted sum over HEIGHT rows: four neighbouring outputs share each read. Weights stand in fours, padded with zeros.
fn GATHER(x: i32, y: i32) -> Strip {
    var sum = Strip();
    for (var row = 0; row < HEIGHT; row += 1) {
        var low = vec4f(0.0);
        for (var quad = 0; quad < QUADS; quad += 1) {
            let high = WEIGHTS(u32(row * QUADS + quad));
            sum = strip_correlate(sum, EDGE_STRIP(x - REACH + quad * 4, y + row - ANCHOR), low, high);
            low = high;
        }
    }
    return sum;
}
