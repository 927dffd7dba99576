// The coordinate on the other side. Unsigned remainders only: those of negative numbers differ between drivers.
fn wrap_coordinate(coordinate: i32, size: i32) -> i32 {
    if coordinate >= 0 {
        return i32(u32(coordinate) % u32(size));
    }
    return size - 1 - i32(u32(-1 - coordinate) % u32(size));
}

// The reflected coordinate, the edge pixel not repeated.
fn mirror_coordinate(coordinate: i32, size: i32) -> i32 {
    if size == 1 {
        return 0;
    }
    let period = 2 * (size - 1);
    let folded = wrap_coordinate(coordinate, period);
    return min(folded, period - folded);
}

// Coordinates of warps are kept where integers hold them; the comparison turns NaN into the low end.
fn warp_coordinate(coordinate: f32) -> f32 {
    return select(-1.0e6, min(coordinate, 1.0e6), coordinate > -1.0e6);
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
