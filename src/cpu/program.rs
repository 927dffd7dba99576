//! A pass made ready for tiles: which steps run on a cell, in which order, in which buffers.
//!
//! A [`Stage`] is the list of steps that make some values at the *same* pixels, a cell at a time: a few rows of a few
//! hundred pixels, which stay in the first-level cache from the unpacking to the packing. Where a step reads *other* pixels
//! of a value, that value gets a stage of its own, whose rows are kept in a [`Block`](super::block::Block) while the
//! neighbourhood moves down. The last stage makes what the pass writes. Stages read only stages before them.
//!
//! Nothing here looks at pixels.

use super::picture::{Layout, Picture};
use super::steps::{remap, resample, warp};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, StepNode, Value};
use crate::image::ImageView;
use crate::op::{Axis, Edge, Extent, Interpolation, Kernel, Place, Planes, PlanesMut, Remap, Rows, Step, Taps};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) type PointCode = Arc<dyn Fn(PlanesMut, Place) + Send + Sync>;
pub(super) type GatherCode = Arc<dyn Fn(&[Planes], PlanesMut, Place) + Send + Sync>;
pub(super) type WarpCode = Arc<dyn Fn(&mut [f32], &mut [f32], Place) + Send + Sync>;

/// What a pass reads: everything that exists before it runs.
#[derive(Clone, Copy)]
pub(super) struct Frame<'r> {
    pub graph: &'r Lowered,
    pub sources: &'r [ImageView<'r>],
    /// Stored pictures by the value that they hold.
    pub pictures: &'r BTreeMap<Value, Picture>,
    /// Stored buffers by the value that they hold.
    pub buffers: &'r BTreeMap<Value, Vec<[u32; 4]>>,
}

/// Steps that make values at the same pixels.
pub(super) struct Stage<'r> {
    pub operations: Vec<Operation<'r>>,
    /// The values that are made, with the slot and layout of each.
    pub results: Vec<StageResult>,
    /// The cell that suits its steps.
    preferred: Extent,
    /// The same within the picture: the greatest width and height of a cell.
    pub cell: Extent,
    /// Number of slots.
    pub slots: usize,
    /// What its block is like; the last stage has none.
    pub block: Option<BlockPlan>,
}

/// A value that a stage makes.
#[derive(Debug, Clone, Copy)]
pub(super) struct StageResult {
    pub slot: usize,
    pub layout: Layout,
}

/// Rows that are kept of a value, continued beyond its edges.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlan {
    pub edge: Edge,
    pub extent: Extent,
    /// Of the value and of the constant edge together.
    pub layout: Layout,
    /// Whether boxes here and there are read (by a warp), not rows that move down (by a window).
    pub boxes: bool,
}

/// One step on a cell.
pub(super) struct Operation<'r> {
    pub action: Action<'r>,
    /// Slots of the inputs at the same pixel, and what they hold.
    pub inputs: Vec<(usize, Layout)>,
    /// The slot that it writes. A point step may write the one that it reads.
    pub slot: usize,
    pub layout: Layout,
    /// Of the value that it makes.
    pub extent: Extent,
    /// Whether it needs to know where it is.
    pub positional: bool,
}

