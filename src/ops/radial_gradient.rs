//! radial-gradient: one colour turning into another with the distance from a point.

use super::linear_gradient::{between, point, premultiplied};
use super::solid::{self, HEIGHT, WIDTH};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::image::AlphaMode;
use crate::maths;
use crate::op::{Arguments, Builder, Generate, Group, Operator, Parameter, Position, Rgba, Value, kernel};

/// One colour turning into another with the distance.
pub static OPERATOR: Operator = Operator {
    name: "radial-gradient",
    group: Group::Generate,
    summary: "Makes a gradient around a point",
    details: "The colour is start at the centre, end at the radius and beyond, and changes linearly with the distance in \
              pixels. The centre is given in fractions of width and height, the radius as a fraction of the shorter of \
              the two, so that circles are round. Transparent colours mix premultiplied, as in CSS. Without width or \
              height the picture has those of the graph's first input.",
    inputs: &[],
    parameters: &[
        Parameter::floats("center", 2, 2, &[0.5, 0.5]).help("The centre: x, y in fractions"),
        Parameter::float("radius", 0.0, 1000.0, 0.5, "")
            .help("Where the end colour begins, in fractions of the shorter side"),
        Parameter::color("start", [1.0, 1.0, 1.0, 1.0]).help("Colour at the centre"),
        Parameter::color("end", [0.0, 0.0, 0.0, 1.0]).help("Colour at the radius"),
        WIDTH,
        HEIGHT,
    ],
    lower,
};

kernel! {
    "radial-gradient", cost: 1.5,
    pub struct RadialGradient { start: [f32; 4], end: [f32; 4], center: [f32; 2], scale: f32 }
}

/// Shortest radius in pixels, in place of 0: all pixels but one at the very centre have the end colour.
const SHORTEST: f64 = 1e-3;

fn lower(builder: &mut Builder, arguments: &Arguments, _: &[Value]) -> Result<Value> {
    let (start, end) = (arguments.color("start"), arguments.color("end"));
    let extent = solid::extent(builder, arguments, "radial-gradient")?;
    let size = [f64::from(extent.width), f64::from(extent.height)];
    let center = point("radial-gradient", "center", arguments)?;
    let (channels, alpha) = solid::kind(&[start, end], AlphaMode::Premultiplied);
    let kernel = RadialGradient::new(size, center, arguments.float("radius"), premultiplied(start), premultiplied(end));
    builder.generate(extent, channels, alpha, kernel)
}

impl RadialGradient {
    /// Around `center`, in fractions of `size`, of premultiplied colours.
    pub fn new(size: [f64; 2], center: [f32; 2], radius: f32, start: Rgba, end: Rgba) -> Self {
        let radius = (f64::from(radius) * size[0].min(size[1])).max(SHORTEST);
        let center = [(f64::from(center[0]) * size[0]) as f32, (f64::from(center[1]) * size[1]) as f32];
        RadialGradient { start, end, center, scale: (1.0 / radius) as f32 }
    }
}

impl Generate for RadialGradient {
    #[inline(always)]
    fn pixel(&self, at: Position) -> Rgba {
        let (x, y) = (at.x - self.center[0], at.y - self.center[1]);
        let distance = maths::sqrt(x * x + y * y);
        between(self.start, self.end, maths::clamp(distance * self.scale, 0.0, 1.0))
    }
}

impl Graph {
    /// A gradient from the straight colour `start` at `center` (in fractions of width and height) to `end` at `radius` (in
    /// fractions of the shorter side); a width or height of 0 is that of the graph's first input.
    pub fn radial_gradient(
        &self,
        center: [f32; 2],
        radius: f32,
        start: [f32; 4],
        end: [f32; 4],
        width: u32,
        height: u32,
    ) -> Node {
        self.generate(
            "radial-gradient",
            &[
                ("center", center.as_slice().into()),
                ("radius", radius.into()),
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
        Position { x, y, width: 20.0, height: 10.0 }
    }

    #[test]
    fn grows_with_the_distance() {
        let kernel = RadialGradient::new([20.0, 10.0], [0.5, 0.5], 0.5, WHITE, BLACK);
        assert_eq!(kernel.pixel(at(10.0, 5.0)), WHITE);
        assert_near(kernel.pixel(at(13.0, 9.0)), [0.0, 0.0, 0.0, 1.0], 1e-6);
        assert_near(kernel.pixel(at(10.0, 2.5)), [0.5, 0.5, 0.5, 1.0], 1e-6);
        assert_near(kernel.pixel(at(7.5, 5.0)), [0.5, 0.5, 0.5, 1.0], 1e-6);
        assert_eq!(kernel.pixel(at(0.5, 0.5)), BLACK);
    }

    #[test]
    fn no_radius_is_all_end() {
        let kernel = RadialGradient::new([20.0, 10.0], [0.5, 0.5], 0.0, WHITE, BLACK);
        assert_eq!(kernel.pixel(at(10.5, 5.5)), BLACK);
    }
}
