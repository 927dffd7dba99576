//! threshold: white where the luma reaches a value, black elsewhere.

use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Channels, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Rgba, Value, kernel,
};

/// 1 where luma >= value, else 0.
pub static OPERATOR: Operator = Operator {
    name: "threshold",
    group: Group::Color,
    summary: "White where the luma reaches a value, black elsewhere",
    details: "1 where luma >= value, else 0, with the luma of Rec. 709 of values as stored; that of a grey pixel is \
              exactly its value. The result has one channel. OpenCV's THRESH_BINARY compares with > instead: its level t \
              is (t + 0.5) / 255 here. A step: pixels whose luma lies within rounding of the value may fall on either \
              side on different devices, unless they are grey.",
    inputs: IMAGE,
    parameters: &[Parameter::float("value", 0.0, 1.0, 0.5, "").help("The least luma that becomes white")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        let kernel = Kernel::point(Threshold { value: arguments.float("value") });
        Ok(builder.point_to(inputs[0], kernel, Channels::Gray))
    },
};

kernel! { "threshold", cost: 0.5, pub struct Threshold { value: f32 } }

impl Point for Threshold {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let white = if maths::luma709(r, g, b) >= self.value { 1.0 } else { 0.0 };
        [white, white, white, a]
    }
}

impl Node {
    /// White where the luma reaches `value`, black elsewhere.
    pub fn threshold(&self, value: f32) -> Node {
        self.apply("threshold", &[("value", value.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::run;

    #[test]
    fn the_value_itself_is_white() {
        for level in 0..=255u32 {
            let value = level as f32 / 255.0;
            let below = (level as f32 - 1.0) / 255.0;
            let kernel = Threshold { value };
            assert_eq!(run(&kernel, [value, value, value, 0.5]), [1.0, 1.0, 1.0, 0.5]);
            assert_eq!(run(&kernel, [below, below, below, 1.0]), [0.0, 0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn luma_decides() {
        let kernel = Threshold { value: 0.5 };
        assert_eq!(run(&kernel, [0.0, 1.0, 0.0, 1.0])[0], 1.0);
        assert_eq!(run(&kernel, [1.0, 0.0, 1.0, 1.0])[0], 0.0);
        assert_eq!(run(&kernel, [f32::NAN, 0.0, 1.0, 1.0])[0], 0.0);
    }
}
