//! Exact integer coordinates: crops, flips, quarter turns, nearest neighbours. Pixels are copied, never mixed.

use super::Target;
use crate::cpu::evaluate::Cell;
use crate::cpu::fetch::Fetcher;
use crate::cpu::picture::{Layout, View};
use crate::cpu::program::Reader;
use crate::op::Remap;
use std::ops::Range;

/// The part of its input that a remap reads for some pixels.
#[derive(Debug)]
pub struct Area {
    pub columns: Range<i64>,
    /// Row by row of the output where [`keeps_rows`], else all that are read, in rising order.
    pub rows: Vec<i64>,
}

/// Whether a row of output comes from one row of input.
pub fn keeps_rows(remap: &Remap) -> bool {
    match remap {
        Remap::Affine { matrix: [[_, xy], [yx, _]], .. } => *xy == 0 && *yx == 0,
        Remap::Nearest { .. } => true,
    }
}

/// What is read for a rectangle of output pixels.
pub fn reads(remap: &Remap, columns: Range<i64>, rows: Range<i64>) -> Area {
    // Every remap is affine or rises along each axis, so the corners bound what lies between.
    let (right, bottom) = ((columns.end - 1).max(columns.start), (rows.end - 1).max(rows.start));
    let corners = [(columns.start, rows.start), (right, rows.start), (columns.start, bottom), (right, bottom)];
    let corners = corners.map(|(x, y)| remap.source(x, y));
    let range = |of: fn(&(i64, i64)) -> i64| {
        let (low, high) = (corners.iter().map(of).min(), corners.iter().map(of).max());
        low.unwrap_or(0)..high.unwrap_or(0) + 1
    };
    let rows = match keeps_rows(remap) {
        true => rows.map(|y| remap.source(columns.start, y).1).collect(),
        false => range(|corner| corner.1).collect(),
    };
    Area { columns: range(|corner| corner.0), rows }
}

/// The pixels of `area`, which is what a cell reads.
pub fn fetch<'a>(
    fetcher: &'a mut Fetcher<'_, '_>,
    remap: &Remap,
    area: &Area,
    reader: &Reader<'a>,
    cell: Cell,
) -> View<'a> {
    let wide = |span: Range<i64>| match keeps_rows(remap) {
        true => reads(remap, span, cell.rows()).columns,
        false => area.columns.clone(),
    };
    fetcher.rows(reader, area.rows.iter().copied(), area.columns.clone(), wide)
}

/// Copies the pixels of a cell from those of its `area`.
pub fn run(view: &View<'_>, remap: &Remap, area: &Area, cell: Cell, layout: Layout, target: &mut Target<'_>) {
    match *remap {
        Remap::Affine { matrix: [[1, 0], [0, _]], .. } => {
            for_rows(view, layout, target, |source, out| out.copy_from_slice(source));
        }
        Remap::Affine { matrix: [[-1, 0], [0, _]], .. } => {
            for_rows(view, layout, target, |source, out| {
                out.iter_mut().zip(source.iter().rev()).for_each(|(out, value)| *out = *value);
            });
        }
        Remap::Affine { matrix: [[_, 0], [0, _]], .. } | Remap::Nearest { .. } => {
            // Rows do not matter for the columns here, so one list serves them all.
            let places = cell.columns().map(|x| (remap.source(x, 0).0 - area.columns.start) as usize);
            let places: Vec<usize> = places.collect();
            for_rows(view, layout, target, |source, out| {
                for (out, place) in out.iter_mut().zip(&places) {
                    *out = source[*place]; // `reads` bounds it
                }
            });
        }
        Remap::Affine { matrix: [[0, _], [_, 0]], .. } => transposed(view, remap, area, cell, layout, target),
        Remap::Affine { .. } => {
            let top = area.rows.first().copied().unwrap_or(0);
            for channel in layout.channels() {
                for (row, y) in cell.rows().enumerate() {
                    for (out, x) in target.row(channel, row).iter_mut().zip(cell.columns()) {
                        let (x, y) = remap.source(x, y);
                        // `reads` bounds both.
                        *out = view.row(channel, (y - top) as usize)[(x - area.columns.start) as usize];
                    }
                }
            }
        }
    }
}

/// Each row of output from the row of input that belongs to it.
fn for_rows(view: &View<'_>, layout: Layout, target: &mut Target<'_>, copy: impl Fn(&[f32], &mut [f32])) {
    for channel in layout.channels() {
        for row in 0..target.height {
            copy(view.row(channel, row), target.row(channel, row));
        }
    }
}

/// A column of output from each row of input.
fn transposed(view: &View<'_>, remap: &Remap, area: &Area, cell: Cell, layout: Layout, target: &mut Target<'_>) {
    let top = area.rows.first().copied().unwrap_or(0);
    let places = cell.rows().map(|y| (remap.source(0, y).0 - area.columns.start) as usize);
    let places: Vec<usize> = places.collect();
    for channel in layout.channels() {
        let width = target.width;
        let out = target.channel(channel);
        for (column, x) in cell.columns().enumerate() {
            let source = view.row(channel, (remap.source(x, 0).1 - top) as usize); // `reads` bounds it
            for (row, place) in out.chunks_exact_mut(width).zip(&places) {
                row[column] = source[*place]; // a cell has as many columns as its target; `reads` bounds the place
            }
        }
    }
}
