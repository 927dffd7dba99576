//! brightness: a constant added to each channel.

use crate::color;
use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `value + amount`.
pub static OPERATOR: Operator = Operator {
    name: "brightness",
    group: Group::Color,
    summary: "Adds a constant to red, green and blue",
    details: "value + amount, on values as stored. Nothing is clamped before the picture is packed. OpenCV's \
              convertTo(beta) is the same; the CSS filter `brightness` multiplies instead, which is `exposure` here.",
    inputs: IMAGE,
    parameters: &[Parameter::float("amount", -1.0, 1.0, 0.0, "").help("0 changes nothing, 1 turns black into white")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Brightness { amount: arguments.float("amount") }))
    },
};

kernel! { "brightness", cost: 0.5, pub struct Brightness { amount: f32 } }

impl Point for Brightness {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [r + self.amount, g + self.amount, b + self.amount, a]
    }

    fn is_identity(&self) -> bool {
        self.amount == 0.0
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some(color::uniform(1.0, self.amount))
    }
}

impl Node {
    /// Adds `amount` to red, green and blue.
    pub fn brightness(&self, amount: f32) -> Node {
        self.apply("brightness", &[("amount", amount.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_matrix, run};

    #[test]
    fn adds() {
        let kernel = Brightness { amount: 0.25 };
        assert_eq!(run(&kernel, [0.0, 0.5, 1.0, 0.5]), [0.25, 0.75, 1.25, 0.5]);
        assert_matrix(&kernel);
        assert!(Brightness { amount: 0.0 }.is_identity() && !kernel.is_identity());
    }
}
