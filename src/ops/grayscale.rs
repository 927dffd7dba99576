//! grayscale: one number per pixel, by luma weights.

use crate::error::Result;
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Channels, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Rgba, Value, kernel,
};

/// Luma of each pixel.
pub static OPERATOR: Operator = Operator {
    name: "grayscale",
    group: Group::Color,
    summary: "Keeps the luma of each pixel",
    details: "The weighted sum of red, green and blue as stored, with the weights of Rec. 709 (0.2126, 0.7152, 0.0722) \
              or Rec. 601 (0.299, 0.587, 0.114), or their plain mean. Grey stays exactly what it is. \
              OpenCV and Pillow take Rec. 601; scikit-image's rgb2gray has 0.2125, 0.7154, 0.0721. The result has one channel.",
    inputs: IMAGE,
    parameters: &[Parameter::choice("luma", &["rec709", "rec601", "mean"], 0).help("Which weights")],
    lower,
};

kernel! { "grayscale", cost: 0.5, pub struct Grayscale { weights: [f32; 3] } }

impl Grayscale {
    /// Luma of Rec. 709.
    pub fn rec709() -> Self {
        Grayscale { weights: maths::REC709 }
    }
}

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let weights = match arguments.choice("luma") {
        "rec601" => maths::REC601,
        "mean" => [1.0 / 3.0; 3],
        _ => Grayscale::rec709().weights,
    };
    Ok(builder.point_to(inputs[0], Kernel::point(Grayscale { weights }), Channels::Gray))
}

impl Point for Grayscale {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let luma = maths::weighted_luma(r, g, b, self.weights);
        [luma, luma, luma, a]
    }

    fn matrix(&self) -> Option<[[f32; 4]; 3]> {
        let [r, g, b] = self.weights;
        Some([[r, g, b, 0.0]; 3])
    }
}

impl Node {
    /// Keeps the Rec. 709 luma of each pixel.
    pub fn grayscale(&self) -> Node {
        self.apply("grayscale", &[])
    }
}
