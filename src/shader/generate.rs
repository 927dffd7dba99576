//! The module of one pass. A pass evaluates its values for strips of four pixels: leaves (sources, textures) and
//! neighbourhoods are read as strips, then one function `pixel` holds all the operators on single pixels.
//!
//! A value that a neighbourhood reads elsewhere is made by a function `read_N(at)`, or `strip_N(x, y)` for four pixels at
//! once; `edge_N(at)` stands before it and resolves coordinates outside of the picture, so that fused code runs only at
//! coordinates inside.

use super::{formats, library, source};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::image::AlphaMode;
use crate::op::{Axis, Channels, Edge, Interpolation, Kernel, Remap, ResampleWeights, Step, StepKind, Taps};
use crate::plan::recording::{Dispatch, Resource, STRIP, TexelFormat};
use crate::plan::{Pass, Plan, Storage, Target, UNIFORM_TAPS, own_cost};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Invocations of a workgroup along x. 128 in all is what the weakest devices allow; rows are read in order.
pub const GROUP_WIDTH: u32 = 16;
/// Invocations of a workgroup along y.
pub const GROUP_HEIGHT: u32 = 8;

/// The dispatch of a pass over pixels.
pub(super) fn dispatch(graph: &Lowered, plan: &Plan, pass: &Pass) -> Result<Dispatch> {
    let mut generator = Generator::new(graph, plan, pass);
    let rows = if generator.column_gather().is_some() { crate::plan::COLUMN } else { 1 };
    let body = generator.main(rows)?;
    let groups = groups(pass.extent.width, pass.extent.height, rows);
    let cost = generator.cost(rows);
    generator.finish(&body, groups, cost)
}

/// Workgroups that cover an extent when each invocation makes a strip of `rows` rows.
pub(super) fn groups(width: u32, height: u32, rows: u32) -> [u32; 2] {
    [width.div_ceil(STRIP * GROUP_WIDTH), height.div_ceil(rows * GROUP_HEIGHT)]
}

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
    inline: BTreeSet<Value>,
    fields: Vec<UniformField>,
    structs: BTreeMap<String, String>,
    /// Declarations in order, by name, each once.
    functions: Vec<(String, String)>,
    bindings: Vec<(Resource, String)>,
    table: Vec<[f32; 4]>,
    has_table: bool,
}

impl<'a> Generator<'a> {
    pub fn new(graph: &'a Lowered, plan: &'a Plan, pass: &'a Pass) -> Self {
        Generator {
            graph,
            plan,
            pass,
            inline: pass.inline.iter().copied().collect(),
            fields: Vec::new(),
            structs: BTreeMap::new(),
            functions: Vec::new(),
            bindings: Vec::new(),
            table: Vec::new(),
            has_table: false,
        }
    }

    /// Estimated cost of one workgroup, in cheap operators.
    pub fn cost(&self, rows: u32) -> f64 {
        let pixel: f64 = self.pass.inline.iter().map(|value| own_cost(&self.graph.node(*value).step)).sum();
        (pixel + 2.0) * f64::from(GROUP_WIDTH * GROUP_HEIGHT * STRIP * rows)
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

    /// What is known of a value's channels, as a function to apply.
    fn known(&self, value: Value) -> Option<&'static str> {
        let shape = self.graph.node(value).shape;
        match (shape.channels(), shape.alpha() == AlphaMode::Opaque) {
            (Channels::Gray, true) => Some("gray_opaque"),
            (Channels::Gray, false) => Some("gray"),
            (Channels::Color, true) => Some("opaque"),
            (Channels::Color, false) => None,
        }
    }

    fn with_known(&self, value: Value, expression: String) -> String {
        match self.known(value) {
            Some(function) => format!("{function}({expression})"),
            None => expression,
        }
    }

    // ---- leaves ----

    /// Functions `read_N` and `strip_N` of a source or texture.
    fn leaf(&mut self, value: Value) -> Result<()> {
        let name = value.0.to_string();
        if self.has(&format!("leaf_{name}")) {
            return Ok(());
        }
        let size = self.size(value);
        let node = self.graph.node(value);
        let text = if let Step::Source { input } = node.step {
            let Some((_, description)) = self.graph.inputs.get(input) else {
                return Err(Error::BadGraph("a source names no input".into()));
            };
            self.bind(Resource::Source(input), |binding| {
                format!("@group(0) @binding({binding}) var<storage, read> source_{input}: array<u32>;")
            });
            let opaque = description.alpha == AlphaMode::Opaque;
            formats::source(&name, &format!("source_{input}"), &size, description.format, opaque)
        } else {
            let Some(Storage::Texture(slot)) = self.plan.storage(value) else {
                return Err(Error::BadGraph(format!("{} is read before it is stored", node.label)));
            };
            self.bind(Resource::Texture(slot), |binding| {
                format!("@group(0) @binding({binding}) var texture_{slot}: texture_2d<f32>;")
            });
            let load = |at: &str| self.with_known(value, format!("textureLoad(texture_{slot}, {at}, 0)"));
            // The last strip of a row may hang over the edge.
            let pixels: Vec<String> = (0..4).map(|index| load(&format!("vec2i(min(x + {index}, right), y)"))).collect();
            format!(
                "fn read_{name}(at: vec2i) -> vec4f {{\n    return {};\n}}\n\n\
                 fn strip_{name}(x: i32, y: i32) -> Strip {{\n    let right = i32({size}.x) - 1;\n    \
                 return Strip(\n        {},\n    );\n}}",
                load("at"),
                pixels.join(",\n        ")
            )
        };
        self.add(&format!("leaf_{name}"), text);
        Ok(())
    }

