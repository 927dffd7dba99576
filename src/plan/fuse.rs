//! Fusion: which values are pending code and which are stored, and which stored values are made in one pass.
//!
//! Everything starts as pending code. A value is stored where a neighbourhood would have to recompute a neighbourhood,
//! where the cost model says that a texture is cheaper, where two passes need an expensive value, and where a pass would
//! bind more than the device allows; each time the reason is written down. Storing only ever adds stores, so the loop
//! ends.

use super::cost;
use super::memory;
use super::recording::Limits;
use super::report::{self, Refusal};
use super::{Options, Pass, Plan, Storage, Target, Write};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::op::{Extent, Step, StepKind, Taps};
use std::collections::{BTreeMap, BTreeSet};

/// Makes the plan of a simplified graph. `notes` are the simplifications, for the report.
pub fn plan(graph: &Lowered, options: &Options, limits: &Limits, notes: Vec<String>) -> Result<Plan> {
    let mut picture_outputs = vec![0; graph.nodes.len()];
    for output in graph.outputs.iter().filter(|output| matches!(output.kind, OutputKind::Picture(_))) {
        if let Some(count) = picture_outputs.get_mut(output.value.0) {
            *count += 1;
        }
    }
    let mut planner =
        Planner { graph, options, limits, picture_outputs, stored: BTreeMap::new(), refusals: Vec::new() };
    planner.store_what_must_be();
    let passes = loop {
        planner.store_costly_inputs();
        let passes = planner.group();
        if !planner.store_shared(&passes) && !planner.store_over_limits(&passes)? {
            break passes;
        }
    };
    let stores = planner.stored;
    let placed = memory::place(graph, options.precision, &passes, &stores, limits)?;
    let passes = placed.passes;
    let report = report::build(graph, &passes, &placed.stored, &placed.textures, &stores, planner.refusals, notes);
    Ok(Plan { passes, stored: placed.stored, textures: placed.textures, buffers: placed.buffers, report })
}

/// A pass before its results have places.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub extent: Extent,
    pub roots: Vec<Value>,
    pub inline: BTreeSet<Value>,
    /// Stored values and sources that it reads, with the reach of each read.
    pub leaves: BTreeMap<Value, Reach>,
    /// Reductions and buffer steps have a pass of their own.
    pub exclusive: bool,
}

/// How far from its own pixel a pass reads a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    SamePixel,
    Elsewhere,
}

/// What it takes to evaluate a value at any pixel in the pass that reads it.
#[derive(Debug, Clone, Copy)]
struct Evaluation {
    /// Whether no neighbourhood is read on the way.
    pointwise: bool,
    /// What a remap reads elsewhere costs so many cheap operators.
    elsewhere: f64,
    /// Steps that read elsewhere, one within the other.
    nesting: u32,
}

/// Steps that read elsewhere in one pass, one within the other. Each is a function that calls the next, in shaders and on the
/// CPU's stack; a texture costs nothing beside so many.
const MOST_NESTED: u32 = 32;

struct Planner<'a> {
    graph: &'a Lowered,
    options: &'a Options,
    limits: &'a Limits,
    /// How many outputs each value is packed for.
    picture_outputs: Vec<u32>,
    /// Stored values with the reason of each.
    stored: BTreeMap<Value, String>,
    refusals: Vec<Refusal>,
}

