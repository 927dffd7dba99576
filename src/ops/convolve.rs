//! convolve: a weighted sum over a window, with weights of the caller's.
//!
//! Weights that are the product of a column and a row are applied as two one-dimensional steps where that reads clearly
//! less; everything else is one two-dimensional step.

use crate::error::{Error, Result};
use crate::graph::Node;
use crate::image::AlphaMode;
use crate::op::{
    Arguments, Axis, Builder, Composite, EDGE_MODES, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Taps,
    Value, edge_from, kernel,
};

/// Weighted sum over a window.
pub static OPERATOR: Operator = Operator {
    name: "convolve",
    group: Group::Filter,
    summary: "Weighs the pixels of a window with a kernel of your own",
    details: "sum(kernel * window) / divisor + bias. This is a correlation, as in OpenCV's filter2D: the first \
              weight belongs to the pixel above and to the left (Pillow's Kernel lists the lowest row first). With flip=true it is a convolution, as in \
              SciPy's ndimage.convolve. Weights are listed row by row, an odd number of columns and of rows, at most \
              31 each. Works on premultiplied values as stored. A kernel whose weights over the divisor sum to 1 \
              filters alpha as well; any other (edges, embossing) keeps the picture's alpha. A kernel that is the \
              product of a column and a row within 1e-6 is applied as two one-dimensional ones, unless it is 3x3, \
              where one pass is cheaper.",
    inputs: IMAGE,
    parameters: &[
        Parameter::floats("kernel", 1, SIDE_LIMIT * SIDE_LIMIT, &[0.0, -1.0, 0.0, -1.0, 5.0, -1.0, 0.0, -1.0, 0.0])
            .help("Weights, row by row"),
        Parameter::float("divisor", -1e6, 1e6, 0.0, "")
            .help("What the sum is divided by; 0 stands for the sum of the weights, or 1 where that is 0"),
        Parameter::float("bias", -16.0, 16.0, 0.0, "").help("Added to red, green and blue at the end"),
        Parameter::integer("width", 0, SIDE_LIMIT as i32, 0, "")
            .help("Columns of the kernel; 0 means that it is square"),
        Parameter::switch("flip", false).help("Turns the kernel by 180 degrees: convolution in the mathematical sense"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower,
};

/// Most columns and rows: 961 weights already take a GPU as long as some hundred operators.
const SIDE_LIMIT: usize = 31;

/// How far weights may be from a product, and from a sum of 1, relative to the largest: the error of f32 sums.
const TOLERANCE: f64 = 1e-6;

/// Up to this many weights (3x3) one pass costs less than two with a texture between them.
const SMALL: usize = 9;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let list = arguments.floats("kernel");
    let (width, height) = sides(list.len(), arguments.integer("width") as usize)?;
    let mut weights: Vec<f64> = list.iter().copied().map(f64::from).collect();
    if arguments.switch("flip") {
        weights.reverse();
    }
    let divisor = match f64::from(arguments.float("divisor")) {
        0.0 => natural_divisor(&weights),
        divisor => divisor,
    };
    for weight in &mut weights {
        *weight /= divisor;
    }
    let normalised = (weights.iter().sum::<f64>() - 1.0).abs() <= TOLERANCE;
    let bias = arguments.float("bias");
    if is_identity(&weights) && bias == 0.0 {
        return Ok(inputs[0]);
    }
    let edge = edge_from(arguments);
    let narrow = |weights: &[f64]| weights.iter().map(|weight| *weight as f32).collect::<Vec<f32>>();
    let sum = match factors(&weights, width) {
        Some((column, row)) if width > 1 && height > 1 && width * height > SMALL => {
            let columns = builder.correlate(inputs[0], Taps::line(Axis::Vertical, narrow(&column)), edge);
            builder.correlate(columns, Taps::line(Axis::Horizontal, narrow(&row)), edge)
        }
        _ => {
            let (width, height) = (width as u32, height as u32);
            let taps = Taps { width, height, anchor: [width / 2, height / 2], weights: narrow(&weights).into() };
            builder.correlate(inputs[0], taps, edge)
        }
    };
    if normalised && bias == 0.0 {
        return Ok(sum);
    }
    let opaque = builder.shape(sum).alpha() == AlphaMode::Opaque;
    if opaque {
        return Ok(builder.point(sum, ConvolveBias { bias }));
    }
    let own_alpha = if normalised { 0.0 } else { 1.0 };
    builder.composite([inputs[0], sum], !normalised, Convolve { bias, own_alpha })
}

/// Columns and rows of a list of `length` weights; `width` 0 means that it is square.
fn sides(length: usize, width: usize) -> Result<(usize, usize)> {
    let columns = if width == 0 { length.isqrt() } else { width };
    let rows = length / columns.max(1);
    let odd = columns % 2 == 1 && rows % 2 == 1;
    let square = columns == rows;
    if odd && columns * rows == length && rows <= SIDE_LIMIT && (width != 0 || square) {
        return Ok((columns, rows));
    }
    let expected = match width {
        0 => "k*k weights with k odd, or any odd number of columns by an odd number of rows with 'width' given".into(),
        _ => format!("an odd number of columns, here {width}, by an odd number of rows up to {SIDE_LIMIT}"),
    };
    let found = format!("{length} weights");
    Err(Error::BadParameter { operator: OPERATOR.name.into(), parameter: "kernel".into(), expected, found })
}

/// The sum of the weights, or 1 where it is 0 but for rounding.
fn natural_divisor(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
    if sum.abs() <= TOLERANCE * size { 1.0 } else { sum }
}

/// Whether all weights are 0 but the middle one, which is 1.
fn is_identity(weights: &[f64]) -> bool {
    let middle = weights.len() / 2;
    weights.iter().enumerate().all(|(index, weight)| *weight == if index == middle { 1.0 } else { 0.0 })
}

/// The column and the row whose product the weights are, if they are one. The column's magnitudes sum to 1, so that what
/// stands between the two steps stays in the range of the pixels.
fn factors(weights: &[f64], width: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let largest = weights.iter().copied().enumerate().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let (place, pivot) = largest.filter(|(_, pivot)| *pivot != 0.0 && pivot.is_finite())?;
    let row = weights.chunks(width).nth(place / width)?;
    let column: Vec<f64> = weights.iter().skip(place % width).step_by(width).copied().collect();
    let is_product = weights.chunks(width).zip(&column).all(|(line, factor)| {
        line.iter().zip(row).all(|(weight, value)| (weight - factor * value / pivot).abs() <= TOLERANCE * pivot.abs())
    });
    if !is_product {
        return None;
    }
    let size: f64 = column.iter().map(|weight| weight.abs()).sum();
    // The pivot's sign goes to the row: a smoothing column keeps positive weights.
    let scale = size * pivot.signum();
    Some((
        column.iter().map(|weight| weight / scale).collect(),
        row.iter().map(|weight| weight * scale / pivot).collect(),
    ))
}

kernel! { "convolve-bias", cost: 0.5, pub struct ConvolveBias { bias: f32 } }

impl Point for ConvolveBias {
    #[inline(always)]
    fn pixel(&self, [r, g, b, _]: Rgba, _: Position) -> Rgba {
        // The picture is opaque, whatever the weights made of its alpha.
        [r + self.bias, g + self.bias, b + self.bias, 1.0]
    }
}

kernel! {
    "convolve",
    cost: 1.0,
    pub struct Convolve {
        bias: f32,
        /// 1 keeps the picture's alpha, 0 takes the filtered one.
        own_alpha: f32,
    }
}

impl Composite<2> for Convolve {
    #[inline(always)]
    fn pixel(&self, [image, sum]: [Rgba; 2], _: Position) -> Rgba {
        let alpha = sum[3] + (image[3] - sum[3]) * self.own_alpha;
        let bias = self.bias * alpha;
        [sum[0] + bias, sum[1] + bias, sum[2] + bias, alpha]
    }
}

impl Node {
    /// Weighs the pixels of a square window: `kernel` holds k*k weights, k odd, row by row. They are divided by their
    /// sum where that is not 0. A correlation: the kernel is not turned.
    pub fn convolve(&self, kernel: &[f32]) -> Node {
        self.apply("convolve", &[("kernel", kernel.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_odd() {
        assert_eq!(sides(9, 0).unwrap(), (3, 3));
        assert_eq!(sides(961, 0).unwrap(), (31, 31));
        assert_eq!(sides(15, 5).unwrap(), (5, 3));
        assert_eq!(sides(5, 1).unwrap(), (1, 5));
        for (length, width) in [(4, 0), (15, 0), (16, 0), (10, 5), (9, 4), (961, 1), (0, 0)] {
            assert!(sides(length, width).is_err(), "{length} weights, width {width}");
        }
        assert!(sides(16, 0).unwrap_err().to_string().contains("k odd"));
    }

    #[test]
    fn products_are_found() {
        // Sobel of side 5: a smoothing column times a derivative row.
        let (smooth, slope) = ([1.0, 4.0, 6.0, 4.0, 1.0], [-1.0, -2.0, 0.0, 2.0, 1.0]);
        let weights: Vec<f64> = smooth.iter().flat_map(|a| slope.map(|b| a * b)).collect();
        let (column, row) = factors(&weights, 5).unwrap();
        assert!((column.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{column:?}");
        for (index, weight) in weights.iter().enumerate() {
            assert!((column[index / 5] * row[index % 5] - weight).abs() < 1e-12);
        }
        assert!(factors(&[0.0, 1.0, 0.0, 1.0, -4.0, 1.0, 0.0, 1.0, 0.0], 3).is_none());
        assert!(factors(&[0.0; 9], 3).is_none());
    }

    #[test]
    fn a_sum_of_nothing_divides_by_one() {
        assert_eq!(natural_divisor(&[0.1f32, 0.2, -0.3].map(f64::from)), 1.0);
        assert_eq!(natural_divisor(&[1.0, 2.0, 1.0]), 4.0);
    }
}
