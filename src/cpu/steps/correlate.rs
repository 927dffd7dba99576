//! Correlation with fixed weights: `out(x, y) = sum over j, i of weights[j][i] * in(x + i - anchor.x, y + j - anchor.y)`.
//!
//! The sums of a strip of neighbouring pixels stay in registers while the window is walked through. Where the window has
//! one column, four rows of output are made at once, so that each row of input is loaded once for all four.

use super::{Target, accumulate, strip, strips};
use crate::cpu::evaluate::{Cell, grown};
use crate::cpu::fetch::Fetcher;
use crate::cpu::picture::{Layout, View};
use crate::cpu::program::Reader;
use crate::cpu::simd::vectorize;
use crate::op::Taps;

/// Pixels of a strip in a single row: their sums fill half of the registers of AVX2 and leave room for loads.
const ROW_STRIP: usize = 48;
/// Pixels of a strip in four rows.
const COLUMN_STRIP: usize = 16;

/// The pixels that the windows of a cell cover.
pub fn fetch<'a>(fetcher: &'a mut Fetcher<'_, '_>, taps: &Taps, reader: &Reader<'a>, cell: Cell) -> View<'a> {
    let before = taps.anchor.map(i64::from);
    let after = [i64::from(taps.width) - 1 - before[0], i64::from(taps.height) - 1 - before[1]];
    let rows = grown(cell.rows(), before[1], after[1]);
    let columns = grown(cell.columns(), before[0], after[0]);
    fetcher.rows(reader, rows, columns, |span| grown(span, before[0], after[0]))
}

/// Fills the channels of `layout` from the rows that the window covers; row 0 of `view` is that of the first weights, and
/// its column 0 that of the first weight, of the cell's first pixel.
pub fn run(view: &View<'_>, taps: &Taps, layout: Layout, target: &mut Target<'_>) {
    let width = target.width;
    let side = [taps.width as usize, taps.height as usize];
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        vectorize(
            #[inline(always)]
            || {
                if side[0] == 1 && width >= COLUMN_STRIP {
                    columns(plane, view.offsets, &taps.weights, out, width);
                } else {
                    for (row, out) in out.chunks_exact_mut(width).enumerate() {
                        let offsets = &view.offsets[row..row + side[1]]; // the rows that were asked for
                        one_row(plane, offsets, &taps.weights, side[0], out);
                    }
                }
            },
        );
    }
}

#[inline(always)]
fn one_row(plane: &[f32], offsets: &[usize], weights: &[f32], columns: usize, out: &mut [f32]) {
    let width = out.len();
    for x in strips::<ROW_STRIP>(width) {
        one_strip::<ROW_STRIP>(plane, offsets, weights, columns, x, out);
    }
    if width < ROW_STRIP {
        for x in strips::<8>(width) {
            one_strip::<8>(plane, offsets, weights, columns, x, out);
        }
        if width < 8 {
            for x in 0..width {
                one_strip::<1>(plane, offsets, weights, columns, x, out);
            }
        }
    }
}

#[inline(always)]
fn one_strip<const N: usize>(
    plane: &[f32],
    offsets: &[usize],
    weights: &[f32],
    columns: usize,
    x: usize,
    out: &mut [f32],
) {
    let mut sums = [0.0; N];
    for (offset, weights) in offsets.iter().zip(weights.chunks_exact(columns)) {
        // As long as the loads of all weights reach, so that one check serves them all.
        let row = &plane[offset + x..offset + x + N + columns - 1];
        for (values, weight) in row.windows(N).zip(weights) {
            accumulate(&mut sums, *weight, strip(values, 0));
        }
    }
    out[x..x + N].copy_from_slice(&sums);
}

/// All rows by a window of one column. Strip by strip, from the top to the bottom, because what one strip reads stays in the
/// first-level cache for all the rows, and what a whole row reads may not.
#[inline(always)]
fn columns(plane: &[f32], offsets: &[usize], weights: &[f32], out: &mut [f32], width: usize) {
    let taps = weights.len();
    for x in strips::<COLUMN_STRIP>(width) {
        let mut row = 0;
        while row < out.len() / width {
            // The rows that were asked for are those of the output and `taps - 1` more.
            if row + 4 <= out.len() / width {
                four_rows(plane, &offsets[row..row + taps + 3], weights, x, &mut out[row * width..], width);
                row += 4;
            } else {
                let offsets = &offsets[row..row + taps];
                one_strip::<COLUMN_STRIP>(plane, offsets, weights, 1, x, &mut out[row * width..]);
                row += 1;
            }
        }
    }
}

/// A strip of four rows by a window of one column; `offsets` are the `weights.len() + 3` rows that it covers.
#[inline(always)]
fn four_rows(plane: &[f32], offsets: &[usize], weights: &[f32], x: usize, out: &mut [f32], width: usize) {
    let taps = weights.len();
    let offsets = &offsets[..taps + 3];
    let mut sums = [[0.0; COLUMN_STRIP]; 4];
    let load = |row: usize| strip::<COLUMN_STRIP>(plane, offsets[row] + x);
    // The first three and the last three rows belong to some of the four windows only. Zero weights would not do: zero
    // times infinity is not a number.
    for (row, sums) in sums.iter_mut().enumerate() {
        for tap in row..(row + taps).min(3) {
            accumulate(sums, weights[tap - row], load(tap));
        }
    }
    if taps > 3 {
        for (shared, offset) in weights.windows(4).zip(&offsets[3..taps]) {
            let values = strip::<COLUMN_STRIP>(plane, offset + x);
            accumulate(&mut sums[0], shared[3], values);
            accumulate(&mut sums[1], shared[2], values);
            accumulate(&mut sums[2], shared[1], values);
            accumulate(&mut sums[3], shared[0], values);
        }
    }
    for (row, sums) in sums.iter_mut().enumerate() {
        for tap in taps.max(3)..row + taps {
            accumulate(sums, weights[tap - row], load(tap));
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        out[row * width + x..][..COLUMN_STRIP].copy_from_slice(sums);
    }
}
