// Windows over rows: output (x, y) is the sum of taps (i, j) times input (x + i, y + j). Four neighbouring outputs for each
// invocation; a vector of taps is multiplied with the vector of input before it and the one that is loaded next, so that one
// load serves sixteen products. Input rows are whole vectors, one longer than the outputs and taps of a row need; taps rows
// are whole vectors too, and only `taps` of them count, so that padding never meets an infinity. Before this file: WORKGROUP.

struct Uniforms {
    // Output rows, and vectors in one.
    rows: u32,
    vectors: u32,
    // Vectors in an input row.
    stride: u32,
    // Rows of taps, taps in a row, vectors in a row of taps.
    tap_rows: u32,
    taps: u32,
    tap_stride: u32,
    first: u32,
    count: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec4f>;
@group(0) @binding(2) var<storage, read> taps: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> output: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let number = (id.y * count.x + id.x) * WORKGROUP + local;
    let at = uniforms.first + number;
    if number >= uniforms.count || at >= uniforms.rows * uniforms.vectors {
        return;
    }
    let row = at / uniforms.vectors;
    let column = at % uniforms.vectors;
    let whole = uniforms.taps / 4u;
    let rest = uniforms.taps % 4u;
    var sum = vec4f();
    for (var j = 0u; j < uniforms.tap_rows; j++) {
        var place = (row + j) * uniforms.stride + column;
        var tap = j * uniforms.tap_stride;
        var a = input[place];
        for (var i = 0u; i < whole; i++) {
            place += 1u;
            let b = input[place];
            let h = taps[tap];
            sum += h.x * a;
            sum += h.y * vec4f(a.yzw, b.x);
            sum += h.z * vec4f(a.zw, b.xy);
            sum += h.w * vec4f(a.w, b.xyz);
            a = b;
            tap += 1u;
        }
        if rest > 0u {
            let b = input[place + 1u];
            let h = taps[tap];
            sum += h.x * a;
            if rest > 1u {
                sum += h.y * vec4f(a.yzw, b.x);
            }
            if rest > 2u {
                sum += h.z * vec4f(a.zw, b.xy);
            }
        }
    }
    output[at] = sum;
}
