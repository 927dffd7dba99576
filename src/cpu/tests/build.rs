//! Graphs for tests, built step by step without operators, and the kernels that they use.

use crate::graph::lower::{Lowered, Output, OutputKind, StepKey, StepNode, Value};
use crate::image::{AlphaMode, Description, Image, PixelFormat, SampleType};
use crate::op::{
    Channels, Edge, Extent, Kernel, Place, Planes, PlanesMut, Position, Reduction, Remap, Rgba, Rows, Shape, Step,
};
use std::sync::Arc;

/// Numbers that look random and are the same in each run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// -0.25..1.25, so that values outside of 0..1 occur.
    pub fn value(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32 * 1.5 - 0.25
    }
}

/// Kinds of source pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Gray,
    Color,
    Alpha,
}

pub const KINDS: [Kind; 3] = [Kind::Gray, Kind::Color, Kind::Alpha];
pub const EDGES: [Edge; 5] = [
    Edge::Clamp,
    Edge::Mirror,
    Edge::Wrap,
    Edge::Constant([0.5, 0.25, 0.125, 0.5]),
    Edge::Constant([0.75, 0.75, 0.75, 1.0]),
];
/// One pixel, one row, one column, odd, wider than a cell, higher than a cell.
pub const SIZES: [(u32, u32); 7] = [(1, 1), (1, 9), (11, 1), (5, 4), (37, 29), (530, 7), (19, 131)];

/// A graph while it is built.
pub struct Pictures {
    nodes: Vec<StepNode>,
    inputs: Vec<(String, Description)>,
    outputs: Vec<Output>,
}

impl Pictures {
    pub fn new() -> Self {
        Pictures { nodes: Vec::new(), inputs: Vec::new(), outputs: Vec::new() }
    }

    pub fn push(&mut self, step: Step, inputs: &[Value], shape: Shape) -> Value {
        let key = StepKey { node: self.nodes.len(), step: 0 };
        let label = format!("{:?} {}", step.kind(), self.nodes.len());
        self.nodes.push(StepNode { step, inputs: inputs.to_vec(), shape, label, key });
        Value(self.nodes.len() - 1)
    }

    pub fn shape(&self, value: Value) -> Shape {
        self.nodes[value.0].shape
    }

    pub fn extent(&self, value: Value) -> Extent {
        self.shape(value).extent()
    }

    pub fn source(&mut self, width: u32, height: u32, kind: Kind) -> Value {
        let format = match kind {
            Kind::Gray => PixelFormat::R32F,
            Kind::Color => PixelFormat::Rgb32F,
            Kind::Alpha => PixelFormat::Rgba32F,
        };
        self.source_of(Description::new(width, height, format))
    }

    pub fn source_of(&mut self, description: Description) -> Value {
        let channels = if description.format.channels() == 1 { Channels::Gray } else { Channels::Color };
        let extent = Extent { width: description.width, height: description.height };
        self.inputs.push((format!("input {}", self.inputs.len()), description));
        let shape = Shape::Picture { extent, channels, alpha: description.alpha };
        self.push(Step::Source { input: self.inputs.len() - 1 }, &[], shape)
    }

    /// A step whose result is like its input, but for what a constant edge adds, and of this extent.
    pub fn area(&mut self, step: Step, input: Value, extent: Extent) -> Value {
        let shape = self.shape(input);
        let (mut channels, mut alpha) = (shape.channels(), shape.alpha());
        if let Some(Edge::Constant([r, g, b, a])) = step.edge() {
            if a != 1.0 {
                alpha = AlphaMode::Premultiplied;
            }
            if r != g || g != b {
                channels = Channels::Color;
            }
        }
        self.push(step, &[input], Shape::Picture { extent, channels, alpha })
    }

    /// A step of the input's extent.
    pub fn same(&mut self, step: Step, input: Value) -> Value {
        let extent = self.extent(input);
        self.area(step, input, extent)
    }

    /// A point step that may make colour of grey.
    pub fn point(&mut self, input: Value, kernel: Kernel, channels: Channels) -> Value {
        let shape = self.shape(input);
        self.push(
            Step::Point(kernel),
            &[input],
            Shape::Picture { extent: shape.extent(), channels, alpha: shape.alpha() },
        )
    }

    pub fn reduce(&mut self, input: Value, reduction: Reduction) -> Value {
        self.push(Step::Reduce(reduction), &[input], Shape::Buffer { length: reduction.length() })
    }

    /// A float output.
    pub fn output(&mut self, value: Value) {
        let shape = self.shape(value);
        let format = match (shape.channels(), shape.alpha()) {
            (Channels::Gray, AlphaMode::Opaque) => PixelFormat::R32F,
            (Channels::Color, AlphaMode::Opaque) => PixelFormat::Rgb32F,
            _ => PixelFormat::Rgba32F,
        };
        self.output_as(value, format);
    }

