//! Change of size along one axis: `out[i] = sum over t of weights[i * taps + t] * in(start[i] + t)`.
//!
//! Along columns that is a weighted sum of rows, a strip of pixels in registers. Along rows every output pixel has its own
//! window, which no strip of one row can share; so [`LANES`] rows are interleaved, pixel by pixel, and again each step is a
//! sum of whole strips with one weight.

use super::{Target, accumulate, strip, strips};
use crate::cpu::evaluate::Cell;
use crate::cpu::fetch::Fetcher;
use crate::cpu::picture::{Layout, View};
use crate::cpu::program::{Reader, ResampleTable};
use crate::cpu::simd::vectorize;
use crate::op::Axis;

/// Rows that are interleaved: two registers of AVX2 for the sums of one output pixel.
pub const LANES: usize = 16;
/// Pixels of a strip along a row.
const ROW_STRIP: usize = 48;

/// Fills a cell.
#[allow(clippy::too_many_arguments)]
pub fn run(
    fetcher: &mut Fetcher<'_, '_>,
    axis: Axis,
    table: &ResampleTable<'_>,
    reader: &Reader<'_>,
    cell: Cell,
    layout: Layout,
    target: &mut Target<'_>,
    memory: &mut Interleaved,
) {
    match axis {
        Axis::Vertical => {
            let first = cell.y as usize;
            let reads = table.reads(first..first + cell.height as usize);
            let windows = Windows { table, first, origin: reads.start };
            let view = fetcher.rows(reader, reads, cell.columns(), |span| span);
            vertical(&view, &windows, layout, target);
        }
        Axis::Horizontal => {
            let first = cell.x as usize;
            let reads = table.reads(first..first + cell.width as usize);
            let windows = Windows { table, first, origin: reads.start };
            let wide = |span: std::ops::Range<i64>| table.reads(span.start as usize..span.end as usize);
            let view = fetcher.rows(reader, cell.rows(), reads, wide);
            horizontal(&view, &windows, layout, target, memory);
        }
    }
}

/// The windows of a cell.
struct Windows<'a> {
    table: &'a ResampleTable<'a>,
    /// The cell's first output coordinate along the axis.
    first: usize,
    /// The source coordinate of the view's first row or column.
    origin: i64,
}

impl<'a> Windows<'a> {
    /// Where the window of the cell's `index`-th output begins in the view, and its weights.
    #[inline(always)]
    fn window(&self, index: usize) -> (usize, &'a [f32]) {
        let (taps, output) = (self.table.taps, self.first + index);
        // The table has as many windows as the output has pixels; the view begins at the least of the cell's.
        let start = (i64::from(self.table.start[output]) - self.origin) as usize;
        (start, &self.table.weights[output * taps..(output + 1) * taps])
    }
}

/// Along columns: each row of output is a weighted sum of rows. Strip by strip, from the top to the bottom, because windows
/// of neighbouring rows have rows in common.
fn vertical(view: &View<'_>, windows: &Windows<'_>, layout: Layout, target: &mut Target<'_>) {
    let width = target.width;
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        vectorize(
            #[inline(always)]
            || {
                for x in strips::<ROW_STRIP>(width) {
                    column::<ROW_STRIP>(plane, view.offsets, windows, x, out, width);
                }
                if width < ROW_STRIP {
                    for x in strips::<8>(width) {
                        column::<8>(plane, view.offsets, windows, x, out, width);
                    }
                }
                if width < 8 {
                    for x in 0..width {
                        column::<1>(plane, view.offsets, windows, x, out, width);
                    }
                }
            },
        );
    }
}

/// A strip of all rows.
#[inline(always)]
fn column<const N: usize>(
    plane: &[f32],
    offsets: &[usize],
    windows: &Windows<'_>,
    x: usize,
    out: &mut [f32],
    width: usize,
) {
    for (row, out) in out.chunks_exact_mut(width).enumerate() {
        let (start, weights) = windows.window(row);
        let mut sums = [0.0; N];
        // The rows that were asked for are those of all windows.
        for (offset, weight) in offsets[start..start + weights.len()].iter().zip(weights) {
            accumulate(&mut sums, *weight, strip(plane, offset + x));
        }
        out[x..x + N].copy_from_slice(&sums);
    }
}

/// Memory to interleave rows in.
#[derive(Debug, Default)]
pub struct Interleaved {
    source: Vec<[f32; LANES]>,
    sums: Vec<[f32; LANES]>,
}

/// Along rows.
fn horizontal(
    view: &View<'_>,
    windows: &Windows<'_>,
    layout: Layout,
    target: &mut Target<'_>,
    memory: &mut Interleaved,
) {
    let (width, height) = (target.width, target.height);
    let grow = |memory: &mut Vec<[f32; LANES]>, pixels: usize| memory.resize(memory.len().max(pixels), [0.0; LANES]);
    grow(&mut memory.source, view.width);
    grow(&mut memory.sums, width);
    let source = &mut memory.source[..view.width]; // just grown to that
    let sums = &mut memory.sums[..width];
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        for row in (0..height).step_by(LANES) {
            let rows = (height - row).min(LANES);
            vectorize(
                #[inline(always)]
                || {
                    interleave(plane, &view.offsets[row..row + rows], source);
                    for (index, sum) in sums.iter_mut().enumerate() {
                        let (start, weights) = windows.window(index);
                        let mut lanes = [0.0; LANES];
                        for (values, weight) in source[start..start + weights.len()].iter().zip(weights) {
                            accumulate(&mut lanes, *weight, values);
                        }
                        *sum = lanes;
                    }
                    let out = &mut out[row * width..(row + rows) * width];
                    separate(sums, out, width);
                },
            );
        }
    }
}

/// Rows to one row of pixels of `LANES` lanes; the lanes of absent rows repeat the first.
#[inline(always)]
fn interleave(plane: &[f32], offsets: &[usize], out: &mut [[f32; LANES]]) {
    let width = out.len();
    let mut rows: [&[f32]; LANES] = [&[]; LANES];
    for (lane, row) in rows.iter_mut().enumerate() {
        let offset = offsets.get(lane).or(offsets.first()).copied().unwrap_or(0);
        *row = &plane[offset..offset + width]; // a row of the view
    }
    for (x, lanes) in out.iter_mut().enumerate() {
        for (lane, row) in lanes.iter_mut().zip(&rows) {
            *lane = row[x]; // rows are as long as `out`
        }
    }
}

/// The inverse of [`interleave`].
#[inline(always)]
fn separate(source: &[[f32; LANES]], out: &mut [f32], width: usize) {
    for (lane, row) in out.chunks_exact_mut(width).enumerate().take(LANES) {
        for (out, lanes) in row.iter_mut().zip(source) {
            *out = lanes[lane]; // `take` bounds it
        }
    }
}
