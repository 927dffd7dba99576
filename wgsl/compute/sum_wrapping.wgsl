// For reduce.wgsl: the sum in the elements' own type. Before this file: Element.

alias Value = Element;

fn identity() -> Value {
    return Element();
}

fn combine(a: Value, b: Value) -> Value {
    return a + b;
}

fn lift(element: Element, index: u32) -> Value {
    return element;
}
