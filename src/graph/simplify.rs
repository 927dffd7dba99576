//! Simplification: dead steps, identities, common subexpressions, consecutive colour matrices and affine maps go.
//! A plain function from [`Lowered`] to [`Lowered`].
//!
//! When a parameter changes, the graph is lowered and simplified again. So that a slider which passes through an
//! identity does not change the program's structure, a simplification that depends on parameter values (an identity, two
//! equal steps) is made again only if it was made the first time: see [`Decisions`].

use super::lower::{Lowered, Output, StepKey, StepNode, Value};
use crate::op::{Edge, Kernel, Remap, Step};
use crate::ops::affine::AffineWarp;
use crate::ops::color_matrix::ColorMatrix;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The value-dependent simplifications that were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    removed: BTreeSet<StepKey>,
    merged: BTreeMap<StepKey, StepKey>,
}

/// A simplified graph and what was done to it.
#[derive(Debug, Clone)]
pub struct Simplified {
    pub graph: Lowered,
    pub decisions: Decisions,
    /// For the report, in words.
    pub notes: Vec<String>,
}

/// Removes only what no output needs; for comparison with unfused plans.
pub fn without_dead(lowered: &Lowered) -> Simplified {
    let graph = compact(lowered.nodes.clone(), lowered);
    Simplified { graph, decisions: Decisions::default(), notes: Vec::new() }
}

/// Simplifies. With `earlier` decisions, no others that depend on parameter values are made.
pub fn simplify(lowered: &Lowered, earlier: Option<&Decisions>) -> Simplified {
    let lowered = compact(lowered.nodes.clone(), lowered);
    let uses = count_uses(&lowered);
    let mut decisions = Decisions::default();
    let mut notes = Vec::new();
    let mut nodes: Vec<StepNode> = Vec::with_capacity(lowered.nodes.len());
    let mut map: Vec<Value> = Vec::with_capacity(lowered.nodes.len());
    let mut known: HashMap<String, Vec<Value>> = HashMap::new();
    // How often the values of `nodes` are used, counted in the old graph.
    let mut new_uses: Vec<usize> = Vec::new();

    for (index, old) in lowered.nodes.iter().enumerate() {
        let mut node = old.clone();
        for input in &mut node.inputs {
            *input = map[input.0]; // inputs stand before the node, so they are mapped
        }
        let uses = uses.get(index).copied().unwrap_or(0);

        if is_identity(&node, &nodes) && earlier.is_none_or(|earlier| earlier.removed.contains(&node.key)) {
            decisions.removed.insert(node.key);
            notes.push(format!("{} changes nothing and was left out", node.label));
            let input = node.inputs[0]; // an identity has an input
            new_uses[input.0] += uses.saturating_sub(1);
            map.push(input);
            continue;
        }

        if let Some(&input) = node.inputs.first()
            && new_uses.get(input.0) == Some(&1)
            && let Some(inner) = nodes.get(input.0)
            && let Some(step) = compose(&node, inner)
        {
            notes.push(format!("{} and {} were composed into one step", inner.label, node.label));
            node.step = step;
            node.label = format!("{} + {}", inner.label, node.label);
            node.inputs = inner.inputs.clone();
        }

        let hash = format!("{:?} {:?}", node.step.kind(), node.inputs);
        let twin = known
            .get(&hash)
            .and_then(|candidates| candidates.iter().copied().find(|twin| same(&node, &nodes[twin.0])))
            .filter(|twin| {
                let pair = (node.key, nodes[twin.0].key);
                earlier.is_none_or(|earlier| earlier.merged.get(&pair.0) == Some(&pair.1))
            });
        if let Some(twin) = twin {
            let key = nodes[twin.0].key;
            decisions.merged.insert(node.key, key);
            notes.push(format!("{} equals {} and is evaluated once", node.label, nodes[twin.0].label));
            new_uses[twin.0] += uses;
            map.push(twin);
            continue;
        }
        let value = Value(nodes.len());
        known.entry(hash).or_default().push(value);
        nodes.push(node);
        new_uses.push(uses);
        map.push(value);
    }
    let outputs: Vec<Output> =
        lowered.outputs.iter().map(|output| Output { value: map[output.value.0], ..output.clone() }).collect();
    let graph = compact(nodes, &Lowered { nodes: Vec::new(), inputs: lowered.inputs, outputs });
    Simplified { graph, decisions, notes }
}

