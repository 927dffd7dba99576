//! pad: more pixels around the picture.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{Arguments, Builder, EDGE_MODES, Extent, Group, IMAGE, Operator, Parameter, Remap, Value, edge_from};

/// More pixels around the picture.
pub static OPERATOR: Operator = Operator {
    name: "pad",
    group: Group::Geometry,
    summary: "Adds a border",
    details: "Exact pixels. The border is black unless edge or edge-color say otherwise; a transparent edge-color gives \
              an opaque picture an alpha channel. OpenCV's copyMakeBorder: clamp is its 'replicate', mirror its \
              'reflect_101'.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("left", 0, 65535, 0, "px").help("Columns added at the left"),
        Parameter::integer("top", 0, 65535, 0, "px").help("Rows added above"),
        Parameter::integer("right", 0, 65535, 0, "px").help("Columns added at the right"),
        Parameter::integer("bottom", 0, 65535, 0, "px").help("Rows added below"),
        Parameter::choice("edge", EDGE_MODES, 3).help("What the border shows"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour of the border, for edge=constant"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let [left, top, right, bottom] = ["left", "top", "right", "bottom"].map(|side| arguments.integer(side));
    let picture = builder.extent(inputs[0]);
    // Each at most 65535, so the sums hold; the step checks the result.
    let extent = Extent {
        width: picture.width + left as u32 + right as u32,
        height: picture.height + top as u32 + bottom as u32,
    };
    if extent == picture {
        return Ok(inputs[0]);
    }
    let remap = Remap::Affine { matrix: [[1, 0], [0, 1]], offset: [-left, -top] };
    builder.remap(inputs[0], remap, extent, edge_from(arguments))
}

impl Node {
    /// Adds a black border of the given widths.
    pub fn pad(&self, left: u32, top: u32, right: u32, bottom: u32) -> Node {
        let arguments =
            [("left", left.into()), ("top", top.into()), ("right", right.into()), ("bottom", bottom.into())];
        self.apply("pad", &arguments)
    }
}
