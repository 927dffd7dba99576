// An expression for each element. ITEMS vectors of four per invocation, those of neighbouring invocations side by side, so
// that each memory access of a workgroup is one run of bytes. Before this file: WORKGROUP, ITEMS, In, Out, `each` and
// `second`, the vector of a second input.

struct Uniforms {
    vectors: u32,
    a: u32,
    b: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec4<In>>;
@group(0) @binding(2) var<storage, read_write> output: array<vec4<Out>>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group.y * groups.x + group.x) * WORKGROUP * ITEMS + local;
    let a = bitcast<In>(uniforms.a);
    let b = bitcast<In>(uniforms.b);
    for (var item = 0u; item < ITEMS; item++) {
        let at = first + item * WORKGROUP;
        if at < uniforms.vectors {
            let x = input[at];
            let y = second(at);
            let i = 4u * at;
            output[at] = vec4<Out>(
                each(x.x, y.x, a, b, i),
                each(x.y, y.y, a, b, i + 1u),
                each(x.z, y.z, a, b, i + 2u),
                each(x.w, y.w, a, b, i + 3u),
            );
        }
    }
}
