//! Warps: each output pixel reads where its kernel says, between pixels. Centres lie at half integers; the taps of a
//! coordinate c are counted from `floor(c)` (nearest) or `floor(c - 0.5)` (2 x 2, 4 x 4 Catmull-Rom).

use super::Target;
use crate::cpu::evaluate::Cell;
use crate::cpu::fetch::Fetcher;
use crate::cpu::picture::{Layout, Picture, View};
use crate::cpu::program::{Reader, WarpCode};
use crate::cpu::simd::{clamp_to_int, vectorize};
use crate::op::{Edge, Extent, Interpolation, Place};
use std::ops::Range;

/// Farther out than any picture reaches; what lies beyond, and NaN, is pulled in to here.
const FAR: f32 = 1e6;
/// The same for whole coordinates, with room for the floor of half a pixel less.
const FAR_PIXEL: i32 = 1_000_001;
/// Width and height of a cell. Squares keep the box small that a rotation reads.
pub const CELL: u32 = 64;
/// A box of more pixels than this is not evaluated at once, the part of the cell is halved instead. Sixteen times the
/// cell: a warp that shrinks up to four times along each axis is not yet cut up.
const BOX_LIMIT: i64 = 16 * (CELL * CELL) as i64;

/// Where the pixels of a cell read: the first pixel in whole coordinates, and how far beyond it.
#[derive(Debug, Default)]
pub struct Coordinates {
    /// The fractions; before that, the coordinates.
    x: Vec<f32>,
    y: Vec<f32>,
    column: Vec<i32>,
    row: Vec<i32>,
    width: usize,
    height: usize,
}

