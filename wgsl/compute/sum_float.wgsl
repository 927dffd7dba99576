// For reduce.wgsl: the sum of floats.

alias Value = f32;

fn identity() -> Value {
    return 0.0;
}

fn combine(a: Value, b: Value) -> Value {
    return a + b;
}

fn lift(element: f32, index: u32) -> Value {
    return element;
}
