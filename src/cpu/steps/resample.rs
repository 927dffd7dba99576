//! Change of size along one axis: `out[i] = sum over t of weights[i * taps + t] * in(start[i] + t)`.
//!
//! Along columns that is a weighted sum of rows. A source is summed as it lies, samples of all channels side by side: only
//! the sums, of which there are fewer, are taken apart into planes. Along rows every output pixel has its own window, which
//! no strip of one row can share; so [`LANES`] rows are interleaved, pixel by pixel, and again each step is a sum of whole
//! strips with one weight.

use super::{Target, accumulate};
use crate::cpu::evaluate::Cell;
use crate::cpu::fetch::Fetcher;
use crate::cpu::packed;
use crate::cpu::picture::{Layout, View};
use crate::cpu::program::{Reader, ResampleTable};
use crate::cpu::simd::vectorize;
use crate::graph::lower::StepNode;
use crate::image::ImageView;
use crate::op::{Axis, Extent, Step};
use std::ops::Range;

/// The cell that suits a sum of rows. Wide enough that the start of a row costs little, narrow enough that the rows of a
/// few windows stay in the first-level cache; high, because the rows of a source that two cells need are converted twice.
pub const ROW_CELL: Extent = Extent { width: 192, height: 32 };
/// Rows that are interleaved: two registers of AVX2 for the sums of one output pixel.
pub const LANES: usize = 16;
/// Rows of a source that are converted at once. They and the sums they are added to stay in the first-level cache.
const SOURCE_ROWS: usize = 8;
/// Floats that the compiler keeps in registers together: one of AVX2, two of SSE and NEON.
const WIDTH: usize = 8;
/// Bytes that the processor loads together. What is read again and again starts with one: of registers that straddle two
/// each would cost two loads.
const CACHE_LINE: usize = 64;

/// One value of each of the interleaved rows: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Lanes([[f32; WIDTH]; LANES / WIDTH]);

const NO_LANES: Lanes = Lanes([[0.0; WIDTH]; LANES / WIDTH]);

/// Whether `node` may sum the rows of `input` as they lie: it is a source of the same channels, never read beyond its edges,
/// and there are no more sums than rows.
pub fn sums_source_rows(node: &StepNode, input: &StepNode) -> bool {
    let Step::Resample { axis: Axis::Vertical, weights, .. } = &node.step else { return false };
    let height = input.shape.extent().height;
    let inside = |start: &i32| u32::try_from(*start).is_ok_and(|start| start.saturating_add(weights.taps) <= height);
    matches!(input.step, Step::Source { .. })
        && Layout::of(&input.shape) == Layout::of(&node.shape)
        && weights.output <= height
        && weights.start.iter().all(inside)
}

/// Memory that lasts from cell to cell.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Rows of a source, and sums of such rows; all channels side by side.
    rows: Vec<f32>,
    sums: Vec<f32>,
    /// Interleaved rows, and the sums along them.
    source: Vec<Lanes>,
    pixels: Vec<Lanes>,
}

/// The first `count` of a list that grows as needed.
fn first<T: Copy>(list: &mut Vec<T>, count: usize, value: T) -> &mut [T] {
    list.resize(list.len().max(count), value);
    &mut list[..count] // just grown to that
}

/// The same from the start of a cache line on.
fn first_aligned(list: &mut Vec<f32>, count: usize) -> &mut [f32] {
    let most = CACHE_LINE / size_of::<f32>() - 1;
    first(list, count + most, 0.0);
    let skip = list.as_ptr().align_offset(CACHE_LINE).min(most); // floats are aligned to floats
    &mut list[skip..skip + count]
}

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
    scratch: &mut Scratch,
) {
    match axis {
        Axis::Vertical => {
            let windows = Windows::new(table, cell.y, cell.height);
            let view = fetcher.rows(reader, windows.reads.clone(), cell.columns(), |span| span);
            vertical(&view, &windows, layout, target);
        }
        Axis::Horizontal => {
            let windows = Windows::new(table, cell.x, cell.width);
            let wide = |span: Range<i64>| table.reads(span.start as usize..span.end as usize);
            let view = fetcher.rows(reader, cell.rows(), windows.reads.clone(), wide);
            horizontal(&view, &windows, layout, target, scratch);
        }
    }
}

