//! gamma: a power curve.

use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `value^(1 / gamma)`.
pub static OPERATOR: Operator = Operator {
    name: "gamma",
    group: Group::Color,
    summary: "Applies a power curve; above 1 brightens the middle",
    details: "max(value, 0)^(1 / gamma) on red, green and blue.",
    inputs: IMAGE,
    parameters: &[Parameter::float("gamma", 0.01, 100.0, 1.0, "").help("1 changes nothing, 2.2 brightens")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Gamma { exponent: 1.0 / arguments.float("gamma") }))
    },
};

kernel! { "gamma", cost: 4.0, pub struct Gamma { exponent: f32 } }

impl Point for Gamma {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let curve = |value| maths::pow(value, self.exponent);
        [curve(r), curve(g), curve(b), a]
    }

    fn is_identity(&self) -> bool {
        self.exponent == 1.0
    }
}

impl Node {
    /// Applies `value^(1 / gamma)`.
    pub fn gamma(&self, gamma: f32) -> Node {
        self.apply("gamma", &[("gamma", gamma.into())])
    }
}
