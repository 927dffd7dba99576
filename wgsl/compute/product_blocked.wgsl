// The matrix product with a block of four rows by eight columns in each invocation's registers: twelve vectors loaded for
// 128 products and sums, and no workgroup memory. Rows are multiples of four, columns of eight, the inner extent of four.
// Before this file: `load_a` and `load_b` of a vector of four elements.

struct Uniforms {
    // In elements, then the first row of this dispatch.
    rows: u32,
    inner: u32,
    columns: u32,
    first_row: u32,
    // Part of the inner extent that this dispatch takes. All but the first add to the output.
    first_inner: u32,
    end_inner: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(3) var<storage, read_write> output: array<vec4f>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = uniforms.first_row + 4u * id.y;
    // In vectors.
    let column = 2u * id.x;
    let inner = uniforms.inner / 4u;
    let columns = uniforms.columns / 4u;
    if row >= uniforms.rows || column >= columns {
        return;
    }
    var s00 = vec4f(); var s01 = vec4f();
    var s10 = vec4f(); var s11 = vec4f();
    var s20 = vec4f(); var s21 = vec4f();
    var s30 = vec4f(); var s31 = vec4f();
    var b0: vec4f;
    var b1: vec4f;
    let first = uniforms.first_inner / 4u;
    let end = uniforms.end_inner / 4u;
    var at_a = row * inner + first;
    var at_b = column + uniforms.first_inner * columns;
    for (var k = first; k < end; k++) {
        let a0 = load_a(at_a);
        let a1 = load_a(at_a + inner);
        let a2 = load_a(at_a + 2u * inner);
        let a3 = load_a(at_a + 3u * inner);
        b0 = load_b(at_b);
        b1 = load_b(at_b + 1u);
        s00 += a0.x * b0; s01 += a0.x * b1;
        s10 += a1.x * b0; s11 += a1.x * b1;
        s20 += a2.x * b0; s21 += a2.x * b1;
        s30 += a3.x * b0; s31 += a3.x * b1;
        at_b += columns;
        b0 = load_b(at_b);
        b1 = load_b(at_b + 1u);
        s00 += a0.y * b0; s01 += a0.y * b1;
        s10 += a1.y * b0; s11 += a1.y * b1;
        s20 += a2.y * b0; s21 += a2.y * b1;
        s30 += a3.y * b0; s31 += a3.y * b1;
        at_b += columns;
        b0 = load_b(at_b);
        b1 = load_b(at_b + 1u);
        s00 += a0.z * b0; s01 += a0.z * b1;
        s10 += a1.z * b0; s11 += a1.z * b1;
        s20 += a2.z * b0; s21 += a2.z * b1;
        s30 += a3.z * b0; s31 += a3.z * b1;
        at_b += columns;
        b0 = load_b(at_b);
        b1 = load_b(at_b + 1u);
        s00 += a0.w * b0; s01 += a0.w * b1;
        s10 += a1.w * b0; s11 += a1.w * b1;
        s20 += a2.w * b0; s21 += a2.w * b1;
        s30 += a3.w * b0; s31 += a3.w * b1;
        at_b += columns;
        at_a += 1u;
    }
    let at = row * columns + column;
    if first > 0u {
        s00 += output[at]; s01 += output[at + 1u];
        s10 += output[at + columns]; s11 += output[at + columns + 1u];
        s20 += output[at + 2u * columns]; s21 += output[at + 2u * columns + 1u];
        s30 += output[at + 3u * columns]; s31 += output[at + 3u * columns + 1u];
    }
    output[at] = s00; output[at + 1u] = s01;
    output[at + columns] = s10; output[at + columns + 1u] = s11;
    output[at + 2u * columns] = s20; output[at + 2u * columns + 1u] = s21;
    output[at + 3u * columns] = s30; output[at + 3u * columns + 1u] = s31;
}