    /// Whether four neighbouring pixels of a pointwise value come cheaper at once: it reads packed pixels in place.
    fn is_packed(&self, value: Value) -> bool {
        let node = self.graph.node(value);
        if self.is_leaf(value) {
            return matches!(node.step, Step::Source { .. });
        }
        match node.step.kind() {
            StepKind::Point | StepKind::Composite => node.inputs.iter().any(|input| self.is_packed(*input)),
            _ => false,
        }
    }

    // ---- values read elsewhere ----

    /// Makes `read_N(at)` and `strip_N(x, y)` for a pointwise value. `strip_N` takes x in multiples of four inside of
    /// the picture.
    fn readable(&mut self, value: Value) -> Result<()> {
        if self.is_leaf(value) {
            return self.leaf(value);
        }
        let name = value.0;
        if self.has(&format!("read_{name}")) {
            return Ok(());
        }
        if matches!(self.graph.node(value).step, Step::Remap { .. }) {
            self.remap(value)?;
            let text = format!("fn read_{name}(at: vec2i) -> vec4f {{\n    return edge_{name}(remap_{name}(at));\n}}");
            self.add(&format!("read_{name}"), text);
            let right = format!("i32({}.x) - 1", self.size(value));
            let pixels: Vec<String> =
                (0..4).map(|index| format!("read_{name}(vec2i(min(x + {index}, right), y))")).collect();
            let text = format!(
                "fn strip_{name}(x: i32, y: i32) -> Strip {{\n    let right = {right};\n    return Strip({});\n}}",
                pixels.join(", ")
            );
            self.add(&format!("strip_{name}"), text);
            return Ok(());
        }
        let ends = self.shade(&format!("shade_{name}"), &[value])?;
        for end in &ends {
            self.readable(*end)?;
        }
        let reads: Vec<String> = ends.iter().map(|end| format!("read_{}(at)", end.0)).collect();
        let arguments = [reads, vec!["at".into()]].concat().join(", ");
        let text = format!("fn read_{name}(at: vec2i) -> vec4f {{\n    return shade_{name}({arguments});\n}}");
        self.add(&format!("read_{name}"), text);

        let mut text = format!("fn strip_{name}(x: i32, y: i32) -> Strip {{\n");
        for end in &ends {
            let _ = writeln!(text, "    let v{0} = strip_{0}(x, y);", end.0); // writing to a String cannot fail
        }
        let pixels: Vec<String> = ["a", "b", "c", "d"]
            .iter()
            .enumerate()
            .map(|(index, member)| {
                let mut arguments: Vec<String> = ends.iter().map(|end| format!("v{}.{member}", end.0)).collect();
                arguments.push(format!("vec2i(x + {index}, y)"));
                format!("shade_{name}({})", arguments.join(", "))
            })
            .collect();
        let _ = write!(text, "    return Strip(\n        {},\n    );\n}}", pixels.join(",\n        "));
        self.add(&format!("strip_{name}"), text);
        Ok(())
    }

