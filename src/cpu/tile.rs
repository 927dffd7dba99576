//! How a pass is spread over the picture and the cores. A *band* is a number of whole rows and belongs to one worker, which
//! writes it; that is the unit of parallel work. Within a band the worker goes from *tile* to tile, a tile being so many
//! columns that the rows which neighbourhoods keep stay in the second-level cache; and down each tile from cell to cell.
//! So rows above a cell are there when it needs them, and a band makes only the rows above its first one twice.

use super::evaluate::{Cell, Memory, Slots, evaluate};
use super::packed;
use super::picture::{Layout, Picture};
use super::program::{Action, Stage, StageResult};
use crate::image::PixelFormat;
use crate::op::{Axis, Extent};
use parking_lot::Mutex;
use rayon::prelude::*;

/// Bytes of rows that the blocks of a tile may keep. Half of the second-level cache of common cores (512 KiB to 2 MiB):
/// the other half is for what streams through.
const TILE_BYTES: usize = 256 << 10;
/// Narrower tiles would pay more for the start of each row than they gain.
const NARROWEST_TILE: u32 = 128;
/// Bands for each core: enough that a core which other programs disturb hands work on, few enough that rows made twice
/// don't count.
const BANDS_PER_CORE: u32 = 4;
/// Work, in cheap operators on a pixel, that is not worth waking another core: about 50 microseconds.
const WORTH_SHARING: f64 = 100_000.0;

/// Takes what a band's worker has made of a cell.
pub(super) trait Sink: Send {
    /// `row` is the cell's first row within the band; `results` are those of the last stage.
    fn take(&mut self, cell: Cell, row: u32, slots: &Slots, results: &[StageResult]);
}

/// How a pass is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub band_rows: u32,
    tile_columns: u32,
    shared: bool,
}

