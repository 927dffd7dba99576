//! box-blur: the plain mean over a square, as two one-dimensional steps.

use crate::error::{Error, Result};
use crate::graph::Node;
use crate::op::{Arguments, Axis, Builder, EDGE_MODES, Group, IMAGE, Operator, Parameter, Taps, Value, edge_from};

/// Mean over a square.
pub static OPERATOR: Operator = Operator {
    name: "box-blur",
    group: Group::Filter,
    summary: "Blurs with the plain mean over a square",
    details: "The mean of size x size pixels about each pixel, premultiplied, along rows, then columns. The side is odd, \
              so that the square has a middle. OpenCV's blur with the same ksize; its border 'reflect_101' is \
              edge=mirror here.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("size", 1, 511, 3, "px").help("Side of the square, odd; 1 changes nothing"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let size = arguments.integer("size");
    if size % 2 == 0 {
        return Err(Error::BadParameter {
            operator: OPERATOR.name.into(),
            parameter: "size".into(),
            expected: "an odd number of pixels, so that the square has a middle".into(),
            found: size.to_string(),
        });
    }
    if size == 1 {
        return Ok(inputs[0]);
    }
    let edge = edge_from(arguments);
    let weights = vec![1.0 / size as f32; size as usize];
    let rows = builder.correlate(inputs[0], Taps::line(Axis::Horizontal, weights.clone()), edge);
    Ok(builder.correlate(rows, Taps::line(Axis::Vertical, weights), edge))
}

impl Node {
    /// Blurs with the mean over a square of `size` pixels a side, odd; edges clamped.
    pub fn box_blur(&self, size: u32) -> Node {
        self.apply("box-blur", &[("size", size.into())])
    }
}
