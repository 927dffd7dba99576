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
    // Taps in a row, vectors in a row of taps.
    taps: u32,
    tap_stride: u32,
    // Vectors of outputs that this dispatch makes.
    first: u32,
    count: u32,
    // Taps that this dispatch takes: rows, and vectors of each. All but the first add to the output.
    first_row: u32,
    end_row: u32,
    first_vector: u32,
    end_vector: u32,
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
    let whole = min(uniforms.taps / 4u, uniforms.end_vector);
    // Of the last vector.
    let rest = select(0u, uniforms.taps % 4u, whole < uniforms.end_vector);
    var sum = vec4f();
    for (var j = uniforms.first_row; j < uniforms.end_row; j++) {
        var place = (row + j) * uniforms.stride + column + uniforms.first_vector;
        var tap = j * uniforms.tap_stride + uniforms.first_vector;
        var a = input[place];
        for (var i = uniforms.first_vector; i < whole; i++) {
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
    if uniforms.first_row > 0u || uniforms.first_vector > 0u {
        sum += output[at];
    }
    output[at] = sum;
}
