//! checkerboard: squares of two colours in turn.

use super::solid::{self, HEIGHT, WIDTH};
use crate::graph::{Graph, Node};
use crate::image::AlphaMode;
use crate::op::{Arguments, Builder, Generate, Group, Operator, Parameter, Position, Rgba, Value, kernel};

/// Squares of two colours.
pub static OPERATOR: Operator = Operator {
    name: "checkerboard",
    group: Group::Generate,
    summary: "Makes squares of two colours in turn",
    details: "The square at the top left has the first colour. Colours are straight, and as stored. Without width or height \
              the picture has those of the graph's first input.",
    inputs: &[],
    parameters: &[
        Parameter::integer("size", 1, 65535, 16, "px").help("Side of a square"),
        Parameter::color("first", [1.0, 1.0, 1.0, 1.0]).help("Colour of the square at the top left"),
        Parameter::color("second", [0.0, 0.0, 0.0, 1.0]).help("Colour of its neighbours"),
        WIDTH,
        HEIGHT,
    ],
    lower: |builder: &mut Builder, arguments: &Arguments, _: &[Value]| {
        let (first, second) = (arguments.color("first"), arguments.color("second"));
        let extent = solid::extent(builder, arguments, "checkerboard")?;
        let (channels, alpha) = solid::kind(&[first, second], AlphaMode::Straight);
        builder.generate(extent, channels, alpha, Checkerboard::new(arguments.integer("size"), first, second))
    },
};

kernel! { "checkerboard", cost: 0.7, pub struct Checkerboard { first: [f32; 4], second: [f32; 4], frequency: f32 } }

impl Checkerboard {
    /// Of squares `size` pixels wide.
    pub fn new(size: i32, first: [f32; 4], second: [f32; 4]) -> Self {
        Checkerboard { first, second, frequency: 1.0 / size as f32 }
    }
}

impl Generate for Checkerboard {
    #[inline(always)]
    fn pixel(&self, at: Position) -> Rgba {
        // Pixel centres lie half a pixel from the borders of squares, much more than the product can be wrong.
        let number = (at.x * self.frequency).floor() + (at.y * self.frequency).floor();
        let is_odd = number - 2.0 * (number * 0.5).floor() > 0.5;
        std::array::from_fn(|channel| if is_odd { self.second[channel] } else { self.first[channel] })
    }
}

impl Graph {
    /// Squares of two straight colours; a width or height of 0 is that of the graph's first input.
    pub fn checkerboard(&self, size: u32, first: [f32; 4], second: [f32; 4], width: u32, height: u32) -> Node {
        self.generate(
            "checkerboard",
            &[
                ("size", size.into()),
                ("first", first.into()),
                ("second", second.into()),
                ("width", width.into()),
                ("height", height.into()),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_alternate() {
        let (first, second) = ([1.0; 4], [0.0, 0.0, 0.0, 1.0]);
        for size in [1, 2, 3, 7, 10, 255, 4096, 65535] {
            let kernel = Checkerboard::new(size, first, second);
            for x in (0..200).chain(4000..4200).chain(65300..65535) {
                for y in [0, 1, 2, 9, 10, 509, 65534] {
                    let at = Position { x: x as f32 + 0.5, y: y as f32 + 0.5, width: 65535.0, height: 65535.0 };
                    let expected = if (x / size + y / size) % 2 == 0 { first } else { second };
                    assert_eq!(kernel.pixel(at), expected, "size {size}, pixel {x} {y}");
                }
            }
        }
    }
}
