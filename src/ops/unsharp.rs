//! unsharp: sharpens by adding what a blur took away (unsharp masking).

use crate::error::Result;
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Composite, Edge, Group, IMAGE, Operator, Parameter, Position, Rgba, Value, kernel,
};
use crate::ops::gaussian_blur::gaussian;

/// Image plus a multiple of what the blur took away.
pub static OPERATOR: Operator = Operator {
    name: "unsharp",
    group: Group::Filter,
    summary: "Sharpens: adds what a Gaussian blur takes away",
    details: "value + amount * detail, where detail is value - blurred, with its magnitude reduced by threshold, never \
              below 0 (as darktable does; a hard threshold, as in Pillow, tears edges). On red, green and blue as \
              stored; alpha stays. With threshold 0 this is scikit-image's unsharp_mask (whose blur is cut at four \
              sigma instead of three) and ImageMagick's -unsharp. \
              Edges are clamped.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("sigma", 0.0, 16384.0, 1.0, "px").help("Standard deviation of the blur; 0 changes nothing"),
        Parameter::float("amount", -100.0, 100.0, 1.0, "")
            .help("How much is added; 0 changes nothing, below 0 softens"),
        Parameter::float("threshold", 0.0, 1.0, 0.0, "").help("Differences up to this stay as they are: noise"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let image = inputs[0];
    let kernel = Unsharp { amount: arguments.float("amount"), threshold: arguments.float("threshold") };
    let blurred = gaussian(builder, image, arguments.float("sigma"), Edge::Clamp)?;
    if kernel.amount == 0.0 || blurred == image {
        return Ok(image);
    }
    builder.composite([image, blurred], true, kernel)
}

kernel! { "unsharp", cost: 1.5, pub struct Unsharp { amount: f32, threshold: f32 } }

impl Composite<2> for Unsharp {
    #[inline(always)]
    fn pixel(&self, [image, blurred]: [Rgba; 2], _: Position) -> Rgba {
        let alpha = image[3];
        // Straight colours are compared, in units of this pixel's alpha: an even colour stays even as alpha changes.
        let ratio = if blurred[3] > 0.0 { alpha / blurred[3] } else { 0.0 };
        let limit = self.threshold * if alpha > 0.0 { alpha } else { 0.0 };
        let sharpen = |channel: usize| {
            let difference = image[channel] - blurred[channel] * ratio;
            let detail = difference - maths::clamp(difference, -limit, limit);
            image[channel] + self.amount * detail
        };
        [sharpen(0), sharpen(1), sharpen(2), alpha]
    }
}

impl Node {
    /// Sharpens by `amount` times what a Gaussian blur of `sigma` pixels takes away.
    pub fn unsharp(&self, sigma: f32, amount: f32) -> Node {
        self.apply("unsharp", &[("sigma", sigma.into()), ("amount", amount.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITION: Position = Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 };

    #[test]
    fn small_differences_stay() {
        let unsharp = Unsharp { amount: 2.0, threshold: 0.25 };
        assert_eq!(unsharp.pixel([[0.5, 0.75, 0.5, 1.0], [0.25, 0.25, 0.625, 1.0]], POSITION), [0.5, 1.25, 0.5, 1.0]);
    }

    #[test]
    fn an_even_colour_stays_even_under_changing_alpha() {
        let unsharp = Unsharp { amount: 1.0, threshold: 0.0 };
        assert_eq!(unsharp.pixel([[0.25, 0.25, 0.25, 0.5], [0.125, 0.125, 0.125, 0.25]], POSITION)[0], 0.25);
        assert_eq!(unsharp.pixel([[0.0; 4], [0.0; 4]], POSITION), [0.0; 4]);
    }
}
