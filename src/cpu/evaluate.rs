//! Evaluation of a stage on one cell: a few rows of a few hundred pixels. Each step runs over the whole cell before the
//! next one does, so the cell stays in the first-level cache.

use super::fetch::{Fetcher, Lists};
use super::packed;
use super::picture::{ALPHA, Layout};
use super::program::{Action, Operation, PointCode, Stage};
use super::steps::{Target, correlate, remap, resample, warp, window};
use super::{block::Block, picture::Picture};
use crate::op::{Place, Planes, PlanesMut};
use std::ops::Range;

/// A rectangle of pixels, small enough for the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Cell {
    /// Its columns.
    pub fn columns(&self) -> Range<i64> {
        i64::from(self.x)..i64::from(self.x) + i64::from(self.width)
    }

    /// Its rows.
    pub fn rows(&self) -> Range<i64> {
        i64::from(self.y)..i64::from(self.y) + i64::from(self.height)
    }

    fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Where row `row` of the cell lies in the picture that `operation` makes.
    fn place(&self, row: usize, operation: &Operation<'_>) -> Place {
        let extent = operation.extent;
        Place { x: self.x, y: self.y + row as u32, width: extent.width, height: extent.height }
    }
}

/// What one worker needs for one stage.
#[derive(Debug)]
pub(super) struct Memory {
    pub slots: Slots,
    /// Rows of the value, if the stage keeps any.
    pub block: Block,
    lists: Lists,
    coordinates: warp::Coordinates,
    pub scratch: resample::Scratch,
}

impl Memory {
    /// Memory for a stage.
    pub fn new(stage: &Stage<'_>) -> Memory {
        let capacity = stage.cell.width as usize * stage.cell.height as usize;
        Memory {
            slots: Slots { slots: vec![vec![0.0; 4 * capacity]; stage.slots], capacity, ones: Vec::new() },
            block: Block::default(),
            lists: Lists::default(),
            coordinates: warp::Coordinates::default(),
            scratch: resample::Scratch::default(),
        }
    }
}

/// Values of a cell. A slot is four channels of `capacity` pixels, each beginning with the rows of the cell, one after the
/// other without a gap. Channels that the value's layout lacks hold anything.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Vec<f32>>,
    capacity: usize,
    /// The alpha of opaque pixels.
    ones: Vec<f32>,
}

impl Slots {
    /// The pixels of a value, `length` from `start` on, with the channels that its layout implies.
    pub fn planes(&self, slot: usize, layout: Layout, start: usize, length: usize) -> Planes<'_> {
        let slot = self.slots.get(slot).map_or(&[][..], Vec::as_slice);
        let range = |start: usize| start..start + length;
        let channel = |channel: usize| {
            let channel = if layout.color || channel == ALPHA { channel } else { 0 };
            let plane = if channel == ALPHA && !layout.alpha {
                self.ones.get(range(0))
            } else {
                slot.get(range(channel * self.capacity + start))
            };
            plane.unwrap_or_default()
        };
        Planes { r: channel(0), g: channel(1), b: channel(2), a: channel(ALPHA) }
    }

    /// Sees to it that there are `length` ones.
    fn reserve_ones(&mut self, length: usize) {
        self.ones.resize(self.ones.len().max(length), 1.0);
    }
}

/// A slot that is being written.
struct Output {
    memory: Vec<f32>,
    capacity: usize,
}

impl Output {
    /// All four channels of the pixels from `start` on.
    fn planes(&mut self, start: usize, length: usize) -> PlanesMut<'_> {
        let (r, rest) = self.memory.split_at_mut(self.capacity); // a slot has four channels of `capacity`
        let (g, rest) = rest.split_at_mut(self.capacity);
        let (b, a) = rest.split_at_mut(self.capacity);
        let range = start..start + length; // a cell fits its slot
        PlanesMut { r: &mut r[range.clone()], g: &mut g[range.clone()], b: &mut b[range.clone()], a: &mut a[range] }
    }

    /// Copies the stored channels of the first `length` pixels of another slot.
    fn copy_from(&mut self, other: &[f32], layout: Layout, length: usize) {
        for channel in layout.channels() {
            let range = channel * self.capacity..channel * self.capacity + length;
            self.memory[range.clone()].copy_from_slice(&other[range]); // slots are of one size
        }
    }

    /// Fills in the channels that `layout` implies, for code that reads all four.
    fn expand(&mut self, layout: Layout, length: usize) {
        let PlanesMut { r, g, b, a } = self.planes(0, length);
        if !layout.color {
            g.copy_from_slice(r);
            b.copy_from_slice(r);
        }
        if !layout.alpha {
            a.fill(1.0);
        }
    }

    /// The cell's part of a stored picture.
    fn copy_from_picture(&mut self, picture: &Picture, cell: Cell) {
        let (stride, width) = (picture.extent.width as usize, cell.width as usize);
        for (channel, plane) in picture.layout.channels().zip(&picture.planes) {
            for row in 0..cell.height as usize {
                let from = (cell.y as usize + row) * stride + cell.x as usize;
                let to = channel * self.capacity + row * width;
                // The cell lies in the picture and fits the slot.
                self.memory[to..to + width].copy_from_slice(&plane[from..from + width]);
            }
        }
    }

    fn target(&mut self, cell: Cell) -> Target<'_> {
        let (width, height) = (cell.width as usize, cell.height as usize);
        Target { slot: &mut self.memory, capacity: self.capacity, width, height }
    }
}

