//! Reductions: counts and sums over a whole picture, or its pixels. Every band counts for itself; the results are added up
//! in the order of the bands, whose height does not depend on the machine, so they are the same everywhere.

use super::evaluate::{Cell, Slots};
use super::program::StageResult;
use super::simd::{clamp_to_int, vectorize};
use super::tile::Sink;
use crate::maths::{is_nan, luma709, sanitize};
use crate::op::{Planes, Reduction};

/// What one band has found.
pub(super) enum Tally {
    Histogram(Box<Histogram>),
    Statistics(Statistics),
    /// Entries, by number.
    Pixels {
        width: u32,
        found: Vec<(usize, [u32; 4])>,
    },
}

/// Counts by channel (red, green, blue, luma) and bin. Two of them take turns from pixel to pixel: neighbours often fall
/// into one bin, and counting it twice in a row would wait for memory.
pub(super) struct Histogram {
    counts: [[[u32; 256]; 4]; 2],
    bins: [Vec<u8>; 4],
}

/// Per channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statistics {
    low: [f32; 4],
    high: [f32; 4],
    sum: [f64; 4],
    count: u64,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(reduction: Reduction) -> Tally {
        match reduction {
            Reduction::Histogram => {
                let bins = [const { Vec::new() }; 4];
                Tally::Histogram(Box::new(Histogram { counts: [[[0; 256]; 4]; 2], bins }))
            }
            Reduction::Statistics => Tally::Statistics(Statistics {
                low: [f32::INFINITY; 4],
                high: [f32::NEG_INFINITY; 4],
                sum: [0.0; 4],
                count: 0,
            }),
            Reduction::Pixels(extent) => Tally::Pixels { width: extent.width, found: Vec::new() },
        }
    }

    fn add(&mut self, cell: Cell, planes: Planes) {
        match self {
            Tally::Histogram(histogram) => histogram.add(planes),
            Tally::Statistics(statistics) => statistics.add(planes),
            Tally::Pixels { width, found } => {
                let width = *width;
                // A cell's planes have its pixels, row by row; lowering keeps such pictures small.
                let places = (cell.y..cell.y + cell.height)
                    .flat_map(|y| (cell.x..cell.x + cell.width).map(move |x| y as usize * width as usize + x as usize));
                let channels = [planes.r, planes.g, planes.b, planes.a];
                let colors = (0..planes.len()).map(|index| channels.map(|plane| sanitize(plane[index]).to_bits()));
                found.extend(places.zip(colors));
            }
        }
    }
}

/// The entries of a reduction, from what its bands have found.
pub(super) fn entries(reduction: Reduction, tallies: &[Tally]) -> Vec<[u32; 4]> {
    match reduction {
        Reduction::Histogram => {
            let mut entries = vec![[0u32; 4]; 256];
            for tally in tallies {
                let Tally::Histogram(histogram) = tally else { continue };
                for counts in &histogram.counts {
                    for (channel, bins) in counts.iter().enumerate() {
                        for (entry, count) in entries.iter_mut().zip(bins) {
                            entry[channel] += count; // a channel is below 4; 2^32 pixels are more than a picture can have
                        }
                    }
                }
            }
            entries
        }
        Reduction::Statistics => {
            let Tally::Statistics(mut all) = Tally::new(reduction) else { return Vec::new() };
            for tally in tallies {
                let Tally::Statistics(part) = tally else { continue };
                for channel in 0..4 {
                    all.low[channel] = smaller(all.low[channel], part.low[channel]);
                    all.high[channel] = larger(all.high[channel], part.high[channel]);
                    all.sum[channel] += part.sum[channel];
                }
                all.count += part.count;
            }
            let mean = all.sum.map(|sum| (sum / all.count.max(1) as f64) as f32);
            let bits = |values: [f32; 4]| values.map(f32::to_bits);
            vec![bits(all.low), bits(all.high), bits(mean), [all.count as u32, (all.count >> 32) as u32, 0, 0]]
        }
        Reduction::Pixels(_) => {
            let mut entries = vec![[0; 4]; reduction.length() as usize];
            for tally in tallies {
                let Tally::Pixels { found, .. } = tally else { continue };
                for (place, entry) in found {
                    entries[*place] = *entry; // cells lie within the picture
                }
            }
            entries
        }
    }
}