/// Drops the nodes that no output of `frame` needs and renumbers.
fn compact(nodes: Vec<StepNode>, frame: &Lowered) -> Lowered {
    let mut live = vec![false; nodes.len()];
    for output in &frame.outputs {
        live[output.value.0] = true; // outputs name nodes of the list
    }
    for (index, node) in nodes.iter().enumerate().rev() {
        if live[index] {
            node.inputs.iter().for_each(|input| live[input.0] = true);
        }
    }
    let mut map = vec![Value(usize::MAX); nodes.len()];
    let mut kept = Vec::new();
    for (index, mut node) in nodes.into_iter().enumerate() {
        if live[index] {
            node.inputs.iter_mut().for_each(|input| *input = map[input.0]);
            map[index] = Value(kept.len());
            kept.push(node);
        }
    }
    let outputs = frame.outputs.iter().map(|output| Output { value: map[output.value.0], ..output.clone() }).collect();
    Lowered { nodes: kept, inputs: frame.inputs.clone(), outputs }
}

fn count_uses(lowered: &Lowered) -> Vec<usize> {
    let mut uses = vec![0; lowered.nodes.len()];
    let inputs = lowered.nodes.iter().flat_map(|node| node.inputs.iter());
    for value in inputs.chain(lowered.outputs.iter().map(|output| &output.value)) {
        uses[value.0] += 1; // values name nodes of the list
    }
    uses
}

fn is_identity(node: &StepNode, nodes: &[StepNode]) -> bool {
    let Some(input) = node.inputs.first().and_then(|input| nodes.get(input.0)) else { return false };
    if input.shape != node.shape {
        return false;
    }
    match &node.step {
        Step::Point(kernel) => kernel.identity,
        Step::Correlate { taps, .. } => taps.weights.len() == 1 && taps.weights.first() == Some(&1.0),
        Step::Remap { remap, .. } => match *remap {
            Remap::Affine { matrix, offset } => matrix == [[1, 0], [0, 1]] && offset == [0, 0],
            Remap::Nearest { source, output } => source == output,
        },
        _ => false,
    }
}

/// One step that does what `inner`, then `outer` do, where there is one.
fn compose(outer: &StepNode, inner: &StepNode) -> Option<Step> {
    match (&outer.step, &inner.step) {
        (Step::Point(second), Step::Point(first)) => {
            let (second, first) = (second.matrix?, first.matrix?);
            Some(Step::Point(Kernel::point(ColorMatrix::from_rows(compose_matrices(second, first)))))
        }
        (
            Step::Remap { remap: Remap::Affine { matrix: a, offset: p }, .. },
            Step::Remap { remap: Remap::Affine { matrix: b, offset: q }, edge },
        ) if reads_inside(outer, inner) => {
            let row = |row: [i32; 2]| [row[0] * a[0][0] + row[1] * a[1][0], row[0] * a[0][1] + row[1] * a[1][1]];
            let offset = |row: [i32; 2], offset: i32| row[0] * p[0] + row[1] * p[1] + offset;
            let remap =
                Remap::Affine { matrix: [row(b[0]), row(b[1])], offset: [offset(b[0], q[0]), offset(b[1], q[1])] };
            Some(Step::Remap { remap, edge: *edge })
        }
        (
            Step::Warp { kernel: second, interpolation, edge },
            Step::Warp { kernel: first, interpolation: inner_interpolation, edge: inner_edge },
        ) if interpolation == inner_interpolation && edge == inner_edge => {
            // On the unbounded plane: the picture is sampled once, and what the first map would have cut off at its
            // border is read instead.
            let (second, first) = (second.affine?, first.affine?);
            let row = |row: [f32; 3]| {
                let mut out = [0.0; 3];
                for (column, slot) in out.iter_mut().enumerate() {
                    *slot = row[0] * second[0][column] + row[1] * second[1][column];
                }
                out[2] += row[2];
                out
            };
            let kernel = Kernel::warp(AffineWarp::from_rows([row(first[0]), row(first[1])]));
            Some(Step::Warp { kernel, interpolation: *interpolation, edge: *edge })
        }
        _ => None,
    }
}