    /// A function of all single-pixel steps between `roots` and where they end (leaves and neighbourhoods). Returns the
    /// ends, which are its parameters, followed by `at: vec2i`. One root gives `vec4f`, several a struct.
    fn shade(&mut self, function: &str, roots: &[Value]) -> Result<Vec<Value>> {
        let mut inside = BTreeSet::new();
        let mut ends = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(value) = open.pop() {
            let node = self.graph.node(value);
            let is_single = matches!(node.step.kind(), StepKind::Point | StepKind::Composite | StepKind::Generate);
            if self.is_leaf(value) || !is_single {
                ends.insert(value);
            } else if inside.insert(value) {
                // A buffer is read through a function of its own.
                open.extend(node.inputs.iter().filter(|input| !self.graph.node(**input).shape.is_buffer()));
            }
        }
        let mut text = String::new();
        for value in &inside {
            let node = self.graph.node(*value);
            let kernel = kernel_of(self.graph, *value)?;
            let names = ["first", "second", "third"];
            let mut given: Vec<(&str, String)> = Vec::new();
            for (index, input) in node.inputs.iter().enumerate() {
                if node.step.kind() == StepKind::Point && index == 0 {
                    given.push(("color", format!("v{}", input.0)));
                } else if let Some(name) = names.get(index) {
                    given.push((name, format!("v{}", input.0)));
                }
            }
            let call = self.call(*value, kernel, &given, "at")?;
            // A colour operator of ours hands alpha on; what else makes an opaque value has it written out.
            let trusted = node.step.kind() == StepKind::Point && !kernel.foreign;
            let call =
                if trusted && self.known(*value) == Some("opaque") { call } else { self.with_known(*value, call) };
            let _ = writeln!(text, "    let v{} = {call}; // {}", value.0, node.label);
        }
        let mut parameters: Vec<String> = ends.iter().map(|end| format!("v{}: vec4f", end.0)).collect();
        parameters.push("at: vec2i".into());
        let (result, value) = match roots {
            [root] => ("vec4f".to_string(), format!("v{}", root.0)),
            _ => {
                let members: Vec<String> = roots.iter().map(|root| format!("    v{}: vec4f,\n", root.0)).collect();
                self.structs.insert("Results".into(), format!("struct Results {{\n{}}}", members.concat()));
                let values: Vec<String> = roots.iter().map(|root| format!("v{}", root.0)).collect();
                ("Results".to_string(), format!("Results({})", values.join(", ")))
            }
        };
        let text = format!("fn {function}({}) -> {result} {{\n{text}    return {value};\n}}", parameters.join(", "));
        self.add(function, text);
        Ok(ends.into_iter().collect())
    }

    // ---- kernels ----

    /// Makes sure that a kernel's function is in the module and returns an expression that calls it.
    fn call(&mut self, value: Value, kernel: &Kernel, given: &[(&str, String)], at: &str) -> Result<String> {
        let id = value.0;
        let plain = kernel.function();
        let uses_buffer = self.graph.node(value).inputs.iter().any(|input| self.graph.node(*input).shape.is_buffer());
        let own_copy = kernel.foreign || kernel.table.is_some() || uses_buffer;
        let (function, struct_name) = match (own_copy, kernel.foreign) {
            (true, true) => (format!("{plain}_{id}"), format!("{}_{id}", kernel.struct_name)),
            (true, false) => (format!("{plain}_{id}"), kernel.struct_name.to_string()),
            (false, _) => (plain.clone(), kernel.struct_name.to_string()),
        };
        if !kernel.fields.is_empty() {
            let members: Vec<String> =
                kernel.fields.iter().map(|field| format!("    {}: {},\n", field.name, field.wgsl)).collect();
            self.structs.insert(struct_name.clone(), format!("struct {struct_name} {{\n{}}}", members.concat()));
            self.field(&format!("u_{id}"), &struct_name, kernel.words.clone());
        }
        if let Some(table) = &kernel.table {
            self.table_function(id, table);
        }
        if let Some(buffer) =
            self.graph.node(value).inputs.iter().copied().find(|input| self.graph.node(*input).shape.is_buffer())
        {
            self.buffer_function(id, buffer)?;
        }
        if own_copy {
            let mut names: HashMap<String, String> = source::declarations(&kernel.wgsl)
                .into_iter()
                .map(|d| (d.name.clone(), format!("{}_{id}", d.name)))
                .collect();
            names.insert("table".into(), format!("table_{id}"));
            names.insert("buffer".into(), format!("buffer_{id}"));
            self.add(&function, source::rename(&kernel.wgsl, &names));
        } else {
            self.add(&function, kernel.wgsl.trim().to_string());
        }
        let Some(parameters) = source::parameters(&kernel.wgsl, &plain) else {
            let message = format!("no function '{plain}' in the shader text");
            return Err(Error::Shader { operator: kernel.name.to_string(), line: 1, column: 1, message });
        };
        let mut arguments = Vec::new();
        for parameter in parameters {
            let argument = if let Some((_, argument)) = given.iter().find(|(name, _)| *name == parameter) {
                argument.clone()
            } else if parameter == "u" && !kernel.foreign {
                format!("uniforms.u_{id}")
            } else if parameter == "at" {
                format!("vec2f({at}) + 0.5")
            } else if parameter == "extent" {
                format!("vec2f({}.xy)", self.size(value))
            } else if kernel.fields.iter().any(|field| field.name == parameter) {
                format!("uniforms.u_{id}.{parameter}")
            } else {
                let message =
                    format!("parameter '{parameter}' of '{plain}' is nothing that this kind of step is given");
                return Err(Error::Shader { operator: kernel.name.to_string(), line: 1, column: 1, message });
            };
            arguments.push(argument);
        }
        Ok(format!("{function}({})", arguments.join(", ")))
    }

