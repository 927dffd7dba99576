//! Rows of a value that a neighbourhood reads, kept while the neighbourhood moves down a tile, and continued beyond the
//! edges of the picture. Rows are made on demand, each once; when there is no room, one that the present request does not
//! need gives way. So a window of any height costs no more than its own rows of memory, and a wrapped or mirrored edge is
//! like any other place.
//!
//! A block knows coordinates and memory; evaluating a row is the caller's part ([`super::evaluate`]).

use super::edge::{Origin, Run, runs};
use super::program::BlockPlan;
use crate::op::Edge;
use std::ops::Range;

/// No row, no slot.
const NONE: u32 = u32::MAX;

/// Rows of one value over a range of columns.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Plane after plane; a plane is `capacity` rows and one of the constant colour.
    data: Vec<f32>,
    planes: usize,
    capacity: usize,
    columns: Range<i64>,
    /// How the columns are made; the first run is evaluated, and others are copied from it where they can be.
    runs: Vec<Run>,
    /// By row of the value: where it lies.
    slot_of: Vec<u32>,
    /// By slot: the row that lies there, and the last request that needed it.
    row_of: Vec<u32>,
    needed_at: Vec<u64>,
    request: u64,
    /// Where the search for a slot that may be used again goes on.
    cursor: usize,
}

/// A row to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing {
    pub row: u32,
    pub slot: usize,
}

impl Block {
    /// Length of a row.
    pub fn width(&self) -> usize {
        (self.columns.end - self.columns.start) as usize
    }

    /// The runs of columns, the one to begin with first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// First column, perhaps outside of the picture.
    pub fn start(&self) -> i64 {
        self.columns.start
    }

    /// The plane with this index.
    pub fn plane(&self, plane: usize) -> &[f32] {
        let length = self.plane_length();
        self.data.get(plane * length..(plane + 1) * length).unwrap_or_default()
    }

    fn plane_length(&self) -> usize {
        (self.capacity + 1) * self.width()
    }

    /// Row `slot` of each plane, to be written.
    pub fn rows_mut(&mut self, slot: usize) -> impl Iterator<Item = &mut [f32]> {
        let (length, width) = (self.plane_length().max(1), self.width());
        let planes = self.data.chunks_exact_mut(length).take(self.planes);
        planes.filter_map(move |plane| plane.get_mut(slot * width..(slot + 1) * width))
    }

    /// Makes room for `rows` (which may lie outside of the picture) over at least `columns`. Pushes, for each of `rows`, where
    /// it begins in its plane, and lists in `missing` those that must be made before they are read.
    pub fn request(
        &mut self,
        plan: &BlockPlan,
        columns: Range<i64>,
        rows: &[i64],
        offsets: &mut Vec<usize>,
        missing: &mut Vec<Missing>,
    ) {
        offsets.clear();
        missing.clear();
        let within = self.columns.start <= columns.start && columns.end <= self.columns.end;
        if !within || rows.len() > self.capacity {
            let (start, end) = (self.columns.start.min(columns.start), self.columns.end.max(columns.end));
            if within {
                self.reset(plan, self.columns.clone(), rows.len());
            } else if plan.boxes || self.columns.is_empty() {
                self.reset(plan, columns, if plan.boxes { rows.len() } else { rows.len().max(self.capacity) });
            } else {
                // Two windows of different reach: from now on there are columns for both.
                self.reset(plan, start..end, rows.len().max(self.capacity));
            }
        }
        self.request += 1;
        let height = plan.extent.height;
        for row in rows {
            // Marked first, so that no row which is here already gives way to one that is not.
            if let Some(resolved) = plan.edge.resolve(*row, height)
                && let Some(&slot) = self.slot_of.get(resolved as usize)
                && let Some(needed_at) = self.needed_at.get_mut(slot as usize)
            {
                *needed_at = self.request;
            }
        }
        let width = self.width();
        for row in rows {
            let slot = match plan.edge.resolve(*row, height) {
                None => self.capacity, // the constant row
                Some(row) => self.place(row, missing),
            };
            offsets.push(slot * width);
        }
    }

    /// The slot of a row, taken from another if need be.
    fn place(&mut self, row: u32, missing: &mut Vec<Missing>) -> usize {
        let known = self.slot_of.get(row as usize).copied().unwrap_or(NONE);
        if known != NONE {
            return known as usize;
        }
        // There are as many slots as the request has rows, so one is free; the bound only guards against an endless loop.
        for _ in 0..self.capacity {
            self.cursor = self.cursor.wrapping_add(1) % self.capacity.max(1);
            if self.needed_at.get(self.cursor) != Some(&self.request) {
                break;
            }
        }
        let slot = self.cursor;
        if let (Some(held), Some(needed_at)) = (self.row_of.get_mut(slot), self.needed_at.get_mut(slot)) {
            if let Some(old) = self.slot_of.get_mut(*held as usize) {
                *old = NONE;
            }
            (*held, *needed_at) = (row, self.request);
        }
        if let Some(place) = self.slot_of.get_mut(row as usize) {
            *place = slot as u32;
        }
        missing.push(Missing { row, slot });
        slot
    }

