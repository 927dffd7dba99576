//! Histograms of integers and floats.

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Work, count, read, write};
use super::reduce::FLOAT_KEY;
use crate::error::Result;

const HISTOGRAM: &str = include_str!("../../wgsl/compute/histogram.wgsl");

/// The bin is the element itself.
const OF_INTEGER: &str = "fn bin_of(element: u32) -> u32 { return element; }\n";

/// A guess by arithmetic, and where that is wrong a search among the edges, so that rounding cannot put an element into the
/// wrong bin. Floats are compared by the integers of `float_key`, since devices may take the smallest for zero.
const OF_FLOAT: &str = "
@group(0) @binding(3) var<storage, read> edges: array<u32>;
fn bin_of(element: u32) -> u32 {
    let value = float_key(element);
    if (element & 0x7fffffffu) > 0x7f800000u || value < edges[0] || value > edges[BINS] {
        return BINS;
    }
    let guess = (bitcast<f32>(element) - bitcast<f32>(uniforms.low)) * bitcast<f32>(uniforms.scale);
    let bin = min(u32(clamp(guess, 0.0, f32(BINS))), BINS - 1u);
    if edges[bin] <= value && (bin == BINS - 1u || value < edges[bin + 1u]) {
        return bin;
    }
    // The last one whose lower edge is not above the value.
    var first = 0u;
    var last = BINS - 1u;
    while first < last {
        let middle = last - (last - first) / 2u;
        if edges[middle] <= value {
            first = middle;
        } else {
            last = middle - 1u;
        }
    }
    return first;
}
";

/// As `float_key.wgsl` has it.
fn float_key(value: f32) -> u32 {
    match value.to_bits() {
        bits if bits << 1 == 0 => 1 << 31,
        bits if bits >> 31 == 1 => !bits,
        bits => bits | 1 << 31,
    }
}

impl Engine<'_> {
    fn count_bins(
        &self,
        elements: &Buffer<u32>,
        bins: u32,
        function: &str,
        scale: [f32; 2],
        edges: Option<&Buffer<u32>>,
    ) -> Result<Buffer<u32>> {
        let counts = self.context.zeros(bins as usize)?;
        let length = count("histogram", elements.len())?;
        if length == 0 {
            return Ok(counts);
        }
        let shape = self.shape("histogram");
        // A quarter of the memory at most, so that several workgroups fit a compute unit.
        let local = bins <= (self.context.limits().workgroup_memory / 4).min(4096);
        let vectors = length.div_ceil(4);
        let text = shape
            .text()
            .constant("BINS", bins)
            .constant("LOCAL", u32::from(local))
            .constant("LOCAL_BINS", if local { bins } else { 1 })
            .with(function)
            .with(HISTOGRAM);
        let [low, scale] = scale.map(f32::to_bits);
        let mut binds =
            vec![Bind::Uniform(vec![length, vectors, low, scale]), read(&elements.aligned()?), write(&counts)];
        binds.extend(edges.map(read));
        let groups = self.fold(u64::from(vectors).div_ceil(u64::from(shape.workgroup * shape.items)))?;
        self.run("histogram", text, binds, groups, Work::moving(u64::from(length) * 4))?;
        Ok(counts)
    }
}

impl Buffer<u32> {
    /// How often each number below `bins` occurs. Larger ones are not counted.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) for no bins.
    pub fn histogram(&self, bins: usize) -> Result<Buffer<u32>> {
        let bins = count("histogram", bins)?;
        if bins == 0 {
            return Err(bad("histogram", "it needs at least one bin"));
        }
        let Some(engine) = Engine::of(self.context()) else {
            let mut counts = vec![0_u32; bins as usize];
            for element in self.on_host() {
                if let Some(count) = counts.get_mut(element as usize) {
                    *count += 1;
                }
            }
            return self.with_host_data(counts);
        };
        engine.count_bins(self, bins, OF_INTEGER, [0.0; 2], None)
    }
}

impl Buffer<f32> {
    /// How many elements fall into each of `bins` equal parts of `low..=high`, as NumPy counts: a part has its lower edge and
    /// not its upper one, except the last, which has both. What lies outside and NaN is not counted.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) for no bins, or a range that is empty or not finite.
    pub fn histogram(&self, bins: usize, low: f32, high: f32) -> Result<Buffer<u32>> {
        let bins = count("histogram", bins)?;
        if bins == 0 || !(low < high) || !low.is_finite() || !high.is_finite() {
            return Err(bad("histogram", format!("{bins} bins from {low} to {high}")));
        }
        let edges = edges(bins, low, high);
        let Some(engine) = Engine::of(self.context()) else {
            return self.with_host_data(on_cpu(&self.on_host(), &edges));
        };
        let scale = (f64::from(bins) / (f64::from(high) - f64::from(low))) as f32;
        let edges: Vec<u32> = edges.into_iter().map(float_key).collect();
        let edges = self.context().buffer(&edges)?;
        engine.count_bins(&self.cast()?, bins, &format!("{FLOAT_KEY}{OF_FLOAT}"), [low, scale], Some(&edges))
    }
}

/// The edges of equal parts, each rounded once.
fn edges(bins: u32, low: f32, high: f32) -> Vec<f32> {
    let (start, step) = (f64::from(low), (f64::from(high) - f64::from(low)) / f64::from(bins));
    (0..bins).map(|bin| (start + f64::from(bin) * step) as f32).chain([high]).collect()
}

fn on_cpu(elements: &[f32], edges: &[f32]) -> Vec<u32> {
    let mut counts = vec![0_u32; edges.len() - 1];
    let last = counts.len() - 1;
    for &element in elements {
        // The number of edges not above it; NaN is above none.
        let above = edges.partition_point(|edge| *edge <= element);
        if above > 0 && element <= edges[last + 1] {
            counts[(above - 1).min(last)] += 1;
        }
    }
    counts
}
