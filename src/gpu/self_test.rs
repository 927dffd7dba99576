//! Known answers that a device must give before it is trusted: there are drivers whose compute shaders return garbage. One
//! recording goes through everything that programs use (upload, uniforms, tables, textures, workgroup memory, barriers,
//! atomics, clearing, readback); all its values are exact in every format, so that no rounding is an excuse.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_intrusive::channel::shared::oneshot_channel;

use super::bound::Bound;
use super::device::{FrameInput, FrameOutput, FrameSource};
use super::worker::{Answer, Command, Submission, Worker};
use crate::error::{Error, Result};
use crate::image::{Description, Image, PixelFormat};
use crate::op::Extent;
use crate::plan::recording::{
    Command as Recorded, Dispatch, OutputLayout, PackedLayout, Recording, Resource, TexelFormat, TextureLayout,
};

/// A device that needs longer for 4096 pixels is of no use. Compilation on a cold phone takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Side of the test picture; eight groups of eight along each.
const SIDE: u32 = 64;

/// The number of the program, below those of callers.
const PROGRAM: u64 = 0;

/// Runs the test. The error says what is wrong.
pub(super) fn run(worker: &mut Worker) -> Result<(), String> {
    let pixels: Vec<u8> = (0..SIDE * SIDE).flat_map(|index| index.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let output = frame(worker, &pixels).map_err(|error| format!("self-test: {error}"))?;
    let words =
        |bytes: &[u8]| -> Vec<u32> { bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect() };
    let expected = expected(&words(&pixels));
    let found: Vec<Vec<u32>> = output.outputs.iter().map(|bytes| words(bytes)).collect();
    #[cfg(test)]
    let found = match worker.status().meets(super::status::Injected::WrongAnswer) {
        // In one bit.
        true => found.into_iter().map(|words| words.into_iter().map(|word| word ^ 1 << 7).collect()).collect(),
        false => found,
    };
    for (what, expected, found) in [("picture", &expected.0, found.first()), ("counts", &expected.1, found.get(1))] {
        let found = found.map(Vec::as_slice).unwrap_or_default();
        if let Some(index) = (0..expected.len().max(found.len())).find(|&index| expected.get(index) != found.get(index))
        {
            let (expected, found) = (expected.get(index), found.get(index));
            return Err(format!("self-test: wrong answer, {what}[{index}] is {found:x?} and must be {expected:x?}"));
        }
    }
    Ok(())
}

fn frame(worker: &mut Worker, pixels: &[u8]) -> Result<FrameOutput> {
    let (reply, loaded) = oneshot_channel();
    worker.execute(Command::Load { id: PROGRAM, recording: Arc::new(recording()), reply });
    let silent = || Error::Device("no answer".to_string());
    pollster::block_on(loaded.receive()).ok_or_else(silent)??;

    let source = Image::new(Description::new(SIDE, SIDE, PixelFormat::Rgba8), pixels.to_vec())?;
    let (reply, finished) = oneshot_channel();
    let wanted = Arc::new(());
    let answer = Answer { permit: Bound::new(1).take(false)?, reply, wanted: Arc::downgrade(&wanted) };
    let input = FrameInput { sources: vec![FrameSource::Image(source)], ..FrameInput::default() };
    worker.execute(Command::Submit(Submission { program: PROGRAM, input, answer }));
    let since = Instant::now();
    while worker.is_busy() {
        worker.turn();
        if since.elapsed() > PATIENCE {
            return Err(Error::Device(format!("no answer within {PATIENCE:?}")));
        }
        std::thread::sleep(worker.pause());
    }
    let output = pollster::block_on(finished.receive()).ok_or_else(silent)?;
    worker.execute(Command::Unload { id: PROGRAM });
    output
}

/// First kernel: every pixel into a texture as four floats, and a count of the lowest three bits.
const SPREAD: &str = "
struct Uniforms { first: vec2u, add: u32, unused: u32 }
@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var target_texture: texture_storage_2d<rgba16float, write>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let at = id.xy + 8u * uniforms.first;
    let word = source[min(at.y * 64u + at.x, 4095u)];
    let bytes = vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u);
    textureStore(target_texture, at, vec4f(bytes) * 0.25 + f32(uniforms.add));
    atomicAdd(&counts[word & 7u], 1u);
}
";

/// Second kernel: the pixel that lies opposite within the group, by way of workgroup memory, scaled by a table.
const GATHER: &str = "
struct Uniforms { first: vec2u, add: u32, unused: u32 }
@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var spread: texture_2d<f32>;
@group(0) @binding(2) var<storage, read> table: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> result: array<u32>;
var<workgroup> tile: array<vec4f, 64>;

@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
    let origin = 8u * (group.xy + uniforms.first);
    let at = origin + vec2u(local % 8u, local / 8u);
    let value = textureLoad(spread, at, 0);
    tile[local] = fma(value, table[0], table[1]);
    workgroupBarrier();
    let word = vec4u(tile[63u - local]);
    result[min(at.y * 64u + at.x, 4095u)] = (word.x | (word.y << 8u) | (word.z << 16u) | (word.w << 24u)) ^ (local * 40503u);
}
";

fn recording() -> Recording {
    let extent = Extent { width: SIDE, height: SIDE };
    let picture = PackedLayout { extent, bytes_per_pixel: 4 };
    let dispatch = |label: &str, wgsl: &str, bindings: &[Resource], table: Option<Arc<[[f32; 4]]>>| {
        Recorded::Dispatch(Dispatch {
            label: label.to_string(),
            wgsl: wgsl.into(),
            trusted: true,
            bindings: bindings.to_vec(),
            groups: [SIDE / 8; 2],
            group_cost: 64.0,
            uniforms: vec![0, 0, 2, 0],
            table,
            workgroup_memory: 0,
        })
    };
    let spread = [Resource::Uniforms, Resource::Source(0), Resource::TextureWrite(0), Resource::BufferWrite(0)];
    let gather = [Resource::Uniforms, Resource::Texture(0), Resource::Table, Resource::Output(0)];
    // (byte / 4 + 2) * 4 - 8 = byte.
    let table = Arc::new([[4.0; 4], [-8.0; 4]]);
    Recording {
        sources: vec![picture],
        source_textures: false,
        outputs: vec![OutputLayout::Picture(picture), OutputLayout::Buffer { buffer: 0, length: 2 }],
        textures: vec![TextureLayout::whole(extent, TexelFormat::Rgba16Float)],
        buffers: vec![32],
        commands: vec![
            Recorded::Clear { buffer: 0 },
            dispatch("self-test spread", SPREAD, &spread, None),
            dispatch("self-test gather", GATHER, &gather, Some(table)),
        ],
    }
}

/// The right answers: the picture and the counts.
fn expected(words: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let opposite = |(x, y): (u32, u32)| {
        let local = (y % 8) * 8 + x % 8;
        let other = 63 - local;
        let index = (y - y % 8 + other / 8) * SIDE + x - x % 8 + other % 8;
        words.get(index as usize).copied().unwrap_or_default() ^ local.wrapping_mul(40503)
    };
    let picture = (0..SIDE * SIDE).map(|index| opposite((index % SIDE, index / SIDE))).collect();
    let count = |bits: u32| words.iter().filter(|&&word| word & 7 == bits).count() as u32;
    (picture, (0..8).map(count).collect())
}
