// Four neighbouring pixels of a row: what one invocation makes.
struct Strip {
    a: vec4f,
    b: vec4f,
    c: vec4f,
    d: vec4f,
}

// Four strips below each other.
struct Block {
    r0: Strip,
    r1: Strip,
    r2: Strip,
    r3: Strip,
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
