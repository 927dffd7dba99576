//! The cost model: when is evaluating a value again cheaper than a texture? Counted in cheap operators per pixel.
//! Figures come from measurements on software drivers, where memory is dearest; phones are alike in ratio.

use crate::graph::lower::{Lowered, Value};
use crate::op::{Interpolation, Step};

/// What writing a value to a texture in a pass of its own costs per pixel. Measured: a pass that unpacks and writes
/// `rgba16float` takes 78 ms at 12 megapixels, a further cheap operator 3 ms.
pub const TEXTURE_PASS: f64 = 24.0;

/// What each read of an `rgba16float` texel costs beyond a packed read of the source. Measured: 16 ms against 6 ms.
pub const TEXTURE_READ: f64 = 3.0;

/// Rows that one invocation of a vertical correlation makes; horizontally it is always
/// [`STRIP`](super::recording::STRIP).
pub const COLUMN: u32 = 4;

/// How many pixels of its input a step reads for each pixel that it makes, where neighbouring outputs share reads.
pub fn reads_per_output(step: &Step) -> f64 {
    let strip = f64::from(super::recording::STRIP);
    let square = |radius: u32| {
        let side = f64::from(2 * radius + 1);
        side * (side + strip - 1.0) / strip
    };
    match step {
        Step::Correlate { taps, .. } if taps.width == 1 => {
            (f64::from(taps.height) + f64::from(COLUMN) - 1.0) / f64::from(COLUMN)
        }
        Step::Correlate { taps, .. } => f64::from(taps.height) * (f64::from(taps.width) + strip - 1.0) / strip,
        Step::Window { radius, .. } | Step::WeightedMean { radius, .. } => square(*radius),
        Step::Warp { interpolation: Interpolation::Nearest, .. } => 1.0,
        Step::Warp { interpolation: Interpolation::Bilinear, .. } => 4.0,
        Step::Warp { interpolation: Interpolation::Bicubic, .. } => 16.0,
        Step::Resample { weights, .. } => f64::from(weights.taps),
        _ => 1.0,
    }
}

/// Cost of a step's own arithmetic for each pixel that it makes.
pub fn own_cost(step: &Step) -> f64 {
    match step {
        Step::Generate(kernel) | Step::Point(kernel) | Step::Composite(kernel) => f64::from(kernel.cost),
        Step::Window { kernel, .. } => f64::from(kernel.cost),
        Step::WeightedMean { kernel, radius, .. } => {
            let side = f64::from(2 * radius + 1);
            side * side * f64::from(kernel.cost)
        }
        Step::Correlate { taps, .. } => taps.weights.len() as f64 * 0.3,
        Step::Warp { kernel, .. } => f64::from(kernel.cost) + reads_per_output(step) * 0.3,
        Step::Resample { weights, .. } => f64::from(weights.taps) * 0.3,
        Step::Remap { .. } => 0.2,
        Step::Source { .. } | Step::Reduce(_) | Step::Derive(_) => 0.0,
    }
}

/// Why a value was recomputed or stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether to evaluate it again at each read.
    pub recompute: bool,
    /// In words, with figures.
    pub reason: String,
}

/// Should the `consumers` of a value, whose arithmetic costs `input_cost` a pixel, evaluate it again at each pixel that
/// they read, or should it be stored once?
pub fn judge(graph: &Lowered, consumers: &[Value], input: Value, input_cost: f64) -> Verdict {
    let input_pixels = graph.node(input).shape.extent().pixels().max(1) as f64;
    let reads: f64 = consumers
        .iter()
        .map(|consumer| graph.node(*consumer))
        .map(|node| node.shape.extent().pixels() as f64 * reads_per_output(&node.step) / input_pixels)
        .sum();
    let recompute = reads * input_cost;
    let store = input_cost + TEXTURE_PASS + reads * TEXTURE_READ;
    let reason = format!(
        "at {reads:.1} reads per pixel evaluating it costs {recompute:.1} and a texture {store:.1}, in cheap operators \
         per pixel"
    );
    Verdict { recompute: recompute <= store, reason }
}
