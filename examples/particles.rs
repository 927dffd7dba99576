//! Particles that push each other apart: positions and velocities in arrays of their own, neighbours by a grid that is sorted
//! anew for each step. `CYANOTYPE_BACKEND=vulkan cargo run --release --example particles`

use cyanotype::compute::Buffer;
use cyanotype::{Context, Error, Result};

/// Cells along each side of the unit square; a cell is as wide as particles reach.
const SIDE: u32 = 64;
const STEP: f32 = 0.001;

const CELLS: &str = "
@group(0) @binding(0) var<storage, read> positions: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> cells: array<u32>;
@compute @workgroup_size(64)
fn cells_of_particles(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&positions) {
        let at = vec2u(clamp(positions[id.x] * 64.0, vec2f(0.0), vec2f(63.0)));
        cells[id.x] = at.y * 64u + at.x;
    }
}";

const STARTS: &str = "
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read_write> starts: array<u32>;
// One invocation for each place between particles: the cells that begin there, empty ones among them.
@compute @workgroup_size(64)
fn starts_of_cells(@builtin(global_invocation_id) id: vec3u) {
    let length = arrayLength(&cells);
    if id.x > length { return; }
    var first = 0u;
    if id.x > 0u { first = cells[id.x - 1u] + 1u; }
    var last = 64u * 64u;
    if id.x < length { last = cells[id.x]; }
    for (var cell = first; cell <= last; cell++) { starts[cell] = id.x; }
}";

const MOVE: &str = "
@group(0) @binding(0) var<uniform> step: f32;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> positions: array<vec2f>;
@group(0) @binding(4) var<storage, read> velocities: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> moved: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> pushed: array<vec2f>;
@compute @workgroup_size(64)
fn move_particles(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= arrayLength(&positions) { return; }
    let here = positions[id.x];
    let cell = vec2i(clamp(here * 64.0, vec2f(0.0), vec2f(63.0)));
    var push = vec2f();
    for (var y = max(cell.y - 1, 0); y <= min(cell.y + 1, 63); y++) {
        for (var x = max(cell.x - 1, 0); x <= min(cell.x + 1, 63); x++) {
            let number = u32(y * 64 + x);
            for (var i = starts[number]; i < starts[number + 1u]; i++) {
                let apart = here - positions[order[i]];
                let distance = length(apart);
                if distance > 0.0 && distance < 1.0 / 64.0 { push += apart / distance * (1.0 - distance * 64.0); }
            }
        }
    }
    var velocity = velocities[id.x] + step * push;
    var place = here + step * velocity;
    // Walls throw back.
    if place.x < 0.0 || place.x > 1.0 { velocity.x = -velocity.x; place.x = clamp(place.x, 0.0, 1.0); }
    if place.y < 0.0 || place.y > 1.0 { velocity.y = -velocity.y; place.y = clamp(place.y, 0.0, 1.0); }
    moved[id.x] = place;
    pushed[id.x] = velocity;
}";

type State = (Buffer<[f32; 2]>, Buffer<[f32; 2]>);

fn advance(context: &Context, (positions, velocities): &State) -> Result<State> {
    let length = positions.len();
    let cells = context.zeros::<u32>(length)?;
    // Compiled kernels can be kept; making one anew each step keeps this short.
    context.kernel(CELLS)?.call().with("positions", positions).with("cells", &cells).dispatch(length)?;
    let order = cells.argsort()?;
    let sorted = cells.sort()?;
    let starts = context.zeros::<u32>((SIDE * SIDE + 1) as usize)?;
    context.kernel(STARTS)?.call().with("cells", &sorted).with("starts", &starts).dispatch(length + 1)?;
    let (moved, pushed) = (context.zeros(length)?, context.zeros(length)?);
    let kernel = context.kernel(MOVE)?;
    let call = kernel.call().with("step", STEP).with("order", &order).with("starts", &starts);
    let call = call.with("positions", positions).with("velocities", velocities);
    call.with("moved", &moved).with("pushed", &pushed).dispatch(length)?;
    Ok((moved, pushed))
}

/// The same by looking at all pairs.
fn advance_by_pairs(positions: &[[f32; 2]], velocities: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let one = |index: usize| {
        let here = positions[index];
        let mut push = [0.0_f32; 2];
        for other in positions {
            let apart = [here[0] - other[0], here[1] - other[1]];
            let distance = apart[0].hypot(apart[1]);
            if distance > 0.0 && distance < 1.0 / 64.0 {
                (0..2).for_each(|axis| push[axis] += apart[axis] / distance * (1.0 - distance * 64.0));
            }
        }
        [0, 1].map(|axis| (here[axis] + STEP * (velocities[index][axis] + STEP * push[axis])).clamp(0.0, 1.0))
    };
    (0..positions.len()).map(one).collect()
}

fn main() -> Result<()> {
    let context = Context::new()?;
    let mut state = 7_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let positions: Vec<[f32; 2]> = (0..5000).map(|_| [random(), random()]).collect();
    let velocities: Vec<[f32; 2]> = (0..5000).map(|_| [random() - 0.5, random() - 0.5]).collect();
    let expected = advance_by_pairs(&positions, &velocities);
    if !context.is_gpu() {
        println!("{}: a step by pairs puts the first particle at {:?}", context.description(), expected[0]);
        return Ok(());
    }
    let mut state = (context.buffer(&positions)?, context.buffer(&velocities)?);
    state = advance(&context, &state)?;
    for (index, (found, wanted)) in state.0.read().wait()?.iter().zip(&expected).enumerate() {
        // A step is 1e-3, and what is added to a position is known to some units in its last place.
        if (0..2).any(|axis| (found[axis] - wanted[axis]).abs() > 1e-6) {
            return Err(Error::Device(format!("particle {index} is at {found:?} and must be at {wanted:?}")));
        }
    }
    for _ in 0..10 {
        state = advance(&context, &state)?;
    }
    let first = state.0.view(..1)?.read().wait()?;
    println!("{}: as all pairs have it; after 11 steps the first particle is at {first:?}", context.description());
    Ok(())
}
