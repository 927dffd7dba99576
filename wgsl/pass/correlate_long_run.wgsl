// Weighted sum over HEIGHT rows for sixteen outputs, a run of inputs at a time. Weights stand in fours, QUADS of them in a
// row; the first four are zeros, and REACH is a whole number of runs.
fn GATHER(x: i32, y: i32) -> Run {
    var sum = Run();
    for (var row = 0; row < HEIGHT; row += 1) {
        for (var part = 0; part < PARTS; part += 1) {
            let input = EDGE_RUN(x - REACH + part * 16, y + row - ANCHOR);
            let first = u32(row * QUADS + part * 4);
            let w0 = WEIGHTS(first);
            let w1 = WEIGHTS(first + 1u);
            let w2 = WEIGHTS(first + 2u);
            let w3 = WEIGHTS(first + 3u);
            let w4 = WEIGHTS(first + 4u);
            let w5 = WEIGHTS(first + 5u);
            let w6 = WEIGHTS(first + 6u);
            let w7 = WEIGHTS(first + 7u);
            sum.a = strip_correlate(sum.a, input.a, w3, w4);
            sum.a = strip_correlate(sum.a, input.b, w4, w5);
            sum.a = strip_correlate(sum.a, input.c, w5, w6);
            sum.a = strip_correlate(sum.a, input.d, w6, w7);
            sum.b = strip_correlate(sum.b, input.a, w2, w3);
            sum.b = strip_correlate(sum.b, input.b, w3, w4);
            sum.b = strip_correlate(sum.b, input.c, w4, w5);
            sum.b = strip_correlate(sum.b, input.d, w5, w6);
            sum.c = strip_correlate(sum.c, input.a, w1, w2);
            sum.c = strip_correlate(sum.c, input.b, w2, w3);
            sum.c = strip_correlate(sum.c, input.c, w3, w4);
            sum.c = strip_correlate(sum.c, input.d, w4, w5);
            sum.d = strip_correlate(sum.d, input.a, w0, w1);
            sum.d = strip_correlate(sum.d, input.b, w1, w2);
            sum.d = strip_correlate(sum.d, input.c, w2, w3);
            sum.d = strip_correlate(sum.d, input.d, w3, w4);
        }
    }
    return sum;
}
