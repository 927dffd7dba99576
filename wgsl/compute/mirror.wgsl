// The whole spectrum of a real signal from its first half: the rest is the conjugate, backwards. Before this file: WORKGROUP.

struct Uniforms {
    size: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> output: array<vec2f>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (id.y * count.x + id.x) * WORKGROUP + local;
    if i >= uniforms.size {
        return;
    }
    let mirrored = 2u * i > uniforms.size;
    let value = input[select(i, uniforms.size - i, mirrored)];
    // What must be real is made so, as NumPy has it.
    let real = i == 0u || 2u * i == uniforms.size;
    output[i] = vec2f(value.x, select(select(value.y, -value.y, mirrored), 0.0, real));
}
