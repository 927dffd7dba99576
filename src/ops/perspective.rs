//! perspective: the picture as a plane in space, seen from elsewhere.

use crate::error::{Error, Result};
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, EDGE_MODES, Extent, Group, IMAGE, Interpolation, Operator, Parameter, Position, Value, Warp,
    edge_from, kernel,
};
use crate::ops::affine::output_extent;

/// Straight lines stay straight.
pub static OPERATOR: Operator = Operator {
    name: "perspective",
    group: Group::Geometry,
    summary: "Straightens or tilts by a 3x3 matrix",
    details: "A point (x, y) of the picture comes to (X / W, Y / W) with (X, Y, W) = matrix * (x, y, 1); a multiple of \
              the matrix does the same. Coordinates are those of affine: the centre of the first pixel is (0.5, 0.5). \
              OpenCV's warpPerspective counts from that centre; its matrix H is T H T^-1 here, with T a move by \
              (0.5, 0.5). Output beyond the horizon of the plane shows the edge, where OpenCV shows the picture a \
              second time, upside down. Reads premultiplied, without antialiasing.",
    inputs: IMAGE,
    parameters: &[
        Parameter::floats("matrix", 9, 9, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
            .help("Three rows of three: from source to output"),
        Parameter::integer("width", 0, 65535, 0, "px").help("Width of the output; 0 keeps the picture's"),
        Parameter::integer("height", 0, 65535, 0, "px").help("Height of the output; 0 keeps the picture's"),
        Parameter::choice("interpolation", Interpolation::NAMES, 1).help("How it reads between pixels"),
        Parameter::choice("edge", EDGE_MODES, 3).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0])
            .help("Colour outside, for edge=constant; #00000000 is transparent"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let matrix = arguments.floats("matrix");
    let picture = builder.extent(inputs[0]);
    let Some([x, y, w]) = invert(matrix, picture) else {
        return Err(Error::BadParameter {
            operator: OPERATOR.name.into(),
            parameter: "matrix".into(),
            expected: "nine numbers, a matrix that has an inverse".into(),
            found: format!("{matrix:?}"),
        });
    };
    let extent = output_extent(arguments, picture);
    let interpolation = Interpolation::from_index(arguments.choice_index("interpolation"));
    builder.warp(inputs[0], extent, interpolation, edge_from(arguments), Perspective { x, y, w })
}

/// The inverse, scaled so that its largest entry is 1 in magnitude, and so that W is positive on the side of the horizon
/// on which the picture's centre lies.
fn invert(matrix: &[f32], picture: Extent) -> Option<[[f32; 3]; 3]> {
    let &[a, b, c, d, e, f, g, h, i] = matrix else { return None };
    let [a, b, c, d, e, f, g, h, i] = [a, b, c, d, e, f, g, h, i].map(f64::from);
    let adjugate = [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ];
    let products = [a * e * i, -a * f * h, b * f * g, -b * d * i, c * d * h, -c * e * g];
    let determinant: f64 = products.iter().sum();
    let size: f64 = products.iter().map(|product| product.abs()).sum();
    // Relative to its six products: what rounding leaves of dependent rows is not an inverse.
    if determinant.abs() <= 1e-7 * size {
        return None;
    }
    let largest = adjugate.as_flattened().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let center = g * f64::from(picture.width) * 0.5 + h * f64::from(picture.height) * 0.5 + i;
    // The inverse takes (x, y, 1) back to (source, 1) / W', so its third row has the sign of the forward W'.
    let sign = determinant.signum() * if center < 0.0 { -1.0 } else { 1.0 };
    let rows = adjugate.map(|row| row.map(|value| (value / largest * sign) as f32));
    rows.as_flattened().iter().all(|value| value.is_finite()).then_some(rows)
}

kernel! {
    "perspective",
    cost: 1.5,
    pub struct Perspective {
        /// Factors of x, y and 1 that give the source's x times w.
        x: [f32; 3],
        /// The same for y.
        y: [f32; 3],
        /// The same for w.
        w: [f32; 3],
    }
}

/// Outside of any picture, and small enough for integers.
const FAR: f32 = 1e6;

/// Least w that counts as this side of the horizon; the largest entry of the matrix is 1.
const HORIZON: f32 = 1e-12;

impl Warp for Perspective {
    #[inline(always)]
    fn source(&self, at: Position) -> [f32; 2] {
        let row = |row: [f32; 3]| row[0] * at.x + row[1] * at.y + row[2];
        let w = row(self.w);
        let scale = 1.0 / if w > HORIZON { w } else { HORIZON };
        let place = |value: f32| if w > HORIZON { maths::clamp(value * scale, -FAR, FAR) } else { -FAR };
        [place(row(self.x)), place(row(self.y))]
    }

    fn affine(&self) -> Option<[[f32; 3]; 2]> {
        let [x, y, constant] = self.w;
        let is_affine = x == 0.0 && y == 0.0 && constant > HORIZON;
        is_affine.then(|| [self.x, self.y].map(|row| row.map(|value| value / constant)))
    }
}

impl Node {
    /// Moves each point (x, y) to (X / W, Y / W), where (X, Y, W) = matrix * (x, y, 1), the matrix row by row. The size
    /// stays, what comes from outside is black.
    pub fn perspective(&self, matrix: [f32; 9]) -> Node {
        self.apply("perspective", &[("matrix", matrix.as_slice().into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: Extent = Extent { width: 100, height: 80 };

    fn source(matrix: &[f32; 9], x: f32, y: f32) -> [f32; 2] {
        let [a, b, w] = invert(matrix, PICTURE).unwrap();
        Perspective { x: a, y: b, w }.source(Position { x, y, width: 100.0, height: 80.0 })
    }

    #[test]
    fn points_come_back() {
        let matrix: [f32; 9] = [0.9, 0.1, 4.0, -0.05, 1.1, -3.0, 0.001, -0.0005, 1.0];
        for scale in [1.0, -1.0, 1e-3] {
            let matrix = matrix.map(|value| value * scale);
            for (x, y) in [(0.5, 0.5), (99.5, 0.5), (50.0, 40.0), (3.5, 79.5)] {
                let row = |at: usize| matrix[at] * x + matrix[at + 1] * y + matrix[at + 2];
                let [back_x, back_y] = source(&matrix, row(0) / row(6), row(3) / row(6));
                assert!((back_x - x).abs() < 1e-3 && (back_y - y).abs() < 1e-3, "{x} {y}: {back_x} {back_y}");
            }
        }
    }

    #[test]
    fn beyond_the_horizon_is_far_outside() {
        // W = 1 + x / 10: forward points go towards x = 10, which no point of the picture passes.
        let matrix = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.1, 0.0, 1.0];
        assert_eq!(source(&matrix, 20.0, 5.0), [-FAR, -FAR]);
        assert!(source(&matrix, 5.0, 5.0)[0] > 0.0);
    }

    #[test]
    fn singular_matrices_are_refused() {
        assert_eq!(invert(&[0.0; 9], PICTURE), None);
        assert_eq!(invert(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0], PICTURE), None);
    }
}
