//! invert: the negative.

use crate::color;
use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `1 - value`.
pub static OPERATOR: Operator = Operator {
    name: "invert",
    group: Group::Color,
    summary: "Makes the negative",
    details: "value * (1 - 2 * amount) + amount, on values as stored: 1 - value at amount 1. As the W3C filter effect \
              `invert`, and OpenCV's bitwise_not on 8-bit pictures. Alpha stays.",
    inputs: IMAGE,
    parameters: &[Parameter::float("amount", 0.0, 1.0, 1.0, "").help("1 inverts, 0 changes nothing, 0.5 gives grey")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Invert::new(arguments.float("amount"))))
    },
};

kernel! { "invert", cost: 0.5, pub struct Invert { factor: f32, offset: f32 } }

impl Invert {
    /// By how much, 0 to 1.
    pub fn new(amount: f32) -> Self {
        Invert { factor: 1.0 - 2.0 * amount, offset: amount }
    }
}

impl Point for Invert {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let turn = |value: f32| value * self.factor + self.offset;
        [turn(r), turn(g), turn(b), a]
    }

    fn is_identity(&self) -> bool {
        self.factor == 1.0 && self.offset == 0.0
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some(color::uniform(self.factor, self.offset))
    }
}

impl Node {
    /// Makes the negative.
    pub fn invert(&self) -> Node {
        self.apply("invert", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_matrix, run};

    #[test]
    fn inverts() {
        assert_eq!(run(&Invert::new(1.0), [0.0, 0.25, 1.0, 0.5]), [1.0, 0.75, 0.0, 0.5]);
        assert_eq!(run(&Invert::new(1.0), [0.3, 1.5, -0.5, 1.0]), [1.0 - 0.3, -0.5, 1.5, 1.0]);
        assert_eq!(run(&Invert::new(0.5), [0.3, 0.9, 0.0, 1.0]), [0.5, 0.5, 0.5, 1.0]);
        assert!(Invert::new(0.0).is_identity());
        assert_matrix(&Invert::new(0.75));
    }
}
