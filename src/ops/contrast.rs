//! contrast: distances from middle grey, multiplied.

use crate::color;
use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `(value - 0.5) * amount + 0.5`.
pub static OPERATOR: Operator = Operator {
    name: "contrast",
    group: Group::Color,
    summary: "Multiplies the distance from middle grey",
    details: "(value - 0.5) * amount + 0.5, on values as stored, as the W3C filter effect `contrast`. Meant for encoded \
              values: in linear light 0.5 is a light grey. Nothing is clamped before the picture is packed.",
    inputs: IMAGE,
    parameters: &[Parameter::float("amount", 0.0, 20.0, 1.0, "")
        .help("1 changes nothing, 0 gives plain grey, above 1 more contrast")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Contrast { amount: arguments.float("amount") }))
    },
};

kernel! { "contrast", cost: 0.5, pub struct Contrast { amount: f32 } }

impl Point for Contrast {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let curve = |value: f32| (value - 0.5) * self.amount + 0.5;
        [curve(r), curve(g), curve(b), a]
    }

    fn is_identity(&self) -> bool {
        self.amount == 1.0
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some(color::uniform(self.amount, 0.5 - 0.5 * self.amount))
    }
}

impl Node {
    /// Multiplies the distance from middle grey by `amount`.
    pub fn contrast(&self, amount: f32) -> Node {
        self.apply("contrast", &[("amount", amount.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_matrix, run};

    #[test]
    fn turns_about_middle_grey() {
        assert_eq!(run(&Contrast { amount: 2.0 }, [0.25, 0.5, 1.0, 0.5]), [0.0, 0.5, 1.5, 0.5]);
        assert_eq!(run(&Contrast { amount: 0.0 }, [0.25, 0.5, 1.0, 1.0]), [0.5, 0.5, 0.5, 1.0]);
        assert_matrix(&Contrast { amount: 1.5 });
        assert!(Contrast { amount: 1.0 }.is_identity());
    }
}
