//! A point cloud thinned by a grid of cells: one point, the mean, for each cell that has any. Keys, a sort, a scan, and a
//! dispatch whose size only the device knows. `CYANOTYPE_BACKEND=vulkan cargo run --release --example voxel`

use cyanotype::compute::{Buffer, Grid};
use cyanotype::{Context, Error, Result};
use std::collections::HashMap;

/// Side of a cell. Coordinates lie between 0 and 1.
const CELL: f32 = 1.0 / 64.0;

const KEYS: &str = "
@group(0) @binding(0) var<uniform> cell: f32;
@group(0) @binding(1) var<storage, read> points: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@compute @workgroup_size(64)
fn keys_of_points(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&points) {
        let at = vec3u(clamp(points[id.x].xyz / cell, vec3f(0.0), vec3f(1023.0)));
        keys[id.x] = (at.z << 20u) | (at.y << 10u) | at.x;
    }
}";

const HEADS: &str = "
@group(0) @binding(0) var<storage, read> keys: array<u32>;
@group(0) @binding(1) var<storage, read_write> heads: array<u32>;
@compute @workgroup_size(64)
fn first_of_each_cell(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&keys) {
        var head = 1u;
        if id.x > 0u && keys[id.x - 1u] == keys[id.x] { head = 0u; }
        heads[id.x] = head;
    }
}";

const STARTS: &str = "
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read_write> starts: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: array<u32>;
@compute @workgroup_size(64)
fn starts_of_cells(@builtin(global_invocation_id) id: vec3u) {
    let length = arrayLength(&cells);
    if id.x >= length { return; }
    var before = 0u;
    if id.x > 0u { before = cells[id.x - 1u]; }
    if cells[id.x] != before { starts[before] = id.x; }
    if id.x == length - 1u {
        starts[cells[id.x]] = length;
        count[0] = cells[id.x];
    }
}";

const MEANS: &str = "
@group(0) @binding(0) var<storage, read> points: array<vec4f>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> means: array<vec4f>;
@compute @workgroup_size(64)
fn means_of_cells(@builtin(global_invocation_id) id: vec3u) {
    if id.x + 1u >= arrayLength(&starts) || id.x >= arrayLength(&means) { return; }
    let start = starts[id.x];
    let end = starts[id.x + 1u];
    var sum = vec3f();
    for (var i = start; i < end; i++) { sum += points[order[i]].xyz; }
    means[id.x] = vec4f(sum / f32(max(end - start, 1u)), f32(end - start));
}";

/// Means, and in the fourth place how many points each stands for.
fn filter(context: &Context, points: &Buffer<[f32; 4]>) -> Result<Vec<[f32; 4]>> {
    let length = points.len();
    let keys = context.zeros::<u32>(length)?;
    let call = context.kernel(KEYS)?;
    call.call().with("cell", CELL).with("points", points).with("keys", &keys).dispatch(length)?;
    let order = context.buffer(&(0..length as u32).collect::<Vec<_>>())?;
    let (keys, order) = keys.sort_with(&order)?;
    let heads = context.zeros::<u32>(length)?;
    context.kernel(HEADS)?.call().with("keys", &keys).with("heads", &heads).dispatch(length)?;
    let cells = heads.scan()?;
    let (starts, count) = (context.zeros::<u32>(length + 1)?, context.zeros::<u32>(1)?);
    let kernel = context.kernel(STARTS)?;
    kernel.call().with("cells", &cells).with("starts", &starts).with("count", &count).dispatch(length)?;
    let means = context.zeros::<[f32; 4]>(length)?;
    let kernel = context.kernel(MEANS)?;
    let call = kernel.call().with("points", points).with("order", &order).with("starts", &starts).with("means", &means);
    call.dispatch(Grid::Counted(count.clone()))?;
    let (means, count) = (means.read(), count.read());
    let count = count.wait()?[0] as usize;
    Ok(means.wait()?[..count].to_vec())
}

fn main() -> Result<()> {
    let context = Context::new()?;
    // A ball's surface, by a small generator.
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let points: Vec<[f32; 4]> = (0..200_000)
        .map(|_| {
            let (height, turn) = (2.0 * random() - 1.0, std::f32::consts::TAU * random());
            let radius = (1.0 - height * height).sqrt();
            [0.5 + 0.4 * radius * turn.cos(), 0.5 + 0.4 * radius * turn.sin(), 0.5 + 0.4 * height, 0.0]
        })
        .collect();
    let mut cells: HashMap<[u32; 3], ([f64; 3], u32)> = HashMap::new();
    for point in &points {
        let cell = [0, 1, 2].map(|axis| (point[axis] / CELL) as u32);
        let entry = cells.entry(cell).or_default();
        (0..3).for_each(|axis| entry.0[axis] += f64::from(point[axis]));
        entry.1 += 1;
    }
    if !context.is_gpu() {
        println!("{}: {} points in {} cells, by a loop", context.description(), points.len(), cells.len());
        return Ok(());
    }
    let found = filter(&context, &context.buffer(&points)?)?;
    println!("{}: {} points in {} cells", context.description(), points.len(), found.len());
    for mean in &found {
        let cell = [0, 1, 2].map(|axis| (mean[axis] / CELL) as u32);
        let wanted = cells.get(&cell).map(|(sum, count)| (sum.map(|sum| sum / f64::from(*count)), *count));
        // A division on the device may round a point on a border into the next cell; none lies that close here.
        let same = wanted.is_some_and(|(wanted, count)| {
            count as f32 == mean[3] && (0..3).all(|axis| (wanted[axis] - f64::from(mean[axis])).abs() < 1e-5)
        });
        if !same || found.len() != cells.len() {
            return Err(Error::Device(format!("cell {cell:?}: {mean:?}, must be {wanted:?}")));
        }
    }
    println!("as a loop on the host has it");
    Ok(())
}