/// A rectangle of a cell.
#[derive(Debug, Clone)]
struct Part {
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Coordinates {
    /// Asks `code` for the coordinates of each row of `cell`.
    pub fn find(
        &mut self,
        cell: Cell,
        mut code: impl FnMut(usize, &mut [f32], &mut [f32]),
        interpolation: Interpolation,
        edge: Edge,
        source: Extent,
    ) {
        (self.width, self.height) = (cell.width as usize, cell.height as usize);
        let length = self.width * self.height;
        self.x.resize(length, 0.0);
        self.y.resize(length, 0.0);
        self.column.resize(length, 0);
        self.row.resize(length, 0);
        let rows = self.x.chunks_exact_mut(self.width).zip(self.y.chunks_exact_mut(self.width));
        rows.enumerate().for_each(|(row, (xs, ys))| code(row, xs, ys));
        let half = if interpolation == Interpolation::Nearest { 0.0 } else { 0.5 };
        vectorize(
            #[inline(always)]
            || split(&mut self.x, &mut self.column, half),
        );
        vectorize(
            #[inline(always)]
            || split(&mut self.y, &mut self.row, half),
        );
        pull_in(&mut self.column, edge, source.width);
        pull_in(&mut self.row, edge, source.height);
    }

    fn whole(&self) -> Part {
        Part { columns: 0..self.width, rows: 0..self.height }
    }

    /// The pixels from which the taps of a part are counted.
    fn bounds(&self, part: &Part) -> (Range<i64>, Range<i64>) {
        let range = |all: &[i32]| {
            let (mut low, mut high) = (i32::MAX, i32::MIN);
            for row in part.rows.clone() {
                let start = row * self.width;
                let values = all.get(start + part.columns.start..start + part.columns.end).unwrap_or_default();
                for value in values {
                    low = low.min(*value);
                    high = high.max(*value);
                }
            }
            i64::from(low)..i64::from(high) + 1
        };
        (range(&self.column), range(&self.row))
    }
}

/// Whether a warp's boxes, evaluated one by one, come to so much more than its whole input that this is better stored
/// first. Judged by a few cells: three by three of them, or fewer in a small picture.
pub fn is_wild(code: &WarpCode, extent: Extent, interpolation: Interpolation, edge: Edge, source: Extent) -> bool {
    let side = |size: u32| size.min(CELL);
    let places = |size: u32| {
        let count = (size / (2 * CELL)).clamp(1, 3);
        (0..count).map(move |place| u64::from(size - side(size)) * u64::from(place) / u64::from(count.max(2) - 1))
    };
    let mut coordinates = Coordinates::default();
    let (mut read, mut made) = (0.0, 0.0);
    for y in places(extent.height) {
        for x in places(extent.width) {
            let (x, y) = (x as u32, y as u32); // below the size
            let cell = Cell { x, y, width: side(extent.width), height: side(extent.height) };
            let place = |row: usize| Place { x, y: y + row as u32, width: extent.width, height: extent.height };
            coordinates.find(cell, |row, xs, ys| code(xs, ys, place(row)), interpolation, edge, source);
            let (columns, rows) = coordinates.bounds(&coordinates.whole());
            read += (columns.end - columns.start) as f64 * (rows.end - rows.start) as f64;
            made += f64::from(cell.width) * f64::from(cell.height);
        }
    }
    // Storing costs about as much as evaluating a cheap value twice more.
    read / made * extent.pixels() as f64 > 3.0 * source.pixels() as f64 + f64::from(CELL * CELL)
}

/// Coordinates into whole pixels and what is left.
#[inline(always)]
fn split(values: &mut [f32], whole: &mut [i32], half: f32) {
    for (value, whole) in values.iter_mut().zip(whole) {
        let clamped = if *value > -FAR { *value } else { -FAR }; // NaN too
        let clamped = if clamped > FAR { FAR } else { clamped };
        let shifted = clamped - half;
        let floor = shifted.floor();
        *whole = clamp_to_int::<{ -FAR_PIXEL }, FAR_PIXEL>(floor);
        *value = shifted - floor;
    }
}

/// Brings coordinates far outside of the picture nearer, where that changes nothing, so that boxes stay small.
fn pull_in(coordinates: &mut [i32], edge: Edge, size: u32) {
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    // All taps of a coordinate beyond these bounds lie outside, where one pixel is as good as the next.
    let (low, high) = (-4, size.saturating_add(3));
    match edge {
        Edge::Clamp | Edge::Constant(_) => {
            coordinates.iter_mut().for_each(|coordinate| *coordinate = (*coordinate).clamp(low, high));
        }
        Edge::Wrap | Edge::Mirror => {
            let period = if edge == Edge::Wrap { size } else { (2 * (size - 1)).max(1) };
            for coordinate in coordinates.iter_mut().filter(|coordinate| !(low..=high).contains(*coordinate)) {
                *coordinate = coordinate.rem_euclid(period);
            }
        }
    }
}

/// Fills a cell. `coordinates` are those that [`Coordinates::find`] found for it.
pub fn run(
    coordinates: &Coordinates,
    interpolation: Interpolation,
    fetcher: &mut Fetcher<'_, '_>,
    reader: &Reader<'_>,
    layout: Layout,
    target: &mut Target<'_>,
) {
    match interpolation {
        Interpolation::Nearest => parts::<1>(coordinates, fetcher, reader, layout, target),
        Interpolation::Bilinear => parts::<2>(coordinates, fetcher, reader, layout, target),
        Interpolation::Bicubic => parts::<4>(coordinates, fetcher, reader, layout, target),
    }
}

fn parts<const TAPS: usize>(
    coordinates: &Coordinates,
    fetcher: &mut Fetcher<'_, '_>,
    reader: &Reader<'_>,
    layout: Layout,
    target: &mut Target<'_>,
) {
    let (before, after) = if TAPS == 4 { (1, 2) } else { (0, TAPS as i64 - 1) };
    let mut open = vec![coordinates.whole()];
    while let Some(part) = open.pop() {
        let (columns, rows) = coordinates.bounds(&part);
        let (columns, rows) = (columns.start - before..columns.end + after, rows.start - before..rows.end + after);
        if let Some(picture) = reader.picture.filter(|picture| picture.layout.covers(reader.layout)) {
            let within = |range: &Range<i64>, size: u32| range.start >= 0 && range.end <= i64::from(size);
            if within(&columns, reader.extent.width) && within(&rows, reader.extent.height) {
                let view = fetcher.rows(reader, rows.clone(), columns.clone(), |_| columns.clone());
                gather::<TAPS>(
                    &view,
                    (columns.start + before, rows.start + before),
                    coordinates,
                    &part,
                    layout,
                    target,
                );
            } else {
                gather_at_edge::<TAPS>(picture, reader.edge, coordinates, &part, layout, target);
            }
            continue;
        }
        let pixels = (columns.end - columns.start).saturating_mul(rows.end - rows.start);
        if pixels > BOX_LIMIT && part.columns.len() * part.rows.len() > 1 {
            open.extend(halves(part));
            continue;
        }
        let view = fetcher.rows(reader, rows.clone(), columns.clone(), |_| columns.clone());
        gather::<TAPS>(&view, (columns.start + before, rows.start + before), coordinates, &part, layout, target);
    }
}

fn halves(part: Part) -> [Part; 2] {
    let Part { columns, rows } = part;
    if columns.len() >= rows.len() {
        let middle = columns.start + columns.len() / 2;
        [Part { columns: columns.start..middle, rows: rows.clone() }, Part { columns: middle..columns.end, rows }]
    } else {
        let middle = rows.start + rows.len() / 2;
        [Part { columns: columns.clone(), rows: rows.start..middle }, Part { columns, rows: middle..rows.end }]
    }
}

/// Reads from rows that hold all taps. `first` is the coordinate whose first tap is the view's first pixel.
fn gather<const TAPS: usize>(
    view: &View<'_>,
    first: (i64, i64),
    coordinates: &Coordinates,
    part: &Part,
    layout: Layout,
    target: &mut Target<'_>,
) {
    for channel in layout.channels() {
        let plane = view.channels[channel]; // a channel is below 4
        let out = target.channel(channel);
        vectorize(
            #[inline(always)]
            || {
                for row in part.rows.clone() {
                    let start = row * coordinates.width;
                    for index in start + part.columns.start..start + part.columns.end {
                        // `bounds` saw all coordinates of the part, and the view covers their taps.
                        let column = (i64::from(coordinates.column[index]) - first.0) as usize;
                        let line = (i64::from(coordinates.row[index]) - first.1) as usize;
                        let offsets = &view.offsets[line..line + TAPS];
                        let patch: [[f32; TAPS]; TAPS] = std::array::from_fn(|line| {
                            let from = offsets[line] + column;
                            *plane[from..].first_chunk().expect("the view covers all taps")
                        });
                        out[index] = blend(&patch, coordinates.x[index], coordinates.y[index]);
                    }
                }
            },
        );
    }
}

/// Reads each tap through the edge mode: for the few cells at the border of a stored picture, and for wild warps.
fn gather_at_edge<const TAPS: usize>(
    picture: &Picture,
    edge: Edge,
    coordinates: &Coordinates,
    part: &Part,
    layout: Layout,
    target: &mut Target<'_>,
) {
    let before = if TAPS == 4 { 1 } else { 0 };
    let planes = picture.channels();
    let color = if let Edge::Constant(color) = edge { color } else { [0.0; 4] };
    let stride = picture.extent.width as usize;
    for row in part.rows.clone() {
        let start = row * coordinates.width;
        for index in start + part.columns.start..start + part.columns.end {
            let resolve = |coordinate: i32, size: u32| -> [Option<usize>; TAPS] {
                std::array::from_fn(|tap| {
                    let coordinate = i64::from(coordinate) + tap as i64 - before;
                    edge.resolve(coordinate, size).map(|coordinate| coordinate as usize)
                })
            };
            let columns = resolve(coordinates.column[index], picture.extent.width); // made for this cell
            let lines = resolve(coordinates.row[index], picture.extent.height);
            for channel in layout.channels() {
                let (plane, constant) = (planes[channel], color[channel]); // a channel is below 4
                let patch: [[f32; TAPS]; TAPS] = std::array::from_fn(|line| {
                    std::array::from_fn(|column| match (lines[line], columns[column]) {
                        (Some(y), Some(x)) => plane[y * stride + x], // resolved, so inside
                        _ => constant,
                    })
                });
                target.channel(channel)[index] = blend(&patch, coordinates.x[index], coordinates.y[index]);
            }
        }
    }
}

/// Interpolates within a patch of taps.
#[inline(always)]
fn blend<const TAPS: usize>(patch: &[[f32; TAPS]; TAPS], x: f32, y: f32) -> f32 {
    match TAPS {
        1 => patch[0][0],
        // From one to the other by the fraction, so that equal pixels stay what they are.
        2 => {
            let [top, bottom] = [0, 1].map(|line| patch[line][0] + (patch[line][1] - patch[line][0]) * x);
            top + (bottom - top) * y
        }
        _ => {
            let (columns, lines) = (catmull_rom(x), catmull_rom(y));
            let mut sum = 0.0;
            for (line, weight) in patch.iter().zip(lines) {
                let mut inner = 0.0;
                for (value, weight) in line.iter().zip(columns) {
                    inner += value * weight;
                }
                sum += inner * weight;
            }
            sum
        }
    }
}

/// Weights of the four pixels about a point `t` beyond the second (Keys, a = -0.5).
#[inline(always)]
fn catmull_rom(t: f32) -> [f32; 4] {
    [
        ((-0.5 * t + 1.0) * t - 0.5) * t,
        (1.5 * t - 2.5) * t * t + 1.0,
        ((-1.5 * t + 2.0) * t + 0.5) * t,
        (0.5 * t - 0.5) * t * t,
    ]
}