impl Cut {
    /// The cut that suits some stages.
    pub fn new(stages: &[Stage<'_>], extent: Extent) -> Cut {
        let Some(last) = stages.last() else { return Cut { band_rows: 1, tile_columns: 1, shared: false } };
        let cost: f64 = stages.iter().flat_map(|stage| &stage.operations).map(|operation| cost(&operation.action)).sum();
        let cores = rayon::current_num_threads() as u32;
        let shared = cores > 1 && extent.pixels() as f64 * cost > WORTH_SHARING;
        let needs = Needs::of(stages);

        let affordable = (TILE_BYTES / needs.bytes_per_column.max(1)).min(u32::MAX as usize) as u32;
        let least = NARROWEST_TILE.max(4 * needs.columns_around);
        let tile_columns = affordable.max(least).next_multiple_of(last.cell.width.max(1));
        // A last tile of a few columns would be as dear as a whole one: all are made about equal.
        let tiles = extent.width.div_ceil(tile_columns.min(extent.width));
        let tile_columns = extent.width.div_ceil(tiles).next_multiple_of(last.cell.width.max(1));

        let rows_each = extent.height.div_ceil(cores);
        let band_rows = extent.height.div_ceil(cores * BANDS_PER_CORE).max(rows_each.min(2 * needs.rows_around));
        let band_rows = if shared { band_rows } else { extent.height };
        Cut { band_rows: band_rows.next_multiple_of(last.cell.height.max(1)), tile_columns, shared }
    }

    /// The same with bands of a fixed height, so that sums over bands are the same on any number of cores.
    pub fn with_fixed_bands(self, extent: Extent) -> Cut {
        let pixels_each = 1 << 18;
        Cut { band_rows: (pixels_each / extent.width.max(1)).max(1), ..self }
    }
}

/// What the neighbourhoods of some stages ask of a tile.
#[derive(Debug, Default)]
struct Needs {
    bytes_per_column: usize,
    columns_around: u32,
    rows_around: u32,
}

impl Needs {
    fn of(stages: &[Stage<'_>]) -> Needs {
        let mut needs = Needs::default();
        for stage in stages {
            for (operation, reader) in stage.readers().filter(|(_, reader)| reader.picture.is_none()) {
                let cell = stage.cell;
                // Columns and rows beyond those of the cell, and how many columns are read for one.
                let (columns, rows, shrink) = match &operation.action {
                    Action::Correlate { taps, .. } => (taps.width - 1, taps.height - 1, 1),
                    Action::Window { radius, .. } => (2 * radius, 2 * radius, 1),
                    Action::Resample { axis, table, .. } => {
                        let reads = table.reads(0..table.start.len().min(cell.height as usize));
                        match axis {
                            Axis::Vertical => (0, (reads.end - reads.start) as u32, 1),
                            Axis::Horizontal => (table.taps as u32, 0, 1 + reader.extent.width / operation.extent.width),
                        }
                    }
                    Action::Remap { .. } => (0, 0, 1 + reader.extent.width / operation.extent.width),
                    _ => (0, 0, 1),
                };
                let rows_kept = (rows + cell.height) as usize;
                needs.bytes_per_column += rows_kept * shrink as usize * reader.layout.count() * size_of::<f32>();
                needs.columns_around += columns;
                needs.rows_around += rows;
            }
        }
        needs
    }
}

/// Estimate of what a step costs for each pixel, in cheap operators.
fn cost(action: &Action<'_>) -> f64 {
    match action {
        Action::Correlate { taps, .. } => 1.0 + taps.weights.len() as f64 * 0.2,
        Action::Window { radius, .. } => f64::from((2 * radius + 1).pow(2)),
        Action::Resample { table, .. } => 1.0 + table.taps as f64 * 0.2,
        Action::Warp { .. } => 8.0,
        _ => 1.0,
    }
}

/// Runs the stages over all bands; `sinks` has one entry for each. Returns the sinks, in order.
pub(super) fn drive<S: Sink>(stages: &[Stage<'_>], extent: Extent, cut: Cut, sinks: Vec<S>) -> Vec<S> {
    let idle: Mutex<Vec<Vec<Memory>>> = Mutex::new(Vec::new());
    let work = |(band, mut sink): (usize, S)| {
        let taken = idle.lock().pop();
        let mut memories = taken.unwrap_or_else(|| stages.iter().map(Memory::new).collect());
        let top = band as u32 * cut.band_rows;
        let rows = top..extent.height.min(top + cut.band_rows);
        run_band(stages, &mut memories, extent, rows, cut.tile_columns, &mut sink);
        idle.lock().push(memories);
        sink
    };
    if cut.shared && sinks.len() > 1 {
        sinks.into_par_iter().enumerate().with_max_len(1).map(work).collect()
    } else {
        sinks.into_iter().enumerate().map(work).collect()
    }
}

fn run_band(
    stages: &[Stage<'_>],
    memories: &mut [Memory],
    extent: Extent,
    rows: std::ops::Range<u32>,
    tile_columns: u32,
    sink: &mut impl Sink,
) {
    let Some(last) = stages.last() else { return };
    let index = stages.len() - 1;
    for left in (0..extent.width).step_by(tile_columns.max(1) as usize) {
        let right = extent.width.min(left + tile_columns);
        memories.iter_mut().for_each(|memory| memory.block.clear());
        for y in rows.clone().step_by(last.cell.height.max(1) as usize) {
            let height = (rows.end - y).min(last.cell.height);
            for x in (left..right).step_by(last.cell.width.max(1) as usize) {
                let cell = Cell { x, y, width: (right - x).min(last.cell.width), height };
                evaluate(stages, memories, index, cell, left..right);
                if let Some(memory) = memories.get(index) {
                    sink.take(cell, y - rows.start, &memory.slots, &last.results);
                }
            }
        }
    }
}

/// Where a value of a pass is written.
pub(super) enum Destination<'w> {
    /// Packed rows without padding.
    Packed { format: PixelFormat, bytes: &'w mut [u8] },
    /// A picture between passes.
    Planar(&'w mut Picture),
}

/// A band's part of the destinations.
pub(super) struct Writer<'w> {
    parts: Vec<Part<'w>>,
    width: usize,
}

struct Part<'w> {
    /// Which result of the last stage is written.
    result: usize,
    rows: Rows<'w>,
}

enum Rows<'w> {
    Packed { format: PixelFormat, bytes: &'w mut [u8] },
    Planar { layout: Layout, planes: Vec<&'w mut [f32]> },
}

/// Splits destinations into bands. The first of each pair says which result is written.
pub(super) fn writers<'w>(
    extent: Extent,
    band_rows: u32,
    destinations: impl IntoIterator<Item = (usize, Destination<'w>)>,
) -> Vec<Writer<'w>> {
    let width = extent.width as usize;
    let band = band_rows.max(1) as usize;
    let count = extent.height.div_ceil(band_rows.max(1));
    let mut writers: Vec<Writer<'w>> = (0..count).map(|_| Writer { parts: Vec::new(), width }).collect();
    for (result, destination) in destinations {
        match destination {
            Destination::Packed { format, bytes } => {
                let chunks = bytes.chunks_mut(band * width * format.bytes_per_pixel());
                for (writer, bytes) in writers.iter_mut().zip(chunks) {
                    writer.parts.push(Part { result, rows: Rows::Packed { format, bytes } });
                }
            }
            Destination::Planar(picture) => {
                let layout = picture.layout;
                for writer in &mut writers {
                    writer.parts.push(Part { result, rows: Rows::Planar { layout, planes: Vec::new() } });
                }
                for plane in &mut picture.planes {
                    for (writer, chunk) in writers.iter_mut().zip(plane.chunks_mut(band * width)) {
                        if let Some(Part { rows: Rows::Planar { planes, .. }, .. }) = writer.parts.last_mut() {
                            planes.push(chunk);
                        }
                    }
                }
            }
        }
    }
    writers
}

impl Sink for Writer<'_> {
    fn take(&mut self, cell: Cell, row: u32, slots: &Slots, results: &[StageResult]) {
        let width = cell.width as usize;
        for part in &mut self.parts {
            let Some(result) = results.get(part.result) else { continue };
            for line in 0..cell.height as usize {
                let start = (row as usize + line) * self.width + cell.x as usize;
                let made = slots.planes(result.slot, result.layout, line * width, width);
                match &mut part.rows {
                    Rows::Packed { format, bytes } => {
                        let size = format.bytes_per_pixel();
                        if let Some(bytes) = bytes.get_mut(start * size..(start + width) * size) {
                            packed::pack(made, result.layout, *format, bytes);
                        }
                    }
                    Rows::Planar { layout, planes } => {
                        let channels = [made.r, made.g, made.b, made.a];
                        for (channel, plane) in layout.channels().zip(planes) {
                            // The cell lies within the band, and a channel is below 4.
                            plane[start..start + width].copy_from_slice(channels[channel]);
                        }
                    }
                }
            }
        }
    }
}