fn compose_matrices(second: [[f32; 4]; 3], first: [[f32; 4]; 3]) -> [[f32; 4]; 3] {
    second.map(|row| {
        let mut out = [0.0, 0.0, 0.0, row[3]];
        for (factor, inner) in row.iter().zip(&first) {
            for (slot, value) in out.iter_mut().zip(inner) {
                *slot += factor * value;
            }
        }
        out
    })
}

/// Whether an affine remap reads only inside of its input, so that its edge mode never acts.
fn reads_inside(outer: &StepNode, inner: &StepNode) -> bool {
    let Step::Remap { remap, .. } = &outer.step else { return false };
    let (out, within) = (outer.shape.extent(), inner.shape.extent());
    let (right, bottom) = (i64::from(out.width) - 1, i64::from(out.height) - 1);
    [(0, 0), (right, 0), (0, bottom), (right, bottom)].into_iter().all(|(x, y)| {
        let (x, y) = remap.source(x, y);
        (0..i64::from(within.width)).contains(&x) && (0..i64::from(within.height)).contains(&y)
    })
}

fn same(a: &StepNode, b: &StepNode) -> bool {
    if a.inputs != b.inputs || a.shape != b.shape {
        return false;
    }
    match (&a.step, &b.step) {
        (Step::Source { input: a }, Step::Source { input: b }) => a == b,
        (Step::Generate(a), Step::Generate(b))
        | (Step::Point(a), Step::Point(b))
        | (Step::Composite(a), Step::Composite(b))
        | (Step::Derive(a), Step::Derive(b)) => same_kernel(a, b),
        (Step::Correlate { taps: a, edge: p }, Step::Correlate { taps: b, edge: q }) => a == b && p == q,
        (Step::Window { kernel: a, radius: r, edge: p }, Step::Window { kernel: b, radius: s, edge: q })
        | (
            Step::WeightedMean { kernel: a, radius: r, edge: p },
            Step::WeightedMean { kernel: b, radius: s, edge: q },
        ) => same_kernel(a, b) && r == s && p == q,
        (Step::Remap { remap: a, edge: p }, Step::Remap { remap: b, edge: q }) => a == b && p == q,
        (Step::Warp { kernel: a, interpolation: i, edge: p }, Step::Warp { kernel: b, interpolation: j, edge: q }) => {
            same_kernel(a, b) && i == j && p == q
        }
        (Step::Resample { axis: a, weights: v, edge: p }, Step::Resample { axis: b, weights: w, edge: q }) => {
            a == b && v == w && p == q
        }
        (Step::Reduce(a), Step::Reduce(b)) => a == b,
        _ => false,
    }
}

/// Kernels of the user's are never taken for equal: their closures cannot be compared.
fn same_kernel(a: &Kernel, b: &Kernel) -> bool {
    !a.foreign && !b.foreign && a.name == b.name && a.words == b.words && a.table == b.table
}

/// A text that two graphs share exactly if one program, with other numbers in it, can run both.
pub fn structure(graph: &Lowered) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for node in &graph.nodes {
        let edge = node.step.edge().map_or("", Edge::name);
        let detail = match &node.step {
            Step::Source { input } => format!("{input}"),
            Step::Correlate { taps, .. } => format!("{}x{}@{:?}", taps.width, taps.height, taps.anchor),
            Step::Window { radius, .. } | Step::WeightedMean { radius, .. } => format!("radius {radius}"),
            Step::Remap { remap, .. } => format!("{remap:?}"),
            Step::Warp { interpolation, .. } => format!("{interpolation:?}"),
            Step::Resample { axis, weights, .. } => format!("{axis:?} {}/{}", weights.output, weights.taps),
            Step::Reduce(reduction) => format!("{reduction:?}"),
            _ => String::new(),
        };
        let kernel = node.step.kernel().map_or(String::new(), |kernel| {
            let table = kernel.table.as_ref().map_or(0, |table| table.len());
            let choices: Vec<u32> = kernel.fields_and_choices().filter_map(|(_, choice)| choice).collect();
            let text = if kernel.foreign { &*kernel.wgsl } else { "" };
            format!("{} {text} {table} {choices:?}", kernel.name)
        });
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:?} {kernel} {detail} {edge} {:?} {:?}", node.step.kind(), node.inputs, node.shape);
    }
    for output in &graph.outputs {
        let _ = writeln!(text, "{output:?}");
    }
    let _ = writeln!(text, "{:?}", graph.inputs);
    text
}
