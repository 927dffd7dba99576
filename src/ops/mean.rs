//! mean: the mean colour of the picture.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Derive, Group, IMAGE, Operator, Reduction, Value, kernel};

/// Mean of all pixels.
pub static OPERATOR: Operator = Operator {
    name: "mean",
    group: Group::Measure,
    summary: "Measures the mean colour",
    details: "One entry: the means of red, green, blue and alpha as f32. Colours are straight, as stored.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| {
        let statistics = builder.reduce(inputs[0], Reduction::Statistics);
        Ok(builder.derive(statistics, 1, Mean {}))
    },
};

kernel! { "mean", cost: 1.0, pub struct Mean {} }

impl Derive for Mean {
    fn entries(&self, statistics: &[[u32; 4]]) -> Vec<[u32; 4]> {
        statistics.iter().skip(2).take(1).copied().collect()
    }
}

impl Node {
    /// The mean colour. Its output is numbers, not a picture.
    pub fn mean(&self) -> Node {
        self.apply("mean", &[])
    }
}
