//! The module of one pass. An invocation makes a [`Block`] of pixels, four by four: leaves (sources, textures) and
//! neighbourhoods are read as strips of four, then one function `pixel` holds all the operators on single pixels.
//!
//! A value that a neighbourhood reads elsewhere is made by a function `read_N(at)`, `strip_N(x, y)` for four pixels at
//! once or `run_N(x, y)` for sixteen; `edge_N(at)` and its like stand before it and resolve coordinates outside of the
//! picture, so that fused code runs only at coordinates inside.
//!
//! - this file: the module's parts, and how they are put together
//! - `read`: leaves, and operators on single pixels
//! - `call`: kernels and their data
//! - `edge`: what lies beyond a picture's edge
//! - `gather`: neighbourhoods
//! - `tile`: what neighbourhoods read, in workgroup memory
//! - `entry`: the entry point

mod call;
mod edge;
mod entry;
mod gather;
mod read;
mod tile;

use super::source::Declaration;
use super::{library, source};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::image::SampleType;
use crate::op::{Edge, Kernel, Step, StepKind};
use crate::plan::recording::{Dispatch, Limits, PassShape, RUN, Resource, STRIP};
use crate::plan::{COLUMN, Pass, Plan, own_cost};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use tile::Tile;

/// The dispatch of a pass over pixels.
pub(super) fn dispatch(
    graph: &Lowered,
    plan: &Plan,
    pass: &Pass,
    limits: &Limits,
    source_textures: bool,
) -> Result<Dispatch> {
    let mut generator = Generator::new(graph, plan, pass, source_textures);
    let gathers = generator.gathers();
    let shape = if gathers.is_empty() { limits.pass_shapes.point } else { limits.pass_shapes.area };
    // Windows of a resize may be thousands of rounds of a loop, of which llvmpipe makes 65535 in all.
    let resizes = gathers.iter().any(|value| matches!(graph.node(*value).step, Step::Resample { .. }));
    let shape = if resizes { PassShape { items: 1, ..shape } } else { shape };
    let block = generator.tile(&gathers, shape, limits).unwrap_or_else(|| generator.block(&gathers, shape));
    let body = generator.main(block, shape)?;
    let groups = groups(pass, shape.cover(), block.size());
    let cost = generator.cost(shape.cover(), block.size());
    generator.finish(&body, groups, cost)
}

/// Workgroups that cover a pass when each makes so many blocks of `width` by `height` pixels.
pub(super) fn groups(pass: &Pass, blocks: [u32; 2], [width, height]: [u32; 2]) -> [u32; 2] {
    [pass.extent.width.div_ceil(width * blocks[0]), pass.extent.height.div_ceil(height * blocks[1])]
}

/// The pixels that one invocation makes. Each is also the name of a WGSL struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// A strip of four pixels.
    Strip,
    /// Four strips side by side: as much as fills whole vectors in every pixel format.
    Run,
    /// Four strips below each other, which share the reads of a vertical neighbourhood.
    Column,
    /// Eight of them.
    Tall,
}

impl Block {
    /// Width and height in pixels.
    fn size(self) -> [u32; 2] {
        match self {
            Block::Strip => [STRIP, 1],
            Block::Run => [RUN, 1],
            Block::Column => [STRIP, COLUMN],
            Block::Tall => [STRIP, 2 * COLUMN],
        }
    }

    /// Members of the WGSL struct that lead to the pixels of a row, in order.
    fn pixels(self) -> Vec<String> {
        let members = ["a", "b", "c", "d"];
        match self {
            Block::Strip | Block::Column | Block::Tall => members.map(String::from).to_vec(),
            Block::Run => members.iter().flat_map(|strip| members.map(|pixel| format!("{strip}.{pixel}"))).collect(),
        }
    }

    /// Expression for a row of the block made of these pixels.
    fn row(self, pixels: &[String]) -> String {
        let strips: Vec<String> =
            pixels.chunks(STRIP as usize).map(|strip| format!("Strip({})", strip.join(", "))).collect();
        match self {
            Block::Strip | Block::Column | Block::Tall => strips.concat(),
            Block::Run => format!("Run({})", strips.join(", ")),
        }
    }

    /// Name of the function that reads a row of a pointwise value.
    fn reader(self, value: Value) -> String {
        format!("{}_{}", if self == Block::Run { "run" } else { "strip" }, value.0)
    }

    /// Text of a function that makes a row of these pixels after the statements of `head`.
    fn function(self, name: &str, head: &str, pixels: &[String]) -> String {
        let (row_type, row) = (self.row_type(), self.row(pixels));
        format!("fn {name}(x: i32, y: i32) -> {row_type} {{\n{head}    return {row};\n}}")
    }

