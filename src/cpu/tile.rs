//! How a pass is spread over the picture and the cores. A *band* is a number of whole rows and belongs to one worker, which
//! writes it; that is the unit of parallel work. Within a band the worker goes from *tile* to tile, a tile being so many
//! columns that the rows which neighbourhoods keep stay in the second-level cache; and down each tile from cell to cell.
//! So rows above a cell are there when it needs them, and a band makes only the rows above its first one twice.

use super::cut::Cut;
use super::evaluate::{Cell, Memory, Slots, evaluate};
use super::packed;
use super::picture::{Layout, Picture};
use super::program::{Stage, StageResult};
use crate::image::PixelFormat;
use crate::op::Extent;
use parking_lot::Mutex;
use rayon::prelude::*;

/// Takes what a band's worker has made of a cell.
pub(super) trait Sink: Send {
    /// `row` is the cell's first row within the band; `results` are those of the last stage.
    fn take(&mut self, cell: Cell, row: u32, slots: &Slots, results: &[StageResult]);
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