    pub fn output_as(&mut self, value: Value, format: PixelFormat) {
        let name = format!("out {}", self.outputs.len());
        let kind = match self.shape(value) {
            Shape::Buffer { length } => OutputKind::Buffer { length },
            Shape::Picture { extent, alpha, .. } => {
                let alpha = if format.has_alpha() { alpha } else { AlphaMode::Opaque };
                OutputKind::Picture(Description::new(extent.width, extent.height, format).with_alpha(alpha))
            }
        };
        self.outputs.push(Output { name, value, kind });
    }

    /// The graph. Every value must be needed by an output.
    pub fn graph(&self) -> Lowered {
        Lowered { nodes: self.nodes.clone(), inputs: self.inputs.clone(), outputs: self.outputs.clone() }
    }

    /// Pictures for its inputs.
    pub fn images(&self, numbers: &mut Numbers) -> Vec<Image> {
        let image = |(_, description): &(String, Description)| {
            let count = description.pixel_count() * u64::from(description.format.channels());
            let values = (0..count).map(|_| numbers.value());
            let bytes = match description.format.sample() {
                SampleType::F32 => return Image::from_sample_vec(*description, values.collect::<Vec<f32>>()).unwrap(),
                SampleType::F16 => values.flat_map(|value| half::f16::from_f32_const(value).to_ne_bytes()).collect(),
                _ => (0..description.byte_count()).map(|_| numbers.next() as u8).collect(),
            };
            Image::new(*description, bytes).unwrap()
        };
        self.inputs.iter().map(image).collect()
    }

    pub fn check(&self, tolerance: f32) {
        let images = self.images(&mut Numbers::new(self.nodes.len() as u64));
        super::check(&self.graph(), &images, tolerance);
    }
}

/// A kernel without WGSL.
pub fn kernel(name: &str, rows: Rows) -> Kernel {
    Kernel {
        name: name.into(),
        wgsl: "".into(),
        struct_name: "".into(),
        fields: Arc::new([]),
        words: Vec::new(),
        table: None,
        cost: 1.0,
        positional: false,
        identity: false,
        matrix: None,
        affine: None,
        foreign: false,
        rows,
    }
}

/// The functions of the kernels below; `naive` calls them one pixel at a time.
pub fn mix_channels([r, g, b, a]: Rgba) -> Rgba {
    [g * 0.5 + 0.1, b - r * 0.25, r * 0.75 + a * 0.125, a * 0.75]
}

pub fn shade([r, g, b, a]: Rgba, at: Position) -> Rgba {
    let (x, y) = (at.x / at.width, at.y / at.height);
    [r + x * 0.5, g - y * 0.25, b + x * y, a]
}

/// Infinite where the value is above 1.
pub fn explode(color: Rgba) -> Rgba {
    color.map(|value| if value > 1.0 { f32::INFINITY } else { value })
}

pub fn stripes(at: Position) -> Rgba {
    let value = (at.x * 0.25).fract();
    [value, value * 0.5 + at.y / at.height, at.x / at.width, 0.5 + value * 0.5]
}

pub fn over([first, second]: [Rgba; 2]) -> Rgba {
    std::array::from_fn(|channel| first[channel] + second[channel] * (1.0 - first[3] * 0.5))
}

/// Asymmetric in all directions, and dependent on the position.
pub fn steepest(window: &[Rgba], at: Position) -> Rgba {
    let side = window.len().isqrt();
    let (first, last, middle) = (window[0], window[window.len() - 1], window[window.len() / 2]);
    let corner = window[side - 1];
    let mut out: Rgba = std::array::from_fn(|channel| last[channel] - first[channel] * 0.5 + corner[channel] * 0.25);
    out[0] += at.x / at.width * middle[1];
    out
}

pub fn closeness(sample: Rgba, center: Rgba, [dx, dy]: [f32; 2]) -> f32 {
    let difference = (sample[0] - center[0]).abs() + (sample[3] - center[3]).abs();
    1.0 / (1.0 + difference * 4.0 + dx * dx * 0.5 + (dy - 0.25) * (dy - 0.25))
}

/// A turn by a few degrees, shrunk a little.
pub fn turn(at: Position) -> [f32; 2] {
    let (x, y) = (at.x - 3.0, at.y - 2.0);
    [x * 1.1 - y * 0.3 + 2.5, x * 0.3 + y * 0.9 - 1.5]
}

/// All over the place, and now and then nowhere.
pub fn scatter(at: Position) -> [f32; 2] {
    let hash = (at.x * 12.9898 + at.y * 78.233).sin() * 43758.547;
    let hash = hash - hash.floor();
    match (hash * 50.0) as u32 {
        0 => [f32::NAN, at.y],
        1 => [at.x, f32::INFINITY],
        2 => [f32::NEG_INFINITY, -3e9],
        _ => [hash * at.width * 1.5 - 4.0, (hash * 7.0).fract() * at.height * 1.25],
    }
}

/// Brightness by the first entry of a buffer.
pub fn by_buffer([r, g, b, a]: Rgba, buffer: &[[u32; 4]]) -> Rgba {
    let scale = (buffer[0][0] % 7 + 1) as f32 * 0.25;
    [r * scale, g * scale, b * scale, a]
}