    /// `table_N(index)`: data of one kernel within the pass's table.
    fn table_function(&mut self, id: usize, entries: &[[f32; 4]]) {
        let name = format!("table_{id}");
        if self.has(&name) {
            return;
        }
        let start = self.table.len() as u32;
        self.table.extend_from_slice(entries);
        self.has_table = true;
        self.bind(Resource::Table, |binding| {
            format!("@group(0) @binding({binding}) var<storage, read> table: array<vec4f>;")
        });
        self.field(&name, "vec4u", vec![start, (entries.len() as u32).max(1), 0, 0]);
        let text = format!(
            "fn {name}(index: u32) -> vec4f {{\n    return table[uniforms.{name}.x + min(index, uniforms.{name}.y - 1u)];\n}}"
        );
        self.add(&name, text);
    }

    /// `buffer_N(index)`: entries of the buffer that a kernel reads.
    pub fn buffer_function(&mut self, id: usize, buffer: Value) -> Result<()> {
        let Some(Storage::Buffer(slot)) = self.plan.storage(buffer) else {
            return Err(Error::BadGraph("a buffer is read before it is made".into()));
        };
        self.bind(Resource::Buffer(slot), |binding| {
            format!("@group(0) @binding({binding}) var<storage, read> buffer_in_{slot}: array<vec4u>;")
        });
        let last = self.graph.node(buffer).shape.extent().width.max(1) - 1;
        let name = format!("buffer_{id}");
        let text = format!("fn {name}(index: u32) -> vec4u {{\n    return buffer_in_{slot}[min(index, {last}u)];\n}}");
        self.add(&name, text);
        Ok(())
    }

    // ---- neighbourhoods ----

    /// `edge_N(at)`: the input of step N at any coordinate, outside ones resolved by the step's edge mode.
    fn edge(&mut self, value: Value) -> Result<()> {
        let id = value.0;
        if self.has(&format!("edge_{id}")) {
            return Ok(());
        }
        let node = self.graph.node(value);
        let Some(&input) = node.inputs.first() else {
            return Err(Error::BadGraph(format!("{} has no input", node.label)));
        };
        self.readable(input)?;
        let size = self.size(input);
        let read = format!("read_{}", input.0);
        let body = match node.step.edge().unwrap_or(Edge::Clamp) {
            Edge::Clamp => format!("    return {read}(clamp(at, vec2i(0), vec2i({size}.xy) - vec2i(1)));\n"),
            Edge::Mirror | Edge::Wrap => {
                let function = if node.step.edge() == Some(Edge::Wrap) { "wrap" } else { "mirror" };
                format!(
                    "    return {read}(vec2i({function}_coordinate(at.x, i32({size}.x)), \
                     {function}_coordinate(at.y, i32({size}.y))));\n"
                )
            }
            Edge::Constant(color) => {
                self.field(&format!("edge_color_{id}"), "vec4f", color.map(f32::to_bits).to_vec());
                format!(
                    "    let inside = clamp(at, vec2i(0), vec2i({size}.xy) - vec2i(1));\n    \
                     if any(inside != at) {{\n        return uniforms.edge_color_{id};\n    }}\n    return {read}(at);\n"
                )
            }
        };
        self.add(&format!("edge_{id}"), format!("fn edge_{id}(at: vec2i) -> vec4f {{\n{body}}}"));
        Ok(())
    }

    /// `edge_strip_N(x, y)`: four pixels of the input of step N from x, a multiple of four, at any coordinate.
    fn edge_strip(&mut self, value: Value) -> Result<()> {
        self.edge(value)?;
        let id = value.0;
        let node = self.graph.node(value);
        let Some(&input) = node.inputs.first() else { return Ok(()) };
        let singles: Vec<String> = (0..4).map(|index| format!("edge_{id}(vec2i(x + {index}, y))")).collect();
        let singles = singles.join(", ");
        let size = self.size(input);
        // Four packed pixels inside of the picture are read at once.
        let fast = if self.is_packed(input) {
            format!(
                "    if x >= 0 && x + 3 < i32({size}.x) && y >= 0 && y < i32({size}.y) {{\n        \
                 return strip_{}(x, y);\n    }}\n",
                input.0
            )
        } else {
            String::new()
        };
        let text = format!("fn edge_strip_{id}(x: i32, y: i32) -> Strip {{\n{fast}    return Strip({singles});\n}}");
        self.add(&format!("edge_strip_{id}"), text);
        Ok(())
    }

    fn remap(&mut self, value: Value) -> Result<()> {
        self.edge(value)?;
        let id = value.0;
        let Step::Remap { remap, .. } = self.graph.node(value).step else { return Ok(()) };
        let body = match remap {
            Remap::Affine { matrix, offset } => {
                let row = |row: [i32; 2], offset: i32| format!("{} * at.x + {} * at.y + {offset}", row[0], row[1]);
                format!("vec2i({}, {})", row(matrix[0], offset[0]), row(matrix[1], offset[1]))
            }
            Remap::Nearest { source, output } => {
                let side = |name: &str, source: u32, output: u32| {
                    format!("i32((2u * u32(at.{name}) + 1u) * {source}u / {}u)", 2 * output)
                };
                format!("vec2i({}, {})", side("x", source.width, output.width), side("y", source.height, output.height))
            }
        };
        self.add(&format!("remap_{id}"), format!("fn remap_{id}(at: vec2i) -> vec2i {{\n    return {body};\n}}"));
        Ok(())
    }

