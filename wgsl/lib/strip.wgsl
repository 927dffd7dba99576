// Four neighbouring pixels of a row.
struct Strip {
    a: vec4f,
    b: vec4f,
    c: vec4f,
    d: vec4f,
}

// Four strips below each other.
struct Column {
    r0: Strip,
    r1: Strip,
    r2: Strip,
    r3: Strip,
}

// Eight strips below each other.
struct Tall {
    top: Column,
    bottom: Column,
}

// Four strips side by side.
struct Run {
    a: Strip,
    b: Strip,
    c: Strip,
    d: Strip,
}

// A run and those on both sides of it.
struct Wide {
    left: Run,
    middle: Run,
    right: Run,
}

// first * x + second * y + third * z + fourth * w, pixel by pixel.
fn strip_sum(first: Strip, second: Strip, third: Strip, fourth: Strip, weights: vec4f) -> Strip {
    return Strip(
        first.a * weights.x + second.a * weights.y + third.a * weights.z + fourth.a * weights.w,
        first.b * weights.x + second.b * weights.y + third.b * weights.z + fourth.b * weights.w,
        first.c * weights.x + second.c * weights.y + third.c * weights.z + fourth.c * weights.w,
        first.d * weights.x + second.d * weights.y + third.d * weights.z + fourth.d * weights.w,
    );
}

fn strip_add(first: Strip, second: Strip) -> Strip {
    return Strip(first.a + second.a, first.b + second.b, first.c + second.c, first.d + second.d);
}

// What a strip of inputs adds to a strip of weighted sums. `high` is the four weights by which the first output takes the
// inputs, `low` the four before them.
fn strip_correlate(sum: Strip, input: Strip, low: vec4f, high: vec4f) -> Strip {
    return Strip(
        sum.a + (input.a * high.x + input.b * high.y + input.c * high.z + input.d * high.w),
        sum.b + (input.a * low.w + input.b * high.x + input.c * high.y + input.d * high.z),
        sum.c + (input.a * low.z + input.b * low.w + input.c * high.x + input.d * high.y),
        sum.d + (input.a * low.y + input.b * low.z + input.c * low.w + input.d * high.x),
    );
}

// The same down a column: `first` to `fourth` are strips of inputs below each other.
fn column_correlate(
    sum: Column,
    first: Strip,
    second: Strip,
    third: Strip,
    fourth: Strip,
    low: vec4f,
    high: vec4f,
) -> Column {
    return Column(
        strip_add(sum.r0, strip_sum(first, second, third, fourth, high)),
        strip_add(sum.r1, strip_sum(first, second, third, fourth, vec4f(low.w, high.xyz))),
        strip_add(sum.r2, strip_sum(first, second, third, fourth, vec4f(low.zw, high.xy))),
        strip_add(sum.r3, strip_sum(first, second, third, fourth, vec4f(low.yzw, high.x))),
    );
}

fn strip_scale(strip: Strip, factor: f32) -> Strip {
    return Strip(strip.a * factor, strip.b * factor, strip.c * factor, strip.d * factor);
}

// Known values of alpha and of equal channels are written out, so that compilers drop the arithmetic behind them.
fn opaque(color: vec4f) -> vec4f {
    return vec4f(color.rgb, 1.0);
}

fn gray(color: vec4f) -> vec4f {
    return vec4f(color.rrr, color.a);
}

fn gray_opaque(color: vec4f) -> vec4f {
    return vec4f(color.rrr, 1.0);
}
