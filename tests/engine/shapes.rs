//! Passes of every shape give the same pixels; what a device cannot have is told with the limit.

use crate::common::{FULL, Random, gpu, picture, render, seed};
use cyanotype::{Context, Description, Error, Graph, GraphData, Image, Options, PassShape, PassShapes, PixelFormat};

/// Those that tuning tries, odd ones, and one of a single invocation.
const WORKGROUPS: [[u32; 2]; 12] =
    [[8, 8], [16, 8], [16, 16], [32, 8], [64, 4], [64, 1], [128, 1], [256, 1], [32, 32], [1, 1], [3, 5], [1, 64]];

/// Every kind of block: runs and strips of a row, columns, windows, other sizes, several passes.
const GRAPHS: [&str; 5] = [
    "@in | exposure 0.3 | gamma 1.2 | saturation 1.3 -> out",
    "@in | gaussian-blur 3 | sobel -> out",
    "@in | median 3 edge=wrap | resize 31 17 | invert -> out",
    "@in | affine [0.9, 0.1, 3, -0.1, 0.9, 2] | box-blur 9 -> out",
    "@in | auto-levels | unsharp 2 0.8 -> out",
];

fn cases() -> impl Iterator<Item = (GraphData, Vec<(&'static str, Image)>)> {
    let mut random = Random(seed());
    let formats = [PixelFormat::Rgb8, PixelFormat::Rgba16, PixelFormat::R32F].into_iter().cycle();
    GRAPHS.into_iter().zip(formats).map(move |(text, format)| {
        let image = picture(&mut random, Description::new(67, 41, format));
        (Graph::parse(text).expect("a graph").data(), vec![("in", image)])
    })
}

fn shaped(workgroup: [u32; 2], large_blocks: bool) -> Options {
    let shapes = PassShapes::both(PassShape { workgroup, large_blocks });
    Options { pass_shapes: Some(shapes), ..FULL }
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
            let default = shaped(PassShape::DEFAULT.workgroup, large_blocks);
            let right = render(&gpu, &graph, &inputs, &default).expect("it runs").image("out").expect("a picture");
            let shapes = WORKGROUPS.map(|workgroup| PassShape { workgroup, large_blocks });
            let (legal, over): (Vec<_>, Vec<_>) = shapes.into_iter().partition(|shape| shape.over(&limits).is_none());
            for shape in legal.into_iter().step_by(every) {
                let result = render(&gpu, &graph, &inputs, &shaped(shape.workgroup, large_blocks)).expect("it runs");
                let found = result.image("out").expect("a picture");
                assert_eq!(found.tight_bytes(), right.tight_bytes(), "{shape}: {graph:?}");
                compared += 1;
            }
            for shape in over {
                let result = render(&gpu, &graph, &inputs, &shaped(shape.workgroup, large_blocks));
                let error = result.expect_err("it is over a limit");
                let Error::KernelLimit { limit, found, allowed, .. } = error else { panic!("{shape}: {error}") };
                assert_eq!(shape.over(&limits), Some((limit, found, allowed)));
            }
        }
    }
    // The weakest device may have seven of the shapes.
    assert!(compared >= GRAPHS.len() * 2 * 2, "{compared} comparisons");
}

#[test]
fn a_workgroup_of_none_is_refused() {
    let (graph, inputs) = cases().next().expect("there are some");
    for workgroup in [[0, 8], [8, 0]] {
        let error = render(&Context::cpu(), &graph, &inputs, &shaped(workgroup, false)).expect_err("it is none");
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
        let options = shaped([8, 8], large_blocks);
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