    /// The single vertical correlation of the pass, if its invocations may each make several rows.
    fn column_gather(&self) -> Option<Value> {
        let mut gathers = self.pass.inline.iter().copied().filter(|value| {
            matches!(self.graph.node(*value).step.kind(), StepKind::Area | StepKind::Warp | StepKind::Resample)
                && !matches!(self.graph.node(*value).step, Step::Remap { .. })
        });
        let only = gathers.next().filter(|_| gathers.next().is_none())?;
        match &self.graph.node(only).step {
            Step::Correlate { taps, .. } if taps.width == 1 && taps.height > 2 => Some(only),
            _ => None,
        }
    }

    /// `gather_N(x, y)`: the strip (or block of `rows` strips) of a step that reads a neighbourhood.
    fn gather(&mut self, value: Value, rows: u32) -> Result<()> {
        let id = value.0;
        if self.has(&format!("gather_{id}")) {
            return Ok(());
        }
        self.edge(value)?;
        let node = self.graph.node(value);
        let gather = format!("gather_{id}");
        let mut names: Vec<(&str, String)> = vec![
            ("GATHER", gather.clone()),
            ("GATHER_pixel", format!("gather_pixel_{id}")),
            ("EDGE", format!("edge_{id}")),
            ("EDGE_STRIP", format!("edge_strip_{id}")),
        ];
        let text = match &node.step {
            Step::Correlate { taps, .. } => {
                self.edge_strip(value)?;
                let (quads, reach) = self.weights(id, taps, rows);
                names.push(("WEIGHTS", format!("weights_{id}")));
                names.push(("QUADS", quads.to_string()));
                names.push(("REACH", reach.to_string()));
                names.push(("HEIGHT", taps.height.to_string()));
                names.push(("ANCHOR", taps.anchor[1].to_string()));
                match (taps.width, rows) {
                    (1, 1) => include_str!("../../wgsl/pass/correlate_column_single.wgsl"),
                    (1, _) => include_str!("../../wgsl/pass/correlate_column.wgsl"),
                    _ => include_str!("../../wgsl/pass/correlate_rows.wgsl"),
                }
            }
            Step::Window { kernel, radius, .. } => {
                let text = self.window(value, kernel, *radius)?;
                self.add(&gather, text);
                return Ok(());
            }
            Step::WeightedMean { kernel, radius, .. } => {
                let given =
                    [("sample", "sample".into()), ("center", "center".into()), ("offset", "offset".to_string())];
                let call = self.call(value, kernel, &given, "vec2i(x, y)")?;
                let weight = format!(
                    "fn weight_{id}(sample: vec4f, center: vec4f, offset: vec2f, x: i32, y: i32) -> f32 {{\n    \
                     return {call};\n}}"
                );
                self.add(&format!("weight_{id}"), weight);
                names.push(("WEIGHT", format!("weight_{id}")));
                names.push(("RADIUS", radius.to_string()));
                include_str!("../../wgsl/pass/weighted_mean.wgsl")
            }
            Step::Resample { axis, weights, .. } => {
                let (entries, quads) = resample_table(weights);
                self.table_function(id, &entries);
                let size = self.size(value);
                let side = if *axis == Axis::Horizontal { "x" } else { "y" };
                names.push(("TABLE", format!("table_{id}")));
                names.push(("QUADS", quads.to_string()));
                names.push(("ENTRIES", format!("{}u", quads + 1)));
                names.push(("SIZE", format!("i32({size}.{side})")));
                match axis {
                    Axis::Horizontal => include_str!("../../wgsl/pass/resample_horizontal.wgsl"),
                    Axis::Vertical => {
                        self.edge_strip(value)?;
                        include_str!("../../wgsl/pass/resample_vertical.wgsl")
                    }
                }
            }
            Step::Warp { kernel, interpolation, .. } => {
                let call = self.call(value, kernel, &[], "vec2i(x, y)")?;
                let source_text = format!("fn source_of_{id}(x: i32, y: i32) -> vec2f {{\n    return {call};\n}}");
                self.add(&format!("source_of_{id}"), source_text);
                names.push(("SOURCE", format!("source_of_{id}")));
                let text = match interpolation {
                    Interpolation::Nearest => include_str!("../../wgsl/pass/warp_nearest.wgsl"),
                    Interpolation::Bilinear => include_str!("../../wgsl/pass/warp_bilinear.wgsl"),
                    Interpolation::Bicubic => include_str!("../../wgsl/pass/warp_bicubic.wgsl"),
                };
                self.add(&format!("gather_pixel_{id}"), substitute(text, &names));
                let pixels: Vec<String> = (0..4).map(|index| format!("gather_pixel_{id}(x + {index}, y)")).collect();
                let text =
                    format!("fn {gather}(x: i32, y: i32) -> Strip {{\n    return Strip({});\n}}", pixels.join(", "));
                self.add(&gather, text);
                return Ok(());
            }
            Step::Remap { .. } => {
                self.remap(value)?;
                let pixels: Vec<String> =
                    (0..4).map(|index| format!("edge_{id}(remap_{id}(vec2i(x + {index}, y)))")).collect();
                let text =
                    format!("fn {gather}(x: i32, y: i32) -> Strip {{\n    return Strip({});\n}}", pixels.join(", "));
                self.add(&gather, text);
                return Ok(());
            }
            _ => return Err(Error::BadGraph(format!("{} reads no neighbourhood", node.label))),
        };
        self.add(&gather, substitute(text, &names));
        Ok(())
    }

