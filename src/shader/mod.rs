//! Shader text: one WGSL module for each pass of a plan, put together from the operators' functions and the skeletons of
//! `wgsl/pass`, and the numbers that go with it. Plain text in, plain text out; no device is known here.

mod check;
mod formats;
pub(crate) mod front;
mod generate;
pub mod library;
mod reduce;
pub mod source;

pub use check::check_custom;

use crate::error::Result;
use crate::graph::lower::{Lowered, OutputKind};
use crate::op::{Step, StepKind};
use crate::plan::recording::{Command, Limits, OutputLayout, PackedLayout, Recording};
use crate::plan::{Plan, Storage};

/// Everything that a device needs to run a plan.
pub fn record(graph: &Lowered, plan: &Plan, limits: &Limits) -> Result<Recording> {
    let sources: Vec<PackedLayout> =
        graph.inputs.iter().map(|(_, description)| PackedLayout::of(description)).collect();
    let mut recording = Recording {
        source_textures: reads_textures(&sources, plan, limits),
        sources,
        outputs: Vec::new(),
        textures: plan.textures.clone(),
        buffers: plan.buffers.iter().map(|length| u64::from(*length) * 16).collect(),
        commands: Vec::new(),
    };
    for output in &graph.outputs {
        recording.outputs.push(match output.kind {
            OutputKind::Picture(description) => OutputLayout::Picture(PackedLayout::of(&description)),
            OutputKind::Buffer { length } => {
                let buffer = match plan.storage(output.value) {
                    Some(Storage::Buffer(buffer)) => buffer,
                    _ => 0, // numbers are always stored in a buffer by the plan
                };
                OutputLayout::Buffer { buffer, length }
            }
        });
    }
    for pass in &plan.passes {
        let kind = pass.writes.first().map(|write| graph.node(write.value));
        match kind.map(|node| (&node.step, node.step.kind())) {
            Some((Step::Reduce(reduction), _)) => {
                reduce::commands(graph, plan, pass, *reduction, &mut recording, limits)?;
            }
            Some((_, StepKind::Derive)) => {
                recording.commands.push(Command::Dispatch(reduce::derive(graph, plan, pass)?));
            }
            _ => {
                let dispatch = generate::dispatch(graph, plan, pass, limits, recording.source_textures)?;
                recording.commands.push(Command::Dispatch(dispatch));
            }
        }
    }
    Ok(recording)
}

/// Whether sources are read through textures: measured on llvmpipe, a texel of four words costs some 3 ns there and four
/// words of a buffer 30; GPUs would pay for the copy and gain little.
fn reads_textures(sources: &[PackedLayout], plan: &Plan, limits: &Limits) -> bool {
    let fits = |layout: &PackedLayout| layout.texels().width.max(layout.texels().height) <= limits.texture_size;
    limits.source_textures
        && sources.iter().all(fits)
        && sources.len() + plan.textures.len() <= limits.sampled_textures as usize
}
