// For reduce.wgsl over vectors of four elements: `lift` makes a value of an element and its index. The last vector may be
// part padding, which does not count.

fn take(at: u32) -> Value {
    let unit = input[at];
    let i = 4u * at;
    return combine(combine(lift(unit.x, i), lift(unit.y, i + 1u)), combine(lift(unit.z, i + 2u), lift(unit.w, i + 3u)));
}

fn take_rest() -> Value {
    let rest = uniforms.length % 4u;
    let i = uniforms.length - rest;
    var value = identity();
    if rest > 0u {
        let unit = input[i / 4u];
        value = lift(unit.x, i);
        if rest > 1u {
            value = combine(value, lift(unit.y, i + 1u));
        }
        if rest > 2u {
            value = combine(value, lift(unit.z, i + 2u));
        }
    }
    return value;
}
