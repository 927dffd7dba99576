//! A graph evaluated by the definitions, one value after the other and one pixel after the other.

use super::build;
use crate::graph::lower::{Lowered, StepNode};
use crate::image::{AlphaMode, Image};
use crate::maths::sanitize;
use crate::op::{Axis, Channels, Edge, Interpolation, Position, Reduction, Remap, Rgba, Shape, Step};

/// A value.
pub enum Made {
    Picture(Vec<Rgba>),
    Buffer(Vec<[u32; 4]>),
}

impl Made {
    fn pixels(&self) -> &[Rgba] {
        match self {
            Made::Picture(pixels) => pixels,
            Made::Buffer(_) => panic!("a buffer for a picture"),
        }
    }

    fn entries(&self) -> &[[u32; 4]] {
        match self {
            Made::Buffer(entries) => entries,
            Made::Picture(_) => panic!("a picture for a buffer"),
        }
    }
}

/// All values of a graph.
pub fn evaluate(graph: &Lowered, sources: &[Image]) -> Vec<Made> {
    let mut made: Vec<Made> = Vec::new();
    for node in &graph.nodes {
        let inputs: Vec<(&Made, Shape)> =
            node.inputs.iter().map(|input| (&made[input.0], graph.node(*input).shape)).collect();
        let value = match &node.step {
            Step::Reduce(Reduction::Histogram) => Made::Buffer(histogram(inputs[0].0.pixels())),
            Step::Reduce(Reduction::Statistics) => Made::Buffer(statistics(inputs[0].0.pixels())),
            Step::Reduce(Reduction::Pixels(_)) => Made::Buffer(
                inputs[0].0.pixels().iter().map(|pixel| pixel.map(|value| sanitize(value).to_bits())).collect(),
            ),
            Step::Derive(_) => Made::Buffer(build::reversed(inputs[0].0.entries())),
            _ => {
                let extent = node.shape.extent();
                let mut pixels = Vec::new();
                for y in 0..extent.height {
                    for x in 0..extent.width {
                        pixels.push(as_shaped(pixel(node, &inputs, sources, x, y), node.shape));
                    }
                }
                Made::Picture(pixels)
            }
        };
        made.push(value);
    }
    made
}

/// Grey has equal channels, an opaque value alpha 1.
fn as_shaped([r, g, b, a]: Rgba, shape: Shape) -> Rgba {
    let [r, g, b] = if shape.channels() == Channels::Gray { [r, r, r] } else { [r, g, b] };
    [r, g, b, if shape.alpha() == AlphaMode::Opaque { 1.0 } else { a }]
}

/// A coordinate by an edge mode, found by walking.
fn resolve(edge: Edge, mut coordinate: i64, size: u32) -> Option<i64> {
    let last = i64::from(size) - 1;
    match edge {
        Edge::Constant(_) if coordinate < 0 || coordinate > last => return None,
        Edge::Constant(_) => {}
        Edge::Clamp => coordinate = coordinate.max(0).min(last),
        Edge::Wrap => {
            while coordinate < 0 {
                coordinate += i64::from(size);
            }
            while coordinate > last {
                coordinate -= i64::from(size);
            }
        }
        Edge::Mirror if last == 0 => coordinate = 0,
        Edge::Mirror => {
            while coordinate < 0 || coordinate > last {
                coordinate = if coordinate < 0 { -coordinate } else { 2 * last - coordinate };
            }
        }
    }
    Some(coordinate)
}

fn read((made, shape): &(&Made, Shape), edge: Edge, x: i64, y: i64) -> Rgba {
    let extent = shape.extent();
    match (resolve(edge, x, extent.width), resolve(edge, y, extent.height), edge) {
        (Some(x), Some(y), _) => made.pixels()[(y * i64::from(extent.width) + x) as usize],
        (_, _, Edge::Constant(color)) => color,
        _ => panic!("only a constant edge has nothing to read"),
    }
}

fn pixel(node: &StepNode, inputs: &[(&Made, Shape)], sources: &[Image], x: u32, y: u32) -> Rgba {
    let extent = node.shape.extent();
    let index = (y * extent.width + x) as usize;
    let at =
        Position { x: x as f32 + 0.5, y: y as f32 + 0.5, width: extent.width as f32, height: extent.height as f32 };
    let (x, y) = (i64::from(x), i64::from(y));
    let here = |input: usize| inputs[input].0.pixels()[index];
    let name = node.step.kernel().map_or("", |kernel| &kernel.name);
    match &node.step {
        Step::Source { input } => sources[*input].pixel(x as u32, y as u32),
        Step::Generate(_) => build::stripes(at),
        Step::Point(_) => match name {
            "mix-channels" => build::mix_channels(here(0)),
            "explode" => build::explode(here(0)),
            "shade" => build::shade(here(0), at),
            "by-buffer" => build::by_buffer(here(0), inputs[1].0.entries()),
            other => panic!("no point {other}"),
        },
        Step::Composite(_) => build::over([here(0), here(1)]),
        Step::Correlate { taps, edge } => {
            let mut sum = [0.0; 4];
            for j in 0..taps.height {
                for i in 0..taps.width {
                    let weight = taps.weights[(j * taps.width + i) as usize];
                    let (dx, dy) = (i64::from(i) - i64::from(taps.anchor[0]), i64::from(j) - i64::from(taps.anchor[1]));
                    add(&mut sum, read(&inputs[0], *edge, x + dx, y + dy), weight);
                }
            }
            sum
        }
        Step::Window { radius, edge, .. } => build::steepest(&window(&inputs[0], *radius, *edge, x, y), at),
        Step::WeightedMean { radius, edge, .. } => {
            let center = read(&inputs[0], *edge, x, y);
            let (mut sum, mut total) = ([0.0; 4], 0.0);
            let reach = i64::from(*radius);
            for dy in -reach..=reach {
                for dx in -reach..=reach {
                    let sample = read(&inputs[0], *edge, x + dx, y + dy);
                    let weight = build::closeness(sample, center, [dx as f32, dy as f32]);
                    total += weight;
                    add(&mut sum, sample, weight);
                }
            }
            sum.map(|sum| sum / total)
        }
        Step::Remap { remap, edge } => {
            let (x, y) = source(remap, x, y);
            read(&inputs[0], *edge, x, y)
        }
        Step::Warp { interpolation, edge, .. } => {
            let [u, v] = match name {
                "turn" => build::turn(at),
                "scatter" => build::scatter(at),
                other => panic!("no warp {other}"),
            };
            warp(&inputs[0], *interpolation, *edge, bounded(u), bounded(v))
        }
        Step::Resample { axis, weights, edge } => {
            let output = if *axis == Axis::Horizontal { x } else { y } as usize;
            let mut sum = [0.0; 4];
            for tap in 0..weights.taps as usize {
                let place = i64::from(weights.start[output]) + tap as i64;
                let weight = weights.weights[output * weights.taps as usize + tap];
                let (x, y) = if *axis == Axis::Horizontal { (place, y) } else { (x, place) };
                add(&mut sum, read(&inputs[0], *edge, x, y), weight);
            }
            sum
        }
        Step::Reduce(_) | Step::Derive(_) => panic!("not a picture"),
    }
}

