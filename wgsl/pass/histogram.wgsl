// Counts of each value: in workgroup memory first, then added to the whole.
var<workgroup> bins: array<atomic<u32>, 1024>;

fn count(color: vec4f) {
    let bin = vec4u(to_unit(vec4f(color.rgb, luma709(color.rgb))) * 255.0 + 0.5);
    atomicAdd(&bins[bin.r * 4u], 1u);
    atomicAdd(&bins[bin.g * 4u + 1u], 1u);
    atomicAdd(&bins[bin.b * 4u + 2u], 1u);
    atomicAdd(&bins[bin.a * 4u + 3u], 1u);
}

@compute @workgroup_size(GROUP_WIDTH, GROUP_HEIGHT)
fn main(
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) group: vec3u,
) {
    for (var bin = index; bin < 1024u; bin += GROUP_SIZE) {
        atomicStore(&bins[bin], 0u);
    }
    workgroupBarrier();
    let invocation = (group.xy + uniforms.first) * vec2u(GROUP_WIDTH, GROUP_HEIGHT) + local.xy;
    let x = i32(invocation.x * 4u);
    for (var row = 0; row < ROWS; row += 1) {
        let y = i32(invocation.y) * ROWS + row;
        if x < i32(uniforms.extent.x) && y < i32(uniforms.extent.y) {
            let strip = VALUE(x, y);
            count(strip.a);
            if x + 1 < i32(uniforms.extent.x) { count(strip.b); }
            if x + 2 < i32(uniforms.extent.x) { count(strip.c); }
            if x + 3 < i32(uniforms.extent.x) { count(strip.d); }
        }
    }
    workgroupBarrier();
    for (var bin = index; bin < 1024u; bin += GROUP_SIZE) {
        let number = atomicLoad(&bins[bin]);
        if number > 0u {
            atomicAdd(&result[bin], number);
        }
    }
}
