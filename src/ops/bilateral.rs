//! bilateral: blurs, but not across edges (C. Tomasi and R. Manduchi, 1998).

use crate::error::Result;
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, EDGE_MODES, Group, IMAGE, Operator, Parameter, Rgba, Value, WeightedMean, edge_from, kernel,
};

/// Mean with weights that fall with distance and with difference of colour.
pub static OPERATOR: Operator = Operator {
    name: "bilateral",
    group: Group::Filter,
    summary: "Smooths noise and skin, keeps edges",
    details: "The mean of a square window with weights exp(-distance^2 / (2 sigma-space^2) - difference^2 / (2 \
              sigma-range^2)); difference^2 is the mean over red, green and blue of their squared differences, plus \
              that of alpha, of premultiplied values as stored. So a grey picture gives the same in one channel and in \
              three. OpenCV gives the same for one channel with a radius of five sigma-space and more: its window is a disc. \
              For colours it adds the absolute differences of the channels instead.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("sigma-space", 0.0, 16.0, 3.0, "px").help("Reach in pixels; 0 changes nothing"),
        Parameter::float("sigma-range", 0.0, 10.0, 0.1, "")
            .help("Difference of value that counts as an edge; 0 changes nothing"),
        Parameter::integer("radius", 0, RADIUS_LIMIT as i32, 0, "px")
            .help("Half the window's side; 0 stands for twice sigma-space, at most 16"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower,
};

/// 33 x 33 pixels with an exponential each: more would take an integrated GPU seconds.
const RADIUS_LIMIT: u32 = 16;

/// Below it the neighbours' weights are under 1e-10, as in gaussian-blur.
const SMALLEST_SIGMA: f32 = 0.15;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let (space, range) = (arguments.float("sigma-space"), arguments.float("sigma-range"));
    if space < SMALLEST_SIGMA || range <= SMALLEST_RANGE {
        return Ok(inputs[0]);
    }
    let radius = match arguments.integer("radius") as u32 {
        0 => ((2.0 * space).ceil() as u32).min(RADIUS_LIMIT),
        radius => radius,
    };
    let factor = |sigma: f32| (-0.5 / (f64::from(sigma) * f64::from(sigma))) as f32;
    let kernel = Bilateral { space: factor(space), range: factor(range) };
    Ok(builder.weighted_mean(inputs[0], radius, edge_from(arguments), kernel))
}

/// A hundredth of a 16-bit step: below it no two different pixels are ever mixed.
const SMALLEST_RANGE: f32 = 1e-7;

kernel! {
    "bilateral",
    cost: 5.0,
    pub struct Bilateral {
        /// -1 / (2 sigma-space^2).
        space: f32,
        /// -1 / (2 sigma-range^2).
        range: f32,
    }
}

impl WeightedMean for Bilateral {
    #[inline(always)]
    fn weight(&self, sample: Rgba, center: Rgba, [x, y]: [f32; 2]) -> f32 {
        let [r, g, b, a] = [0, 1, 2, 3].map(|channel| sample[channel] - center[channel]);
        let difference = (r * r + g * g + b * b) * (1.0 / 3.0) + a * a;
        let exponent = (x * x + y * y) * self.space + difference * self.range;
        // Below -80 the weight is nothing, and the exponential would leave the normal numbers.
        maths::exp(maths::clamp(exponent, -80.0, 0.0))
    }
}

impl Node {
    /// Smooths within `sigma_space` pixels what differs by less than about `sigma_range`.
    pub fn bilateral(&self, sigma_space: f32, sigma_range: f32) -> Node {
        self.apply("bilateral", &[("sigma-space", sigma_space.into()), ("sigma-range", sigma_range.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_with_distance_and_difference() {
        let kernel = Bilateral { space: -0.5, range: -50.0 };
        let gray = |value: f32| [value, value, value, 1.0];
        assert_eq!(kernel.weight(gray(0.5), gray(0.5), [0.0, 0.0]), 1.0);
        assert!((kernel.weight(gray(0.5), gray(0.5), [1.0, 0.0]) - (-0.5f32).exp()).abs() < 1e-6);
        assert!((kernel.weight(gray(0.6), gray(0.5), [0.0, 0.0]) - (-0.5f32).exp()).abs() < 1e-6);
        assert!(kernel.weight(gray(1e6), gray(0.5), [0.0, 0.0]) > 0.0);
    }
}