fn add(sum: &mut Rgba, color: Rgba, weight: f32) {
    for (sum, value) in sum.iter_mut().zip(color) {
        *sum += weight * value;
    }
}

fn window(input: &(&Made, Shape), radius: u32, edge: Edge, x: i64, y: i64) -> Vec<Rgba> {
    let reach = i64::from(radius);
    let rows = -reach..=reach;
    rows.flat_map(|dy| (-reach..=reach).map(move |dx| read(input, edge, x + dx, y + dy))).collect()
}

fn source(remap: &Remap, x: i64, y: i64) -> (i64, i64) {
    match *remap {
        Remap::Affine { matrix, offset } => {
            let [first, second] = matrix.map(|row| row.map(i64::from));
            let [dx, dy] = offset.map(i64::from);
            (first[0] * x + first[1] * y + dx, second[0] * x + second[1] * y + dy)
        }
        Remap::Nearest { source, output } => {
            let along = |place: i64, source: u32, output: u32| {
                ((place as f64 + 0.5) * f64::from(source) / f64::from(output)).floor() as i64
            };
            (along(x, source.width, output.width), along(y, source.height, output.height))
        }
    }
}

fn bounded(coordinate: f32) -> f32 {
    if coordinate.is_nan() || coordinate < -1e6 { -1e6 } else { coordinate.min(1e6) }
}

fn warp(input: &(&Made, Shape), interpolation: Interpolation, edge: Edge, u: f32, v: f32) -> Rgba {
    let (reach, half) = match interpolation {
        Interpolation::Nearest => (0..=0, 0.0),
        Interpolation::Bilinear => (0..=1, 0.5),
        Interpolation::Bicubic => (-1..=2, 0.5),
    };
    let (u, v) = (u - half, v - half);
    let (left, top) = (u.floor(), v.floor());
    // Catmull-Rom by its usual piecewise definition, by distance.
    let weight = |offset: i64, fraction: f32| match interpolation {
        Interpolation::Nearest => 1.0,
        Interpolation::Bilinear => 1.0 - (offset as f32 - fraction).abs(),
        Interpolation::Bicubic => {
            let distance = (offset as f32 - fraction).abs();
            if distance < 1.0 {
                1.5 * distance.powi(3) - 2.5 * distance.powi(2) + 1.0
            } else {
                -0.5 * distance.powi(3) + 2.5 * distance.powi(2) - 4.0 * distance + 2.0
            }
        }
    };
    let mut sum = [0.0; 4];
    for dy in reach.clone() {
        for dx in reach.clone() {
            let color = read(input, edge, left as i64 + dx, top as i64 + dy);
            add(&mut sum, color, weight(dx, u - left) * weight(dy, v - top));
        }
    }
    sum
}

fn histogram(pixels: &[Rgba]) -> Vec<[u32; 4]> {
    let mut entries = vec![[0; 4]; 256];
    for [r, g, b, _] in pixels {
        let luma = g + 0.2126 * (r - g) + 0.0722 * (b - g);
        for (channel, value) in [*r, *g, *b, luma].into_iter().enumerate() {
            let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
            entries[(value * 255.0 + 0.5).floor() as usize][channel] += 1;
        }
    }
    entries
}

fn statistics(pixels: &[Rgba]) -> Vec<[u32; 4]> {
    let (mut low, mut high, mut sum) = ([f32::MAX; 4], [f32::MIN; 4], [0.0f64; 4]);
    for pixel in pixels {
        for (channel, value) in pixel.iter().enumerate() {
            let value = if value.is_nan() { 0.0 } else { *value };
            low[channel] = low[channel].min(value);
            high[channel] = high[channel].max(value);
            sum[channel] += f64::from(value);
        }
    }
    let mean = sum.map(|sum| (sum / pixels.len() as f64) as f32);
    let bits = |values: Rgba| values.map(f32::to_bits);
    vec![bits(low), bits(high), bits(mean), [pixels.len() as u32, 0, 0, 0]]
}