    /// Weights of a correlation in fours along its moving axis, as the skeletons read them. Returns the number of fours
    /// in a row and how far before the output the first lies.
    fn weights(&mut self, id: usize, taps: &Taps, rows: u32) -> (u32, u32) {
        let (length, anchor, lines) = match taps.width {
            1 => (taps.height, taps.anchor[1], 1),
            _ => (taps.width, taps.anchor[0], taps.height),
        };
        // A single row of outputs needs no alignment down a column; otherwise reads start at multiples of four, and the
        // last of four outputs needs three more.
        let single = taps.width == 1 && rows == 1;
        let reach = if single { anchor } else { anchor.next_multiple_of(4) };
        let extra = if single { 0 } else { 3 };
        let quads = (reach - anchor + length + extra).div_ceil(4);
        let mut entries = Vec::new();
        for line in 0..lines {
            for quad in 0..quads {
                let entry: [f32; 4] = std::array::from_fn(|lane| {
                    let index = (quad * 4 + lane as u32 + anchor).checked_sub(reach);
                    index
                        .filter(|index| *index < length)
                        .and_then(|index| taps.weights.get((line * length + index) as usize))
                        .copied()
                        .unwrap_or(0.0)
                });
                entries.push(entry);
            }
        }
        let name = format!("weights_{id}");
        if taps.weights.len() > UNIFORM_TAPS {
            self.table_function(id, &entries);
            self.add(&name, format!("fn {name}(index: u32) -> vec4f {{\n    return table_{id}(index);\n}}"));
        } else {
            let words = entries.iter().flatten().map(|weight| weight.to_bits()).collect();
            self.field(&name, &format!("array<vec4f, {}>", entries.len()), words);
            self.add(&name, format!("fn {name}(index: u32) -> vec4f {{\n    return uniforms.{name}[index];\n}}"));
        }
        (quads, reach)
    }

    /// A small window in registers: rows are read once for four neighbouring outputs.
    fn window(&mut self, value: Value, kernel: &Kernel, radius: u32) -> Result<String> {
        let id = value.0;
        let side = 2 * radius + 1;
        let radius = radius as i32;
        let packed = self.graph.node(value).inputs.first().is_some_and(|input| self.is_packed(*input));
        let mut text = format!("fn gather_{id}(x: i32, y: i32) -> Strip {{\n");
        if packed {
            self.edge_strip(value)?;
        }
        for row in 0..side as i32 {
            let y = row - radius;
            if packed {
                for (name, shift) in [("left", -4), ("middle", 0), ("right", 4)] {
                    let _ = writeln!(text, "    let {name}_{row} = edge_strip_{id}(x + {shift}, y + {y});");
                }
            } else {
                for column in 0..side as i32 + 3 {
                    let _ = writeln!(
                        text,
                        "    let p_{row}_{column} = edge_{id}(vec2i(x + {}, y + {y}));",
                        column - radius
                    );
                }
            }
        }
        let pixel = |row: i32, column: i32| {
            if !packed {
                return format!("p_{row}_{column}");
            }
            // `column` counts from `radius` before x; radii are at most four, so three strips hold it.
            let place = column - radius + 4;
            let strip = ["left", "middle", "right"].get((place / 4) as usize).copied().unwrap_or("right");
            let member = ["a", "b", "c", "d"].get((place % 4) as usize).copied().unwrap_or("d");
            format!("{strip}_{row}.{member}")
        };
        let mut results = Vec::new();
        for output in 0..4 {
            let mut entries = Vec::new();
            for row in 0..side as i32 {
                for column in 0..side as i32 {
                    entries.push(pixel(row, column + output));
                }
            }
            let window = format!("array<vec4f, {}>({})", side * side, entries.join(", "));
            let call = self.call(value, kernel, &[("window", window)], &format!("vec2i(x + {output}, y)"))?;
            results.push(call);
        }
        let _ = write!(text, "    return Strip(\n        {},\n    );\n}}", results.join(",\n        "));
        Ok(text)
    }

    // ---- the entry point ----

