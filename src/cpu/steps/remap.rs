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
    let step = match remap {
        Remap::Affine { matrix: [[xx, _], _], .. } if keeps_rows(remap) => Some(*xx),
        _ => None,
    };
    for channel in layout.channels() {
        for (row, y) in cell.rows().enumerate() {
            let out = target.row(channel, row);
            match step {
                Some(1) => out.copy_from_slice(view.row(channel, row)),
                Some(-1) => {
                    let backwards = view.row(channel, row).iter().rev();
                    out.iter_mut().zip(backwards).for_each(|(out, value)| *out = *value);
                }
                _ if keeps_rows(remap) => {
                    let source = view.row(channel, row);
                    for (out, x) in out.iter_mut().zip(cell.columns()) {
                        *out = source[(remap.source(x, y).0 - area.columns.start) as usize]; // `reads` bounds it
                    }
                }
                _ => {
                    let top = area.rows.first().copied().unwrap_or(0);
                    for (out, x) in out.iter_mut().zip(cell.columns()) {
                        let (x, y) = remap.source(x, y);
                        // `reads` bounds both.
                        *out = view.row(channel, (y - top) as usize)[(x - area.columns.start) as usize];
                    }
                }
            }
        }
    }
}
