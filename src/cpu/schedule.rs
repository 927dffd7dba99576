//! The passes of a plan in the way in which this backend carries them out. A value that the plan stores, and that one later
//! pass reads through a window, need not lie in memory as a whole: the later pass can make its rows just ahead of the
//! window, in the cache. Writing and reading it would cost more than the few rows that are then made twice, so such passes
//! are carried out together. The plan stays what it is, and so does every pixel.

use super::cut::Cut;
use super::picture::Layout;
use crate::graph::lower::{Lowered, Value};
use crate::op::{Edge, Extent, Step};
use crate::plan::{Plan, Storage, Target, Write};
use std::collections::BTreeSet;

/// What it costs to write a value to memory and to read it again, for each pixel and channel, in cheap operators. Measured
/// as time: 12 bytes of traffic at 6 GB/s for each core against 0.2 ns.
const STORING: f64 = 10.0;

/// Passes that are carried out together.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The passes under their labels.
    pub label: String,
    pub extent: Extent,
    pub inline: BTreeSet<Value>,
    pub writes: Vec<Write>,
    /// Stored values that nobody reads after this job.
    pub last_uses: Vec<Value>,
}

impl Job {
    /// The values that it makes for others, each once.
    pub fn roots(&self) -> Vec<Value> {
        let mut roots: Vec<Value> = Vec::new();
        for write in &self.writes {
            if !roots.contains(&write.value) {
                roots.push(write.value);
            }
        }
        roots
    }

    /// The values that it reads and does not make itself.
    fn reads(&self, graph: &Lowered) -> BTreeSet<Value> {
        let inputs = self.inline.iter().flat_map(|value| graph.node(*value).inputs.iter().copied());
        inputs.chain(self.roots()).filter(|value| !self.inline.contains(value)).collect()
    }

    fn cut(&self, graph: &Lowered) -> Cut {
        Cut::new(graph, &self.inline, &self.roots(), self.extent)
    }
}

/// The jobs of a plan, in order.
pub(super) fn schedule(graph: &Lowered, plan: &Plan) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for pass in &plan.passes {
        let inline = pass.inline.iter().copied().collect();
        jobs.push(Job {
            label: pass.label.clone(),
            extent: pass.extent,
            inline,
            writes: pass.writes.clone(),
            last_uses: Vec::new(),
        });
    }
    let mut index = 0;
    while index < jobs.len() {
        match merged(graph, &jobs, index) {
            Some((reader, job)) => {
                jobs[reader] = job; // `merged` found it in the list
                jobs.remove(index);
            }
            None => index += 1,
        }
    }
    for index in 0..jobs.len() {
        let (before, after) = jobs.split_at_mut(index + 1);
        let later: BTreeSet<Value> = after.iter().flat_map(|job| job.reads(graph)).collect();
        if let Some(job) = before.last_mut() {
            let touched = job.reads(graph).into_iter().chain(job.roots());
            job.last_uses = touched.filter(|value| !later.contains(value)).collect();
        }
    }
    jobs
}

/// The job of `index` together with the only one that reads its results, if that is worth it; with the index of that one.
fn merged(graph: &Lowered, jobs: &[Job], index: usize) -> Option<(usize, Job)> {
    let job = jobs.get(index)?;
    let made = job.roots();
    let only_stored = job.writes.iter().all(|write| matches!(write.target, Target::Stored(Storage::Texture(_))));
    if made.is_empty() || !only_stored {
        return None;
    }
    let reads_it = |job: &Job| job.reads(graph).iter().any(|value| made.contains(value));
    let mut readers = jobs.iter().enumerate().skip(index + 1).filter(|(_, later)| reads_it(later));
    let (reader, later) = readers.next()?;
    if readers.next().is_some() || !made.iter().all(|value| read_by_windows_of_one_edge(graph, later, *value)) {
        return None;
    }
    let inline = job.inline.union(&later.inline).copied().collect();
    let label = format!("{}, {}", job.label, later.label);
    let together = Job { label, inline, ..later.clone() };
    let repeated = together.cut(graph).repeated - job.cut(graph).repeated - later.cut(graph).repeated;
    let saved: f64 = made
        .iter()
        .map(|value| graph.node(*value).shape)
        .map(|shape| shape.extent().pixels() as f64 * Layout::of(&shape).count() as f64 * STORING)
        .sum();
    (repeated < saved).then_some((reader, together))
}

/// Whether a job reads a value only through windows that move down it row by row, all with the same edge, so that one block
/// of rows serves them all.
fn read_by_windows_of_one_edge(graph: &Lowered, job: &Job, value: Value) -> bool {
    let mut edge: Option<Edge> = None;
    let mut readers = job.inline.iter().map(|reader| graph.node(*reader)).filter(|node| node.inputs.contains(&value));
    let all = readers.all(|node| {
        let by_rows = matches!(
            node.step,
            Step::Correlate { .. } | Step::Window { .. } | Step::WeightedMean { .. } | Step::Resample { .. }
        );
        let same_edge = edge.is_none() || edge == node.step.edge();
        edge = node.step.edge();
        by_rows && same_edge
    });
    all && edge.is_some() && !job.roots().contains(&value)
}