/// Runs the steps of stage `index` on a cell. `span` are the columns over which cells like this one are evaluated one after
/// the other, so that blocks make whole rows at once.
pub(super) fn evaluate(stages: &[Stage<'_>], memories: &mut [Memory], index: usize, cell: Cell, span: Range<u32>) {
    let Some((deeper, [own, ..])) = memories.split_at_mut_checked(index) else { return };
    let Some(stage) = stages.get(index) else { return };
    own.slots.reserve_ones(cell.pixels());
    for operation in &stage.operations {
        // Taken out of the list, so that the other slots can be read beside it.
        let Some(memory) = own.slots.slots.get_mut(operation.slot).map(std::mem::take) else { return };
        let mut out = Output { memory, capacity: own.slots.capacity };
        run(stages, deeper, own, operation, cell, &span, &mut out);
        if let Some(slot) = own.slots.slots.get_mut(operation.slot) {
            *slot = out.memory;
        }
    }
}

fn run(
    stages: &[Stage<'_>],
    deeper: &mut [Memory],
    own: &mut Memory,
    operation: &Operation<'_>,
    cell: Cell,
    span: &Range<u32>,
    out: &mut Output,
) {
    let Memory { slots, lists, coordinates, scratch, .. } = own;
    let (layout, length, width) = (operation.layout, cell.pixels(), cell.width as usize);
    let span = i64::from(span.start)..i64::from(span.end);
    let mut fetcher = Fetcher { stages, deeper, lists, span };
    match &operation.action {
        Action::Source(source) => {
            for row in 0..cell.height as usize {
                packed::unpack(source, cell.x, cell.y + row as u32, layout, out.planes(row * width, width));
            }
        }
        Action::Stored(picture) => out.copy_from_picture(picture, cell),
        Action::Block(reader) => {
            let columns = cell.columns();
            let view = fetcher.rows(reader, cell.rows(), columns, |span| span);
            let mut target = out.target(cell);
            for channel in layout.channels() {
                for row in 0..cell.height as usize {
                    target.row(channel, row).copy_from_slice(view.row(channel, row)); // the view is as wide as the cell
                }
            }
        }
        Action::Generate(code) => in_place(code, operation, cell, out),
        Action::Point(code) => {
            let Some((input, held)) = operation.inputs.first().copied() else { return };
            if input != operation.slot {
                out.copy_from(slots.slots.get(input).map_or(&[], Vec::as_slice), held, length);
            }
            out.expand(held, length);
            in_place(code, operation, cell, out);
        }
        Action::Composite(code) => {
            let mut part = |start: usize, length: usize, place: Place| {
                let inputs = operation.inputs.iter();
                let inputs: Vec<Planes> =
                    inputs.map(|(slot, held)| slots.planes(*slot, *held, start, length)).collect();
                code(&inputs, out.planes(start, length), place);
            };
            for_rows(operation, cell, &mut part);
        }
        Action::Correlate { taps, reader } => {
            let view = correlate::fetch(&mut fetcher, taps, reader, cell);
            correlate::run(&view, taps, layout, &mut out.target(cell));
        }
        Action::Window { code, radius, reader } => {
            let reach = i64::from(*radius);
            let (columns, rows) = (grown(cell.columns(), reach, reach), grown(cell.rows(), reach, reach));
            let view = fetcher.rows(reader, rows, columns, |span| grown(span, reach, reach));
            slots.reserve_ones(view.width);
            let rows = window::rows(&view, &slots.ones);
            for row in 0..cell.height as usize {
                let window = rows.get(row..row + 2 * *radius as usize + 1).unwrap_or_default();
                code(window, out.planes(row * width, width), cell.place(row, operation));
            }
        }
        Action::Remap { remap, reader } => {
            let area = remap::reads(remap, cell.columns(), cell.rows());
            let view = remap::fetch(&mut fetcher, remap, &area, reader, cell);
            remap::run(&view, remap, &area, cell, layout, &mut out.target(cell));
        }
        Action::Warp { code, interpolation, reader } => {
            let code = |row, xs: &mut [f32], ys: &mut [f32]| code(xs, ys, cell.place(row, operation));
            coordinates.find(cell, code, *interpolation, reader.edge, reader.extent);
            warp::run(coordinates, *interpolation, &mut fetcher, reader, layout, &mut out.target(cell));
        }
        Action::Resample { axis, table, reader } => {
            resample::run(&mut fetcher, *axis, table, reader, cell, layout, &mut out.target(cell), scratch);
        }
        Action::SourceRows { source, table } => {
            let mut target = out.target(cell);
            resample::source_rows(source, table, cell, scratch, |row, samples| {
                for channel in layout.channels() {
                    packed::separate(source, samples, channel, target.row(channel, row));
                }
            });
        }
    }
}

/// Runs code that changes or fills a cell.
fn in_place(code: &PointCode, operation: &Operation<'_>, cell: Cell, out: &mut Output) {
    for_rows(operation, cell, &mut |start, length, place| code(out.planes(start, length), place));
}

/// Calls `part` with first pixel, number of pixels and place of each row; once for all rows where the place does not
/// matter.
fn for_rows(operation: &Operation<'_>, cell: Cell, part: &mut dyn FnMut(usize, usize, Place)) {
    if operation.positional {
        let width = cell.width as usize;
        (0..cell.height as usize).for_each(|row| part(row * width, width, cell.place(row, operation)));
    } else {
        part(0, cell.pixels(), cell.place(0, operation));
    }
}

/// `range` with `before` more in front and `after` more behind.
pub(super) fn grown(range: Range<i64>, before: i64, after: i64) -> Range<i64> {
    range.start - before..range.end + after
}
