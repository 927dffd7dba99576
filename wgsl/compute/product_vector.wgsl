// A matrix times a vector: one workgroup for each row, whose invocations go along it side by side. Before this file: `load_a`
// of a vector of four elements. The inner extent is a multiple of four.

const WORKGROUP = 64u;

struct Uniforms {
    rows: u32,
    // In vectors.
    inner: u32,
    // Part of the inner extent that this dispatch takes. All but the first add to the output.
    first_inner: u32,
    end_inner: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(2) var<storage, read> vector: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;

var<workgroup> sums: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let row = id.y * count.x + id.x;
    var sum = 0.0;
    if row < uniforms.rows {
        for (var k = uniforms.first_inner + local; k < uniforms.end_inner; k += WORKGROUP) {
            sum += dot(load_a(row * uniforms.inner + k), vector[k]);
        }
    }
    sums[local] = sum;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if local < half {
            sums[local] += sums[local + half];
        }
        workgroupBarrier();
    }
    if local == 0u && row < uniforms.rows {
        var total = sums[0];
        if uniforms.first_inner > 0u {
            total += output[row];
        }
        output[row] = total;
    }
}
