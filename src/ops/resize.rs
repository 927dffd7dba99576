//! resize: another number of pixels, by a weighted mean about each new pixel's place.
//!
//! Pixel centres lie at half integers: the centre of new pixel `i` lies at `(i + 0.5) * old / new`. When shrinking, the
//! filter is stretched by the factor, so that every old pixel counts. Weights are computed in f64, cut at the picture's
//! edge and made to sum to one.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{
    Arguments, Axis, Builder, Edge, Extent, Group, IMAGE, Operator, Parameter, Remap, ResampleWeights, Value,
};
use std::f64::consts::PI;

/// Another number of pixels.
pub static OPERATOR: Operator = Operator {
    name: "resize",
    group: Group::Geometry,
    summary: "Changes the size in pixels",
    details: "Half-pixel centres. 'nearest' is exact integer arithmetic, floor((2 i + 1) old / (2 new)); 'bilinear' is a \
              triangle, 'bicubic' Catmull-Rom (Keys a = -0.5), 'lanczos3' a windowed sinc, 'area' the mean over the \
              exact area that a pixel covers. When shrinking, filters are stretched by the factor unless \
              antialias=false, so nothing is skipped. Works on premultiplied values as stored, height first; windows \
              are cut at the picture's edge and renormalised. These are the weights of Pillow and fast_image_resize \
              (whose box filter weighs whole pixels, unlike area; bytes are rounded and clamped between the directions \
              there, not here). Nearest is OpenCV's INTER_NEAREST_EXACT, but where \
              a centre falls between two pixels the later one is taken, always. OpenCV's linear, cubic (a = -0.75) and Lanczos \
              (8 pixels) never antialias; its area is the same when shrinking. In linear light fine bright detail keeps \
              its energy.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("width", 0, 65535, 0, "px")
            .help("New width; 0 keeps the aspect, or the width if height is 0 too"),
        Parameter::integer("height", 0, 65535, 0, "px")
            .help("New height; 0 keeps the aspect, or the height if width is 0 too"),
        Parameter::choice("filter", &["nearest", "bilinear", "bicubic", "lanczos3", "area"], 3)
            .help("Weights of the old pixels"),
        Parameter::switch("antialias", true).help("Stretches the filter when shrinking; nearest and area ignore it"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let input = inputs[0];
    let source = builder.extent(input);
    let output = size(source, arguments.integer("width") as u32, arguments.integer("height") as u32);
    builder.check_extent(output)?;
    if output == source {
        return Ok(input);
    }
    let filter = arguments.choice("filter");
    if filter == "nearest" && fits_integers(source.width, output.width) && fits_integers(source.height, output.height) {
        return builder.remap(input, Remap::Nearest { source, output }, output, Edge::Clamp);
    }
    let antialias = arguments.switch("antialias");
    let mut axes = [(Axis::Vertical, source.height, output.height), (Axis::Horizontal, source.width, output.width)];
    // Rows are made first, as the backends sum rows of a source best, unless that makes far more of them.
    let between = |width: u32, height: u32| u64::from(width) * u64::from(height);
    if between(source.width, output.height) > 2 * between(output.width, source.height) {
        axes.reverse();
    }
    let mut value = input;
    for (axis, old, new) in axes {
        if old != new {
            value = builder.resample(value, axis, weights(old, new, filter, antialias), Edge::Clamp)?;
        }
    }
    Ok(value)
}

/// The new size; 0 follows from the other side, rounded half up, at least 1.
fn size(source: Extent, width: u32, height: u32) -> Extent {
    let scaled = |side: u32, new: u32, old: u32| {
        let (side, new, old) = (u64::from(side), u64::from(new), u64::from(old));
        let rounded = (2 * side * new + old) / (2 * old).max(1);
        u32::try_from(rounded.max(1)).unwrap_or(u32::MAX) // over the limit, so refused by the caller
    };
    match (width, height) {
        (0, 0) => source,
        (0, height) => Extent { width: scaled(source.width, height, source.height), height },
        (width, 0) => Extent { width, height: scaled(source.height, width, source.width) },
        (width, height) => Extent { width, height },
    }
}

/// Whether a GPU computes nearest coordinates in 32-bit integers without overflow; else a table of one weight is used.
fn fits_integers(source: u32, output: u32) -> bool {
    u64::from(source) * 2 * u64::from(output) <= u64::from(u32::MAX)
}

/// Weights of one axis by a filter's name.
pub fn weights(source: u32, output: u32, filter: &str, antialias: bool) -> ResampleWeights {
    let rows = match filter {
        "nearest" => nearest(source, output),
        "area" => area(source, output),
        "bilinear" => filtered(source, output, antialias, 1.0, triangle),
        "bicubic" => filtered(source, output, antialias, 2.0, catmull_rom),
        _ => filtered(source, output, antialias, 3.0, lanczos3),
    };
    table(source, rows, (f64::from(source) / f64::from(output)).max(1.0) as f32)
}

/// First source pixel and raw weights of an output pixel.
type Row = (u32, Vec<f64>);

fn nearest(source: u32, output: u32) -> Vec<Row> {
    (0..u64::from(output))
        .map(|index| (2 * index + 1) * u64::from(source) / (2 * u64::from(output))) // below `source`
        .map(|place| (place as u32, vec![1.0]))
        .collect()
}

/// Output pixel `i` covers `i * source .. (i + 1) * source` in units in which a source pixel is `output` long.
fn area(source: u32, output: u32) -> Vec<Row> {
    let (source, output) = (u64::from(source), u64::from(output));
    (0..output)
        .map(|index| {
            let (start, end) = (index * source, (index + 1) * source);
            let pixels = start / output..end.div_ceil(output);
            let covered = |pixel: u64| end.min((pixel + 1) * output) - start.max(pixel * output);
            (pixels.start as u32, pixels.map(|pixel| covered(pixel) as f64).collect())
        })
        .collect()
}

fn filtered(source: u32, output: u32, antialias: bool, radius: f64, curve: fn(f64) -> f64) -> Vec<Row> {
    let ratio = f64::from(source) / f64::from(output);
    let stretch = if antialias { ratio.max(1.0) } else { 1.0 };
    let reach = radius * stretch;
    (0..output)
        .map(|index| {
            let center = (f64::from(index) + 0.5) * ratio;
            let first = (center - reach).floor().max(0.0) as u32;
            let end = ((center + reach).ceil() as u32).min(source);
            let offset = |pixel: u32| f64::from(pixel) + 0.5 - center;
            (first, (first..end).map(|pixel| curve(offset(pixel) / stretch)).collect())
        })
        .collect()
}

fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

fn catmull_rom(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

fn lanczos3(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}

/// Normalises the rows and makes them equally long. A window stays within the picture, with zeros before it if need be.
fn table(source: u32, mut rows: Vec<Row>, scale: f32) -> ResampleWeights {
    for (first, row) in &mut rows {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|weight| *weight /= sum);
        // What f64 rounding left of a filter's zeros.
        let counts = |weight: &f64| weight.abs() > 1e-9;
        row.truncate(row.iter().rposition(counts).map_or(0, |last| last + 1));
        let zeros = row.iter().position(counts).unwrap_or(0);
        row.drain(..zeros);
        *first += zeros as u32;
    }
    let taps = rows.iter().map(|(_, row)| row.len()).max().unwrap_or(1);
    let mut result = ResampleWeights {
        output: rows.len() as u32,
        taps: taps as u32,
        start: Vec::with_capacity(rows.len()),
        weights: Vec::with_capacity(rows.len() * taps),
        scale,
    };
    for (first, row) in &rows {
        let start = (*first).min(source.saturating_sub(taps as u32));
        let zeros = (*first - start) as usize;
        result.start.push(start as i32);
        result.weights.extend(std::iter::repeat_n(0.0, zeros));
        result.weights.extend(row.iter().map(|weight| *weight as f32));
        result.weights.extend(std::iter::repeat_n(0.0, taps - zeros - row.len()));
    }
    result
}

impl Node {
    /// Changes the size in pixels with the Lanczos filter, antialiased; 0 keeps the aspect.
    pub fn resize(&self, width: u32, height: u32) -> Node {
        self.apply("resize", &[("width", width.into()), ("height", height.into())])
    }

    /// The same with a filter of choice: nearest, bilinear, bicubic, lanczos3 or area.
    pub fn resize_with(&self, width: u32, height: u32, filter: &str) -> Node {
        self.apply("resize", &[("width", width.into()), ("height", height.into()), ("filter", filter.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILTERS: [&str; 5] = ["nearest", "bilinear", "bicubic", "lanczos3", "area"];

    #[test]
    fn weights_sum_to_one_within_the_picture() {
        for (source, output) in [(1, 1), (1, 7), (7, 1), (5, 3), (3, 5), (100, 33), (33, 100), (640, 641), (4000, 3)] {
            for filter in FILTERS {
                for antialias in [true, false] {
                    let table = weights(source, output, filter, antialias);
                    assert_eq!(table.start.len() as u32, output);
                    assert_eq!(table.weights.len() as u32, output * table.taps);
                    assert!(table.taps >= 1 && table.taps <= source);
                    for (row, start) in table.weights.chunks(table.taps as usize).zip(&table.start) {
                        let sum: f64 = row.iter().copied().map(f64::from).sum();
                        assert!((sum - 1.0).abs() < 1e-5, "{filter} {source}->{output}: {sum}");
                        assert!(*start >= 0 && *start as u32 + table.taps <= source, "{filter} {source}->{output}");
                    }
                }
            }
        }
    }

    #[test]
    fn exact_tables() {
        let half = weights(4, 2, "bilinear", true);
        // A triangle of half width 2 about 1 and 3, cut at the edges: (3, 3, 1) / 7 and (1, 3, 3) / 7.
        assert_eq!((half.taps, half.start), (3, vec![0, 1]));
        assert_eq!(half.weights, [3.0, 3.0, 1.0, 1.0, 3.0, 3.0].map(|weight: f32| weight / 7.0));
        let double = weights(2, 4, "bilinear", true);
        assert_eq!(double.weights, [1.0, 0.0, 0.75, 0.25, 0.25, 0.75, 0.0, 1.0]);
        let area = weights(3, 2, "area", true);
        assert_eq!((area.taps, area.start), (2, vec![0, 1]));
        assert_eq!(area.weights, [2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0].map(|weight: f64| weight as f32));
        assert_eq!(weights(5, 2, "nearest", true).start, [1, 3]);
        // Not antialiased, at a whole factor: the old pixels about each centre, here two of equal weight.
        assert_eq!(weights(4, 2, "bilinear", false).weights, [0.5; 4]);
    }

    #[test]
    fn sizes_round_half_up() {
        let source = Extent { width: 3, height: 5 };
        assert_eq!(size(source, 0, 0), source);
        assert_eq!(size(source, 0, 3), Extent { width: 2, height: 3 }); // 1.8
        assert_eq!(size(Extent { width: 4, height: 2 }, 5, 0), Extent { width: 5, height: 3 }); // 2.5
        assert_eq!(size(Extent { width: 65535, height: 1 }, 3, 0), Extent { width: 3, height: 1 });
        assert_eq!(size(Extent { width: 1, height: 65535 }, 65535, 0).height, 65535 * 65535);
    }

    #[test]
    fn wide_nearest_is_not_left_to_32_bits() {
        assert!(fits_integers(46340, 46340));
        assert!(!fits_integers(65535, 40000));
        assert_eq!(weights(65535, 65534, "nearest", true).start.last(), Some(&65534));
    }
}
