//! Random graphs under all plans. What no one thought of lies in the combinations.

use super::build::{
    EDGES, KINDS, Numbers, Pictures, closeness_kernel, mix_channels_kernel, over_kernel, quarter_turn, scatter,
    shade_kernel, steepest_kernel, stripes_kernel, turn, warp_kernel,
};
use crate::graph::lower::Value;
use crate::image::AlphaMode;
use crate::op::{Axis, Channels, Extent, Interpolation, Remap, ResampleWeights, Shape, Step, Taps};
use std::sync::Arc;

#[test]
fn random_graphs() {
    for seed in 0..400 {
        let mut numbers = Numbers::new(seed);
        let mut graph = Pictures::new();
        let mut values = Vec::new();
        let (width, height) = (1 + numbers.below(60) as u32, 1 + numbers.below(40) as u32);
        for _ in 0..1 + numbers.below(2) {
            values.push(graph.source(width, height, numbers.pick(&KINDS)));
        }
        let mut used = vec![false; values.len()];
        for _ in 0..1 + numbers.below(8) {
            let (step, inputs) = grow(&mut graph, &mut numbers, &values);
            inputs.iter().for_each(|input| used[input.0] = true);
            values.push(step);
            used.push(false);
        }
        // Whatever nothing reads is an output, and now and then something more.
        for value in values {
            if !used[value.0] || numbers.below(6) == 0 {
                graph.output(value);
            }
        }
        graph.check(1e-3);
    }
}

/// Adds a random step; returns it and what it reads.
fn grow(graph: &mut Pictures, numbers: &mut Numbers, values: &[Value]) -> (Value, Vec<Value>) {
    // Late values more often, so that graphs grow deep.
    let back = numbers.below(values.len() as u64).min(numbers.below(values.len() as u64)) as usize;
    let input = values[values.len() - 1 - back];
    let extent = graph.extent(input);
    let edge = numbers.pick(&EDGES);
    let channels = numbers.pick(&[Channels::Gray, Channels::Color]);
    let made = match numbers.below(12) {
        0 => graph.point(input, shade_kernel(), channels),
        1 => graph.point(input, mix_channels_kernel(), channels),
        2 | 3 => {
            let twins: Vec<Value> = values.iter().copied().filter(|value| graph.extent(*value) == extent).collect();
            let second = numbers.pick(&twins);
            let alpha = numbers.pick(&[AlphaMode::Opaque, AlphaMode::Premultiplied]);
            let shape = Shape::Picture { extent, channels, alpha };
            let made = graph.push(Step::Composite(over_kernel()), &[input, second], shape);
            return (made, vec![input, second]);
        }
        4 => {
            let shape = Shape::Picture { extent, channels, alpha: AlphaMode::Straight };
            return (graph.push(Step::Generate(stripes_kernel()), &[], shape), Vec::new());
        }
        5 | 6 => {
            let (width, height) = (1 + numbers.below(6) as u32, 1 + numbers.below(6) as u32);
            let (width, height) = numbers.pick(&[(width, 1), (1, height), (width, height)]);
            let anchor = [numbers.below(width.into()) as u32, numbers.below(height.into()) as u32];
            let count = width * height;
            let weights = (0..count).map(|_| numbers.value() / count as f32).collect();
            graph.same(Step::Correlate { taps: Taps { width, height, anchor, weights }, edge }, input)
        }
        7 => {
            let radius = 1 + numbers.below(2) as u32;
            graph.same(Step::Window { kernel: steepest_kernel(radius), radius, edge }, input)
        }
        8 => graph.same(Step::WeightedMean { kernel: closeness_kernel(1), radius: 1, edge }, input),
        9 => {
            let offset = [numbers.below(9) as i32 - 4, numbers.below(9) as i32 - 4];
            let (turned, turned_extent) = quarter_turn(extent);
            let output = Extent { width: 1 + numbers.below(50) as u32, height: 1 + numbers.below(50) as u32 };
            let (remap, extent) = numbers.pick(&[
                (Remap::Affine { matrix: [[1, 0], [0, 1]], offset }, extent),
                (Remap::Affine { matrix: [[-1, 0], [0, 1]], offset }, output),
                (turned, turned_extent),
                (Remap::Nearest { source: extent, output }, output),
            ]);
            graph.area(Step::Remap { remap, edge }, input, extent)
        }
        10 => {
            let interpolation =
                numbers.pick(&[Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic]);
            let kernel = match numbers.below(2) {
                0 => warp_kernel("turn", turn),
                _ => warp_kernel("scatter", scatter),
            };
            graph.same(Step::Warp { kernel, interpolation, edge }, input)
        }
        _ => {
            let axis = numbers.pick(&[Axis::Horizontal, Axis::Vertical]);
            let (output, taps) = (1 + numbers.below(70) as u32, 1 + numbers.below(9) as u32);
            let mut resized = extent;
            let side = if axis == Axis::Horizontal { &mut resized.width } else { &mut resized.height };
            let start = (0..output).map(|index| (index * *side / output) as i32 - taps as i32 / 2).collect();
            *side = output;
            let weights = (0..output * taps).map(|_| numbers.value() / taps as f32).collect();
            let weights = Arc::new(ResampleWeights { output, taps, start, weights, scale: 1.0 });
            graph.area(Step::Resample { axis, weights, edge }, input, resized)
        }
    };
    (made, vec![input])
}
