//! flip: the picture in a mirror.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{Arguments, Builder, Edge, Group, IMAGE, Operator, Parameter, Remap, Value};

/// The picture in a mirror.
pub static OPERATOR: Operator = Operator {
    name: "flip",
    group: Group::Geometry,
    summary: "Mirrors left and right, or top and bottom",
    details: "Exact pixels. 'horizontal' swaps left and right, 'vertical' top and bottom, 'both' is half a turn.",
    inputs: IMAGE,
    parameters: &[Parameter::choice("direction", &["horizontal", "vertical", "both"], 0).help("What is swapped")],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let extent = builder.extent(inputs[0]);
    let (right, bottom) = (extent.width as i32 - 1, extent.height as i32 - 1);
    let (matrix, offset) = match arguments.choice("direction") {
        "vertical" => ([[1, 0], [0, -1]], [0, bottom]),
        "both" => ([[-1, 0], [0, -1]], [right, bottom]),
        _ => ([[-1, 0], [0, 1]], [right, 0]),
    };
    builder.remap(inputs[0], Remap::Affine { matrix, offset }, extent, Edge::Clamp)
}

impl Node {
    /// Swaps left and right.
    pub fn flip_horizontal(&self) -> Node {
        self.apply("flip", &[("direction", "horizontal".into())])
    }

    /// Swaps top and bottom.
    pub fn flip_vertical(&self) -> Node {
        self.apply("flip", &[("direction", "vertical".into())])
    }
}
