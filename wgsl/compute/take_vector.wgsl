// For reduce.wgsl over vectors of four elements: `lift` makes a value of an element and its index. Beyond the end there is
// padding, which does not count.

fn take(at: u32) -> Value {
    let unit = input[at];
    let i = 4u * at;
    let left = uniforms.length - i;
    if left >= 4u {
        return combine(combine(lift(unit.x, i), lift(unit.y, i + 1u)), combine(lift(unit.z, i + 2u), lift(unit.w, i + 3u)));
    }
    var value = lift(unit.x, i);
    if left > 1u {
        value = combine(value, lift(unit.y, i + 1u));
    }
    if left > 2u {
        value = combine(value, lift(unit.z, i + 2u));
    }
    return value;
}
