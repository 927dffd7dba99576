//! unpremultiply: divides colours by alpha.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Point, Position, Rgba, Value, kernel};

/// Divides colours by alpha.
pub static OPERATOR: Operator = Operator {
    name: "unpremultiply",
    group: Group::Color,
    summary: "Divides colours by alpha",
    details: "The compiler inserts this where it is needed; as an operator it treats the stored numbers as they stand. Fully transparent pixels become black. Results are rounded as all others; Pillow truncates them.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| Ok(builder.point(inputs[0], Unpremultiply {})),
};

kernel! { "unpremultiply", cost: 1.0, pub struct Unpremultiply {} }

impl Point for Unpremultiply {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let scale = if a > 0.0 { 1.0 / a } else { 0.0 };
        [r * scale, g * scale, b * scale, a]
    }
}

impl Node {
    /// Divides colours by alpha.
    pub fn unpremultiply(&self) -> Node {
        self.apply("unpremultiply", &[])
    }
}