/// The windows of a cell.
struct Windows<'a> {
    table: &'a ResampleTable<'a>,
    /// The cell's first output coordinate along the axis, and their number.
    first: usize,
    count: usize,
    /// The source coordinates that they cover.
    reads: Range<i64>,
}

impl<'a> Windows<'a> {
    fn new(table: &'a ResampleTable<'a>, first: u32, count: u32) -> Windows<'a> {
        let (first, count) = (first as usize, count as usize);
        Windows { table, first, count, reads: table.reads(first..first + count) }
    }

    /// Where the window of the cell's `index`-th output begins, counted from the first coordinate that is read, and its
    /// weights.
    #[inline(always)]
    fn window(&self, index: usize) -> (usize, &'a [f32]) {
        let (taps, output) = (self.table.taps, self.first + index);
        // The table has as many windows as the output has pixels; the first coordinate is the least of the cell's.
        let start = (i64::from(self.table.start[output]) - self.reads.start) as usize;
        (start, &self.table.weights[output * taps..(output + 1) * taps])
    }
}

/// Along columns of planes.
fn vertical(view: &View<'_>, windows: &Windows<'_>, layout: Layout, target: &mut Target<'_>) {
    let width = target.width;
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        vectorize(
            #[inline(always)]
            || {
                out.fill(0.0);
                for (index, out) in out.chunks_exact_mut(width).enumerate() {
                    let (start, weights) = windows.window(index);
                    // The rows that were asked for are those of all windows.
                    add_rows(plane, &view.offsets[start..start + weights.len()], weights, out);
                }
            },
        );
    }
}

/// Along columns of a source, for a node of which [`sums_source_rows`] is true. Hands each row of the cell to `deliver`, with
/// its number: samples of all channels, side by side as in the source.
pub fn source_rows(
    source: &ImageView<'_>,
    table: &ResampleTable<'_>,
    cell: Cell,
    scratch: &mut Scratch,
    mut deliver: impl FnMut(usize, &[f32]),
) {
    let windows = Windows::new(table, cell.y, cell.height);
    let samples = cell.width as usize * source.format().channels() as usize;
    let stride = samples.next_multiple_of(CACHE_LINE / size_of::<f32>());
    let rows = first_aligned(&mut scratch.rows, SOURCE_ROWS * stride);
    let sums = first_aligned(&mut scratch.sums, windows.count * stride);
    sums.fill(0.0);
    let columns = cell.x..cell.x + cell.width;
    let end = (windows.reads.end - windows.reads.start) as usize;
    for top in (0..end).step_by(SOURCE_ROWS) {
        let bottom = end.min(top + SOURCE_ROWS);
        for (row, out) in (top..bottom).zip(rows.chunks_exact_mut(stride)) {
            let y = windows.reads.start as u32 + row as u32; // the windows lie inside of the picture
            packed::samples(source, cell.x, y, &mut out[..samples]);
        }
        vectorize(
            #[inline(always)]
            || {
                // One of the next rows with each sum: asked for all at once they would have to wait for each other.
                let mut next = windows.reads.start as u32 + bottom as u32;
                let offsets: [usize; SOURCE_ROWS] = std::array::from_fn(|row| row * stride);
                for (index, out) in sums.chunks_exact_mut(stride).enumerate() {
                    let (start, weights) = windows.window(index);
                    let (from, to) = (start.max(top), (start + weights.len()).min(bottom));
                    if from < to {
                        packed::announce(source, columns.clone(), next);
                        next += 1;
                        add_rows(rows, &offsets[from - top..to - top], &weights[from - start..to - start], out);
                    }
                }
            },
        );
    }
    for (index, sums) in sums.chunks_exact(stride).enumerate() {
        deliver(index, &sums[..samples]);
    }
}

/// Adds the rows that begin at these offsets, each with its weight, to a row of output.
#[inline(always)]
fn add_rows(plane: &[f32], offsets: &[usize], weights: &[f32], out: &mut [f32]) {
    let mut x = 0;
    add_strips::<8>(plane, offsets, weights, out, &mut x);
    add_strips::<4>(plane, offsets, weights, out, &mut x);
    add_strips::<1>(plane, offsets, weights, out, &mut x);
    for x in x..out.len() {
        for (offset, weight) in offsets.iter().zip(weights) {
            out[x] += weight * plane[offset + x]; // a row is as wide as the output
        }
    }
}

