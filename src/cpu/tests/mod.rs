//! Tests of the CPU backend against `naive`, which evaluates a graph pixel by pixel by the definitions alone and shares no
//! code with the engine. Every graph runs under three plans: fused, with every value stored, and with everything in one
//! pass (which no planner would choose, and which nests neighbourhoods in neighbourhoods).

mod build;
mod chains;
mod naive;
mod neighbourhoods;
mod random;
mod reductions;
mod schedules;

use super::{Output, run};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::image::{Image, ImageView};
use crate::op::Step;
use crate::plan::{Limits, Options, Pass, Plan, Target, Write};
use build::Numbers;

/// Plans for a graph, with names for messages.
fn plans(graph: &Lowered) -> Vec<(&'static str, Plan)> {
    let with = |fuse| {
        let options = Options { fuse, ..Options::default() };
        crate::plan::plan(graph, &options, &Limits::UNLIMITED, Vec::new()).unwrap()
    };
    let mut plans = vec![("fused", with(true)), ("unfused", with(false))];
    let makes_buffers = graph.nodes.iter().any(|node| node.shape.is_buffer());
    let first = graph.node(graph.outputs[0].value).shape.extent();
    let one_size = graph.outputs.iter().all(|output| graph.node(output.value).shape.extent() == first);
    if !makes_buffers && one_size {
        let inline = (0..graph.nodes.len()).map(Value);
        let inline = inline.filter(|value| !matches!(graph.node(*value).step, Step::Source { .. })).collect();
        let writes = graph.outputs.iter().enumerate();
        let writes =
            writes.map(|(index, output)| Write { value: output.value, target: Target::Output(index) }).collect();
        let pass = Pass { label: "all".into(), extent: first, inline, writes };
        let report = crate::plan::Report::default();
        let plan = Plan { passes: vec![pass], stored: Vec::new(), textures: Vec::new(), buffers: Vec::new(), report };
        plans.push(("in one pass", plan));
    }
    plans
}

/// Runs `graph` under each plan and compares every output with `naive`.
fn check(graph: &Lowered, sources: &[Image], tolerance: f32) {
    let expected = naive::evaluate(graph, sources);
    let views: Vec<ImageView> = sources.iter().map(Image::view).collect();
    for (name, plan) in plans(graph) {
        let outputs = run(graph, &plan, &views).unwrap().outputs;
        assert_eq!(outputs.len(), graph.outputs.len());
        for (output, found) in graph.outputs.iter().zip(outputs) {
            let about = format!("output {} {name}: {:?}", output.name, graph.nodes);
            match (found, &expected[output.value.0]) {
                (Output::Picture(image), naive::Made::Picture(expected)) => {
                    let OutputKind::Picture(description) = output.kind else { panic!("a picture for a buffer") };
                    assert_eq!(image.description(), description);
                    compare(&image, expected, tolerance, &about);
                }
                (Output::Buffer(entries), naive::Made::Buffer(expected)) => assert_eq!(&entries, expected, "{about}"),
                _ => panic!("{about}: a picture for a buffer or the other way round"),
            }
        }
    }
}

/// Compares pixels. Integer formats may be one level off where the exact value lies at the rounding edge.
fn compare(found: &Image, expected: &[[f32; 4]], tolerance: f32, about: &str) {
    let format = found.format();
    let pixels = found.to_rgba_f32();
    assert_eq!(pixels.len(), expected.len());
    for (index, (found, expected)) in pixels.iter().zip(expected).enumerate() {
        let [r, g, b, a] = expected.map(|value| if value.is_nan() { 0.0 } else { value });
        let expected = match format.channels() {
            1 => [r, r, r, 1.0],
            3 => [r, g, b, 1.0],
            _ => [r, g, b, a],
        };
        for (found, expected) in found.iter().zip(expected) {
            let (expected, allowed) = match format.is_float() {
                true => (expected.clamp(f32::MIN, f32::MAX), tolerance * expected.abs().max(1.0)),
                false => (expected.clamp(0.0, 1.0), 0.5 / 255.0 + tolerance),
            };
            assert!((found - expected).abs() <= allowed, "pixel {index}: {found} for {expected}, {about}");
        }
    }
}

#[test]
#[should_panic(expected = "pixel 1")]
fn the_comparison_notices_a_wrong_pixel() {
    let mut graph = build::Pictures::new();
    let source = graph.source(4, 1, build::Kind::Color);
    graph.output(source);
    let image = graph.images(&mut Numbers::new(1)).remove(0);
    let mut expected = image.to_rgba_f32();
    expected[1][2] += 0.01;
    compare(&image, &expected, 1e-4, "");
}
