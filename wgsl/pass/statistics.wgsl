// Least, greatest and sum of each workgroup's pixels.
var<workgroup> least: array<vec4f, GROUP_SIZE>;
var<workgroup> greatest: array<vec4f, GROUP_SIZE>;
var<workgroup> sum: array<vec4f, GROUP_SIZE>;

@compute @workgroup_size(GROUP_WIDTH, GROUP_HEIGHT)
fn main(
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) group: vec3u,
) {
    let at = group.xy + uniforms.first;
    let invocation = at * vec2u(GROUP_WIDTH, GROUP_HEIGHT) + local.xy;
    let x = i32(invocation.x * 4u);
    var low = vec4f(LARGEST);
    var high = vec4f(-LARGEST);
    var total = vec4f(0.0);
    for (var row = 0; row < ROWS; row += 1) {
        let y = i32(invocation.y) * ROWS + row;
        if x < i32(uniforms.extent.x) && y < i32(uniforms.extent.y) {
            let strip = VALUE(x, y);
            // Beyond the right edge the first pixel stands in for least and greatest, and zero for the sum.
            let inside = vec3<bool>(
                x + 1 < i32(uniforms.extent.x), x + 2 < i32(uniforms.extent.x), x + 3 < i32(uniforms.extent.x),
            );
            let a = sanitize(strip.a);
            let b = color_select(a, sanitize(strip.b), inside.x);
            let c = color_select(a, sanitize(strip.c), inside.y);
            let d = color_select(a, sanitize(strip.d), inside.z);
            low = min(low, min(min(a, b), min(c, d)));
            high = max(high, max(max(a, b), max(c, d)));
            total += (a + color_select(vec4f(0.0), b, inside.x))
                + (color_select(vec4f(0.0), c, inside.y) + color_select(vec4f(0.0), d, inside.z));
        }
    }
    least[index] = low;
    greatest[index] = high;
    sum[index] = total;
    workgroupBarrier();
    for (var step = GROUP_SIZE / 2u; step > 0u; step /= 2u) {
        if index < step {
            least[index] = min(least[index], least[index + step]);
            greatest[index] = max(greatest[index], greatest[index + step]);
            sum[index] += sum[index + step];
        }
        workgroupBarrier();
    }
    if index == 0u {
        let entry = (at.y * uniforms.groups.x + at.x) * 3u;
        result[entry] = bitcast<vec4u>(least[0]);
        result[entry + 1u] = bitcast<vec4u>(greatest[0]);
        result[entry + 2u] = bitcast<vec4u>(sum[0]);
    }
}