    /// Forgets all rows and makes room for `capacity` of them over `columns`.
    fn reset(&mut self, plan: &BlockPlan, columns: Range<i64>, capacity: usize) {
        self.forget();
        self.capacity = capacity;
        self.planes = plan.layout.count();
        self.slot_of.resize(plan.extent.height as usize, NONE);
        self.row_of.resize(capacity, NONE);
        self.needed_at.resize(capacity, 0);
        if self.columns != columns || self.runs.is_empty() {
            self.runs = runs(plan.edge, columns.clone(), plan.extent.width);
            // The longest run of neighbouring pixels first.
            let rank = |run: &Run| if matches!(run.origin, Origin::Forward(_)) { run.length } else { 0 };
            self.runs.sort_by_key(|run| std::cmp::Reverse(rank(run)));
            self.columns = columns;
        }
        let length = self.plane_length() * self.planes;
        if self.data.len() < length {
            self.data = vec![0.0; length];
        }
        if let Edge::Constant(color) = plan.edge {
            let channels: Vec<usize> = plan.layout.channels().collect();
            for (row, channel) in self.rows_mut(capacity).zip(channels) {
                row.fill(color.get(channel).copied().unwrap_or(0.0));
            }
        }
    }

    /// Forgets rows and columns, so that the block can serve another tile.
    pub fn clear(&mut self) {
        self.forget();
        self.columns = 0..0;
        self.runs.clear();
    }

    fn forget(&mut self) {
        for held in &mut self.row_of {
            if let Some(slot) = self.slot_of.get_mut(*held as usize) {
                *slot = NONE;
            }
            *held = NONE;
        }
        self.needed_at.fill(0);
        self.cursor = usize::MAX; // so that the first row gets the first slot
    }

    /// Completes the rows of `slot`: copies what can be copied from the first run, and fills in the constant. The caller
    /// has evaluated the first run and those that [`is_copy`] denies.
    pub fn complete(&mut self, plan: &BlockPlan, slot: usize) {
        if let [Run { origin: Origin::Forward(_), .. }] = self.runs.as_slice() {
            return; // all columns lie inside
        }
        let color = if let Edge::Constant(color) = plan.edge { color } else { [0.0; 4] };
        let runs = std::mem::take(&mut self.runs);
        for (row, channel) in self.rows_mut(slot).zip(plan.layout.channels()) {
            for run in runs.iter().skip(1) {
                if run.origin == Origin::Constant {
                    if let Some(part) = row.get_mut(run.at..run.at + run.length) {
                        part.fill(color.get(channel).copied().unwrap_or(0.0));
                    }
                } else if let Some(first) = runs.first()
                    && is_copy(first, run)
                {
                    copy(row, first, run);
                }
            }
            // The first run is constant where no column lies inside.
            if let Some(run) = runs.first()
                && run.origin == Origin::Constant
                && let Some(part) = row.get_mut(run.at..run.at + run.length)
            {
                part.fill(color.get(channel).copied().unwrap_or(0.0));
            }
        }
        self.runs = runs;
    }
}

/// Whether a run's pixels are all in the first one, which the caller evaluates.
pub(super) fn is_copy(first: &Run, run: &Run) -> bool {
    let (all, part) = (first.source(), run.source());
    matches!(first.origin, Origin::Forward(_)) && all.start <= part.start && part.end <= all.end
}

/// Copies a run from pixels of the first one in the same row.
fn copy(row: &mut [f32], first: &Run, run: &Run) {
    let Origin::Forward(base) = first.origin else { return };
    let from = |source: u32| first.at + (source - base) as usize; // `is_copy` saw that it lies inside
    match run.origin {
        Origin::Forward(source) => row.copy_within(from(source)..from(source) + run.length, run.at),
        Origin::Backward(source) => {
            for index in 0..run.length {
                row[run.at + index] = row[from(source) - index]; // both runs lie within the row
            }
        }
        Origin::Repeat(source) => {
            let value = row[from(source)]; // the first run lies within the row
            row[run.at..run.at + run.length].fill(value); // and so does this one
        }
        Origin::Constant => {}
    }
}

/// Turns the evaluated pixels of a run, which lie in rising order at its beginning, into what the run holds.
pub(super) fn arrange(row: &mut [f32], run: &Run) {
    let Some(part) = row.get_mut(run.at..run.at + run.length) else { return };
    match run.origin {
        Origin::Backward(_) => part.reverse(),
        Origin::Repeat(_) => {
            let value = part.first().copied().unwrap_or(0.0);
            part.fill(value);
        }
        Origin::Forward(_) | Origin::Constant => {}
    }
}