    /// Text that makes the strip of a value at (x, y) for each root; used by the entry points.
    fn main(&mut self, rows: u32) -> Result<String> {
        let mut roots: Vec<Value> = self.pass.writes.iter().map(|write| write.value).collect();
        roots.sort();
        roots.dedup();
        let ends = self.pixel_function(&roots)?;
        let mut text = entry_head(rows);
        // Read once for all rows where the neighbourhood makes several.
        let mut per_row = String::new();
        for end in &ends {
            if self.is_leaf(*end) {
                self.leaf(*end)?;
                let _ = writeln!(per_row, "let v{0} = strip_{0}(x, row);", end.0);
                continue;
            }
            self.gather(*end, rows)?;
            if rows > 1 && Some(*end) == self.column_gather() {
                let _ = writeln!(text, "    let block_{0} = gather_{0}(x, y);", end.0);
            } else {
                let _ = writeln!(per_row, "let v{0} = gather_{0}(x, row);", end.0);
            }
        }
        let mut parameters: Vec<String> = vec!["x: i32".into(), "row: i32".into()];
        let mut arguments: Vec<Vec<String>> = vec![vec!["x".into()]; rows as usize];
        let column = self.column_gather().filter(|gather| rows > 1 && ends.contains(gather));
        if let Some(column) = column {
            parameters.push(format!("gathered_{}: Strip", column.0));
        }
        for (row, arguments) in arguments.iter_mut().enumerate() {
            arguments.push(if row == 0 { "y".into() } else { format!("y + {row}") });
            if let Some(column) = column {
                arguments.push(format!("block_{}.r{row}", column.0));
            }
        }
        // One function finishes a row: single-pixel operators, then writes.
        let mut finish = String::new();
        for line in per_row.lines() {
            let _ = writeln!(finish, "    {line}");
        }
        if let Some(column) = column {
            let gathered = format!("gathered_{}", column.0);
            let _ = writeln!(finish, "    let v{} = {gathered};", column.0);
        }
        for end in ends.iter().filter(|end| !self.is_leaf(**end)) {
            if let Some(known) = self.known(*end) {
                let parts: Vec<String> =
                    ["a", "b", "c", "d"].iter().map(|member| format!("{known}(v{}.{member})", end.0)).collect();
                let _ = writeln!(finish, "    let k{} = Strip({});", end.0, parts.join(", "));
            } else {
                let _ = writeln!(finish, "    let k{0} = v{0};", end.0);
            }
        }
        let name_of =
            |generator: &Self, end: &Value| format!("{}{}", if generator.is_leaf(*end) { "v" } else { "k" }, end.0);
        let trivial = roots.iter().all(|root| ends.contains(root));
        if !trivial {
            for (index, member) in ["a", "b", "c", "d"].iter().enumerate() {
                let mut arguments: Vec<String> =
                    ends.iter().map(|end| format!("{}.{member}", name_of(self, end))).collect();
                arguments.push(format!("vec2i(x + {index}, row)"));
                let _ = writeln!(finish, "    let p{index} = pixel({});", arguments.join(", "));
            }
        }
        for root in &roots {
            let strip = if trivial {
                name_of(self, root)
            } else if roots.len() == 1 {
                "Strip(p0, p1, p2, p3)".into()
            } else {
                format!("Strip(p0.v{0}, p1.v{0}, p2.v{0}, p3.v{0})", root.0)
            };
            let _ = writeln!(finish, "    let r{} = {strip};", root.0);
        }
        for write in &self.pass.writes.clone() {
            let value = write.value.0;
            match write.target {
                Target::Output(index) => {
                    let Some(OutputKind::Picture(description)) =
                        self.graph.outputs.get(index).map(|output| output.kind)
                    else {
                        continue;
                    };
                    self.bind(Resource::Output(index), |binding| {
                        format!("@group(0) @binding({binding}) var<storage, read_write> output_{index}: array<u32>;")
                    });
                    let name = index.to_string();
                    let text = formats::output(&name, &format!("output_{index}"), description.format);
                    self.add(&format!("store_{index}"), text);
                    let _ = writeln!(finish, "    store_{index}(x, row, r{value});");
                }
                Target::Stored(Storage::Texture(slot)) => {
                    let format = self.plan.textures.get(slot).map_or(TexelFormat::Rgba16Float, |layout| layout.format);
                    self.bind(Resource::TextureWrite(slot), |binding| {
                        format!(
                            "@group(0) @binding({binding}) var written_{slot}: texture_storage_2d<{}, write>;",
                            format.wgsl()
                        )
                    });
                    // Some drivers turn what a half cannot hold into NaN.
                    let stored = |member: &str| match format {
                        TexelFormat::Rgba16Float => {
                            format!("clamp(r{value}.{member}, vec4f(-65504.0), vec4f(65504.0))")
                        }
                        _ => format!("r{value}.{member}"),
                    };
                    let _ = writeln!(finish, "    textureStore(written_{slot}, vec2i(x, row), {});", stored("a"));
                    for (index, member) in ["b", "c", "d"].iter().enumerate() {
                        let offset = index + 1;
                        let _ = writeln!(
                            finish,
                            "    if x + {offset} < i32(uniforms.extent.x) {{\n        textureStore(written_{slot}, \
                             vec2i(x + {offset}, row), {});\n    }}",
                            stored(member)
                        );
                    }
                }
                Target::Stored(Storage::Buffer(_)) => {}
            }
        }
        self.add("finish", format!("fn finish({}) {{\n{finish}}}", parameters.join(", ")));
        for (row, arguments) in arguments.iter().enumerate() {
            let call = format!("finish({});", arguments.join(", "));
            if row == 0 {
                let _ = writeln!(text, "    {call}");
            } else {
                let _ = writeln!(text, "    if y + {row} < i32(uniforms.extent.y) {{\n        {call}\n    }}");
            }
        }
        text.push('}');
        Ok(text)
    }