    /// Members of the WGSL struct that are the rows of what a vertical neighbourhood makes at once.
    fn rows(self) -> Vec<String> {
        let rows = |column: &str| (0..COLUMN).map(|row| format!("{column}r{row}")).collect::<Vec<_>>();
        match self {
            Block::Strip | Block::Run => Vec::new(),
            Block::Column => rows(""),
            Block::Tall => [rows("top."), rows("bottom.")].concat(),
        }
    }

    /// Type of a row.
    fn row_type(self) -> &'static str {
        if self == Block::Run { "Run" } else { "Strip" }
    }
}

/// Most cheap operators on a pixel of a run.
const RUN_COST: f64 = 8.0;

/// Largest radius of a window that is read for a run of outputs: the kernel stands sixteen times in the text then.
const RUN_WINDOW_RADIUS: u32 = 1;

/// A member of the uniform block.
struct UniformField {
    name: String,
    wgsl: String,
    words: Vec<u32>,
}

pub(super) struct Generator<'a> {
    graph: &'a Lowered,
    plan: &'a Plan,
    pub pass: &'a Pass,
    source_textures: bool,
    inline: BTreeSet<Value>,
    fields: Vec<UniformField>,
    structs: BTreeMap<String, String>,
    /// Declarations in order, by name, each once.
    functions: Vec<(String, String)>,
    bindings: Vec<(Resource, String)>,
    table: Vec<[f32; 4]>,
    has_table: bool,
    /// By the step that reads them.
    tiles: BTreeMap<Value, Tile>,
    /// Bytes of the tiles.
    workgroup_memory: u32,
}

impl<'a> Generator<'a> {
    /// `source_textures` says that sources are read through textures.
    pub fn new(graph: &'a Lowered, plan: &'a Plan, pass: &'a Pass, source_textures: bool) -> Self {
        Generator {
            graph,
            plan,
            pass,
            source_textures,
            inline: pass.inline.iter().copied().collect(),
            fields: Vec::new(),
            structs: BTreeMap::new(),
            functions: Vec::new(),
            bindings: Vec::new(),
            table: Vec::new(),
            has_table: false,
            tiles: BTreeMap::new(),
            workgroup_memory: 0,
        }
    }

    /// Estimated cost of one workgroup, in cheap operators, when each invocation makes a block of this size.
    pub fn cost(&self, workgroup: [u32; 2], [width, height]: [u32; 2]) -> f64 {
        let pixel: f64 = self.pass.inline.iter().map(|value| own_cost(&self.graph.node(*value).step)).sum();
        (pixel + 2.0) * f64::from(workgroup[0] * workgroup[1] * width * height)
    }

    /// The steps of the pass that read neighbourhoods.
    fn gathers(&self) -> Vec<Value> {
        let reads_elsewhere = |value: &Value| {
            let step = &self.graph.node(*value).step;
            let is_kind = matches!(step.kind(), StepKind::Area | StepKind::Warp | StepKind::Resample);
            is_kind && !matches!(step, Step::Remap { .. })
        };
        self.pass.inline.iter().copied().filter(reads_elsewhere).collect()
    }

    /// What each invocation makes. A pass over single pixels reads whole vectors. Neighbourhoods of a run want some
    /// hundred registers: a rasteriser on the CPU has them in its cache, where a load costs it far more, and GPUs do not.
    fn block(&self, gathers: &[Value], shape: PassShape) -> Block {
        if let [only] = gathers
            && self.makes_columns(*only)
        {
            return if shape.large_blocks { Block::Tall } else { Block::Column };
        }
        let makes_runs = |value: &Value| shape.large_blocks && makes_runs(&self.graph.node(*value).step);
        if self.is_short() && gathers.iter().all(makes_runs) { Block::Run } else { Block::Strip }
    }

    /// Whether what is done to a single pixel is short enough to stand sixteen times in the text: compiling takes as much
    /// longer, and where the arithmetic is long, loads count for little.
    fn is_short(&self) -> bool {
        let inputs = self.graph.inputs.iter().map(|(_, description)| description.format);
        let outputs = self.graph.outputs.iter().filter_map(|output| match output.kind {
            OutputKind::Picture(description) => Some(description.format),
            OutputKind::Buffer { .. } => None,
        });
        // Halfs are converted in integer arithmetic, some twenty operations each.
        let halfs = inputs.chain(outputs).any(|format| format.sample() == SampleType::F16);
        let single = self
            .pass
            .inline
            .iter()
            .map(|value| &self.graph.node(*value).step)
            .filter(|step| matches!(step.kind(), StepKind::Point | StepKind::Composite | StepKind::Generate));
        !halfs && single.map(own_cost).sum::<f64>() <= RUN_COST
    }

    /// Whether `gather_N` can make a column of outputs.
    fn makes_columns(&self, value: Value) -> bool {
        matches!(&self.graph.node(value).step, Step::Correlate { taps, .. } if taps.width == 1 && taps.height > 2)
    }

    fn is_leaf(&self, value: Value) -> bool {
        !self.inline.contains(&value)
    }

    fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|(known, _)| known == name)
    }

    fn add(&mut self, name: &str, text: String) {
        if !self.has(name) {
            self.functions.push((name.into(), text));
        }
    }

    fn field(&mut self, name: &str, wgsl: &str, words: Vec<u32>) {
        if !self.fields.iter().any(|field| field.name == name) {
            self.fields.push(UniformField { name: name.into(), wgsl: wgsl.into(), words });
        }
    }

    fn bind(&mut self, resource: Resource, declaration: impl Fn(usize) -> String) {
        if !self.bindings.iter().any(|(known, _)| *known == resource) {
            let binding = self.bindings.len() + 1; // the uniforms are binding 0
            self.bindings.push((resource, declaration(binding)));
        }
    }

    /// Width and height of a value as a uniform; returns the expression.
    fn size(&mut self, value: Value) -> String {
        let extent = self.graph.node(value).shape.extent();
        self.field(&format!("size_{}", value.0), "vec4u", vec![extent.width, extent.height, 0, 0]);
        format!("uniforms.size_{}", value.0)
    }

    /// Adds a binding that the entry point writes through.
    pub fn bind_result(&mut self, resource: Resource, declaration: &str) {
        let declaration = declaration.to_string();
        self.bind(resource, |binding| format!("@group(0) @binding({binding}) {declaration}"));
    }

    /// Calls a kernel from an entry point of another skeleton.
    pub fn kernel_call(&mut self, value: Value, given: &[(&str, String)]) -> Result<String> {
        let kernel = kernel_of(self.graph, value)?;
        self.call(value, kernel, given, "vec2i(0)")
    }

    /// Puts module and numbers together.
    pub fn finish(self, entry: &str, groups: [u32; 2], group_cost: f64) -> Result<Dispatch> {
        let extent = self.pass.extent;
        let mut kernels = self.pass.inline.iter().filter_map(|value| self.graph.node(*value).step.kernel());
        let trusted = !kernels.any(|kernel| kernel.foreign);
        // The same header in every uniform block; each member starts at 16 bytes, as structs in it must.
        let mut words = vec![0, 0, extent.width, extent.height, groups[0], groups[1], 0, 0];
        let mut members = String::from("    first: vec2u,\n    extent: vec2u,\n    groups: vec2u,\n");
        for field in &self.fields {
            while !words.len().is_multiple_of(4) {
                words.push(0);
            }
            words.extend(&field.words);
            let _ = writeln!(members, "    @align(16) {}: {},", field.name, field.wgsl);
        }
        while !words.len().is_multiple_of(4) {
            words.push(0);
        }
        let mut text = format!("// {}\n\n", self.pass.label);
        for declaration in self.structs.values() {
            let _ = writeln!(text, "{declaration}\n");
        }
        let _ = writeln!(text, "struct Uniforms {{\n{members}}}\n");
        let _ = writeln!(text, "@group(0) @binding(0) var<uniform> uniforms: Uniforms;");
        for (_, declaration) in &self.bindings {
            let _ = writeln!(text, "{declaration}");
        }
        // Not all that was made is called.
        let functions: Vec<Declaration> =
            self.functions.iter().flat_map(|(_, text)| source::declarations(text)).collect();
        let mut body = String::new();
        for declaration in library::reachable(&functions, entry) {
            let _ = writeln!(body, "{}\n", declaration.text);
        }
        body.push_str(entry);
        body.push('\n');
        let library = library::needed_by(&body);
        let _ = write!(text, "\n{library}\n\n{body}");
        let mut bindings = vec![Resource::Uniforms];
        bindings.extend(self.bindings.iter().map(|(resource, _)| *resource));
        Ok(Dispatch {
            label: self.pass.label.clone(),
            wgsl: text.into(),
            trusted,
            bindings,
            groups,
            group_cost,
            uniforms: words,
            table: self.has_table.then(|| self.table.into()),
            workgroup_memory: self.workgroup_memory,
        })
    }
}

fn kernel_of(graph: &Lowered, value: Value) -> Result<&Kernel> {
    let node = graph.node(value);
    node.step.kernel().ok_or_else(|| Error::BadGraph(format!("{} has no kernel", node.label)))
}

/// Replaces the capital names of a skeleton.
pub(super) fn substitute(text: &str, names: &[(&str, String)]) -> String {
    let names: HashMap<String, String> =
        names.iter().map(|(name, replacement)| (name.to_string(), replacement.clone())).collect();
    source::rename(text.trim(), &names)
}

/// Whether `gather_N` can make a run of sixteen outputs.
fn makes_runs(step: &Step) -> bool {
    let is_plain = matches!(step.edge(), Some(Edge::Clamp | Edge::Constant(_)));
    match step {
        Step::Window { radius, .. } => is_plain && *radius <= RUN_WINDOW_RADIUS,
        Step::Correlate { taps, .. } => is_plain && taps.width > 1,
        _ => false,
    }
}
