//! srgb-to-linear: light of sRGB-encoded values, by the curve of IEC 61966-2-1.

use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Point, Position, Rgba, Value, kernel};

/// Decodes the sRGB curve.
pub static OPERATOR: Operator = Operator {
    name: "srgb-to-linear",
    group: Group::Color,
    summary: "Turns sRGB-encoded values into linear light",
    details: "value / 12.92 up to 0.04045, above ((value + 0.055) / 1.055)^2.4 (IEC 61966-2-1). The curve goes on above 1 \
              and is mirrored below 0, so values outside of 0..1 survive the way there and back. Stand it before blurs, \
              resizes and blends of photographs, and linear-to-srgb after them.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| Ok(builder.point(inputs[0], SrgbToLinear {})),
};

kernel! { "srgb-to-linear", cost: 5.0, pub struct SrgbToLinear {} }

impl Point for SrgbToLinear {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [maths::srgb_to_linear(r), maths::srgb_to_linear(g), maths::srgb_to_linear(b), a]
    }
}

impl Node {
    /// Turns sRGB-encoded values into linear light.
    pub fn srgb_to_linear(&self) -> Node {
        self.apply("srgb-to-linear", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{SAMPLES, assert_near, run};
    use crate::ops::linear_to_srgb::LinearToSrgb;

    #[test]
    fn as_the_standard() {
        let found = run(&SrgbToLinear {}, [0.0, 0.5, 1.0, 0.5]);
        assert_near(found, [0.0, 0.214_041_14, 1.0, 0.5], 3e-7);
        assert_near(
            run(&SrgbToLinear {}, [0.04, -0.04, -0.5, 1.0]),
            [0.003_095_975, -0.003_095_975, -0.214_041_14, 1.0],
            3e-7,
        );
    }

    #[test]
    fn there_and_back() {
        for color in SAMPLES {
            assert_near(run(&LinearToSrgb {}, run(&SrgbToLinear {}, color)), color, 3e-6);
        }
    }
}
