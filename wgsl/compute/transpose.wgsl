// Rows to columns, by tiles of 16 in workgroup memory, so that both reading and writing go along rows. A tile's rows are 17
// long: memory banks would otherwise serve a column one element at a time. 64 invocations, four elements for each. Before
// this file: Element.

struct Uniforms {
    rows: u32,
    columns: u32,
    // Tiles along a row, and in all.
    across: u32,
    tiles: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<Element>;
@group(0) @binding(2) var<storage, read_write> output: array<Element>;

var<workgroup> tile: array<Element, 16 * 17>;

@compute @workgroup_size(16, 4)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_id) local: vec3u,
) {
    let number = id.y * count.x + id.x;
    let corner = 16u * vec2u(number % uniforms.across, number / uniforms.across);
    let inside = number < uniforms.tiles;
    for (var part = 0u; part < 4u; part++) {
        let y = local.y + 4u * part;
        let at = corner + vec2u(local.x, y);
        if inside && at.x < uniforms.columns && at.y < uniforms.rows {
            tile[y * 17u + local.x] = input[at.y * uniforms.columns + at.x];
        }
    }
    workgroupBarrier();
    for (var part = 0u; part < 4u; part++) {
        let y = local.y + 4u * part;
        let at = corner.yx + vec2u(local.x, y);
        if inside && at.x < uniforms.rows && at.y < uniforms.columns {
            output[at.y * uniforms.rows + at.x] = tile[local.x * 17u + y];
        }
    }
}
