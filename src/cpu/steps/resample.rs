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
/// Pixels of a strip along a row: the sums of two rows of it, four registers of AVX2 each, and what is added to them.
const ROW_STRIP: usize = 32;

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
    // The rows that were asked for are those of all windows.
    let read = |row: usize| strip::<N>(plane, offsets[row] + x);
    for (pair, out) in out.chunks_mut(2 * width).enumerate() {
        let first = windows.window(2 * pair);
        let (upper, lower) = out.split_at_mut(width);
        if lower.is_empty() {
            upper[x..x + N].copy_from_slice(&sum(read, first));
        } else {
            let [above, below] = sum_both(read, first, windows.window(2 * pair + 1));
            upper[x..x + N].copy_from_slice(&above);
            lower[x..x + N].copy_from_slice(&below);
        }
    }
}

/// The weighted sum over a window: where it begins, and its weights.
#[inline(always)]
fn sum<'a, const N: usize>(read: impl Fn(usize) -> &'a [f32; N], (start, weights): (usize, &[f32])) -> [f32; N] {
    let mut sums = [0.0; N];
    for (place, weight) in (start..).zip(weights) {
        accumulate(&mut sums, *weight, read(place));
    }
    sums
}

/// The same over two windows of one length at once. What both of them cover is read once; each sum is still taken in order.
#[inline(always)]
fn sum_both<'a, const N: usize>(
    read: impl Fn(usize) -> &'a [f32; N],
    (start, weights): (usize, &[f32]),
    (later_start, later_weights): (usize, &[f32]),
) -> [[f32; N]; 2] {
    let lead = match later_start.checked_sub(start) {
        Some(lead) if lead < weights.len() => lead,
        // They have nothing in common, or not in this order.
        _ => return [sum(&read, (start, weights)), sum(&read, (later_start, later_weights))],
    };
    let (mut sums, mut later_sums) = ([0.0; N], [0.0; N]);
    let (before, common) = weights.split_at(lead); // `lead` is less than their number
    let (later_common, after) = later_weights.split_at(common.len().min(later_weights.len()));
    for (place, weight) in (start..).zip(before) {
        accumulate(&mut sums, *weight, read(place));
    }
    for (place, (weight, later_weight)) in (later_start..).zip(common.iter().zip(later_common)) {
        let values = read(place);
        accumulate(&mut sums, *weight, values);
        accumulate(&mut later_sums, *later_weight, values);
    }
    for (place, weight) in (start + weights.len()..).zip(after) {
        accumulate(&mut later_sums, *weight, read(place));
    }
    [sums, later_sums]
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
                    // The columns that were asked for are those of all windows.
                    let read = |column: usize| &source[column];
                    for (pair, sums) in sums.chunks_mut(2).enumerate() {
                        let first = windows.window(2 * pair);
                        match sums {
                            [left, right] => [*left, *right] = sum_both(read, first, windows.window(2 * pair + 1)),
                            sums => sums.fill(sum(read, first)),
                        }
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
