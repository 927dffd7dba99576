// For reduce.wgsl: sums of the deviations from the mean and of their squares. The former is zero but for rounding, and
// takes out of the latter what the rounding of the mean put in (Chan, Golub and LeVeque 1983).

alias Value = vec2f;

@group(0) @binding(3) var<storage, read> sum: array<f32>;

fn identity() -> Value {
    return vec2f(0.0, 0.0);
}

fn combine(a: Value, b: Value) -> Value {
    return a + b;
}

fn lift(element: f32, index: u32) -> Value {
    let deviation = element - sum[0] / f32(uniforms.length);
    return vec2f(deviation, deviation * deviation);
}
