// For reduce.wgsl: the exact sum of integers in two words, the low one first. Before this file: SIGNED, 1 or 0.

alias Value = vec2u;

fn identity() -> Value {
    return vec2u(0u, 0u);
}

fn combine(a: Value, b: Value) -> Value {
    let low = a.x + b.x;
    return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn lift(element: u32, index: u32) -> Value {
    return vec2u(element, (element >> 31u) * SIGNED * 0xffffffffu);
}
