// The matrix product by tiles in workgroup memory with a block of four by four in each invocation's registers: what GPUs
// like. A workgroup of 8 by 8 makes 32 by 32 outputs from tiles 16 deep. Rows and columns are multiples of 32, the inner
// extent of 16. Before this file: `load_a` and `load_b` of a vector of four elements.

const DEPTH = 16u;

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
@group(0) @binding(3) var<storage, read_write> output: array<vec4f>;

// 32 rows of DEPTH elements of the one, DEPTH rows of 32 elements of the other, in vectors.
var<workgroup> tile_a: array<vec4f, 128>;
var<workgroup> tile_b: array<vec4f, 128>;

@compute @workgroup_size(8, 8)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
) {
    let inner = uniforms.inner / 4u;
    let columns = uniforms.columns / 4u;
    let row = uniforms.first_row + 32u * id.y;
    let column = 8u * id.x;
    var s0 = vec4f();
    var s1 = vec4f();
    var s2 = vec4f();
    var s3 = vec4f();
    for (var start = uniforms.first_inner / 4u; start < uniforms.end_inner / 4u; start += 4u) {
        for (var part = 0u; part < 2u; part++) {
            let place = index + 64u * part;
            tile_a[place] = load_a((row + place / 4u) * inner + start + place % 4u);
            tile_b[place] = load_b((4u * start + place / 8u) * columns + column + place % 8u);
        }
        workgroupBarrier();
        for (var k = 0u; k < 4u; k++) {
            let a0 = tile_a[(4u * local.y) * 4u + k];
            let a1 = tile_a[(4u * local.y + 1u) * 4u + k];
            let a2 = tile_a[(4u * local.y + 2u) * 4u + k];
            let a3 = tile_a[(4u * local.y + 3u) * 4u + k];
            var b = vec4f();
            b = tile_b[32u * k + local.x];
            s0 += a0.x * b;
            s1 += a1.x * b;
            s2 += a2.x * b;
            s3 += a3.x * b;
            b = tile_b[(4u * k + 1u) * 8u + local.x];
            s0 += a0.y * b;
            s1 += a1.y * b;
            s2 += a2.y * b;
            s3 += a3.y * b;
            b = tile_b[(4u * k + 2u) * 8u + local.x];
            s0 += a0.z * b;
            s1 += a1.z * b;
            s2 += a2.z * b;
            s3 += a3.z * b;
            b = tile_b[(4u * k + 3u) * 8u + local.x];
            s0 += a0.w * b;
            s1 += a1.w * b;
            s2 += a2.w * b;
            s3 += a3.w * b;
        }
        workgroupBarrier();
    }
    let at = (row + 4u * local.y) * columns + column + local.x;
    if uniforms.first_inner > 0u {
        s0 += output[at];
        s1 += output[at + columns];
        s2 += output[at + 2u * columns];
        s3 += output[at + 3u * columns];
    }
    output[at] = s0;
    output[at + columns] = s1;
    output[at + 2u * columns] = s2;
    output[at + 3u * columns] = s3;
}
