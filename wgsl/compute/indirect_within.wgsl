// A grid of workgroups that only the device knows, or none where it is over the device's limit.

struct Uniforms {
    // Most workgroups along one dimension.
    most: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> wanted: array<u32>;
@group(0) @binding(2) var<storage, read_write> groups: array<u32>;

@compute @workgroup_size(1)
fn main() {
    let fits = max(wanted[0], max(wanted[1], wanted[2])) <= uniforms.most;
    for (var side = 0u; side < 3u; side++) {
        groups[side] = select(0u, wanted[side], fits);
    }
}
