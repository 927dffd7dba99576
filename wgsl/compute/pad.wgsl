// Rows of one length into rows of another: what lies beyond the old ones is zero, what lies beyond the new ones is left out.
// Row and column `top` and `left` of the output are the input's first. Before this file: WORKGROUP, `load`.

struct Uniforms {
    rows: u32,
    columns: u32,
    new_rows: u32,
    new_columns: u32,
    top: u32,
    left: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(2) var<storage, read_write> output: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (id.y * count.x + id.x) * WORKGROUP + local;
    if i >= uniforms.new_rows * uniforms.new_columns {
        return;
    }
    // Below zero they wrap around, and are too large.
    let row = i / uniforms.new_columns - uniforms.top;
    let column = i % uniforms.new_columns - uniforms.left;
    var value = 0.0;
    if row < uniforms.rows && column < uniforms.columns {
        value = load(row * uniforms.columns + column);
    }
    output[i] = value;
}
