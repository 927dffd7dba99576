//! The steps that operators lower to: a small closed set, told apart by what each one *reads*. Everything the compiler
//! decides (fusion, regions, halos) follows from a step's kind; no operator's name appears past this point.

use super::kernel::Kernel;
use crate::image::AlphaMode;
use std::sync::Arc;

/// One step of a lowered graph.
#[derive(Debug, Clone)]
pub enum Step {
    /// An input picture, by index.
    Source { input: usize },
    /// Pixels from coordinates alone.
    Generate(Kernel),
    /// One input, same pixel. A second input, if any, is a buffer that the kernel reads.
    Point(Kernel),
    /// Several inputs, same pixel.
    Composite(Kernel),
    /// Weighted sum over a window: correlation with fixed weights.
    Correlate { taps: Taps, edge: Edge },
    /// A window small enough to be held in registers, handed whole to a kernel: medians, gradients.
    Window { kernel: Kernel, radius: u32, edge: Edge },
    /// Mean over a window with weights that depend on the pixels: bilateral.
    WeightedMean { kernel: Kernel, radius: u32, edge: Edge },
    /// Exact integer coordinates: crop, pad, flip, quarter turns, nearest resize. One read, no arithmetic on pixels.
    Remap { remap: Remap, edge: Edge },
    /// Real coordinates given by a kernel, interpolated.
    Warp { kernel: Kernel, interpolation: Interpolation, edge: Edge },
    /// Change of size along one axis, by a table of weights for each output coordinate.
    Resample { axis: Axis, weights: Arc<ResampleWeights>, edge: Edge },
    /// A picture to a small buffer.
    Reduce(Reduction),
    /// A small buffer to another.
    Derive(Kernel),
}

/// What a step reads; the names that plans and reports print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    Source,
    Generate,
    Point,
    Composite,
    Area,
    Warp,
    Resample,
    Reduce,
    Derive,
}

impl Step {
    /// What it reads.
    pub fn kind(&self) -> StepKind {
        match self {
            Step::Source { .. } => StepKind::Source,
            Step::Generate(_) => StepKind::Generate,
            Step::Point(_) => StepKind::Point,
            Step::Composite(_) => StepKind::Composite,
            Step::Correlate { .. } | Step::Window { .. } | Step::WeightedMean { .. } => StepKind::Area,
            Step::Remap { .. } | Step::Warp { .. } => StepKind::Warp,
            Step::Resample { .. } => StepKind::Resample,
            Step::Reduce(_) => StepKind::Reduce,
            Step::Derive(_) => StepKind::Derive,
        }
    }

    /// The kernel, where there is one.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Step::Generate(kernel) | Step::Point(kernel) | Step::Composite(kernel) | Step::Derive(kernel) => {
                Some(kernel)
            }
            Step::Window { kernel, .. } | Step::WeightedMean { kernel, .. } | Step::Warp { kernel, .. } => Some(kernel),
            _ => None,
        }
    }

    /// The edge mode, where it reads away from its pixel.
    pub fn edge(&self) -> Option<Edge> {
        match self {
            Step::Correlate { edge, .. }
            | Step::Window { edge, .. }
            | Step::WeightedMean { edge, .. }
            | Step::Remap { edge, .. }
            | Step::Warp { edge, .. }
            | Step::Resample { edge, .. } => Some(*edge),
            _ => None,
        }
    }
}

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Extent {
    pub width: u32,
    pub height: u32,
}

impl Extent {
    /// Number of pixels.
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}x{}", self.width, self.height)
    }
}

/// Whether red, green and blue are known to be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Channels {
    /// Red, green and blue are equal: one number per pixel, plus alpha.
    Gray,
    Color,
}

/// What a value is: a picture of some extent, or a small buffer of `length` vec4u entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    Picture { extent: Extent, channels: Channels, alpha: AlphaMode },
    Buffer { length: u32 },
}

impl Shape {
    /// Extent of a picture; a buffer counts as a row.
    pub fn extent(&self) -> Extent {
        match *self {
            Shape::Picture { extent, .. } => extent,
            Shape::Buffer { length } => Extent { width: length, height: 1 },
        }
    }

    /// Alpha of a picture; a buffer has none.
    pub fn alpha(&self) -> AlphaMode {
        match *self {
            Shape::Picture { alpha, .. } => alpha,
            Shape::Buffer { .. } => AlphaMode::Opaque,
        }
    }

    /// Channels of a picture.
    pub fn channels(&self) -> Channels {
        match *self {
            Shape::Picture { channels, .. } => channels,
            Shape::Buffer { .. } => Channels::Color,
        }
    }

    /// Whether it is a buffer.
    pub fn is_buffer(&self) -> bool {
        matches!(self, Shape::Buffer { .. })
    }

    /// A picture without alpha whose channels are equal: it fits a one-channel texture.
    pub fn is_single_channel(&self) -> bool {
        matches!(self, Shape::Picture { channels: Channels::Gray, alpha: AlphaMode::Opaque, .. })
    }
}

/// What is read outside of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edge {
    /// The nearest pixel.
    Clamp,
    /// Reflected, the edge pixel not repeated ("101").
    Mirror,
    /// The other side.
    Wrap,
    /// A fixed colour, in the alpha mode of the value that is read (premultiplied where that is).
    Constant([f32; 4]),
}

