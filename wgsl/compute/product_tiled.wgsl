// The matrix product by tiles in workgroup memory: each element is loaded once for a whole tile of outputs. Before this
// file: `load_a` and `load_b` of an element.

const SIDE = 8u;

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

var<workgroup> tile_a: array<f32, SIDE * SIDE>;
var<workgroup> tile_b: array<f32, SIDE * SIDE>;

@compute @workgroup_size(SIDE, SIDE)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
    let row = uniforms.first_row + id.y;
    let place = local.y * SIDE + local.x;
    var sum = 0.0;
    for (var start = uniforms.first_inner; start < uniforms.end_inner; start += SIDE) {
        var a = 0.0;
        if row < uniforms.rows && start + local.x < uniforms.end_inner {
            a = load_a(row * uniforms.inner + start + local.x);
        }
        var b = 0.0;
        if start + local.y < uniforms.end_inner && id.x < uniforms.columns {
            b = load_b((start + local.y) * uniforms.columns + id.x);
        }
        tile_a[place] = a;
        tile_b[place] = b;
        workgroupBarrier();
        for (var k = 0u; k < SIDE; k++) {
            sum += tile_a[local.y * SIDE + k] * tile_b[k * SIDE + local.x];
        }
        workgroupBarrier();
    }
    if row < uniforms.rows && id.x < uniforms.columns {
        let at = row * uniforms.columns + id.x;
        if uniforms.first_inner > 0u {
            sum += output[at];
        }
        output[at] = sum;
    }
}
