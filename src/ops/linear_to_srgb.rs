//! linear-to-srgb: sRGB encoding of light, by the curve of IEC 61966-2-1.

use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Point, Position, Rgba, Value, kernel};

/// Encodes with the sRGB curve.
pub static OPERATOR: Operator = Operator {
    name: "linear-to-srgb",
    group: Group::Color,
    summary: "Turns linear light into sRGB-encoded values",
    details: "light * 12.92 up to 0.0031308, above 1.055 * light^(1 / 2.4) - 0.055 (IEC 61966-2-1). The curve goes on above \
              1 and is mirrored below 0. The inverse of srgb-to-linear.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| Ok(builder.point(inputs[0], LinearToSrgb {})),
};

kernel! { "linear-to-srgb", cost: 5.0, pub struct LinearToSrgb {} }

impl Point for LinearToSrgb {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [maths::linear_to_srgb(r), maths::linear_to_srgb(g), maths::linear_to_srgb(b), a]
    }
}

impl Node {
    /// Turns linear light into sRGB-encoded values.
    pub fn linear_to_srgb(&self) -> Node {
        self.apply("linear-to-srgb", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_near, run};

    #[test]
    fn as_the_standard() {
        let found = run(&LinearToSrgb {}, [0.0, 0.214_041_14, 1.0, 0.5]);
        assert_near(found, [0.0, 0.5, 1.0, 0.5], 3e-7);
        assert_near(run(&LinearToSrgb {}, [0.001, -0.001, -1.0, 1.0]), [0.01292, -0.01292, -1.0, 1.0], 3e-7);
    }
}