impl Edge {
    /// The source coordinate that stands for `coordinate` in 0..size; `None` means the constant.
    ///
    /// ```
    /// use cyanotype::op::Edge;
    /// assert_eq!(Edge::Mirror.resolve(-1, 5), Some(1));
    /// assert_eq!(Edge::Wrap.resolve(-1, 5), Some(4));
    /// assert_eq!(Edge::Clamp.resolve(9, 5), Some(4));
    /// ```
    pub fn resolve(self, coordinate: i64, size: u32) -> Option<u32> {
        let size = i64::from(size.max(1));
        let resolved = match self {
            Edge::Clamp => coordinate.clamp(0, size - 1),
            Edge::Wrap => coordinate.rem_euclid(size),
            Edge::Mirror if size == 1 => 0,
            Edge::Mirror => {
                let period = 2 * (size - 1);
                let folded = coordinate.rem_euclid(period);
                folded.min(period - folded)
            }
            Edge::Constant(_) if coordinate < 0 || coordinate >= size => return None,
            Edge::Constant(_) => coordinate,
        };
        u32::try_from(resolved).ok()
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Edge::Clamp => "clamp",
            Edge::Mirror => "mirror",
            Edge::Wrap => "wrap",
            Edge::Constant(_) => "constant",
        }
    }
}

/// Direction of a one-dimensional step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    Horizontal,
    Vertical,
}

/// Weights of a correlation: `width` x `height`, row by row; `anchor` is the entry that lies on the output pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Taps {
    pub width: u32,
    pub height: u32,
    pub anchor: [u32; 2],
    pub weights: Arc<[f32]>,
}

impl Taps {
    /// One row or one column of an odd number of weights about their middle.
    pub fn line(axis: Axis, weights: Vec<f32>) -> Self {
        let length = weights.len() as u32;
        let (width, height) = match axis {
            Axis::Horizontal => (length, 1),
            Axis::Vertical => (1, length),
        };
        Taps { width, height, anchor: [width / 2, height / 2], weights: weights.into() }
    }
}

/// Exact integer coordinate maps. Output coordinate to source coordinate, before the edge mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remap {
    /// `source = matrix * output + offset`, the matrix rows being (xx, xy), (yx, yy) with entries -1, 0, 1.
    Affine { matrix: [[i32; 2]; 2], offset: [i32; 2] },
    /// Nearest neighbour at half-pixel centres: `source = floor((2 * output + 1) * source_size / (2 * output_size))`.
    Nearest { source: Extent, output: Extent },
}

impl Remap {
    /// The source coordinate of an output coordinate, before the edge mode.
    pub fn source(&self, x: i64, y: i64) -> (i64, i64) {
        match *self {
            Remap::Affine { matrix: [[xx, xy], [yx, yy]], offset: [dx, dy] } => (
                i64::from(xx) * x + i64::from(xy) * y + i64::from(dx),
                i64::from(yx) * x + i64::from(yy) * y + i64::from(dy),
            ),
            Remap::Nearest { source, output } => (
                (2 * x + 1) * i64::from(source.width) / (2 * i64::from(output.width)),
                (2 * y + 1) * i64::from(source.height) / (2 * i64::from(output.height)),
            ),
        }
    }
}

/// How a warp reads between pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The pixel that contains the point.
    Nearest,
    /// 2 x 2, weights in f32.
    Bilinear,
    /// 4 x 4, Catmull-Rom (Keys a = -0.5).
    Bicubic,
}

impl Interpolation {
    /// Names, in the order of `from_index`.
    pub const NAMES: &'static [&'static str] = &["nearest", "bilinear", "bicubic"];

    /// By place in [`Interpolation::NAMES`].
    pub fn from_index(index: usize) -> Self {
        match index {
            0 => Interpolation::Nearest,
            1 => Interpolation::Bilinear,
            _ => Interpolation::Bicubic,
        }
    }

    /// Half width of the window that it reads, in pixels, about the floor of the coordinate.
    pub fn reach(self) -> u32 {
        match self {
            Interpolation::Nearest => 0,
            Interpolation::Bilinear => 1,
            Interpolation::Bicubic => 2,
        }
    }
}

/// For each output coordinate: the first source coordinate (may be outside of the picture) and `taps` weights.
#[derive(Debug, Clone, PartialEq)]
pub struct ResampleWeights {
    /// Number of output coordinates.
    pub output: u32,
    /// Weights for each output coordinate; short windows are padded with zeros.
    pub taps: u32,
    /// First source coordinate of each window.
    pub start: Vec<i32>,
    /// `output * taps` weights.
    pub weights: Vec<f32>,
    /// The least integer factor by which coordinates shrink (1 when enlarging); an estimate for costs.
    pub scale: f32,
}

/// Reductions over a whole picture. The result is a buffer that later steps read on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// 256 entries of (red, green, blue, luma) counts of the values rounded to 8 bit.
    Histogram,
    /// Four entries of f32 bits: minimum, maximum and mean of each channel; then (pixel count low word, high word, 0, 0).
    Statistics,
    /// The pixels of a picture of this extent themselves, row by row: f32 bits of straight red, green, blue and alpha.
    Pixels(Extent),
}

impl Reduction {
    /// Entries of the result.
    pub fn length(self) -> u32 {
        match self {
            Reduction::Histogram => 256,
            Reduction::Statistics => 4,
            // Operators keep to pictures that are small.
            Reduction::Pixels(extent) => u32::try_from(extent.pixels()).unwrap_or(u32::MAX),
        }
    }
}

/// The edge modes, as parameters name them.
pub const EDGE_MODES: &[&str] = &["clamp", "mirror", "wrap", "constant"];

/// Reads the parameters `edge` and, if there is one, `edge-color`.
pub fn edge_from(arguments: &super::Arguments) -> Edge {
    match arguments.choice("edge") {
        "mirror" => Edge::Mirror,
        "wrap" => Edge::Wrap,
        "constant" => Edge::Constant(arguments.color("edge-color")),
        _ => Edge::Clamp,
    }
}
