// One value from many, by a tree: each invocation combines ITEMS units, each workgroup its invocations' values; the values
// of all workgroups are reduced in turn. What is left over beyond whole units is taken once, outside of the loop, where a
// branch would cost every invocation. Before this file: WORKGROUP, ITEMS, Unit, Value, `identity`, `combine`, `take`, which
// makes a value of the unit with a given number, and `take_rest`.

// Invocations side by side read units side by side, all else one after the other: rows long enough for the vectors that GPUs
// load, and on a CPU, which takes so many invocations through the loop at once, memory in order.
const ROW = min(WORKGROUP, 8u);

struct Uniforms {
    // Elements, whole units and workgroups.
    length: u32,
    units: u32,
    groups: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<Unit>;
@group(0) @binding(2) var<storage, read_write> output: array<Value>;

var<workgroup> values: array<Value, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let group = id.y * count.x + id.x;
    let first = group * WORKGROUP * ITEMS + (local / ROW) * ROW * ITEMS + local % ROW;
    var value = identity();
    for (var item = 0u; item < ITEMS; item++) {
        let at = first + item * ROW;
        if at < uniforms.units {
            value = combine(value, take(at));
        }
    }
    // The rest follows the last whole unit.
    if local == 0u && group == uniforms.units / (WORKGROUP * ITEMS) {
        value = combine(value, take_rest());
    }
    values[local] = value;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if local < half {
            values[local] = combine(values[local], values[local + half]);
        }
        workgroupBarrier();
    }
    if local == 0u && group < uniforms.groups {
        output[group] = values[0];
    }
}