/// What a step does.
pub(super) enum Action<'r> {
    /// Unpacks a source picture.
    Source(ImageView<'r>),
    /// Copies from a stored picture.
    Stored(&'r Picture),
    /// Copies from a block, where a window in the same stage needs the value as well.
    Block(Reader<'r>),
    Generate(PointCode),
    Point(PointCode),
    Composite(GatherCode),
    Correlate {
        taps: &'r Taps,
        reader: Reader<'r>,
    },
    Window {
        code: GatherCode,
        radius: u32,
        reader: Reader<'r>,
    },
    Remap {
        remap: Remap,
        reader: Reader<'r>,
    },
    Warp {
        code: WarpCode,
        interpolation: Interpolation,
        reader: Reader<'r>,
    },
    Resample {
        axis: Axis,
        table: ResampleTable<'r>,
        reader: Reader<'r>,
    },
    /// Resamples along the columns of a source picture.
    SourceRows {
        source: ImageView<'r>,
        table: ResampleTable<'r>,
    },
}

/// How a neighbourhood gets at its input.
#[derive(Clone, Copy)]
pub(super) struct Reader<'r> {
    pub edge: Edge,
    /// Of the value that is read.
    pub extent: Extent,
    /// What rows must have.
    pub layout: Layout,
    /// The stored picture, if the value is one: rows inside of it are read where they lie.
    pub picture: Option<&'r Picture>,
    /// The stage whose block holds the rows otherwise.
    pub stage: usize,
}

/// Weights of a resampling, with what is known of their order.
#[derive(Clone, Copy)]
pub(super) struct ResampleTable<'r> {
    pub taps: usize,
    pub start: &'r [i32],
    pub weights: &'r [f32],
    /// Whether windows never step back, so that the ends of a range bound it.
    monotone: bool,
}

impl ResampleTable<'_> {
    /// The source coordinates that the outputs of `range` read.
    pub fn reads(&self, range: std::ops::Range<usize>) -> std::ops::Range<i64> {
        let windows = self.start.get(range).unwrap_or_default();
        let (low, high) = if self.monotone {
            (windows.first().copied(), windows.last().copied())
        } else {
            (windows.iter().copied().min(), windows.iter().copied().max())
        };
        i64::from(low.unwrap_or(0))..i64::from(high.unwrap_or(0)) + self.taps as i64
    }
}

impl<'r> Action<'r> {
    /// How it reads other pixels, if it does.
    pub fn reader(&self) -> Option<Reader<'r>> {
        match self {
            Action::Block(reader)
            | Action::Correlate { reader, .. }
            | Action::Window { reader, .. }
            | Action::Remap { reader, .. }
            | Action::Warp { reader, .. }
            | Action::Resample { reader, .. } => Some(*reader),
            _ => None,
        }
    }
}

/// Makes the stages of a pass that evaluates `inline` and needs `roots`.
pub(super) fn compile<'r>(frame: Frame<'r>, inline: &BTreeSet<Value>, roots: &[Value]) -> Result<Vec<Stage<'r>>> {
    let inline = inline.clone();
    let mut compiler = Compiler { frame, inline, stages: Vec::new(), blocks: Vec::new() };
    compiler.stage(roots, None)?;
    Ok(compiler.stages)
}

struct Compiler<'r> {
    frame: Frame<'r>,
    inline: BTreeSet<Value>,
    stages: Vec<Stage<'r>>,
    /// Stages with a block, by what they hold. Warps read boxes here and there, which would keep throwing out the rows of
    /// a window that moves down; so they have blocks of their own.
    blocks: Vec<(Value, Edge, Layout, bool, usize)>,
}

/// A stage while it is made.
#[derive(Default)]
struct Draft<'r> {
    operations: Vec<Operation<'r>>,
    made: BTreeMap<Value, (usize, Layout)>,
    /// How many steps still read a slot.
    uses: BTreeMap<Value, usize>,
    free: Vec<usize>,
    slots: usize,
}

