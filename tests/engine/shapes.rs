//! Passes of every shape give the same pixels; what a device cannot have is told with the limit.

use crate::common::{FULL, Random, gpu, picture, render, seed};
use cyanotype::{Context, Description, Error, Graph, GraphData, Image, Options, PassShape, PassShapes, PixelFormat};

/// Those that tuning tries, odd ones, and one of a single invocation.
const WORKGROUPS: [[u32; 2]; 12] =
    [[8, 8], [16, 8], [16, 16], [32, 8], [64, 4], [64, 1], [128, 1], [256, 1], [32, 32], [1, 1], [3, 5], [1, 64]];

/// Every kind of block: runs and strips of a row, columns, windows, other sizes, several passes, every edge.
const GRAPHS: [&str; 9] = [
    "@in | exposure 0.3 | gamma 1.2 | saturation 1.3 -> out",
    "@in | gaussian-blur 3 | sobel -> out",
    "@in | median 3 edge=wrap | resize 31 17 | invert -> out",
    "@in | affine [0.9, 0.1, 3, -0.1, 0.9, 2] | box-blur 9 -> out",
    "@in | auto-levels | unsharp 2 0.8 -> out",
    "@in | exposure 0.2 | convolve [1, 2, 1, 0, 0, 0, -1, -2, -1] edge=mirror | grayscale -> out",
    "@in | grayscale | gaussian-blur 2 edge=constant edge-color=[1, 0, 0] | median 3 edge=constant edge-color=[0, 1, 0, 0.5] -> out",
    "@in | bilateral 2 0.2 edge=wrap | gamma 1.1 -> out",
    "@in | flip | median 3 | blend (@in | gaussian-blur 1.5) screen -> out",
];

