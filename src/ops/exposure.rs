//! exposure: light multiplied by a power of two.

use crate::graph::Node;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `value * 2^stops`.
pub static OPERATOR: Operator = Operator {
    name: "exposure",
    group: Group::Color,
    summary: "Multiplies the light by 2^stops",
    details: "value * 2^stops on red, green and blue. Exact in linear light; on encoded values it is the usual quick \
              approximation.",
    inputs: IMAGE,
    parameters: &[Parameter::float("stops", -20.0, 20.0, 0.0, "EV").help("Doubles the light for each whole stop")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Exposure { gain: arguments.float("stops").exp2() }))
    },
};

kernel! { "exposure", cost: 0.5, pub struct Exposure { gain: f32 } }

impl Point for Exposure {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [r * self.gain, g * self.gain, b * self.gain, a]
    }

    fn is_identity(&self) -> bool {
        self.gain == 1.0
    }

    fn matrix(&self) -> Option<[[f32; 4]; 3]> {
        let gain = self.gain;
        Some([[gain, 0.0, 0.0, 0.0], [0.0, gain, 0.0, 0.0], [0.0, 0.0, gain, 0.0]])
    }
}

impl Node {
    /// Multiplies the light by `2^stops`.
    pub fn exposure(&self, stops: f32) -> Node {
        self.apply("exposure", &[("stops", stops.into())])
    }
}
