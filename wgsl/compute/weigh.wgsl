// Complex values times factors, from rows of one length to rows of another: value (row, i) of the output is that of the
// input at row * step + i + shift, times factor i; zero where `i` is not below `valid` or the input has no such value.
// Before this file: WORKGROUP, FACTORS (1, or 0 for none).

struct Uniforms {
    total: u32,
    columns: u32,
    valid: u32,
    step: u32,
    shift: u32,
    // Values of the input.
    length: u32,
    // 1 or -1 for the imaginary part of factors, and a scale, as bits of floats.
    sign: u32,
    scale: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> output: array<vec2f>;
@group(0) @binding(3) var<storage, read> factors: array<vec2f>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let number = (id.y * count.x + id.x) * WORKGROUP + local;
    if number >= uniforms.total {
        return;
    }
    let i = number % uniforms.columns;
    // Below zero it wraps around, and is too large.
    let at = (number / uniforms.columns) * uniforms.step + i + uniforms.shift;
    var value = vec2f();
    if i < uniforms.valid && at < uniforms.length {
        value = input[at] * bitcast<f32>(uniforms.scale);
        if FACTORS == 1u {
            let factor = factors[i] * vec2f(1.0, bitcast<f32>(uniforms.sign));
            value = vec2f(value.x * factor.x - value.y * factor.y, value.x * factor.y + value.y * factor.x);
        }
    }
    output[number] = value;
}
