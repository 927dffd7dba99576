// Elements to where running counts of their flags say: the chosen ones to the front, in order; the others behind them, in
// order, or (PARTITION 0) nowhere. The last element's invocation writes how many were chosen. Before this file: WORKGROUP,
// PARTITION.

struct Uniforms {
    length: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<u32>;
// How many were chosen up to an element, itself included.
@group(0) @binding(2) var<storage, read> chosen: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<u32>;
@group(0) @binding(4) var<storage, read_write> total: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (id.y * count.x + id.x) * WORKGROUP + local;
    if i >= uniforms.length {
        return;
    }
    let last = uniforms.length - 1u;
    let here = chosen[i];
    var before = 0u;
    if i > 0u {
        before = chosen[i - 1u];
    }
    if here != before {
        output[before] = input[i];
    } else if PARTITION == 1u {
        output[chosen[last] + i - here] = input[i];
    }
    if i == last {
        total[0] = here;
    }
}