fn cases() -> impl Iterator<Item = (GraphData, Vec<(&'static str, Image)>)> {
    let mut random = Random(seed());
    let formats = [PixelFormat::Rgb8, PixelFormat::Rgba16, PixelFormat::R32F].into_iter().cycle();
    GRAPHS.into_iter().zip(formats).map(move |(text, format)| {
        let image = picture(&mut random, Description::new(67, 41, format));
        (Graph::parse(text).expect("a graph").data(), vec![("in", image)])
    })
}

fn shaped(shape: PassShape) -> Options {
    Options { pass_shapes: Some(PassShapes::both(shape)), ..FULL }
}

#[test]
fn every_shape_gives_the_same_pixels() {
    let Some(gpu) = gpu() else { return };
    let limits = gpu.limits();
    let every = if std::env::var_os("CYANOTYPE_THIN").is_some() { 3 } else { 1 };
    let mut compared = 0;
    for (graph, inputs) in cases() {
        // Blocks of another size are other arithmetic, within what other tests allow between devices.
        for large_blocks in [false, true] {
            for tile in [false, true] {
                let default = PassShape { large_blocks, tile, ..PassShape::DEFAULT };
                let right =
                    render(&gpu, &graph, &inputs, &shaped(default)).expect("it runs").image("out").expect("a picture");
                if tile && !large_blocks {
                    // Strips read from a tile are the same arithmetic.
                    let plain = shaped(PassShape::DEFAULT);
                    let plain =
                        render(&gpu, &graph, &inputs, &plain).expect("it runs").image("out").expect("a picture");
                    assert_eq!(right.tight_bytes(), plain.tight_bytes(), "{graph:?}");
                }
                let sizes = WORKGROUPS.map(|workgroup| PassShape { workgroup, ..default });
                let several = [2, 3, 4, 8].map(|items| PassShape { items, workgroup: [8, 2 * items], ..default });
                let (legal, over): (Vec<_>, Vec<_>) =
                    sizes.into_iter().chain(several).partition(|shape| shape.over(&limits).is_none());
                let every = if tile { 3 } else { every };
                // One with several blocks in any case.
                let thinned = legal.iter().enumerate().filter(|(index, shape)| index % every == 0 || shape.items == 4);
                for (_, &shape) in thinned {
                    let result = render(&gpu, &graph, &inputs, &shaped(shape)).expect("it runs");
                    let found = result.image("out").expect("a picture");
                    assert_eq!(found.tight_bytes(), right.tight_bytes(), "{shape}: {graph:?}");
                    compared += 1;
                }
                for shape in over {
                    let result = render(&gpu, &graph, &inputs, &shaped(shape));
                    let error = result.expect_err("it is over a limit");
                    let Error::KernelLimit { limit, found, allowed, .. } = error else { panic!("{shape}: {error}") };
                    assert_eq!(shape.over(&limits), Some((limit, found, allowed)));
                }
            }
        }
    }
    // The weakest device may have seven of the shapes.
    assert!(compared >= GRAPHS.len() * 2 * 2 * 2, "{compared} comparisons");
}

/// A tile is taken where it fits, and where it does not, the pass does without.
#[test]
fn tiles_keep_within_workgroup_memory() {
    let Some(gpu) = gpu() else { return };
    let inputs = [("in", Description::new(67, 41, PixelFormat::Rgb8))];
    let tiles = |chain: &str, tile: bool| -> Vec<bool> {
        let graph = Graph::parse(chain).expect("a graph");
        let options = shaped(PassShape { tile, ..PassShape::DEFAULT });
        let modules = gpu.compile_with(&graph, &inputs, &options).expect("it compiles").wgsl().expect("shader text");
        modules.iter().map(|(_, text)| text.contains("var<workgroup>")).collect()
    };
    assert_eq!(tiles("median 3", false), [false]);
    // 72 by 10 pixels of 16 bytes.
    assert_eq!(tiles("median 3", true), [true]);
    // One channel of four bytes: 72 by 18.
    assert_eq!(tiles("grayscale | bilateral 4 0.1 4", true), [true]);
    // Columns of 33 weights: 64 by 64 pixels, 64 KiB.
    assert_eq!(tiles("gaussian-blur 5 | invert", true).last(), Some(&false));
}

#[test]
fn shapes_of_nothing_or_too_much_are_refused() {
    let (graph, inputs) = cases().next().expect("there are some");
    let sizes = [[0, 8], [8, 0]].map(|workgroup| PassShape { workgroup, ..PassShape::DEFAULT });
    let counts = [0, 9, u32::MAX].map(|items| PassShape { items, ..PassShape::DEFAULT });
    for shape in sizes.into_iter().chain(counts) {
        let error = render(&Context::cpu(), &graph, &inputs, &shaped(shape)).expect_err("it makes no sense");
        assert!(matches!(error, Error::BadParameter { .. }), "{error}");
    }
}

/// Tables are laid out by the shape; numbers that change later must keep to it.
#[test]
fn parameters_change_under_any_shape() {
    let Some(gpu) = gpu() else { return };
    let graph =
        Graph::parse("@in | gaussian-blur 6 | convolve [1, 2, 1, 0, 0, 0, -1, -2, -1] -> out").expect("a graph");
    let image = picture(&mut Random(seed()), Description::new(67, 41, PixelFormat::Rgb8));
    let inputs = [("in", image.description())];
    for large_blocks in [false, true] {
        let shape = PassShape { workgroup: [8, 8], large_blocks, tile: large_blocks, items: 2 };
        let options = shaped(shape);
        let program = gpu.compile_with(&graph, &inputs, &options).expect("it compiles");
        program.set("gaussian-blur.sigma", 5.9).expect("in range");
        let found = program.run(&[("in", &image)]).expect("it runs").image("out").expect("a picture");
        let mut data = graph.data();
        let handle = data.find_parameter("gaussian-blur.sigma").expect("it is there");
        data.set(&handle, 5.9.into()).expect("in range");
        let right = render(&gpu, &data, &[("in", image.clone())], &options).expect("it runs");
        assert_eq!(found.tight_bytes(), right.image("out").expect("a picture").tight_bytes());
    }
}
