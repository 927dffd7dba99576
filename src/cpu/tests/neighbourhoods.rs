//! Each step that reads other pixels: alone, with steps fused before and after it, for all edges, odd sizes and kinds.

use super::build::{
    EDGES, KINDS, Kind, Numbers, Pictures, SIZES, closeness_kernel, explode_kernel, mix_channels_kernel, quarter_turn,
    scatter, shade_kernel, steepest_kernel, turn, warp_kernel,
};
use crate::cpu::steps::resample::sums_source_rows;
use crate::graph::lower::Value;
use crate::image::{AlphaMode, Description, PixelFormat};
use crate::op::{Axis, Channels, Edge, Extent, Interpolation, Remap, ResampleWeights, Step, Taps};
use std::sync::Arc;

/// Sums are taken in the same order by both, but interpolation and means are not.
const TOLERANCE: f32 = 2e-5;

/// Checks `make` on each size, edge and kind: on a source, on a stored value and between fused point steps.
fn everywhere(make: impl Fn(&mut Pictures, Value, Edge) -> Value) {
    for (width, height) in SIZES {
        for edge in EDGES {
            for kind in KINDS {
                let mut graph = Pictures::new();
                let source = graph.source(width, height, kind);
                let plain = make(&mut graph, source, edge);
                graph.output(plain);
                graph.check(TOLERANCE);

                let mut graph = Pictures::new();
                let source = graph.source(width, height, kind);
                let before = graph.point(source, shade_kernel(), Channels::Color);
                let made = make(&mut graph, before, edge);
                let after = graph.point(made, mix_channels_kernel(), Channels::Color);
                graph.output(after);
                graph.check(TOLERANCE);
            }
        }
    }
}

fn some_weights(count: usize) -> Arc<[f32]> {
    let mut numbers = Numbers::new(count as u64);
    (0..count).map(|_| numbers.value() / count as f32).collect()
}

fn taps(width: u32, height: u32, anchor: [u32; 2]) -> Taps {
    Taps { width, height, anchor, weights: some_weights((width * height) as usize) }
}

#[test]
fn correlations() {
    let shapes = [
        taps(1, 1, [0, 0]),
        taps(1, 2, [0, 1]),
        taps(1, 3, [0, 1]),
        taps(1, 9, [0, 4]),
        taps(7, 1, [3, 0]),
        taps(3, 3, [0, 2]),
        taps(2, 5, [1, 0]),
        taps(1, 41, [0, 20]),
        taps(63, 1, [10, 0]),
    ];
    for taps in shapes {
        everywhere(|graph, input, edge| graph.same(Step::Correlate { taps: taps.clone(), edge }, input));
    }
}

#[test]
fn windows() {
    for radius in [1, 2] {
        everywhere(|graph, input, edge| {
            graph.same(Step::Window { kernel: steepest_kernel(radius), radius, edge }, input)
        });
    }
}

#[test]
fn weighted_means() {
    everywhere(|graph, input, edge| {
        graph.same(Step::WeightedMean { kernel: closeness_kernel(2), radius: 2, edge }, input)
    });
}

#[test]
fn remaps() {
    let affine = |matrix, offset| Remap::Affine { matrix, offset };
    let moved = affine([[1, 0], [0, 1]], [2, -3]);
    let flipped = |extent: Extent| affine([[-1, 0], [0, -1]], [extent.width as i32 - 1, extent.height as i32 - 1]);
    let larger = |extent: Extent| Extent { width: extent.width + 7, height: extent.height + 6 };
    everywhere(|graph, input, edge| graph.same(Step::Remap { remap: moved, edge }, input));
    everywhere(|graph, input, edge| {
        let extent = larger(graph.extent(input));
        graph.area(Step::Remap { remap: affine([[1, 0], [0, 1]], [-3, -2]), edge }, input, extent)
    });
    everywhere(|graph, input, edge| {
        let remap = flipped(graph.extent(input));
        graph.same(Step::Remap { remap, edge }, input)
    });
    everywhere(|graph, input, edge| {
        let (remap, extent) = quarter_turn(graph.extent(input));
        graph.area(Step::Remap { remap, edge }, input, extent)
    });
    // Neither keeps rows nor turns them into columns.
    everywhere(|graph, input, edge| graph.same(Step::Remap { remap: affine([[1, 1], [-1, 1]], [-2, 5]), edge }, input));
    everywhere(|graph, input, edge| graph.same(Step::Remap { remap: affine([[0, 0], [0, 1]], [1, 0]), edge }, input));
    for (up, down) in [(3, 2), (2, 5), (1, 9)] {
        everywhere(|graph, input, edge| {
            let source = graph.extent(input);
            let side = |size: u32| (size * up).div_ceil(down);
            let output = Extent { width: side(source.width), height: side(source.height) };
            graph.area(Step::Remap { remap: Remap::Nearest { source, output }, edge }, input, output)
        });
    }
}

