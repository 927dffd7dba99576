// Mean over a window with weights from the pixels: four neighbouring outputs slide over the reads of a row.
fn GATHER(x: i32, y: i32) -> Strip {
    let center = Strip(
        EDGE(vec2i(x, y)), EDGE(vec2i(x + 1, y)), EDGE(vec2i(x + 2, y)), EDGE(vec2i(x + 3, y)),
    );
    var sum = Strip();
    var total = vec4f(0.0);
    for (var row = -RADIUS; row <= RADIUS; row += 1) {
        var a = EDGE(vec2i(x - RADIUS, y + row));
        var b = EDGE(vec2i(x - RADIUS + 1, y + row));
        var c = EDGE(vec2i(x - RADIUS + 2, y + row));
        for (var column = -RADIUS; column <= RADIUS; column += 1) {
            let d = EDGE(vec2i(x + column + 3, y + row));
            let offset = vec2f(f32(column), f32(row));
            let weights = vec4f(
                WEIGHT(a, center.a, offset, x, y),
                WEIGHT(b, center.b, offset, x + 1, y),
                WEIGHT(c, center.c, offset, x + 2, y),
                WEIGHT(d, center.d, offset, x + 3, y),
            );
            sum.a += a * weights.x;
            sum.b += b * weights.y;
            sum.c += c * weights.z;
            sum.d += d * weights.w;
            total += weights;
            a = b;
            b = c;
            c = d;
        }
    }
    let scale = 1.0 / max(total, vec4f(SMALLEST));
    return Strip(sum.a * scale.x, sum.b * scale.y, sum.c * scale.z, sum.d * scale.w);
}
