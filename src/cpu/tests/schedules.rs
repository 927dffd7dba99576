//! Which passes are carried out together.

use super::build::{EDGES, Kind, Pictures, mix_channels_kernel};
use crate::cpu::schedule::schedule;
use crate::op::{Axis, Channels, Edge, Step, Taps};
use crate::plan::{Limits, Options, Plan};

fn plan(graph: &Pictures, fuse: bool) -> Plan {
    let options = Options { fuse, ..Options::default() };
    crate::plan::plan(&graph.graph(), &options, &Limits::UNLIMITED, Vec::new()).unwrap()
}

/// A blur of a large picture along columns, then rows; `also` says whether the columns alone are an output too.
fn blur(radius: usize, also: bool) -> Pictures {
    let mut graph = Pictures::new();
    let source = graph.source(4000, 3000, Kind::Color);
    let weights = vec![1.0 / (2 * radius + 1) as f32; 2 * radius + 1];
    let step = |axis| Step::Correlate { taps: Taps::line(axis, weights.clone()), edge: Edge::Clamp };
    let columns = graph.same(step(Axis::Vertical), source);
    let rows = graph.same(step(Axis::Horizontal), columns);
    graph.output(rows);
    if also {
        graph.output(columns);
    }
    graph
}

#[test]
fn both_halves_of_a_blur_are_one_job() {
    let graph = blur(6, false);
    let plan = plan(&graph, true);
    assert_eq!(plan.passes.len(), 2);
    assert_eq!(schedule(&graph.graph(), &plan).len(), 1);
}

#[test]
fn a_wide_window_would_make_too_much_twice() {
    let graph = blur(255, false);
    assert_eq!(schedule(&graph.graph(), &plan(&graph, true)).len(), 2);
}

#[test]
fn what_somebody_else_needs_is_stored() {
    let graph = blur(6, true);
    let plan = plan(&graph, true);
    assert_eq!(schedule(&graph.graph(), &plan).len(), plan.passes.len());
}

/// A plan without fusion is made for comparison: it shall not be fused here instead.
#[test]
fn stored_points_stay_stored() {
    let mut graph = Pictures::new();
    let source = graph.source(40, 30, Kind::Color);
    let first = graph.point(source, mix_channels_kernel(), Channels::Color);
    let second = graph.point(first, mix_channels_kernel(), Channels::Color);
    graph.output(second);
    let plan = plan(&graph, false);
    assert_eq!((plan.passes.len(), schedule(&graph.graph(), &plan).len()), (2, 2));
}

/// Long chains of blurs, of which each job takes on as many as pay.
#[test]
fn chains_of_blurs() {
    for edge in EDGES {
        for kind in [Kind::Gray, Kind::Alpha] {
            let mut graph = Pictures::new();
            let mut value = graph.source(61, 83, kind);
            for axis in [Axis::Vertical, Axis::Horizontal].repeat(4) {
                let taps = Taps::line(axis, vec![0.1, 0.2, 0.4, 0.2, 0.1]);
                value = graph.same(Step::Correlate { taps, edge }, value);
            }
            graph.output(value);
            graph.check(1e-4);
        }
    }
}