#[test]
fn warps() {
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic] {
        everywhere(|graph, input, edge| {
            let Extent { width, height } = graph.extent(input);
            let extent = Extent { width: width + 3, height: height.max(2) - 1 };
            graph.area(Step::Warp { kernel: warp_kernel("turn", turn), interpolation, edge }, input, extent)
        });
        everywhere(|graph, input, edge| {
            graph.same(Step::Warp { kernel: warp_kernel("scatter", scatter), interpolation, edge }, input)
        });
    }
}

/// Coordinates so wild that boxes are halved down to single pixels, of a picture too large for one box.
#[test]
fn a_wild_warp_of_a_large_picture() {
    for kind in [Kind::Gray, Kind::Alpha] {
        for edge in EDGES {
            let mut graph = Pictures::new();
            let source = graph.source(700, 400, kind);
            let before = graph.point(source, shade_kernel(), Channels::Color);
            let kernel = warp_kernel("scatter", scatter);
            let step = Step::Warp { kernel, interpolation: Interpolation::Bicubic, edge };
            let warped = graph.area(step, before, Extent { width: 90, height: 40 });
            graph.output(warped);
            graph.check(TOLERANCE);
        }
    }
}

#[test]
fn resamples() {
    for axis in [Axis::Horizontal, Axis::Vertical] {
        // Output size from input size; taps; whether windows go forwards.
        let cases: [(fn(u32) -> u32, u32, bool); 5] = [
            (|size| size.div_ceil(3), 7, true),
            (|size| size * 2 + 1, 4, true),
            (|size| size, 1, true),
            (|size| size + 5, 50, true),
            (|size| size.div_ceil(2), 3, false),
        ];
        for (size, taps, forwards) in cases {
            everywhere(|graph, input, edge| {
                let mut extent = graph.extent(input);
                let side = if axis == Axis::Horizontal { &mut extent.width } else { &mut extent.height };
                let (old, output) = (*side, size(*side));
                *side = output;
                let start = (0..output).map(|index| (index * old / output) as i32 - taps as i32 / 2);
                let mut start: Vec<i32> = start.collect();
                if !forwards {
                    start.reverse();
                }
                let weights = some_weights((output * taps) as usize).to_vec();
                let weights = Arc::new(ResampleWeights { output, taps, start, weights, scale: 1.0 });
                graph.area(Step::Resample { axis, weights, edge }, input, extent)
            });
        }
    }
}

/// Rows of a source that only gets smaller are summed as they lie, whatever its format.
#[test]
fn sources_shrink() {
    for format in PixelFormat::ALL {
        for (width, height) in [(1, 9), (3, 40), (70, 9), (250, 130)] {
            for (taps, forwards) in [(1, true), (2, true), (7, true), (9, true), (5, false)] {
                let description = Description::new(width, height, format);
                for alpha in [description.alpha, AlphaMode::Opaque] {
                    let mut graph = Pictures::new();
                    let source = graph.source_of(description.with_alpha(alpha));
                    let output = (height / 3).max(1);
                    let last = (height - taps) as f32;
                    let mut start: Vec<i32> =
                        (0..output).map(|row| (row as f32 / output as f32 * last).round() as i32).collect();
                    if !forwards {
                        start.reverse();
                    }
                    let weights = some_weights((output * taps) as usize).to_vec();
                    let weights = Arc::new(ResampleWeights { output, taps, start, weights, scale: 1.0 });
                    let step = Step::Resample { axis: Axis::Vertical, weights, edge: Edge::Clamp };
                    let rows = graph.area(step, source, Extent { width, height: output });
                    let node = graph.graph();
                    assert!(sums_source_rows(node.node(rows), node.node(source)));
                    graph.output(rows);
                    graph.check(TOLERANCE);
                }
            }
        }
    }
}

/// A radius far beyond the picture and beyond what a tile keeps in the cache.
#[test]
fn very_long_windows() {
    for kind in KINDS {
        for edge in EDGES {
            for (width, height) in [(3, 400), (400, 3), (30, 30)] {
                let mut graph = Pictures::new();
                let source = graph.source(width, height, kind);
                let weights = vec![1.0 / 511.0; 511];
                let taps = Taps::line(Axis::Vertical, weights.clone());
                let columns = graph.same(Step::Correlate { taps, edge }, source);
                let rows = graph.same(Step::Correlate { taps: Taps::line(Axis::Horizontal, weights), edge }, columns);
                graph.output(rows);
                graph.check(TOLERANCE);
            }
        }
    }
}

/// Four rows are made at once; what one of them does not read must not reach it, not even times zero.
#[test]
fn infinities_stay_where_the_window_ends() {
    for count in [1, 2, 3, 4, 5, 9] {
        let mut graph = Pictures::new();
        let source = graph.source(40, 40, Kind::Gray);
        let exploded = graph.point(source, explode_kernel(), Channels::Gray);
        let taps = Taps::line(Axis::Vertical, vec![0.25; count]);
        let out = graph.same(Step::Correlate { taps, edge: Edge::Clamp }, exploded);
        graph.output(out);
        graph.check(1e-6);
    }
}
