//! premultiply: multiplies colours by alpha.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Point, Position, Rgba, Value, kernel};

/// Multiplies colours by alpha.
pub static OPERATOR: Operator = Operator {
    name: "premultiply",
    group: Group::Color,
    summary: "Multiplies colours by alpha",
    details: "The compiler inserts this where it is needed; as an operator it treats the stored numbers as they stand.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| Ok(builder.point(inputs[0], Premultiply {})),
};

kernel! { "premultiply", cost: 0.5, pub struct Premultiply {} }

impl Point for Premultiply {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [r * a, g * a, b * a, a]
    }
}

impl Node {
    /// Multiplies colours by alpha.
    pub fn premultiply(&self) -> Node {
        self.apply("premultiply", &[])
    }
}