impl Planner<'_> {
    fn values(&self) -> impl DoubleEndedIterator<Item = Value> + use<> {
        (0..self.graph.nodes.len()).map(Value)
    }

    fn is_leaf(&self, value: Value) -> bool {
        self.stored.contains_key(&value) || matches!(self.graph.node(value).step, Step::Source { .. })
    }

    fn label(&self, value: Value) -> String {
        self.graph.node(value).label.clone()
    }

    fn store(&mut self, value: Value, reason: String) {
        self.stored.entry(value).or_insert(reason);
    }

    /// Buffers are always stored; without fusion, so is every value that another step reads.
    fn store_what_must_be(&mut self) {
        for value in self.values() {
            let node = self.graph.node(value);
            match node.step.kind() {
                StepKind::Reduce => self.store(value, "the result of a reduction over the whole picture".into()),
                StepKind::Derive => self.store(value, "a small buffer made from another".into()),
                _ => {}
            }
            if !self.options.fuse {
                for input in node.inputs.clone() {
                    if !matches!(self.graph.node(input).step, Step::Source { .. }) {
                        self.store(input, "fusion is off".into());
                    }
                }
            }
        }
    }

    /// What it takes to evaluate each value at any pixel, with what is stored now.
    fn evaluations(&self) -> Vec<Evaluation> {
        let mut known = Vec::with_capacity(self.graph.nodes.len());
        for value in self.values() {
            let evaluation = self.evaluation(value, &known);
            known.push(evaluation);
        }
        known
    }

    /// The same of one value, from those of the values before it.
    fn evaluation(&self, value: Value, known: &[Evaluation]) -> Evaluation {
        if self.is_leaf(value) {
            return Evaluation { pointwise: true, elsewhere: 0.0, nesting: 0 };
        }
        let node = self.graph.node(value);
        let kind = matches!(node.step, Step::Generate(_) | Step::Point(_) | Step::Composite(_) | Step::Remap { .. });
        // Inputs stand before the values that read them.
        let inputs = node.inputs.iter().filter(|input| !self.is_leaf(**input)).map(|input| &known[input.0]);
        let pointwise = kind && inputs.clone().all(|input| input.pointwise);
        let deepest = inputs.clone().map(|input| input.nesting).max().unwrap_or(0);
        let nesting = deepest + u32::from(reads_elsewhere(&node.step));
        let elsewhere = match (&node.step, node.inputs.first()) {
            (Step::Remap { .. }, Some(input)) => self.cost(*input, known),
            _ => 0.0,
        };
        Evaluation { pointwise, elsewhere, nesting }
    }

    /// Cost of evaluating a pointwise value at one pixel, in cheap operators: each step at that pixel once, and what these
    /// read elsewhere as often as they do.
    fn cost(&self, value: Value, known: &[Evaluation]) -> f64 {
        let mut seen = BTreeSet::new();
        let mut open = vec![value];
        let mut cost = 0.0;
        while let Some(value) = open.pop() {
            if self.is_leaf(value) || !seen.insert(value) {
                continue;
            }
            let node = self.graph.node(value);
            cost += cost::own_cost(&node.step);
            match (&node.step, known.get(value.0)) {
                (Step::Remap { .. }, Some(known)) => cost += known.elsewhere,
                _ => open.extend(node.inputs.iter().copied()),
            }
        }
        cost
    }

    /// Decides for the input of each neighbourhood: evaluate at each read, or store.
    fn store_costly_inputs(&mut self) {
        let mut consumers: Vec<Vec<Value>> = vec![Vec::new(); self.graph.nodes.len()];
        for consumer in self.values() {
            let node = self.graph.node(consumer);
            if let Some(input) = node.inputs.first().filter(|_| reads_elsewhere(&node.step)) {
                consumers[input.0].push(consumer); // an input is a value of the graph
            }
        }
        let shared = self.shared_with_a_reduction();
        let mut known: Vec<Evaluation> = Vec::with_capacity(self.graph.nodes.len());
        for (input, consumers) in self.values().zip(consumers) {
            let evaluation = self.evaluation(input, &known);
            known.push(evaluation);
            if self.is_leaf(input) || self.graph.node(input).shape.is_buffer() {
                continue;
            }
            if shared.contains(&input) && self.cost(input, &known) > cost::TEXTURE_PASS {
                self.store(input, "a reduction and another pass read it, and it is costly to make twice".into());
                continue;
            }
            let Some(consumer) = consumers.first().copied() else { continue };
            let Some(reason) = self.refusal(input, &known, &consumers) else { continue };
            let (from, to) = (self.label(input), self.label(consumer));
            self.refusals.push(Refusal { producer: from, consumer: to, reason: reason.clone() });
            self.store(input, reason);
        }
    }

    /// Values that a reduction reads, which is always a pass of its own, and something else as well.
    fn shared_with_a_reduction(&self) -> BTreeSet<Value> {
        let (mut reduced, mut used) = (BTreeSet::new(), BTreeSet::new());
        for node in &self.graph.nodes {
            let readers = if node.step.kind() == StepKind::Reduce { &mut reduced } else { &mut used };
            readers.extend(node.inputs.iter().copied());
        }
        used.extend(self.graph.outputs.iter().map(|output| output.value));
        reduced.intersection(&used).copied().collect()
    }

    /// Why a value is not evaluated at each read of those that read it elsewhere.
    fn refusal(&self, input: Value, known: &[Evaluation], consumers: &[Value]) -> Option<String> {
        let evaluation = known.get(input.0)?;
        let first = consumers.first().map(|consumer| self.label(*consumer)).unwrap_or_default();
        if !evaluation.pointwise {
            return Some(format!(
                "{first} reads other pixels of a value that itself reads a neighbourhood, which would be computed again \
                 for each of them"
            ));
        }
        if evaluation.nesting >= MOST_NESTED {
            return Some(format!(
                "{first} would be nested in one pass as the last of more than {MOST_NESTED} such steps"
            ));
        }
        // One that reads each pixel once evaluates it no more often than a texture would.
        let is_remap = |consumer: &Value| matches!(self.graph.node(*consumer).step, Step::Remap { .. });
        if matches!(consumers, [only] if is_remap(only)) {
            return None;
        }
        let verdict = cost::judge(self.graph, consumers, input, self.cost(input, known));
        (!verdict.recompute).then_some(verdict.reason)
    }

    /// What a root's pass evaluates and reads.
    fn trace(&self, root: Value) -> Draft {
        let node = self.graph.node(root);
        let exclusive = matches!(node.step.kind(), StepKind::Reduce | StepKind::Derive);
        let extent = match node.step.kind() {
            StepKind::Reduce => node.inputs.first().map_or(node.shape, |input| self.graph.node(*input).shape).extent(),
            _ => node.shape.extent(),
        };
        let mut draft =
            Draft { extent, roots: vec![root], inline: BTreeSet::new(), leaves: BTreeMap::new(), exclusive };
        if matches!(node.step, Step::Source { .. }) {
            draft.leaves.insert(root, Reach::SamePixel);
            return draft;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![(root, Reach::SamePixel, true)];
        while let Some((value, reach, is_root)) = open.pop() {
            if !is_root && self.is_leaf(value) {
                let known = draft.leaves.entry(value).or_insert(reach);
                *known = reach.max(*known);
                continue;
            }
            if !seen.insert((value, reach)) {
                continue;
            }
            draft.inline.insert(value);
            let node = self.graph.node(value);
            for input in &node.inputs {
                let elsewhere = reads_elsewhere(&node.step) || self.graph.node(*input).shape.is_buffer();
                open.push((*input, if elsewhere { Reach::Elsewhere } else { reach }, false));
            }
        }
        draft
    }

    /// Groups the roots (stored values and outputs) into passes.
    fn group(&self) -> Vec<Draft> {
        let mut roots: BTreeSet<Value> = self
            .stored
            .keys()
            .copied()
            .filter(|value| !matches!(self.graph.node(*value).step, Step::Source { .. }))
            .collect();
        roots.extend(
            self.graph
                .outputs
                .iter()
                .filter(|output| matches!(output.kind, OutputKind::Picture(_)))
                .map(|output| output.value),
        );
        let mut passes: Vec<Draft> = Vec::new();
        let mut made_in: BTreeMap<Value, usize> = BTreeMap::new();
        for root in roots {
            let draft = self.trace(root);
            let earliest = draft
                .leaves
                .iter()
                .filter_map(|(leaf, reach)| {
                    let pass = *made_in.get(leaf)?;
                    Some(if *reach == Reach::SamePixel { pass } else { pass + 1 })
                })
                .max()
                .unwrap_or(0);
            let host = passes.iter().enumerate().skip(earliest).find_map(|(index, pass)| {
                let joined = self.join(pass, &draft)?;
                Some((index, joined))
            });
            let index = match host {
                Some((index, joined)) => {
                    passes[index] = joined; // `index` comes from enumerating the list
                    index
                }
                None => {
                    passes.push(draft);
                    passes.len() - 1
                }
            };
            made_in.insert(root, index);
        }
        passes
    }

    /// Both in one pass, if they share work and the device can bind what they need.
    fn join(&self, pass: &Draft, other: &Draft) -> Option<Draft> {
        if !self.options.fuse || pass.exclusive || other.exclusive || pass.extent != other.extent {
            return None;
        }
        let shares_inline = other.inline.iter().any(|value| pass.inline.contains(value));
        let uses_result = pass.roots.iter().any(|root| other.leaves.contains_key(root));
        let shares_leaf = other
            .leaves
            .iter()
            .any(|(leaf, reach)| *reach == Reach::SamePixel && pass.leaves.get(leaf) == Some(&Reach::SamePixel));
        if !(shares_inline || uses_result || shares_leaf) {
            return None;
        }
        let mut joined = pass.clone();
        joined.roots.extend(&other.roots);
        joined.inline.extend(&other.inline);
        for (leaf, reach) in &other.leaves {
            // What the pass makes itself is at hand at the same pixel.
            if pass.roots.contains(leaf) && joined.inline.contains(leaf) {
                continue;
            }
            let known = joined.leaves.entry(*leaf).or_insert(*reach);
            *known = (*reach).max(*known);
        }
        self.over_limits(&joined).is_none().then_some(joined)
    }

    /// Stores a value that reads a neighbourhood and that several passes need, the last such, so that one pass makes it.
    fn store_shared(&mut self, passes: &[Draft]) -> bool {
        if !self.options.fuse {
            return false;
        }
        let mut users = vec![0_usize; self.graph.nodes.len()];
        for value in passes.iter().flat_map(|pass| &pass.inline) {
            users[value.0] += 1; // a value of the graph
        }
        if users.iter().all(|users| *users < 2) {
            return false;
        }
        let evaluations = self.evaluations();
        let costly = |value: &Value| {
            let evaluation = &evaluations[value.0]; // one for each value
            !evaluation.pointwise || self.cost(*value, &evaluations) > cost::TEXTURE_PASS
        };
        let shared = self.values().rev().find(|value| users[value.0] > 1 && !self.is_leaf(*value) && costly(value));
        let Some(value) = shared else { return false };
        let users: Vec<String> =
            passes.iter().filter(|pass| pass.inline.contains(&value)).map(|pass| self.pass_label(pass)).collect();
        self.store(value, format!("several passes read it ({}), and it is costly to make twice", users.join("; ")));
        true
    }

    fn pass_label(&self, pass: &Draft) -> String {
        label(self.graph, pass)
    }

    /// Splits a pass that binds too much, by storing one of its values.
    fn store_over_limits(&mut self, passes: &[Draft]) -> Result<bool> {
        for pass in passes {
            let Some(excess) = self.over_limits(pass) else { continue };
            let whole = pass.leaves.len();
            let part = pass
                .inline
                .iter()
                .copied()
                .filter(|value| !pass.roots.contains(value) && !self.graph.node(*value).shape.is_buffer())
                .map(|value| (self.trace(value).leaves.len(), value))
                .filter(|(leaves, _)| *leaves > 1 && *leaves < whole)
                .max();
            let Some((_, value)) = part else {
                return Err(Error::DeviceLimit(format!(
                    "{}: {excess}, and it cannot be split",
                    label(self.graph, pass)
                )));
            };
            let root = pass.roots.first().copied().unwrap_or(value);
            let (producer, consumer) = (self.label(value), self.label(root));
            self.refusals.push(Refusal { producer, consumer, reason: excess.clone() });
            self.store(value, excess);
            return Ok(true);
        }
        Ok(false)
    }

    /// What a pass has too much of, in words.
    fn over_limits(&self, pass: &Draft) -> Option<String> {
        let mut storage_buffers = 0;
        let mut sampled = 0;
        for leaf in pass.leaves.keys() {
            let node = self.graph.node(*leaf);
            match node.step {
                Step::Source { .. } => storage_buffers += 1,
                _ if node.shape.is_buffer() => storage_buffers += 1,
                _ => sampled += 1,
            }
        }
        let has_table = pass.inline.iter().any(|value| needs_table(&self.graph.node(*value).step));
        storage_buffers += u32::from(has_table);
        let mut storage_textures = 0;
        for root in &pass.roots {
            if self.graph.node(*root).shape.is_buffer() {
                storage_buffers += 1;
            } else if self.stored.contains_key(root) {
                storage_textures += 1;
            }
            storage_buffers += self.picture_outputs.get(root.0).copied().unwrap_or(0);
        }
        let checks = [
            ("storage buffers", storage_buffers, self.limits.storage_buffers),
            ("read textures", sampled, self.limits.sampled_textures),
            ("written textures", storage_textures, self.limits.storage_textures),
        ];
        checks
            .into_iter()
            .find(|(_, count, limit)| count > limit)
            .map(|(what, count, limit)| format!("one pass would bind {count} {what}, the device allows {limit}"))
    }
}

