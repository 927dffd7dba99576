// The matrix product as the definition has it: one element for each invocation, a row times a column. What the others are
// measured against. Before this file: `load_a` and `load_b` of an element.

struct Uniforms {
    rows: u32,
    inner: u32,
    columns: u32,
    first_row: u32,
    // Part of the inner extent that this dispatch takes. All but the first add to the output.
    first_inner: u32,
    end_inner: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;

@compute @workgroup_size(16, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = uniforms.first_row + id.y;
    if row >= uniforms.rows || id.x >= uniforms.columns {
        return;
    }
    var sum = 0.0;
    for (var k = uniforms.first_inner; k < uniforms.end_inner; k++) {
        sum += load_a(row * uniforms.inner + k) * load_b(k * uniforms.columns + id.x);
    }
    let at = row * uniforms.columns + id.x;
    if uniforms.first_inner > 0u {
        sum += output[at];
    }
    output[at] = sum;
}
