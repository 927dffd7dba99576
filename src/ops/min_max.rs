//! min-max: the least and the greatest value of each channel.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Derive, Group, IMAGE, Operator, Reduction, Value, kernel};

/// Extrema of each channel.
pub static OPERATOR: Operator = Operator {
    name: "min-max",
    group: Group::Measure,
    summary: "Measures the least and the greatest values",
    details: "Two entries: the least, then the greatest red, green, blue and alpha as f32, each channel on its own. \
              Colours are straight, as stored.",
    inputs: IMAGE,
    parameters: &[],
    lower: |builder: &mut Builder, _: &Arguments, inputs: &[Value]| {
        let statistics = builder.reduce(inputs[0], Reduction::Statistics);
        Ok(builder.derive(statistics, 2, MinMax {}))
    },
};

kernel! { "min-max", cost: 1.0, pub struct MinMax {} }

impl Derive for MinMax {
    fn entries(&self, statistics: &[[u32; 4]]) -> Vec<[u32; 4]> {
        statistics.iter().take(2).copied().collect()
    }
}

impl Node {
    /// The least and the greatest value of each channel. Its output is numbers, not a picture.
    pub fn min_max(&self) -> Node {
        self.apply("min-max", &[])
    }
}
