//! sobel: how steep the picture is, from a 3x3 window (I. Sobel and G. Feldman, 1968).
//!
//! With the window
//! ```text
//! a b c
//! d e f      x = (c + 2 f + i - a - 2 d - g) / 4      y = (g + 2 h + i - a - 2 b - c) / 4
//! g h i
//! ```

use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, EDGE_MODES, Group, IMAGE, Operator, Parameter, Position, Rgba, Value, Window, edge_from, kernel,
};

/// Gradient of each channel.
pub static OPERATOR: Operator = Operator {
    name: "sobel",
    group: Group::Filter,
    summary: "Finds edges: the steepness of each channel",
    details: "The 3x3 Sobel gradient of red, green and blue as stored, divided by 4: a vertical or horizontal step from \
              0 to 1 gives 1. 'magnitude' is sqrt(x^2 + y^2), at most 1.12; 'x' (to the right) and 'y' (downwards) are \
              0.5 + gradient / 2, so that 0.5 is flat. Alpha stays. OpenCV's Sobel(ksize=3) with scale 1/4; \
              scikit-image's sobel divides the magnitude by sqrt(2) on top.",
    inputs: IMAGE,
    parameters: &[
        Parameter::choice("mode", &["magnitude", "x", "y"], 0).help("What is shown of the gradient"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        let kernel = match arguments.choice("mode") {
            "x" => Sobel { magnitude: 0.0, x: 0.125, y: 0.0, offset: 0.5 },
            "y" => Sobel { magnitude: 0.0, x: 0.0, y: 0.125, offset: 0.5 },
            _ => Sobel { magnitude: 0.25, x: 0.0, y: 0.0, offset: 0.0 },
        };
        Ok(builder.window::<3, 9, _>(inputs[0], edge_from(arguments), kernel))
    },
};

kernel! {
    "sobel",
    cost: 3.0,
    pub struct Sobel {
        /// Factor of the magnitude.
        magnitude: f32,
        /// Factor of the gradient to the right.
        x: f32,
        /// Factor of the gradient downwards.
        y: f32,
        offset: f32,
    }
}

impl Window<9> for Sobel {
    #[inline(always)]
    fn pixel(&self, window: &[Rgba; 9], _: Position) -> Rgba {
        let alpha = window[4][3];
        let steepness = |channel: usize| {
            let [a, b, c, d, _, f, g, h, i] = window.map(|color| color[channel]);
            let x = (c - a) + 2.0 * (f - d) + (i - g);
            let y = (g - a) + 2.0 * (h - b) + (i - c);
            let value = self.magnitude * maths::sqrt(x * x + y * y) + self.x * x + self.y * y + self.offset;
            // Multiplied by alpha: the window is premultiplied, and so is what comes of it.
            value * alpha
        };
        [steepness(0), steepness(1), steepness(2), alpha]
    }
}

impl Node {
    /// The magnitude of the Sobel gradient of each channel; 1 for a step from black to white.
    pub fn sobel(&self) -> Node {
        self.apply("sobel", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(values: [f32; 9]) -> [Rgba; 9] {
        values.map(|value| [value, value, value, 1.0])
    }

    #[test]
    fn steps_have_slope_one() {
        let position = Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 };
        let magnitude = Sobel { magnitude: 0.25, x: 0.0, y: 0.0, offset: 0.0 };
        let right = gray([0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        let down = gray([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(magnitude.pixel(&right, position), [1.0; 4]);
        assert_eq!(magnitude.pixel(&down, position), [1.0; 4]);
        let x = Sobel { magnitude: 0.0, x: 0.125, y: 0.0, offset: 0.5 };
        assert_eq!(x.pixel(&right, position), [1.0; 4]);
        assert_eq!(x.pixel(&down, position), [0.5, 0.5, 0.5, 1.0]);
        assert_eq!(x.pixel(&gray([0.3; 9]), position), [0.5, 0.5, 0.5, 1.0]);
    }
}
