//! Leaves of a pass (sources and textures), and functions of the operators on single pixels above them.

use super::{Block, Generator, kernel_of};
use crate::error::{Error, Result};
use crate::graph::lower::Value;
use crate::image::AlphaMode;
use crate::op::{Channels, Extent, Step, StepKind};
use crate::plan::Storage;
use crate::plan::recording::Resource;
use crate::shader::formats;
use std::collections::BTreeSet;
use std::fmt::Write;

impl Generator<'_> {
    /// What is known of a value's channels, as a function to apply.
    pub(super) fn known(&self, value: Value) -> Option<&'static str> {
        let shape = self.graph.node(value).shape;
        match (shape.channels(), shape.alpha() == AlphaMode::Opaque) {
            (Channels::Gray, true) => Some("gray_opaque"),
            (Channels::Gray, false) => Some("gray"),
            (Channels::Color, true) => Some("opaque"),
            (Channels::Color, false) => None,
        }
    }

    pub(super) fn with_known(&self, value: Value, expression: String) -> String {
        match self.known(value) {
            Some(function) => format!("{function}({expression})"),
            None => expression,
        }
    }

    /// Functions `read_N`, `strip_N` and `run_N` of a source or texture.
    pub(super) fn leaf(&mut self, value: Value) -> Result<()> {
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
            let (resource, declaration, storage) = match self.source_textures {
                true => (Resource::SourceTexture(input), "var", "texture_2d<u32>"),
                false => (Resource::Source(input), "var<storage, read>", "array<vec4u>"),
            };
            self.bind(resource, |binding| {
                format!("@group(0) @binding({binding}) {declaration} source_{input}: {storage};")
            });
            let opaque = description.alpha == AlphaMode::Opaque;
            let source = format!("source_{input}");
            formats::source(&name, &source, self.source_textures, &size, description.format, opaque)
        } else {
            let Some(Storage::Texture(slot)) = self.plan.storage(value) else {
                return Err(Error::BadGraph(format!("{} is read before it is stored", node.label)));
            };
            let layers = self.layers(slot);
            let kind = if layers.is_some() { "texture_2d_array" } else { "texture_2d" };
            self.bind(Resource::Texture(slot), |binding| {
                format!("@group(0) @binding({binding}) var texture_{slot}: {kind}<f32>;")
            });
            if let Some(layers) = &layers {
                let load = format!("textureLoad(texture_{slot}, inside, layer, 0)");
                let text = format!("fn texel_{slot}(at: vec2i) -> vec4f {{\n{layers}    return {load};\n}}");
                self.add(&format!("texel_{slot}"), text);
            }
            let load = |at: &str| {
                let texel = match layers {
                    Some(_) => format!("texel_{slot}({at})"),
                    None => format!("textureLoad(texture_{slot}, {at}, 0)"),
                };
                self.with_known(value, texel)
            };
            let mut text = format!("fn read_{name}(at: vec2i) -> vec4f {{\n    return {};\n}}", load("at"));
            for block in [Block::Strip, Block::Run] {
                // The last of a row may hang over the edge.
                let pixels: Vec<String> = (0..block.pixels().len())
                    .map(|index| load(&format!("vec2i(min(x + {index}, right), y)")))
                    .collect();
                let head = format!("    let right = i32({size}.x) - 1;\n");
                text += &format!("\n\n{}", block.function(&block.reader(value), &head, &pixels));
            }
            text
        };
        self.add(&format!("leaf_{name}"), text);
        Ok(())
    }

    /// Statements that find the `layer` of the pixel `at`, and where it lies `inside`, if the texture has several.
    pub(super) fn layers(&self, slot: usize) -> Option<String> {
        let layout = self.plan.textures.get(slot).filter(|layout| layout.is_layered())?;
        let (Extent { width, height }, [columns, _]) = (layout.layer(), layout.layers);
        Some(format!(
            "    let place = vec2u(at) / vec2u({width}u, {height}u);\n    \
             let inside = vec2u(at) - place * vec2u({width}u, {height}u);\n    \
             let layer = place.y * {columns}u + place.x;\n"
        ))
    }

    /// Whether four neighbouring pixels of a pointwise value come cheaper at once: it reads packed pixels in place.
    pub(super) fn is_packed(&self, value: Value) -> bool {
        let node = self.graph.node(value);
        if self.is_leaf(value) {
            return matches!(node.step, Step::Source { .. });
        }
        match node.step.kind() {
            StepKind::Point | StepKind::Composite => node.inputs.iter().any(|input| self.is_packed(*input)),
            _ => false,
        }
    }

    /// Makes `read_N(at)`, `strip_N(x, y)` and `run_N(x, y)` for a pointwise value. The last two take x in multiples of
    /// four and sixteen inside of the picture.
    pub(super) fn readable(&mut self, value: Value) -> Result<()> {
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
            for block in [Block::Strip, Block::Run] {
                let pixels: Vec<String> = (0..block.pixels().len())
                    .map(|index| format!("read_{name}(vec2i(min(x + {index}, right), y))"))
                    .collect();
                self.add_reader(value, block, &format!("    let right = {right};\n"), &pixels);
            }
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
        for block in [Block::Strip, Block::Run] {
            let head: String =
                ends.iter().map(|end| format!("    let v{} = {}(x, y);\n", end.0, block.reader(*end))).collect();
            let pixels: Vec<String> = (block.pixels().iter().enumerate())
                .map(|(index, member)| {
                    let mut arguments: Vec<String> = ends.iter().map(|end| format!("v{}.{member}", end.0)).collect();
                    arguments.push(format!("vec2i(x + {index}, y)"));
                    format!("shade_{name}({})", arguments.join(", "))
                })
                .collect();
            self.add_reader(value, block, &head, &pixels);
        }
        Ok(())
    }

    /// Adds `strip_N` or `run_N` of a value, with these pixels after the statements of `head`.
    fn add_reader(&mut self, value: Value, block: Block, head: &str, pixels: &[String]) {
        let name = block.reader(value);
        self.add(&name, block.function(&name, head, pixels));
    }

    /// A function of all single-pixel steps between `roots` and where they end (leaves and neighbourhoods). Returns the
    /// ends, which are its parameters, followed by `at: vec2i`. One root gives `vec4f`, several a struct.
    pub(super) fn shade(&mut self, function: &str, roots: &[Value]) -> Result<Vec<Value>> {
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
}
