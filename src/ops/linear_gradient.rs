//! linear-gradient: one colour turning into another along a line.

use super::solid::{self, HEIGHT, WIDTH};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::image::AlphaMode;
use crate::maths;
use crate::op::{Arguments, Builder, Generate, Group, Operator, Parameter, Position, Rgba, Value, kernel};

/// One colour turning into another.
pub static OPERATOR: Operator = Operator {
    name: "linear-gradient",
    group: Group::Generate,
    summary: "Makes a gradient from one point to another",
    details: "The colour is start at and before the point `from`, end at and beyond `to`, and changes linearly between; it \
              is the same along each line at right angles to the way from the one to the other, in pixels. Points are \
              fractions of width and height: 0, 0 is the top left corner of the picture, 1, 1 the bottom right (as SVG's \
              x1, y1, x2, y2). Transparent colours mix premultiplied, as in CSS. Two points in one place give the end \
              colour everywhere, as in SVG. Without width or height the picture has those of the graph's first input.",
    inputs: &[],
    parameters: &[
        Parameter::floats("from", 2, 2, &[0.0, 0.5]).help("Where the start colour stands: x, y in fractions"),
        Parameter::floats("to", 2, 2, &[1.0, 0.5]).help("Where the end colour stands: x, y in fractions"),
        Parameter::color("start", [0.0, 0.0, 0.0, 1.0]).help("Colour at `from`"),
        Parameter::color("end", [1.0, 1.0, 1.0, 1.0]).help("Colour at `to`"),
        WIDTH,
        HEIGHT,
    ],
    lower,
};

kernel! {
    "linear-gradient", cost: 1.0,
    pub struct LinearGradient { start: [f32; 4], end: [f32; 4], origin: [f32; 2], direction: [f32; 2] }
}

/// Farthest that a point may lie outside of the picture, in extents of the picture.
const FARTHEST: f32 = 1000.0;

/// Way between the points, in pixels, below which they count as one.
const NEAREST: f64 = 1e-3;

fn lower(builder: &mut Builder, arguments: &Arguments, _: &[Value]) -> Result<Value> {
    let (start, end) = (arguments.color("start"), arguments.color("end"));
    let extent = solid::extent(builder, arguments, "linear-gradient")?;
    let size = [f64::from(extent.width), f64::from(extent.height)];
    let from = point("linear-gradient", "from", arguments)?;
    let to = point("linear-gradient", "to", arguments)?;
    let (channels, alpha) = solid::kind(&[start, end], AlphaMode::Premultiplied);
    builder.generate(
        extent,
        channels,
        alpha,
        LinearGradient::new(size, from, to, premultiplied(start), premultiplied(end)),
    )
}

/// A point given by two fractions.
pub fn point(operator: &str, name: &str, arguments: &Arguments) -> Result<[f32; 2]> {
    let list = arguments.floats(name);
    match *list {
        [x, y] if x.abs() <= FARTHEST && y.abs() <= FARTHEST => Ok([x, y]),
        _ => Err(Error::BadParameter {
            operator: operator.into(),
            parameter: name.into(),
            expected: "two fractions of the extent, from -1000 to 1000".into(),
            found: format!("{list:?}"),
        }),
    }
}

/// A straight colour as gradients mix it.
pub fn premultiplied([r, g, b, a]: [f32; 4]) -> [f32; 4] {
    [r * a, g * a, b * a, a]
}

/// From one premultiplied colour to another; exact at both ends.
#[inline(always)]
pub fn between(start: Rgba, end: Rgba, weight: f32) -> Rgba {
    std::array::from_fn(|channel| start[channel] * (1.0 - weight) + end[channel] * weight)
}

impl LinearGradient {
    /// Between two points, given in fractions of `size`, of premultiplied colours.
    pub fn new(size: [f64; 2], from: [f32; 2], to: [f32; 2], start: Rgba, end: Rgba) -> Self {
        let pixels = |point: [f32; 2]| [f64::from(point[0]) * size[0], f64::from(point[1]) * size[1]];
        let (from, to) = (pixels(from), pixels(to));
        let way = [to[0] - from[0], to[1] - from[1]];
        let square = way[0] * way[0] + way[1] * way[1];
        if square < NEAREST * NEAREST {
            return LinearGradient { start: end, end, origin: [0.0; 2], direction: [0.0; 2] };
        }
        let direction = [(way[0] / square) as f32, (way[1] / square) as f32];
        LinearGradient { start, end, origin: [from[0] as f32, from[1] as f32], direction }
    }
}

impl Generate for LinearGradient {
    #[inline(always)]
    fn pixel(&self, at: Position) -> Rgba {
        let along = (at.x - self.origin[0]) * self.direction[0] + (at.y - self.origin[1]) * self.direction[1];
        between(self.start, self.end, maths::clamp(along, 0.0, 1.0))
    }
}

impl Graph {
    /// A gradient from the straight colour `start` at `from` to `end` at `to`, points in fractions of width and height; a
    /// width or height of 0 is that of the graph's first input.
    pub fn linear_gradient(
        &self,
        from: [f32; 2],
        to: [f32; 2],
        start: [f32; 4],
        end: [f32; 4],
        width: u32,
        height: u32,
    ) -> Node {
        self.generate(
            "linear-gradient",
            &[
                ("from", from.as_slice().into()),
                ("to", to.as_slice().into()),
                ("start", start.into()),
                ("end", end.into()),
                ("width", width.into()),
                ("height", height.into()),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::assert_near;

    const BLACK: Rgba = [0.0, 0.0, 0.0, 1.0];
    const WHITE: Rgba = [1.0; 4];

    fn at(x: f32, y: f32) -> Position {
        Position { x, y, width: 8.0, height: 4.0 }
    }

    #[test]
    fn left_to_right() {
        let kernel = LinearGradient::new([8.0, 4.0], [0.0, 0.5], [1.0, 0.5], BLACK, WHITE);
        for x in 0..8 {
            let value = (x as f32 + 0.5) / 8.0;
            assert_near(kernel.pixel(at(x as f32 + 0.5, 3.5)), [value, value, value, 1.0], 1e-7);
        }
    }

    #[test]
    fn flat_beyond_the_points_and_square_to_the_line() {
        let kernel = LinearGradient::new([8.0, 4.0], [0.25, 0.0], [0.75, 1.0], BLACK, WHITE);
        assert_eq!(kernel.pixel(at(0.5, 0.5)), BLACK);
        assert_eq!(kernel.pixel(at(7.5, 3.5)), WHITE);
        // The middle, and a point one step aside at right angles to the way (4, 4).
        assert_near(kernel.pixel(at(4.0, 2.0)), [0.5, 0.5, 0.5, 1.0], 1e-7);
        assert_near(kernel.pixel(at(5.0, 1.0)), [0.5, 0.5, 0.5, 1.0], 1e-7);
    }

    #[test]
    fn one_point_gives_the_end() {
        let kernel = LinearGradient::new([8.0, 4.0], [0.5, 0.5], [0.5, 0.5], BLACK, WHITE);
        assert_eq!(kernel.pixel(at(0.5, 0.5)), WHITE);
    }

    #[test]
    fn transparent_ends_mix_premultiplied() {
        let clear = premultiplied([1.0, 0.0, 0.0, 0.0]);
        let kernel = LinearGradient::new([8.0, 4.0], [0.0, 0.0], [1.0, 0.0], clear, WHITE);
        assert_near(kernel.pixel(at(4.0, 0.5)), [0.5, 0.5, 0.5, 0.5], 1e-7);
    }
}