/// The entries in reverse order.
pub fn reversed(buffer: &[[u32; 4]]) -> Vec<[u32; 4]> {
    buffer.iter().rev().copied().collect()
}

fn color_at(planes: &Planes, index: usize) -> Rgba {
    [planes.r[index], planes.g[index], planes.b[index], planes.a[index]]
}

fn put(out: &mut PlanesMut, index: usize, [r, g, b, a]: Rgba) {
    (out.r[index], out.g[index], out.b[index], out.a[index]) = (r, g, b, a);
}

pub fn mix_channels_kernel() -> Kernel {
    kernel(
        "mix-channels",
        Rows::Point(Arc::new(|mut planes: PlanesMut, _: Place| {
            for index in 0..planes.len() {
                let color = color_at(&planes.view(), index);
                put(&mut planes, index, mix_channels(color));
            }
        })),
    )
}

pub fn explode_kernel() -> Kernel {
    kernel(
        "explode",
        Rows::Point(Arc::new(|mut planes: PlanesMut, _: Place| {
            for index in 0..planes.len() {
                let color = color_at(&planes.view(), index);
                put(&mut planes, index, explode(color));
            }
        })),
    )
}

pub fn shade_kernel() -> Kernel {
    let code = |mut planes: PlanesMut, place: Place| {
        for index in 0..planes.len() {
            let color = color_at(&planes.view(), index);
            put(&mut planes, index, shade(color, place.position(index)));
        }
    };
    Kernel { positional: true, ..kernel("shade", Rows::Point(Arc::new(code))) }
}

pub fn stripes_kernel() -> Kernel {
    let code = |mut planes: PlanesMut, place: Place| {
        for index in 0..planes.len() {
            put(&mut planes, index, stripes(place.position(index)));
        }
    };
    Kernel { positional: true, ..kernel("stripes", Rows::Generate(Arc::new(code))) }
}

pub fn over_kernel() -> Kernel {
    kernel(
        "over",
        Rows::Composite(Arc::new(|inputs: &[Planes], mut out: PlanesMut, _: Place| {
            for index in 0..out.len() {
                put(&mut out, index, over([color_at(&inputs[0], index), color_at(&inputs[1], index)]));
            }
        })),
    )
}

pub fn steepest_kernel(radius: u32) -> Kernel {
    let side = 2 * radius as usize + 1;
    kernel(
        "steepest",
        Rows::Window(Arc::new(move |rows: &[Planes], mut out: PlanesMut, place: Place| {
            assert_eq!(rows.len(), side);
            for index in 0..out.len() {
                assert_eq!(rows[0].len(), out.len() + side - 1);
                let window: Vec<Rgba> =
                    rows.iter().flat_map(|row| (index..index + side).map(|x| color_at(row, x))).collect();
                put(&mut out, index, steepest(&window, place.position(index)));
            }
        })),
    )
}

pub fn closeness_kernel(radius: u32) -> Kernel {
    let side = 2 * radius as usize + 1;
    let reach = radius as f32;
    kernel(
        "closeness",
        Rows::WeightedMean(Arc::new(move |rows: &[Planes], mut out: PlanesMut, _: Place| {
            for index in 0..out.len() {
                let center = color_at(&rows[side / 2], index + side / 2);
                let (mut sum, mut total) = ([0.0; 4], 0.0);
                for (y, row) in rows.iter().enumerate() {
                    for x in 0..side {
                        let sample = color_at(row, index + x);
                        let weight = closeness(sample, center, [x as f32 - reach, y as f32 - reach]);
                        total += weight;
                        sum = std::array::from_fn(|channel| sum[channel] + sample[channel] * weight);
                    }
                }
                put(&mut out, index, sum.map(|sum| sum / total));
            }
        })),
    )
}

pub fn warp_kernel(name: &str, source: fn(Position) -> [f32; 2]) -> Kernel {
    let code = move |xs: &mut [f32], ys: &mut [f32], place: Place| {
        for (index, (x, y)) in xs.iter_mut().zip(ys).enumerate() {
            [*x, *y] = source(place.position(index));
        }
    };
    Kernel { positional: true, ..kernel(name, Rows::Warp(Arc::new(code))) }
}

pub fn by_buffer_kernel() -> Kernel {
    kernel(
        "by-buffer",
        Rows::PointWithBuffer(Arc::new(|buffer: &[[u32; 4]]| {
            let buffer = buffer.to_vec();
            Rows::Point(Arc::new(move |mut planes: PlanesMut, _: Place| {
                for index in 0..planes.len() {
                    let color = color_at(&planes.view(), index);
                    put(&mut planes, index, by_buffer(color, &buffer));
                }
            }))
        })),
    )
}

pub fn reversed_kernel() -> Kernel {
    kernel("reversed", Rows::Derive(Arc::new(|buffer: &[[u32; 4]]| reversed(buffer))))
}

/// A quarter turn clockwise.
pub fn quarter_turn(extent: Extent) -> (Remap, Extent) {
    let remap = Remap::Affine { matrix: [[0, 1], [-1, 0]], offset: [0, extent.height as i32 - 1] };
    (remap, Extent { width: extent.height, height: extent.width })
}