/// Whether a step reads its first input at other pixels than its own.
fn reads_elsewhere(step: &Step) -> bool {
    matches!(step.kind(), StepKind::Area | StepKind::Warp | StepKind::Resample)
}

/// Whether a step's kernel reads data that is too large for a uniform block.
pub(crate) fn needs_table(step: &Step) -> bool {
    match step {
        Step::Resample { .. } => true,
        Step::Correlate { taps, .. } => !holds_weights(taps),
        step => step.kernel().is_some_and(|kernel| kernel.table.is_some()),
    }
}

/// Whether the weights of a correlation stand in the uniform block: in fours along its moving axis, with up to twelve more
/// of zeros, in three quarters of the 16 KiB that every device has.
pub(crate) fn holds_weights(taps: &Taps) -> bool {
    let (length, lines) = if taps.width == 1 { (taps.height, 1) } else { (taps.width, taps.height) };
    u64::from(lines) * (u64::from(length).div_ceil(4) + 12) <= 768
}

/// Names of the operators in a pass, in order, each once.
pub(super) fn label(graph: &Lowered, pass: &Draft) -> String {
    let mut names: Vec<&str> = Vec::new();
    for value in pass.inline.iter().chain(&pass.roots) {
        let name = graph.node(*value).label.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Turns a draft into a pass once its results have places.
pub(super) fn finish(graph: &Lowered, draft: &Draft, storage: impl Fn(Value) -> Option<Storage>) -> Pass {
    let mut writes = Vec::new();
    for root in &draft.roots {
        if let Some(place) = storage(*root) {
            writes.push(Write { value: *root, target: Target::Stored(place) });
        }
        for (index, output) in graph.outputs.iter().enumerate() {
            if output.value == *root && matches!(output.kind, OutputKind::Picture(_)) {
                writes.push(Write { value: *root, target: Target::Output(index) });
            }
        }
    }
    Pass { label: label(graph, draft), extent: draft.extent, inline: draft.inline.iter().copied().collect(), writes }
}
