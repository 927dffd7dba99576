//! affine: turns, scales, shears and moves the picture.

use crate::error::{Error, Result};
use crate::graph::Node;
use crate::op::{
    Arguments, Builder, EDGE_MODES, Extent, Group, IMAGE, Interpolation, Operator, Parameter, Position, Value, Warp,
    edge_from, kernel,
};

/// Straight lines stay straight and parallel ones parallel.
pub static OPERATOR: Operator = Operator {
    name: "affine",
    group: Group::Geometry,
    summary: "Turns, scales, shears and moves by a 2x3 matrix",
    details: "A point (x, y) of the picture comes to (a x + b y + c, d x + e y + f). Coordinates are those of the picture \
              as an area: its upper left corner is (0, 0), the centre of its first pixel (0.5, 0.5). Each output pixel \
              reads the picture at the inverse, premultiplied, without antialiasing: resize before shrinking much. \
              OpenCV's warpAffine counts from the centre of the first pixel; for its matrix give c + (1 - a - b) / 2 \
              and f + (1 - d - e) / 2 as offsets; it rounds coordinates to 1/32 of a pixel, which is not done here. Consecutive affine operators are composed and read once.",
    inputs: IMAGE,
    parameters: &[
        Parameter::floats("matrix", 6, 6, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
            .help("a, b, c, d, e, f: from source to output"),
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
    let Some(rows) = invert(matrix) else {
        return Err(Error::BadParameter {
            operator: OPERATOR.name.into(),
            parameter: "matrix".into(),
            expected: "six numbers a, b, c, d, e, f with a e - b d not 0 (a matrix that has an inverse)".into(),
            found: format!("{matrix:?}"),
        });
    };
    let picture = builder.extent(inputs[0]);
    let extent = output_extent(arguments, picture);
    if extent == picture && rows == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
        return Ok(inputs[0]);
    }
    let interpolation = Interpolation::from_index(arguments.choice_index("interpolation"));
    builder.warp(inputs[0], extent, interpolation, edge_from(arguments), AffineWarp::from_rows(rows))
}

/// The parameters `width` and `height`, where 0 keeps the picture's.
pub fn output_extent(arguments: &Arguments, picture: Extent) -> Extent {
    let side = |name: &str, kept: u32| match arguments.integer(name) {
        0 => kept,
        given => given as u32,
    };
    Extent { width: side("width", picture.width), height: side("height", picture.height) }
}

/// The inverse of (a b c; d e f), if there is one that f32 can hold.
fn invert(matrix: &[f32]) -> Option<[[f32; 3]; 2]> {
    let &[a, b, c, d, e, f] = matrix else { return None };
    let [a, b, c, d, e, f] = [a, b, c, d, e, f].map(f64::from);
    let determinant = a * e - b * d;
    // Relative to its two products: what rounding leaves of lines that are multiples of each other is not an inverse.
    if determinant.abs() <= 1e-7 * ((a * e).abs() + (b * d).abs()) {
        return None;
    }
    let (xx, xy, yx, yy) = (e / determinant, -b / determinant, -d / determinant, a / determinant);
    let rows = [[xx, xy, -(xx * c + xy * f)], [yx, yy, -(yx * c + yy * f)]].map(|row| row.map(|value| value as f32));
    rows.as_flattened().iter().all(|value| value.is_finite()).then_some(rows)
}

kernel! {
    "affine",
    cost: 0.5,
    pub struct AffineWarp {
        /// Factors of x, y and 1 that give the source's x.
        x: [f32; 3],
        /// The same for y.
        y: [f32; 3],
    }
}

impl AffineWarp {
    /// The warp that reads output pixel (x, y) at rows * (x, y, 1).
    pub fn from_rows([x, y]: [[f32; 3]; 2]) -> Self {
        AffineWarp { x, y }
    }
}

impl Warp for AffineWarp {
    #[inline(always)]
    fn source(&self, at: Position) -> [f32; 2] {
        [self.x, self.y].map(|row| row[0] * at.x + row[1] * at.y + row[2])
    }

    fn affine(&self) -> Option<[[f32; 3]; 2]> {
        Some([self.x, self.y])
    }
}

impl Node {
    /// Moves each point (x, y) to (a x + b y + c, d x + e y + f); see the operator for its coordinates. The size stays,
    /// what comes from outside is black.
    pub fn affine(&self, matrix: [f32; 6]) -> Node {
        self.apply("affine", &[("matrix", matrix.as_slice().into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses() {
        assert_eq!(invert(&[2.0, 0.0, 3.0, 0.0, 4.0, -8.0]).unwrap(), [[0.5, 0.0, -1.5], [0.0, 0.25, 2.0]]);
        let turn = invert(&[0.0, -1.0, 10.0, 1.0, 0.0, 0.0]).unwrap();
        let at = Position { x: 9.5, y: 0.5, width: 10.0, height: 10.0 };
        assert_eq!(AffineWarp::from_rows(turn).source(at), [0.5, 0.5]);
    }

    #[test]
    fn singular_matrices_are_refused() {
        for matrix in
            [[0.0; 6], [1.0, 2.0, 0.0, 2.0, 4.0, 0.0], [0.1, 0.3, 0.0, 0.2, 0.6, 5.0], [1e-45, 0.0, 1.0, 0.0, 1.0, 0.0]]
        {
            assert_eq!(invert(&matrix), None, "{matrix:?}");
        }
        assert!(invert(&[1e-6, 0.0, 0.0, 0.0, 1e-6, 0.0]).is_some());
    }
}
