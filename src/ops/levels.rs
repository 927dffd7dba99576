//! levels: a range of values stretched to another, with a power curve between. As in Photoshop and GIMP.

use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// Black point, white point and gamma.
pub static OPERATOR: Operator = Operator {
    name: "levels",
    group: Group::Color,
    summary: "Stretches in-black..in-white to out-black..out-white through a power curve",
    details: "t = clamp((value - in-black) / (in-white - in-black), 0, 1), then \
              out-black + t^(1 / gamma) * (out-white - out-black), on values as stored. As in Photoshop and GIMP, values \
              beyond the in points are clamped to them (use contrast or color-matrix to keep them). An in-white below \
              in-black inverts; points closer than 1/1024 act as a step of that width.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("in-black", 0.0, 1.0, 0.0, "").help("Value that becomes out-black, as does all below it"),
        Parameter::float("in-white", 0.0, 1.0, 1.0, "").help("Value that becomes out-white, as does all above it"),
        Parameter::float("gamma", 0.1, 10.0, 1.0, "").help("1 is straight, above 1 brightens the middle"),
        Parameter::float("out-black", 0.0, 1.0, 0.0, "").help("Darkest value of the result"),
        Parameter::float("out-white", 0.0, 1.0, 1.0, "").help("Brightest value of the result"),
    ],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        let (in_black, in_white) = (arguments.float("in-black"), arguments.float("in-white"));
        let (out_black, out_white) = (arguments.float("out-black"), arguments.float("out-white"));
        Ok(builder
            .point(inputs[0], Levels::new([in_black, in_white], arguments.float("gamma"), [out_black, out_white])))
    },
};

kernel! { "levels", cost: 5.0, pub struct Levels { black: f32, scale: f32, exponent: f32, low: f32, range: f32 } }

/// Least distance of the in points: a quarter of an 8-bit step, so that rounding errors grow by no more than 1024.
const LEAST_RANGE: f32 = 1.0 / 1024.0;

impl Levels {
    /// From the in points, gamma, and the out points.
    pub fn new([black, white]: [f32; 2], gamma: f32, [low, high]: [f32; 2]) -> Self {
        let range = white - black;
        let range = if range.abs() < LEAST_RANGE { LEAST_RANGE.copysign(range) } else { range };
        Levels { black, scale: 1.0 / range, exponent: 1.0 / gamma, low, range: high - low }
    }
}

impl Point for Levels {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let curve = |value: f32| {
            let inside = maths::clamp((value - self.black) * self.scale, 0.0, 1.0);
            self.low + maths::pow(inside, self.exponent) * self.range
        };
        [curve(r), curve(g), curve(b), a]
    }
}

impl Node {
    /// Stretches `in_black..in_white` to `out_black..out_white`; `gamma` above 1 brightens the middle.
    pub fn levels(&self, in_black: f32, in_white: f32, gamma: f32, out_black: f32, out_white: f32) -> Node {
        self.apply(
            "levels",
            &[
                ("in-black", in_black.into()),
                ("in-white", in_white.into()),
                ("gamma", gamma.into()),
                ("out-black", out_black.into()),
                ("out-white", out_white.into()),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_near, run};

    #[test]
    fn points_map_to_points() {
        let kernel = Levels::new([0.25, 0.75], 1.0, [0.0, 1.0]);
        assert_near(run(&kernel, [0.25, 0.5, 0.75, 0.5]), [0.0, 0.5, 1.0, 0.5], 1e-6);
        assert_near(run(&kernel, [0.0, 0.375, 9.0, 1.0]), [0.0, 0.25, 1.0, 1.0], 1e-6);
    }

    #[test]
    fn gamma_and_out_points() {
        let kernel = Levels::new([0.0, 1.0], 2.0, [0.1, 0.9]);
        assert_near(run(&kernel, [-1.0, 0.25, 1.0, 1.0]), [0.1, 0.5, 0.9, 1.0], 1e-6);
    }

    #[test]
    fn crossed_and_equal_points_are_defined() {
        assert_near(run(&Levels::new([1.0, 0.0], 1.0, [0.0, 1.0]), [0.25, 1.0, 0.0, 1.0]), [0.75, 0.0, 1.0, 1.0], 1e-6);
        assert_near(run(&Levels::new([0.5, 0.5], 1.0, [0.0, 1.0]), [0.49, 0.5, 0.51, 1.0]), [0.0, 0.0, 1.0, 1.0], 0.0);
    }
}
