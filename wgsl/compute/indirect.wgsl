// A grid of workgroups for a number of invocations that only the device knows.

struct Uniforms {
    workgroup: u32,
    // Most workgroups along one dimension.
    most: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> invocations: array<u32>;
@group(0) @binding(2) var<storage, read_write> groups: array<u32>;

@compute @workgroup_size(1)
fn main() {
    // Rounded up without passing 2^32.
    let count = invocations[0] / uniforms.workgroup + select(0u, 1u, invocations[0] % uniforms.workgroup > 0u);
    let rows = max(count / uniforms.most + select(0u, 1u, count % uniforms.most > 0u), 1u);
    groups[0] = count / rows + select(0u, 1u, count % rows > 0u);
    groups[1] = min(rows, uniforms.most);
    groups[2] = 1u;
}