    /// Makes `pixel` for the roots, unless all of them are ends themselves, and returns the ends.
    fn pixel_function(&mut self, roots: &[Value]) -> Result<Vec<Value>> {
        let single = |generator: &Self, value: &Value| {
            let kind = generator.graph.node(*value).step.kind();
            !generator.is_leaf(*value) && matches!(kind, StepKind::Point | StepKind::Composite | StepKind::Generate)
        };
        if roots.iter().any(|root| single(self, root)) {
            return self.shade("pixel", roots);
        }
        Ok(roots.to_vec())
    }

    /// A function `value_N(x, y)` that makes the strip of one value at its own pixel, for reductions.
    pub fn strip_function(&mut self, value: Value) -> Result<String> {
        let ends = self.pixel_function(&[value])?;
        let mut text = String::new();
        for end in &ends {
            if self.is_leaf(*end) {
                self.leaf(*end)?;
                let _ = writeln!(text, "    let v{0} = strip_{0}(x, y);", end.0);
            } else {
                self.gather(*end, 1)?;
                let pixels: Vec<String> = ["a", "b", "c", "d"]
                    .iter()
                    .map(|member| self.with_known(*end, format!("g{}.{member}", end.0)))
                    .collect();
                let _ = writeln!(text, "    let g{0} = gather_{0}(x, y);", end.0);
                let _ = writeln!(text, "    let v{} = Strip({});", end.0, pixels.join(", "));
            }
        }
        if ends == [value] {
            let _ = writeln!(text, "    return v{};", value.0);
        } else {
            let pixels: Vec<String> = ["a", "b", "c", "d"]
                .iter()
                .enumerate()
                .map(|(index, member)| {
                    let mut arguments: Vec<String> = ends.iter().map(|end| format!("v{}.{member}", end.0)).collect();
                    arguments.push(format!("vec2i(x + {index}, y)"));
                    format!("pixel({})", arguments.join(", "))
                })
                .collect();
            let _ = writeln!(text, "    return Strip({});", pixels.join(", "));
        }
        let name = format!("value_{}", value.0);
        self.add(&name, format!("fn {name}(x: i32, y: i32) -> Strip {{\n{text}}}"));
        Ok(name)
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
        let mut body = String::new();
        for (_, declaration) in &self.functions {
            let _ = writeln!(body, "{declaration}\n");
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
            bindings,
            groups,
            group_cost,
            uniforms: words,
            table: self.has_table.then(|| self.table.into()),
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

/// The head of an entry point whose invocations each make a strip of `rows` rows.
fn entry_head(rows: u32) -> String {
    let y = if rows == 1 { "i32(invocation.y)".to_string() } else { format!("i32(invocation.y * {rows}u)") };
    format!(
        "@compute @workgroup_size({GROUP_WIDTH}, {GROUP_HEIGHT})\n\
         fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {{\n    \
         let invocation = (group.xy + uniforms.first) * vec2u({GROUP_WIDTH}u, {GROUP_HEIGHT}u) + local.xy;\n    \
         let x = i32(invocation.x * 4u);\n    let y = {y};\n    \
         if x >= i32(uniforms.extent.x) || y >= i32(uniforms.extent.y) {{\n        return;\n    }}\n"
    )
}

/// For each output: one entry with its first source coordinate, then its weights in fours. Returns the entries and the
/// number of fours.
fn resample_table(weights: &ResampleWeights) -> (Vec<[f32; 4]>, u32) {
    let quads = weights.taps.div_ceil(4);
    let mut entries = Vec::with_capacity(weights.start.len() * (quads as usize + 1));
    for (output, start) in weights.start.iter().enumerate() {
        entries.push([*start as f32, 0.0, 0.0, 0.0]);
        for quad in 0..quads {
            entries.push(std::array::from_fn(|lane| {
                let tap = quad as usize * 4 + lane;
                let index = output * weights.taps as usize + tap;
                if tap < weights.taps as usize { weights.weights.get(index).copied().unwrap_or(0.0) } else { 0.0 }
            }));
        }
    }
    (entries, quads)
}
