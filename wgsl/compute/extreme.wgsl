// For reduce.wgsl: the element whose key is least, and of equal ones the first: (key, index). Keys are integers in the order
// of the elements, so that NaN, zeros and denormals do not depend on the device; NaN comes before everything. Before this
// file: KIND (0 u32, 1 i32, 2 f32), FLIP, all ones where the largest element is wanted, and float_key.wgsl.

alias Value = vec2u;

fn identity() -> Value {
    return vec2u(0xffffffffu, 0xffffffffu);
}

fn combine(a: Value, b: Value) -> Value {
    let second = b.x < a.x || (b.x == a.x && b.y < a.y);
    return select(a, b, vec2<bool>(second, second));
}

fn lift(element: u32, index: u32) -> Value {
    if KIND == 0u {
        return vec2u(element ^ FLIP, index);
    }
    if KIND == 1u {
        return vec2u(element ^ 0x80000000u ^ FLIP, index);
    }
    return vec2u(select(float_key(element) ^ FLIP, 0u, (element & 0x7fffffffu) > 0x7f800000u), index);
}
