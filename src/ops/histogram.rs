//! histogram: how many pixels have which value.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Reduction, Value};

/// Counts of pixels by value.
pub static OPERATOR: Operator = Operator {
    name: "histogram",
    group: Group::Measure,
    summary: "Counts the pixels of each value",
    details: "256 entries of (red, green, blue, Rec. 709 luma) counts. A value counts at floor(255 value + 0.5), clamped; \
              colours are straight, as stored. Every pixel counts once, so each column sums to width * height.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| Ok(builder.reduce(inputs[0], Reduction::Histogram)),
};

impl Node {
    /// Counts of the 256 values of red, green, blue and luma. Its output is numbers, not a picture.
    pub fn histogram(&self) -> Node {
        self.apply("histogram", &[])
    }
}