impl Sink for Tally {
    fn take(&mut self, cell: Cell, _row: u32, slots: &Slots, results: &[StageResult]) {
        if let Some(result) = results.first() {
            let pixels = cell.width as usize * cell.height as usize;
            self.add(cell, slots.planes(result.slot, result.layout, 0, pixels));
        }
    }
}

impl Histogram {
    fn add(&mut self, planes: Planes) {
        let length = planes.len();
        for bins in &mut self.bins {
            bins.resize(length, 0);
        }
        let [red, green, blue, luma] = &mut self.bins;
        vectorize(
            #[inline(always)]
            || {
                find_bins(planes.r, red);
                find_bins(planes.g, green);
                find_bins(planes.b, blue);
                for (index, bin) in luma.iter_mut().enumerate() {
                    // All planes have `length` pixels.
                    *bin = bin_of(luma709(planes.r[index], planes.g[index], planes.b[index]));
                }
            },
        );
        let [even, odd] = &mut self.counts;
        for (channel, bins) in self.bins.iter().enumerate() {
            let (even, odd) = (&mut even[channel], &mut odd[channel]); // a channel is below 4
            let (pairs, rest) = bins.as_chunks::<2>();
            for [first, second] in pairs {
                even[usize::from(*first)] += 1; // a u8 is a bin
                odd[usize::from(*second)] += 1;
            }
            for only in rest {
                even[usize::from(*only)] += 1;
            }
        }
    }
}

#[inline(always)]
fn find_bins(values: &[f32], bins: &mut [u8]) {
    for (bin, value) in bins.iter_mut().zip(values) {
        *bin = bin_of(*value);
    }
}

/// `floor(clamp(value, 0, 1) * 255 + 0.5)`; NaN is 0.
#[inline(always)]
fn bin_of(value: f32) -> u8 {
    clamp_to_int::<0, 255>(value * 255.0 + 0.5) as u8
}

/// Partial sums that are added independently of each other.
const LANES: usize = 8;

impl Statistics {
    fn add(&mut self, planes: Planes) {
        for (channel, plane) in [planes.r, planes.g, planes.b, planes.a].into_iter().enumerate() {
            let (low, high, sum) = vectorize(
                #[inline(always)]
                || summary(plane),
            );
            self.low[channel] = smaller(self.low[channel], low); // a channel is below 4
            self.high[channel] = larger(self.high[channel], high);
            self.sum[channel] += sum;
        }
        self.count += planes.len() as u64;
    }
}

/// Least, greatest and sum of some values, NaN counting as 0.
#[inline(always)]
fn summary(values: &[f32]) -> (f32, f32, f64) {
    let (mut low, mut high, mut sum) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES], [0.0f64; LANES]);
    let (strips, rest) = values.as_chunks::<LANES>();
    for strip in strips {
        for lane in 0..LANES {
            let value = if is_nan(strip[lane]) { 0.0 } else { strip[lane] };
            low[lane] = smaller(low[lane], value);
            high[lane] = larger(high[lane], value);
            sum[lane] += f64::from(value);
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        let value = if is_nan(*value) { 0.0 } else { *value };
        low[lane] = smaller(low[lane], value); // the rest is shorter than a strip
        high[lane] = larger(high[lane], value);
        sum[lane] += f64::from(value);
    }
    (low.into_iter().fold(f32::INFINITY, smaller), high.into_iter().fold(f32::NEG_INFINITY, larger), sum.iter().sum())
}

// Compares, not `min` and `max`: those cost two more instructions for NaN, which cannot be here.
#[inline(always)]
fn smaller(first: f32, second: f32) -> f32 {
    if second < first { second } else { first }
}

#[inline(always)]
fn larger(first: f32, second: f32) -> f32 {
    if second > first { second } else { first }
}
