//! gaussian-blur: a sampled Gaussian, separable; wide ones at a lower resolution.
//!
//! Up to [`DIRECT_SIGMA`] the kernel is sampled at the pixels, cut at three sigma and renormalised, and applied along
//! rows, then columns. A wider blur is composed of three Gaussians whose variances add up: one that reads every `f`-th
//! pixel, one on the small picture, and one that brings it back to full size. A Gaussian of `0.8 f` lets through less
//! than 1e-4 of what would alias at a spacing of `f`, so the result is that of the direct sum within the steps of 8-bit
//! pixels, at a small part of its cost.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{
    Arguments, Axis, Builder, EDGE_MODES, Edge, Group, IMAGE, Operator, Parameter, ResampleWeights, Taps, Value,
    edge_from,
};

/// Widest sigma that is applied at full resolution: beyond it three cheap passes cost less than two long ones.
pub const DIRECT_SIGMA: f32 = 6.0;

/// Gaussian blur.
pub static OPERATOR: Operator = Operator {
    name: "gaussian-blur",
    group: Group::Filter,
    summary: "Blurs with a Gaussian",
    details: "A Gaussian sampled at the pixels, cut at three sigma (radius ceil(3 sigma)) and renormalised, separable. \
              Above sigma 6 composed of Gaussians on a smaller picture, equal within 8-bit steps. In linear light \
              (srgb-to-linear before, linear-to-srgb after) bright spots keep their energy.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("sigma", 0.0, 16384.0, 1.0, "px").help("Standard deviation; 0 changes nothing"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    gaussian(builder, inputs[0], arguments.float("sigma"), edge_from(arguments))
}

/// Steps of a Gaussian blur; other operators are built on it.
pub fn gaussian(builder: &mut Builder, input: Value, sigma: f32, edge: Edge) -> Result<Value> {
    if sigma < SMALLEST_SIGMA {
        return Ok(input);
    }
    if sigma <= DIRECT_SIGMA {
        let weights = weights(sigma);
        let rows = builder.correlate(input, Taps::line(Axis::Horizontal, weights.clone()), edge);
        return Ok(builder.correlate(rows, Taps::line(Axis::Vertical, weights), edge));
    }
    wide(builder, input, sigma, edge)
}

/// Below this the neighbours' weights are under 1e-10.
const SMALLEST_SIGMA: f32 = 0.15;

/// The sampled Gaussian, `2 * ceil(3 sigma) + 1` weights that sum to one.
pub fn weights(sigma: f32) -> Vec<f32> {
    let radius = (3.0 * f64::from(sigma)).ceil() as i64;
    let scale = -0.5 / (f64::from(sigma) * f64::from(sigma));
    let raw: Vec<f64> = (-radius..=radius).map(|offset| ((offset * offset) as f64 * scale).exp()).collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|weight| (weight / sum) as f32).collect()
}

fn wide(builder: &mut Builder, input: Value, sigma: f32, edge: Edge) -> Result<Value> {
    let mut factor = 2u32;
    while sigma / (2.0 * factor as f32) > 2.0 {
        factor *= 2;
    }
    let outer = SAMPLING_SIGMA * factor as f32;
    let inner = ((sigma * sigma - 2.0 * outer * outer).max(0.0)).sqrt() / factor as f32;
    let inner_weights = weights(inner);
    let enlarging_reach = (3.0 * SAMPLING_SIGMA).ceil() as i32 + 1;
    // The small picture reaches beyond the large one by as much as later steps read, so that the edge mode acts once,
    // on full-size pixels.
    let margin = (inner_weights.len() / 2) as i32 + enlarging_reach;
    let extent = builder.extent(input);
    let down = |size: u32| shrink_weights(size, factor, margin);
    let up = |size: u32| enlarge_weights(size, factor, margin);
    let small = builder.resample(input, Axis::Vertical, down(extent.height), edge)?;
    let small = builder.resample(small, Axis::Horizontal, down(extent.width), edge)?;
    let small = builder.correlate(small, Taps::line(Axis::Vertical, inner_weights.clone()), Edge::Clamp);
    let small = builder.correlate(small, Taps::line(Axis::Horizontal, inner_weights), Edge::Clamp);
    let large = builder.resample(small, Axis::Vertical, up(extent.height), Edge::Clamp)?;
    builder.resample(large, Axis::Horizontal, up(extent.width), Edge::Clamp)
}

/// Standard deviation, in small pixels, of the Gaussians that shrink and enlarge.
const SAMPLING_SIGMA: f32 = 0.8;

/// Small pixel `i` lies at the centre of large pixels `(i - margin) * factor ..+ factor`.
fn shrink_weights(size: u32, factor: u32, margin: i32) -> ResampleWeights {
    let output = size.div_ceil(factor) + 2 * margin as u32;
    let sigma = f64::from(SAMPLING_SIGMA) * f64::from(factor);
    let center = |index: u32| (f64::from(index) - f64::from(margin) + 0.5) * f64::from(factor);
    gaussian_table(output, sigma, center, factor as f32)
}

fn enlarge_weights(size: u32, factor: u32, margin: i32) -> ResampleWeights {
    let center = |index: u32| (f64::from(index) + 0.5) / f64::from(factor) + f64::from(margin);
    gaussian_table(size, f64::from(SAMPLING_SIGMA), center, 1.0)
}

/// For each output index the Gaussian about `center(index)`, in source coordinates with centres at half integers.
fn gaussian_table(output: u32, sigma: f64, center: impl Fn(u32) -> f64, scale: f32) -> ResampleWeights {
    let taps = (6.0 * sigma).ceil() as u32 + 1;
    let (mut start, mut weights) = (Vec::new(), Vec::new());
    for index in 0..output {
        let center = center(index);
        let first = (center - 3.0 * sigma - 0.5).ceil() as i32;
        let raw: Vec<f64> = (0..taps)
            .map(|tap| f64::from(first) + f64::from(tap) + 0.5 - center)
            .map(|offset| (-0.5 * (offset / sigma).powi(2)).exp())
            .collect();
        let sum: f64 = raw.iter().sum();
        start.push(first);
        weights.extend(raw.iter().map(|weight| (weight / sum) as f32));
    }
    ResampleWeights { output, taps, start, weights, scale }
}

impl Node {
    /// Blurs with a Gaussian of standard deviation `sigma` pixels, edges clamped.
    pub fn gaussian_blur(&self, sigma: f32) -> Node {
        self.apply("gaussian-blur", &[("sigma", sigma.into())])
    }
}
