// Two words side by side: `join` two buffers into pairs, or take the first or second of each pair. Before this file:
// WORKGROUP and `move_one`, with its bindings.

struct Uniforms {
    length: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (id.y * count.x + id.x) * WORKGROUP + local;
    if i < uniforms.length {
        move_one(i);
    }
}
