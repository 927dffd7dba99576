//! Histograms, statistics, buffers made from buffers, and points that read one.

use super::build::{
    KINDS, Kind, Numbers, Pictures, SIZES, by_buffer_kernel, mix_channels_kernel, reversed_kernel, shade_kernel,
};
use super::{Output, plans, run};
use crate::image::{Description, Image, PixelFormat};
use crate::op::{Channels, Extent, Reduction, Shape, Step};

#[test]
fn counts_and_sums() {
    for (width, height) in SIZES.into_iter().chain([(700, 900)]) {
        for kind in KINDS {
            let pixels = Reduction::Pixels(Extent { width, height });
            for reduction in [Reduction::Histogram, Reduction::Statistics, pixels] {
                let mut graph = Pictures::new();
                let source = graph.source(width, height, kind);
                let changed = graph.point(source, mix_channels_kernel(), Channels::Color);
                let found = graph.reduce(changed, reduction);
                let of_source = graph.reduce(source, reduction);
                graph.output_as(found, PixelFormat::R8);
                graph.output_as(of_source, PixelFormat::R8);
                graph.check(0.0);
            }
        }
    }
}

#[test]
fn points_that_read_buffers() {
    for kind in KINDS {
        let mut graph = Pictures::new();
        let source = graph.source(61, 47, kind);
        let shaded = graph.point(source, shade_kernel(), Channels::Color);
        let counts = graph.reduce(shaded, Reduction::Histogram);
        let turned = graph.push(Step::Derive(reversed_kernel()), &[counts], Shape::Buffer { length: 256 });
        let shape = graph.shape(shaded);
        let by_counts = graph.push(Step::Point(by_buffer_kernel()), &[shaded, counts], shape);
        let by_turned = graph.push(Step::Point(by_buffer_kernel()), &[by_counts, turned], shape);
        graph.output(by_turned);
        graph.output_as(turned, PixelFormat::R8);
        graph.check(1e-6);
    }
}

#[test]
fn nan_counts_as_nothing() {
    let mut graph = Pictures::new();
    let source = graph.source_of(Description::new(20, 1, PixelFormat::R32F));
    for reduction in [Reduction::Histogram, Reduction::Statistics, Reduction::Pixels(Extent { width: 20, height: 1 })] {
        let found = graph.reduce(source, reduction);
        graph.output_as(found, PixelFormat::R8);
    }
    let mut samples = vec![0.5f32; 20];
    samples[3] = f32::NAN;
    samples[19] = f32::NAN;
    samples[4] = -7.0;
    samples[5] = 9.0;
    let image = Image::from_sample_vec(Description::new(20, 1, PixelFormat::R32F), samples).unwrap();
    super::check(&graph.graph(), &[image], 0.0);
}

#[test]
fn every_pixel_is_counted_once() {
    let mut graph = Pictures::new();
    let source = graph.source(1001, 777, Kind::Color);
    let found = graph.reduce(source, Reduction::Histogram);
    graph.output_as(found, PixelFormat::R8);
    let lowered = graph.graph();
    let images = graph.images(&mut Numbers::new(5));
    for (_, plan) in plans(&lowered) {
        let Output::Buffer(entries) = run(&lowered, &plan, &[images[0].view()]).unwrap().outputs.remove(0) else {
            panic!()
        };
        for channel in 0..4 {
            assert_eq!(entries.iter().map(|entry| entry[channel]).sum::<u32>(), 1001 * 777);
        }
    }
}
