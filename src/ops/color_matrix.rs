//! color-matrix: each channel a weighted sum of red, green and blue, plus an offset. Consecutive ones, and all operators
//! that are such sums, are composed into one by the compiler.

use crate::color;
use crate::graph::Node;
use crate::op::{
    Arguments, Builder, Channels, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Rgba, Value, kernel,
};

/// An affine map of red, green and blue.
pub static OPERATOR: Operator = Operator {
    name: "color-matrix",
    group: Group::Color,
    summary: "Makes each channel a weighted sum of red, green and blue, plus an offset",
    details: "Twelve numbers, row by row: the factors of red, green and blue and the offset that make the new red, then \
              green, then blue. On straight values as stored, unclamped. The W3C feColorMatrix has a fourth column and \
              row for alpha, which are left out here; OpenCV's `transform` with a 3x4 matrix is the same on RGB (its \
              pictures are BGR).",
    inputs: IMAGE,
    parameters: &[Parameter::floats("matrix", 12, 12, &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
        .help("Rows red, green, blue; columns factor of red, of green, of blue, offset")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        let mut rows = [[0.0; 4]; 3];
        for (slot, value) in rows.iter_mut().flatten().zip(arguments.floats("matrix")) {
            *slot = *value;
        }
        // Rows may differ, so grey may become coloured.
        Ok(builder.point_to(inputs[0], Kernel::point(ColorMatrix::from_rows(rows)), Channels::Color))
    },
};

kernel! { "color-matrix", cost: 1.0, pub struct ColorMatrix { r: [f32; 4], g: [f32; 4], b: [f32; 4] } }

impl ColorMatrix {
    /// From the rows for red, green and blue; columns are the factors of red, green, blue, and an offset.
    pub fn from_rows([r, g, b]: [[f32; 4]; 3]) -> Self {
        ColorMatrix { r, g, b }
    }
}

impl Point for ColorMatrix {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        [color::weigh(self.r, r, g, b), color::weigh(self.g, r, g, b), color::weigh(self.b, r, g, b), a]
    }

    fn is_identity(&self) -> bool {
        [self.r, self.g, self.b] == color::IDENTITY
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some([self.r, self.g, self.b])
    }
}

impl Node {
    /// Makes each channel a weighted sum: rows for red, green and blue; columns are the factors of red, green, blue, and an
    /// offset.
    pub fn color_matrix(&self, rows: [[f32; 4]; 3]) -> Node {
        self.apply("color-matrix", &[("matrix", rows.as_flattened().into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::run;

    #[test]
    fn rows_make_channels() {
        let kernel = ColorMatrix::from_rows([[0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.0, 0.25], [0.0, 0.0, 0.0, -1.0]]);
        assert_eq!(run(&kernel, [0.5, 1.0, 0.125, 0.75]), [0.125, 1.0, -1.0, 0.75]);
        assert!(ColorMatrix::from_rows(color::IDENTITY).is_identity() && !kernel.is_identity());
    }
}
