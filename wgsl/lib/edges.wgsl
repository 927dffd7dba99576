// All of this is without branches: drivers of software GPUs take both ways of each, and SwiftShader needs time by two to
// their number where they stand in a loop. As float_select, for colours.

fn color_select(color: vec4f, other: vec4f, take_other: bool) -> vec4f {
    return select(color, other, vec4<bool>(take_other));
}

// The coordinate on the other side. Unsigned remainders only: those of negative numbers differ between drivers. `sign` is
// all ones for a negative number, and `^ sign` then makes -1 - n of n.
fn wrap_coordinate(coordinate: i32, size: i32) -> i32 {
    let sign = coordinate >> 31u;
    let rest = i32(u32(coordinate ^ sign) % u32(size));
    return (rest ^ sign) + (size & sign);
}

// The reflected coordinate, the edge pixel not repeated.
fn mirror_coordinate(coordinate: i32, size: i32) -> i32 {
    let period = max(2 * (size - 1), 1);
    let folded = wrap_coordinate(coordinate, period);
    return min(folded, period - folded);
}

// Coordinates of warps are kept where integers hold them; the comparison turns NaN into the low end.
fn warp_coordinate(at: vec2f) -> vec2f {
    return select(vec2f(-1.0e6), min(at, vec2f(1.0e6)), at > vec2f(-1.0e6));
}

// Catmull-Rom weights (Keys, a = -0.5) of the four pixels about a fraction.
fn catmull_rom(t: f32) -> vec4f {
    let t2 = t * t;
    let t3 = t2 * t;
    return vec4f(
        -0.5 * t3 + t2 - 0.5 * t,
        1.5 * t3 - 2.5 * t2 + 1.0,
        -1.5 * t3 + 2.0 * t2 + 0.5 * t,
        0.5 * t3 - 0.5 * t2,
    );
}

// All pixels the same.
fn strip_of(color: vec4f) -> Strip {
    return Strip(color, color, color, color);
}

fn run_of(color: vec4f) -> Run {
    return Run(strip_of(color), strip_of(color), strip_of(color), strip_of(color));
}

fn strip_select(strip: Strip, other: Strip, take_other: bool) -> Strip {
    return Strip(
        color_select(strip.a, other.a, take_other),
        color_select(strip.b, other.b, take_other),
        color_select(strip.c, other.c, take_other),
        color_select(strip.d, other.d, take_other),
    );
}

fn run_select(run: Run, other: Run, take_other: bool) -> Run {
    return Run(
        strip_select(run.a, other.a, take_other),
        strip_select(run.b, other.b, take_other),
        strip_select(run.c, other.c, take_other),
        strip_select(run.d, other.d, take_other),
    );
}

// Pixels behind the one of index `last` repeat it; `before` is the pixel to the left, in case it lies there.
fn strip_clamped(strip: Strip, before: vec4f, last: i32) -> Strip {
    let a = color_select(strip.a, before, last < 0);
    let b = color_select(strip.b, a, last < 1);
    let c = color_select(strip.c, b, last < 2);
    return Strip(a, b, c, color_select(strip.d, c, last < 3));
}

fn run_clamped(run: Run, before: vec4f, last: i32) -> Run {
    let a = strip_clamped(run.a, before, last);
    let b = strip_clamped(run.b, a.d, last - 4);
    let c = strip_clamped(run.c, b.d, last - 8);
    return Run(a, b, c, strip_clamped(run.d, c.d, last - 12));
}

// Pixels behind the one of index `last` become `color`.
fn strip_filled(strip: Strip, color: vec4f, last: i32) -> Strip {
    return Strip(
        color_select(strip.a, color, last < 0),
        color_select(strip.b, color, last < 1),
        color_select(strip.c, color, last < 2),
        color_select(strip.d, color, last < 3),
    );
}

fn run_filled(run: Run, color: vec4f, last: i32) -> Run {
    return Run(
        strip_filled(run.a, color, last),
        strip_filled(run.b, color, last - 4),
        strip_filled(run.c, color, last - 8),
        strip_filled(run.d, color, last - 12),
    );
}
