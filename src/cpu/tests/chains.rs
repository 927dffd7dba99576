//! Point steps, composites and generators, outputs of all formats, and what a run refuses.

use super::build::{
    EDGES, KINDS, Kind, Numbers, Pictures, SIZES, kernel, mix_channels_kernel, over_kernel, shade_kernel,
    steepest_kernel, stripes_kernel,
};
use super::{Output, plans, run};
use crate::error::Error;
use crate::image::{AlphaMode, Description, Image, PixelFormat};
use crate::op::{Axis, Channels, Edge, Extent, Rows, Shape, Step, Taps};

const TOLERANCE: f32 = 1e-6;

fn composite(graph: &mut Pictures, first: super::Value, second: super::Value) -> super::Value {
    let shapes = [first, second].map(|value| graph.shape(value));
    let channels = match shapes.map(|shape| shape.channels()) {
        [Channels::Gray, Channels::Gray] => Channels::Gray,
        _ => Channels::Color,
    };
    let shape = Shape::Picture { extent: shapes[0].extent(), channels, alpha: AlphaMode::Premultiplied };
    graph.push(Step::Composite(over_kernel()), &[first, second], shape)
}

#[test]
fn chains_of_points() {
    for (width, height) in SIZES {
        for kind in KINDS {
            for channels in [Channels::Gray, Channels::Color] {
                let mut graph = Pictures::new();
                let source = graph.source(width, height, kind);
                let first = graph.point(source, shade_kernel(), channels);
                let second = graph.point(first, mix_channels_kernel(), Channels::Color);
                let third = graph.point(second, shade_kernel(), channels);
                graph.output(third);
                graph.output(first);
                graph.output(source);
                graph.check(TOLERANCE);
            }
        }
    }
}

#[test]
fn diamonds() {
    for (width, height) in SIZES {
        for kind in KINDS {
            let mut graph = Pictures::new();
            let source = graph.source(width, height, kind);
            let other = graph.source(width, height, Kind::Gray);
            let left = graph.point(source, shade_kernel(), Channels::Color);
            let right = graph.point(source, mix_channels_kernel(), Channels::Color);
            let both = composite(&mut graph, left, right);
            let twice = composite(&mut graph, both, both);
            let three = composite(&mut graph, other, twice);
            let all = composite(&mut graph, three, source);
            graph.output(all);
            graph.output(right);
            graph.check(TOLERANCE);
        }
    }
}

/// A value that is needed around each pixel and at the pixel itself.
#[test]
fn a_window_beside_its_input() {
    for (width, height) in SIZES {
        for edge in EDGES {
            let mut graph = Pictures::new();
            let source = graph.source(width, height, Kind::Color);
            let bright = graph.point(source, shade_kernel(), Channels::Color);
            let edges = graph.same(Step::Window { kernel: steepest_kernel(1), radius: 1, edge }, bright);
            let wide = Step::Window { kernel: steepest_kernel(3), radius: 3, edge };
            let wide = graph.same(wide, bright);
            let narrow = Taps::line(Axis::Horizontal, vec![0.5, -1.0, 0.25]);
            let narrow = graph.same(Step::Correlate { taps: narrow, edge: Edge::Mirror }, bright);
            let first = composite(&mut graph, edges, bright);
            let second = composite(&mut graph, wide, narrow);
            let both = composite(&mut graph, first, second);
            graph.output(both);
            graph.check(1e-5);
        }
    }
}

#[test]
fn generators() {
    for (width, height) in SIZES {
        let mut graph = Pictures::new();
        let extent = Extent { width, height };
        let shape = Shape::Picture { extent, channels: Channels::Color, alpha: AlphaMode::Straight };
        let made = graph.push(Step::Generate(stripes_kernel()), &[], shape);
        let opaque = Shape::Picture { extent, channels: Channels::Gray, alpha: AlphaMode::Opaque };
        let grey = graph.push(Step::Generate(stripes_kernel()), &[], opaque);
        let blurred = Taps::line(Axis::Vertical, vec![0.2, 0.3, 0.5]);
        let blurred = graph.same(Step::Correlate { taps: blurred, edge: Edge::Wrap }, made);
        let both = composite(&mut graph, blurred, grey);
        graph.output(both);
        graph.output(grey);
        graph.check(TOLERANCE);
    }
}

