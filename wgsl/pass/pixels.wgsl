// The pixels themselves, row by row, as entries.
@compute @workgroup_size(GROUP_WIDTH, GROUP_HEIGHT)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    let invocation = (group.xy + uniforms.first) * vec2u(GROUP_WIDTH, GROUP_HEIGHT) + local.xy;
    let x = i32(invocation.x * 4u);
    let width = i32(uniforms.extent.x);
    for (var row = 0; row < ROWS; row += 1) {
        let y = i32(invocation.y) * ROWS + row;
        if x < width && y < i32(uniforms.extent.y) {
            let strip = VALUE(x, y);
            let entry = y * width + x;
            result[entry] = bitcast<vec4u>(sanitize(strip.a));
            if x + 1 < width { result[entry + 1] = bitcast<vec4u>(sanitize(strip.b)); }
            if x + 2 < width { result[entry + 2] = bitcast<vec4u>(sanitize(strip.c)); }
            if x + 3 < width { result[entry + 3] = bitcast<vec4u>(sanitize(strip.d)); }
        }
    }
}