/// The same from `x` on, for as many strips of `N` registers as there is room for.
#[inline(always)]
fn add_strips<const N: usize>(plane: &[f32], offsets: &[usize], weights: &[f32], out: &mut [f32], x: &mut usize) {
    while let Some(out) = out[*x..].as_chunks_mut::<WIDTH>().0.first_chunk_mut::<N>() {
        let mut sums = *out;
        for (offset, weight) in offsets.iter().zip(weights) {
            let strip = plane[offset + *x..].as_chunks::<WIDTH>().0.first_chunk::<N>();
            let strip = strip.expect("a row is as wide as the output");
            for (sums, values) in sums.iter_mut().zip(strip) {
                accumulate(sums, *weight, values);
            }
        }
        *out = sums;
        *x += N * WIDTH;
    }
}

/// Along rows.
fn horizontal(view: &View<'_>, windows: &Windows<'_>, layout: Layout, target: &mut Target<'_>, scratch: &mut Scratch) {
    let (width, height) = (target.width, target.height);
    let source = first(&mut scratch.source, view.width, NO_LANES);
    let pixels = first(&mut scratch.pixels, width, NO_LANES);
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        for row in (0..height).step_by(LANES) {
            let rows = (height - row).min(LANES);
            vectorize(
                #[inline(always)]
                || {
                    interleave(plane, &view.offsets[row..row + rows], source);
                    let (groups, rest) = pixels.as_chunks_mut::<4>();
                    for (group, pixels) in groups.iter_mut().enumerate() {
                        *pixels = four_sums(source, std::array::from_fn(|pixel| windows.window(4 * group + pixel)));
                    }
                    for (index, pixel) in (4 * groups.len()..).zip(rest) {
                        [*pixel, ..] = four_sums(source, [windows.window(index); 4]);
                    }
                    let out = &mut out[row * width..(row + rows) * width];
                    separate(pixels, out, width);
                },
            );
        }
    }
}

/// The sums over four windows of one length: eight registers, as many as keep the processor busy.
#[inline(always)]
fn four_sums(source: &[Lanes], windows: [(usize, &[f32]); 4]) -> [Lanes; 4] {
    // The columns that were asked for are those of all windows.
    let taps = windows[0].1.len();
    let [a, b, c, d] = windows.map(|(start, weights)| source[start..start + taps].iter().zip(weights));
    let mut sums = [NO_LANES; 4];
    for (((a, b), c), d) in a.zip(b).zip(c).zip(d) {
        let [first, second, third, fourth] = &mut sums;
        add_lanes(first, a);
        add_lanes(second, b);
        add_lanes(third, c);
        add_lanes(fourth, d);
    }
    sums
}

/// Adds weighted values.
#[inline(always)]
fn add_lanes(sums: &mut Lanes, (values, weight): (&Lanes, &f32)) {
    for (sums, values) in sums.0.iter_mut().zip(&values.0) {
        accumulate(sums, *weight, values);
    }
}

/// Rows to one row of pixels of `LANES` lanes; the lanes of absent rows repeat the first.
#[inline(always)]
fn interleave(plane: &[f32], offsets: &[usize], out: &mut [Lanes]) {
    let width = out.len();
    let mut rows: [&[f32]; LANES] = [&[]; LANES];
    for (lane, row) in rows.iter_mut().enumerate() {
        let offset = offsets.get(lane).or(offsets.first()).copied().unwrap_or(0);
        *row = &plane[offset..offset + width]; // a row of the view
    }
    for (x, lanes) in out.iter_mut().enumerate() {
        for (lane, row) in lanes.0.as_flattened_mut().iter_mut().zip(&rows) {
            *lane = row[x]; // rows are as long as `out`
        }
    }
}

/// The inverse of [`interleave`].
#[inline(always)]
fn separate(source: &[Lanes], out: &mut [f32], width: usize) {
    for (lane, row) in out.chunks_exact_mut(width).enumerate().take(LANES) {
        for (out, lanes) in row.iter_mut().zip(source) {
            *out = lanes.0.as_flattened()[lane]; // `take` bounds it
        }
    }
}