#[test]
fn every_format_in_and_out() {
    for from in PixelFormat::ALL {
        for to in PixelFormat::ALL {
            let mut graph = Pictures::new();
            let source = graph.source_of(Description::new(533, 3, from));
            let changed = graph.point(source, shade_kernel(), Channels::Color);
            graph.output_as(changed, to);
            graph.output_as(source, to);
            if from == PixelFormat::Rgba16F {
                continue; // `images` makes no half floats; they are `pack`'s own tests' matter
            }
            // Half floats have eleven bits.
            graph.check(if to == PixelFormat::Rgba16F { 1e-3 } else { TOLERANCE });
        }
    }
}

#[test]
fn one_source_as_several_outputs() {
    let mut graph = Pictures::new();
    let source = graph.source_of(Description::new(50, 20, PixelFormat::Rgba8).with_alpha(AlphaMode::Opaque));
    graph.output_as(source, PixelFormat::Rgb8);
    graph.output_as(source, PixelFormat::Rgba8);
    graph.output_as(source, PixelFormat::Rgb32F);
    graph.check(TOLERANCE);
}

#[test]
fn rows_of_a_padded_source() {
    let mut graph = Pictures::new();
    let source = graph.source_of(Description::new(5, 4, PixelFormat::Rgb8));
    graph.output_as(source, PixelFormat::Rgb8);
    let bytes: Vec<u8> = (0..4 * 19).collect();
    let image = Image::with_stride(Description::new(5, 4, PixelFormat::Rgb8), 19, bytes).unwrap();
    super::check(&graph.graph(), &[image], TOLERANCE);
}

#[test]
fn the_wrong_picture_is_refused() {
    let mut graph = Pictures::new();
    let source = graph.source(4, 3, Kind::Color);
    graph.output(source);
    let lowered = graph.graph();
    let (_, plan) = plans(&lowered).remove(0);
    let wrong = Image::new(Description::new(4, 2, PixelFormat::Rgb8), vec![0; 24]).unwrap();
    for sources in [vec![], vec![wrong.view()]] {
        let error = run(&lowered, &plan, &sources).unwrap_err();
        assert!(matches!(&error, Error::Mismatch { input, .. } if input == "input 0"), "{error}");
    }
}

#[test]
fn a_kernel_without_cpu_code_is_named() {
    let mut graph = Pictures::new();
    let source = graph.source(4, 3, Kind::Color);
    let point = graph.point(source, kernel("gpu-only", Rows::Missing), Channels::Color);
    graph.output(point);
    let lowered = graph.graph();
    let images = graph.images(&mut Numbers::new(1));
    for (_, plan) in plans(&lowered) {
        let error = run(&lowered, &plan, &[images[0].view()]).unwrap_err();
        assert!(matches!(&error, Error::NoCpuCode { operator } if operator == "gpu-only"), "{error}");
    }
}

/// The memory of a dropped output serves the next run.
#[test]
fn output_memory_is_used_again() {
    let mut graph = Pictures::new();
    let source = graph.source(911, 613, Kind::Color); // a size that no other test uses
    graph.output(source);
    let lowered = graph.graph();
    let images = graph.images(&mut Numbers::new(1));
    let (_, plan) = plans(&lowered).remove(0);
    let address = || {
        let Output::Picture(image) = run(&lowered, &plan, &[images[0].view()]).unwrap().outputs.remove(0) else {
            panic!()
        };
        assert_eq!(image, images[0]);
        image.bytes().as_ptr() as usize
    };
    let (first, second) = (address(), address());
    assert_eq!(first, second);
}