impl<'r> Compiler<'r> {
    fn node(&self, value: Value) -> &'r StepNode {
        self.frame.graph.node(value)
    }

    /// Whether the value is read from where it is stored, not evaluated.
    fn is_leaf(&self, value: Value) -> bool {
        matches!(self.node(value).step, Step::Source { .. }) || !self.inline.contains(&value)
    }

    /// The inputs of a value that are pictures at the same pixel.
    fn same_pixel_inputs(&self, value: Value) -> Vec<Value> {
        let node = self.node(value);
        if self.is_leaf(value) {
            return Vec::new();
        }
        match &node.step {
            Step::Point(_) => node.inputs.iter().copied().take(1).collect(),
            Step::Composite(_) => node.inputs.clone(),
            _ => Vec::new(),
        }
    }

    /// The values that a stage for `roots` evaluates, each after its inputs. Those of `given` are taken as they are.
    fn order(&self, roots: &[Value], given: &BTreeMap<Value, &'r StepNode>) -> Vec<Value> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        // A value is met twice: first its inputs are pushed above it, then it is put in order.
        let mut open: Vec<(Value, bool)> = roots.iter().rev().map(|root| (*root, false)).collect();
        while let Some((value, ready)) = open.pop() {
            if ready {
                order.push(value);
            } else if seen.insert(value) {
                open.push((value, true));
                if !given.contains_key(&value) {
                    open.extend(self.same_pixel_inputs(value).into_iter().rev().map(|input| (input, false)));
                }
            }
        }
        order
    }

    /// Values that a window in a stage for `roots` needs around each pixel: where they are needed at the pixel itself as
    /// well, they are taken from the window's block, so that they are evaluated once. With the window that needs them.
    fn blocked(&self, roots: &[Value]) -> BTreeMap<Value, &'r StepNode> {
        let order = self.order(roots, &BTreeMap::new());
        let windows = order.iter().map(|value| self.node(*value)).filter(|node| {
            matches!(node.step, Step::Correlate { .. } | Step::Window { .. } | Step::WeightedMean { .. })
        });
        windows
            .filter_map(|node| Some((*node.inputs.first()?, node)))
            .filter(|(value, _)| !self.is_leaf(*value) && !roots.contains(value))
            .collect()
    }

    /// Makes the stage for `roots` and all stages that it reads; returns its index.
    fn stage(&mut self, roots: &[Value], block: Option<BlockPlan>) -> Result<usize> {
        let blocked = self.blocked(roots);
        let order = self.order(roots, &blocked);
        let mut draft = Draft::default();
        for value in &order {
            if !blocked.contains_key(value) {
                for input in self.same_pixel_inputs(*value) {
                    *draft.uses.entry(input).or_default() += 1;
                }
            }
        }
        for root in roots {
            *draft.uses.entry(*root).or_default() += 1; // so that nothing overwrites it
        }
        for value in order {
            self.operation(&mut draft, value, blocked.get(&value).copied())?;
        }
        let results = roots
            .iter()
            .filter_map(|root| draft.made.get(root).map(|(slot, layout)| (*root, *slot, *layout)))
            .map(|(_, slot, layout)| StageResult { slot, layout })
            .collect();
        let extent = roots.first().map_or(Extent { width: 1, height: 1 }, |root| self.node(*root).shape.extent());
        let preferred = draft.operations.iter().map(|operation| self.preferred_cell(operation));
        let preferred = preferred.fold(POINT_CELL, higher);
        let cell = Extent { width: preferred.width.min(extent.width), height: preferred.height.min(extent.height) };
        self.stages.push(Stage { operations: draft.operations, results, preferred, cell, slots: draft.slots, block });
        Ok(self.stages.len() - 1)
    }

    /// Adds the step that makes `value` to a stage; from the block of `window`, if one needs it.
    fn operation(&mut self, draft: &mut Draft<'r>, value: Value, window: Option<&'r StepNode>) -> Result<()> {
        let node = self.node(value);
        let layout = Layout::of(&node.shape);
        let (action, inputs) = match window {
            Some(window) => {
                let edge = window.step.edge().unwrap_or(Edge::Clamp);
                let reader = self.reader(window, value, edge, false)?;
                (Action::Block(reader), Vec::new())
            }
            None => (self.action(value)?, self.same_pixel_inputs(value)),
        };
        let read: Vec<(usize, Layout)> = inputs.iter().filter_map(|input| draft.made.get(input).copied()).collect();
        if read.len() != inputs.len() {
            return Err(Error::BadGraph(format!("{}: an input is used before it is made", node.label)));
        }
        for input in inputs.iter().collect::<BTreeSet<_>>() {
            let times = inputs.iter().filter(|other| *other == input).count();
            if let Some(uses) = draft.uses.get_mut(input) {
                *uses = uses.saturating_sub(times);
            }
        }
        let last_uses: Vec<usize> = inputs
            .iter()
            .filter(|input| draft.uses.get(input) == Some(&0))
            .filter_map(|input| draft.made.get(input).map(|(slot, _)| *slot))
            .collect();
        let in_place = matches!(action, Action::Point(_)).then(|| last_uses.first().copied()).flatten();
        let slot = in_place.or_else(|| draft.free.pop()).unwrap_or_else(|| {
            draft.slots += 1;
            draft.slots - 1
        });
        let freed: BTreeSet<usize> = last_uses.into_iter().filter(|free| *free != slot).collect();
        draft.free.extend(freed);
        draft.made.insert(value, (slot, layout));
        let positional = match &node.step {
            Step::Point(kernel) | Step::Composite(kernel) => kernel.positional,
            _ => true,
        };
        let extent = node.shape.extent();
        draft.operations.push(Operation { action, inputs: read, slot, layout, extent, positional });
        Ok(())
    }

    fn action(&mut self, value: Value) -> Result<Action<'r>> {
        let node = self.node(value);
        if let Step::Source { input } = &node.step {
            let source = self.frame.sources.get(*input).copied();
            return source.map(Action::Source).ok_or_else(|| misplaced(node, "reads an input that was not given"));
        }
        if self.is_leaf(value) {
            let picture = self.frame.pictures.get(&value);
            return picture.map(Action::Stored).ok_or_else(|| misplaced(node, "is read before a pass stored it"));
        }
        let input = || node.inputs.first().copied().ok_or_else(|| misplaced(node, "has no input"));
        Ok(match &node.step {
            Step::Generate(kernel) => match &kernel.rows {
                Rows::Generate(code) => Action::Generate(Arc::clone(code)),
                _ => return Err(no_code(kernel)),
            },
            Step::Point(kernel) => Action::Point(self.point_code(node, kernel)?),
            Step::Composite(kernel) => match &kernel.rows {
                Rows::Composite(code) => Action::Composite(Arc::clone(code)),
                _ => return Err(no_code(kernel)),
            },
            Step::Correlate { taps, edge } => {
                Action::Correlate { taps, reader: self.reader(node, input()?, *edge, false)? }
            }
            Step::Window { kernel, radius, edge } | Step::WeightedMean { kernel, radius, edge } => match &kernel.rows {
                Rows::Window(code) | Rows::WeightedMean(code) => Action::Window {
                    code: Arc::clone(code),
                    radius: *radius,
                    reader: self.reader(node, input()?, *edge, false)?,
                },
                _ => return Err(no_code(kernel)),
            },
            Step::Remap { remap, edge } => {
                let boxes = !remap::keeps_rows(remap);
                Action::Remap { remap: *remap, reader: self.reader(node, input()?, *edge, boxes)? }
            }
            Step::Warp { kernel, interpolation, edge } => match &kernel.rows {
                Rows::Warp(code) => Action::Warp {
                    code: Arc::clone(code),
                    interpolation: *interpolation,
                    reader: self.reader(node, input()?, *edge, true)?,
                },
                _ => return Err(no_code(kernel)),
            },
            Step::Resample { axis, weights, edge } => {
                let table = ResampleTable {
                    taps: weights.taps as usize,
                    start: &weights.start,
                    weights: &weights.weights,
                    monotone: weights.start.is_sorted(),
                };
                if resample::sums_source_rows(node, self.node(input()?))
                    && let Action::Source(source) = self.action(input()?)?
                {
                    return Ok(Action::SourceRows { source, table });
                }
                Action::Resample { axis: *axis, table, reader: self.reader(node, input()?, *edge, false)? }
            }
            Step::Source { .. } | Step::Reduce(_) | Step::Derive(_) => {
                return Err(misplaced(node, "is not a step on pixels"));
            }
        })
    }

    fn point_code(&self, node: &StepNode, kernel: &Kernel) -> Result<PointCode> {
        let prepared;
        let rows = match (&kernel.rows, node.inputs.get(1)) {
            (Rows::PointWithBuffer(prepare), Some(buffer)) => {
                let buffer = self.frame.buffers.get(buffer);
                prepared = prepare(buffer.ok_or_else(|| misplaced(node, "reads a buffer before a pass made it"))?);
                &prepared
            }
            (rows, _) => rows,
        };
        match rows {
            Rows::Point(code) => Ok(Arc::clone(code)),
            _ => Err(no_code(kernel)),
        }
    }

    /// The cell that suits a step best.
    fn preferred_cell(&self, operation: &Operation<'r>) -> Extent {
        let own = match &operation.action {
            // Several rows at once share the loads of the rows that they have in common.
            Action::Correlate { taps, .. } if taps.height > 1 => Extent { width: 192, height: 8 },
            // Rows of a larger input, kept for higher cells, would not stay in the cache.
            Action::Resample { axis: Axis::Vertical, reader, .. } if reader.extent.height > operation.extent.height => {
                Extent { height: 8, ..resample::ROW_CELL }
            }
            Action::Resample { axis: Axis::Vertical, .. } | Action::SourceRows { .. } => resample::ROW_CELL,
            // As many rows as are interleaved: see `steps::resample`.
            Action::Resample { axis: Axis::Horizontal, .. } => Extent { width: 128, height: resample::LANES as u32 },
            Action::Warp { .. } => Extent { width: warp::CELL, height: warp::CELL },
            Action::Remap { remap, .. } if !remap::keeps_rows(remap) => Extent { width: 96, height: 96 },
            _ => POINT_CELL,
        };
        // Where the input has to be made, as many rows are asked for as are best made together.
        let input = operation.action.reader().filter(|reader| reader.picture.is_none());
        let input = input.and_then(|reader| self.stages.get(reader.stage));
        input.map_or(own, |stage| higher(own, stage.preferred))
    }

    /// How the step of `node` reads other pixels of `input`.
    fn reader(&mut self, node: &StepNode, input: Value, edge: Edge, boxes: bool) -> Result<Reader<'r>> {
        let source = self.node(input);
        let extent = source.shape.extent();
        let layout = Layout::of(&source.shape).with_edge(edge).union(Layout::of(&node.shape));
        let picture = if self.is_leaf(input) { self.frame.pictures.get(&input) } else { None };
        let stage = self.block(input, edge, layout, boxes)?;
        Ok(Reader { edge, extent, layout, picture, stage })
    }

    /// The stage that keeps rows of `value`.
    fn block(&mut self, value: Value, edge: Edge, layout: Layout, boxes: bool) -> Result<usize> {
        let known = self
            .blocks
            .iter()
            .find(|(of, at, with, for_boxes, _)| (*of, *at, *with, *for_boxes) == (value, edge, layout, boxes));
        if let Some((.., stage)) = known {
            return Ok(*stage);
        }
        let extent = self.node(value).shape.extent();
        let stage = self.stage(&[value], Some(BlockPlan { edge, extent, layout, boxes }))?;
        self.blocks.push((value, edge, layout, boxes, stage));
        Ok(stage)
    }
}

/// Cells of plain point steps: four channels of 512 floats are a quarter of a first-level cache.
const POINT_CELL: Extent = Extent { width: 512, height: 1 };

fn higher(first: Extent, second: Extent) -> Extent {
    if second.height > first.height { second } else { first }
}

fn no_code(kernel: &Kernel) -> Error {
    Error::NoCpuCode { operator: kernel.name.to_string() }
}

/// A plan that contradicts its graph; plans made by [`plan`](crate::plan::plan()) don't.
pub(super) fn misplaced(node: &StepNode, what: &str) -> Error {
    Error::BadGraph(format!("{} {what}", node.label))
}
