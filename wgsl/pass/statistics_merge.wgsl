// The workgroups' results in one.
struct Uniforms {
    first: vec2u,
    extent: vec2u,
    partials: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> partial: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> result: array<vec4u>;

var<workgroup> least: array<vec4f, GROUP_SIZE>;
var<workgroup> greatest: array<vec4f, GROUP_SIZE>;
var<workgroup> sum: array<vec4f, GROUP_SIZE>;

@compute @workgroup_size(GROUP_SIZE)
fn main(@builtin(local_invocation_index) index: u32) {
    var low = vec4f(LARGEST);
    var high = vec4f(-LARGEST);
    var total = vec4f(0.0);
    for (var entry = index; entry < uniforms.partials; entry += GROUP_SIZE) {
        low = min(low, bitcast<vec4f>(partial[entry * 3u]));
        high = max(high, bitcast<vec4f>(partial[entry * 3u + 1u]));
        total += bitcast<vec4f>(partial[entry * 3u + 2u]);
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
        let pixels = f32(uniforms.extent.x) * f32(uniforms.extent.y);
        result[0] = bitcast<vec4u>(least[0]);
        result[1] = bitcast<vec4u>(greatest[0]);
        result[2] = bitcast<vec4u>(sum[0] / pixels);
        // The product of the sides in two words: sides are below 65536, so 16-bit halves do.
        let low_part = uniforms.extent.x * (uniforms.extent.y & 255u);
        let high_part = uniforms.extent.x * (uniforms.extent.y >> 8u);
        let low_word = low_part + (high_part << 8u);
        let carry = select(0u, 1u, low_word < low_part);
        result[3] = vec4u(low_word, (high_part >> 24u) + carry, 0u, 0u);
    }
}
