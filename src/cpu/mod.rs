//! The CPU backend: carries out a plan on all cores, with the same meaning as the GPU backend. It is the reference that GPUs
//! are compared with, and what runs where there is none.
//!
//! Each pass is cut into bands and tiles; within a tile all values of the pass are evaluated together, a few hundred pixels
//! at a time, in planes of `f32` that stay in the cache. Only what the plan stores becomes a whole picture in memory.
//!
//! - `schedule`: which passes are carried out together, so that what lies between them stays in the cache
//! - `pass`: one job after the other, and where their results lie
//! - `program`: a pass made ready: stages, steps, slots
//! - `cut`, `tile`: a pass spread over bands, tiles and cores
//! - `evaluate`, `fetch`: a stage on a cell, and the rows that its neighbourhoods read
//! - `block`, `edge`: rows kept while a window moves down, and how they go on beyond the picture
//! - `steps`: the arithmetic of the steps that read other pixels
//! - `reduce`: histograms and statistics
//! - `picture`, `pool`: planes, and memory that is used again
//! - `pack`, `packed`: packed pixels to planes and back
//! - `simd`: the best instruction set of the processor
//!
//! No other module knows threads of its own; this one knows no operators, files or devices.

pub mod pack;
pub mod simd;

mod block;
mod cut;
mod edge;
mod evaluate;
mod fetch;
mod packed;
mod pass;
mod picture;
mod pool;
mod program;
mod reduce;
mod schedule;
mod steps;
mod tile;

#[cfg(test)]
mod tests;

pub use pool::release_memory;

use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind};
use crate::image::{Image, ImageView};
use crate::plan::Plan;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One output of a run.
#[derive(Debug, Clone)]
pub enum Output {
    /// A picture of the output's description.
    Picture(Image),
    /// Entries of a small buffer.
    Buffer(Vec<[u32; 4]>),
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Done {
    /// One for each of the graph's outputs, in order.
    pub outputs: Vec<Output>,
    /// How long the passes took, under their labels. Passes that were carried out together are one entry.
    pub passes: Vec<(String, Duration)>,
}

/// Runs a plan of `graph`. `sources` are its inputs in order.
///
/// # Errors
/// [`Error::Mismatch`] if a source is not what the graph was lowered for, [`Error::NoCpuCode`] for a kernel that came as
/// WGSL alone, [`Error::OutOfMemory`].
pub fn run(graph: &Lowered, plan: &Plan, sources: &[ImageView<'_>]) -> Result<Done> {
    check_sources(graph, sources)?;
    let mut state = pass::State::new(graph, sources);
    let mut passes = Vec::new();
    for job in schedule::schedule(graph, plan) {
        let start = Instant::now();
        state.run(&job)?;
        passes.push((job.label, start.elapsed()));
    }
    let mut outputs = Vec::with_capacity(graph.outputs.len());
    for (index, output) in graph.outputs.iter().enumerate() {
        let missing = || Error::BadGraph(format!("no pass of the plan makes output '{}'", output.name));
        outputs.push(match output.kind {
            OutputKind::Picture(description) => {
                let pixels = state.outputs.get_mut(index).and_then(Option::take).ok_or_else(missing)?;
                Output::Picture(Image::from_shared(description, description.row_bytes(), Arc::new(pixels))?)
            }
            OutputKind::Buffer { .. } => Output::Buffer(state.buffers.get(&output.value).cloned().ok_or_else(missing)?),
        });
    }
    Ok(Done { outputs, passes })
}

fn check_sources(graph: &Lowered, sources: &[ImageView<'_>]) -> Result<()> {
    for (index, (name, expected)) in graph.inputs.iter().enumerate() {
        let found = sources.get(index).map(ImageView::description);
        // The colour space is a note for people: no step looks at it.
        let fits = found.is_some_and(|found| found.with_color(expected.color) == *expected);
        if !fits {
            let found = found.map_or("nothing".to_string(), |found| found.to_string());
            return Err(Error::Mismatch { input: name.clone(), expected: expected.to_string(), found });
        }
    }
    Ok(())
}
