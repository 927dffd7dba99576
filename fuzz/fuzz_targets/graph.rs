//! Random graphs over the registry through lowering, simplification and planning: an error or a plan, never a panic, fused
//! and not, for a device without limits and for a weak one. The WGSL of each plan is put together as well.
#![no_main]

#[path = "../../tests/random_graph/mod.rs"]
mod random_graph;

use cyanotype::graph::lower::lower;
use cyanotype::graph::simplify::{simplify, without_dead};
use cyanotype::{Description, Limits, Options, PixelFormat, Precision, plan, shader};
use libfuzzer_sys::fuzz_target;
use random_graph::{Bytes, Choices, random_graph};

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Bytes(bytes);
    let size = 1 + choices.below(12);
    let data = random_graph(&mut choices, size, None);
    // One size for all, most often, or every composite would refuse.
    let side = |choices: &mut Bytes| 1 + choices.below(5000);
    let common = (side(&mut choices), side(&mut choices));
    let names: Vec<String> = data.input_names().map(str::to_string).collect();
    let inputs: Vec<(&str, Description)> = names
        .iter()
        .map(|name| {
            let (width, height) = if choices.chance(90) { common } else { (side(&mut choices), side(&mut choices)) };
            (name.as_str(), Description::new(width, height, *choices.pick(&PixelFormat::ALL)))
        })
        .collect();
    let Ok(lowered) = lower(&data, &inputs) else { return };
    let precision = *choices.pick(&[Precision::Byte, Precision::Half, Precision::Full]);
    for fuse in [true, false] {
        let simplified = if fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
        for limits in [Limits::UNLIMITED, Limits::DOWNLEVEL] {
            let options = Options { fuse, precision, ..Options::default() };
            let Ok(plan) = plan::plan(&simplified.graph, &options, &limits, simplified.notes.clone()) else { continue };
            assert_eq!(plan.report.passes.len(), plan.passes.len());
            // Every output is written once.
            let written = plan.passes.iter().flat_map(|pass| &pass.writes);
            let outputs = written.filter(|write| matches!(write.target, plan::Target::Output(_))).count();
            assert_eq!(outputs, simplified.graph.outputs.len());
            let _ = shader::record(&simplified.graph, &plan, &limits);
        }
    }
});
