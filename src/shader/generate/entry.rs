//! The entry point of a pass over pixels: it makes a block, row by row, and writes it.

use super::{Block, Generator};
use crate::error::Result;
use crate::graph::lower::{OutputKind, Value};
use crate::op::StepKind;
use crate::plan::recording::{PassShape, Resource, TexelFormat};
use crate::plan::{Storage, Target};
use crate::shader::formats;
use std::fmt::Write;

// Writing to a String, as all `writeln!` here do, cannot fail.
impl Generator<'_> {
    /// Text of the entry point. A function `finish` completes a row: it reads leaves, applies the operators on single
    /// pixels and writes; what a vertical neighbourhood made for all rows of a column is handed to it.
    pub(super) fn main(&mut self, block: Block, shape: PassShape) -> Result<String> {
        let mut roots: Vec<Value> = self.pass.writes.iter().map(|write| write.value).collect();
        roots.sort();
        roots.dedup();
        let ends = self.pixel_function(&roots)?;
        let (declarations, fill) = self.tiles(block, shape)?;
        let mut text = String::new();
        let mut finish = String::new();
        let mut column = None;
        for end in &ends {
            let id = end.0;
            if self.is_leaf(*end) {
                self.leaf(*end)?;
                let _ = writeln!(finish, "    let v{id} = {}(x, row);", block.reader(*end));
                continue;
            }
            self.gather(*end, block)?;
            let gather = format!("gather_{id}");
            if !block.rows().is_empty() && self.makes_columns(*end) {
                column = Some(*end);
                let _ = writeln!(text, "    let column = {gather}(x, y);");
                let _ = writeln!(finish, "    let v{id} = gathered;");
            } else {
                let _ = writeln!(finish, "    let v{id} = {gather}(x, row);");
            }
            if let Some(known) = self.known(*end) {
                let pixels: Vec<String> =
                    block.pixels().iter().map(|member| format!("{known}(v{id}.{member})")).collect();
                let _ = writeln!(finish, "    let k{id} = {};", block.row(&pixels));
            } else {
                let _ = writeln!(finish, "    let k{id} = v{id};");
            }
        }
        self.results(block, &roots, &ends, &mut finish);
        self.writes(block, &mut finish);
        let [_, rows] = block.size();
        let parameter = if column.is_some() { ", gathered: Strip" } else { "" };
        self.add("finish", format!("fn finish(x: i32, row: i32{parameter}) {{\n{finish}}}"));
        for row in 0..rows {
            let made = block.rows().get(row as usize).filter(|_| column.is_some()).cloned();
            let argument = made.map_or(String::new(), |member| format!(", column.{member}"));
            let _ = match row {
                0 => writeln!(text, "    finish(x, y{argument});"),
                _ => writeln!(
                    text,
                    "    if y + {row} < i32(uniforms.extent.y) {{\n        finish(x, y + {row}{argument});\n    }}"
                ),
            };
        }
        Ok(declarations + &entry_point(block, shape, &fill, &text))
    }

    /// Statements that make the row of each root from the ends.
    fn results(&self, block: Block, roots: &[Value], ends: &[Value], text: &mut String) {
        let name_of = |end: &Value| format!("{}{}", if self.is_leaf(*end) { "v" } else { "k" }, end.0);
        if roots.iter().all(|root| ends.contains(root)) {
            for root in roots {
                let _ = writeln!(text, "    let r{} = {};", root.0, name_of(root));
            }
            return;
        }
        let pixels = block.pixels();
        for (index, member) in pixels.iter().enumerate() {
            let mut arguments: Vec<String> = ends.iter().map(|end| format!("{}.{member}", name_of(end))).collect();
            arguments.push(format!("vec2i(x + {index}, row)"));
            let _ = writeln!(text, "    let p{index} = pixel({});", arguments.join(", "));
        }
        for root in roots {
            // One root gives a colour, several a struct.
            let member = if roots.len() == 1 { String::new() } else { format!(".v{}", root.0) };
            let results: Vec<String> = (0..pixels.len()).map(|index| format!("p{index}{member}")).collect();
            let _ = writeln!(text, "    let r{} = {};", root.0, block.row(&results));
        }
    }

    /// Statements that write the rows of the roots to where the plan has them.
    fn writes(&mut self, block: Block, finish: &mut String) {
        for write in &self.pass.writes.clone() {
            let value = write.value.0;
            match write.target {
                Target::Output(index) => {
                    let Some(OutputKind::Picture(description)) =
                        self.graph.outputs.get(index).map(|output| output.kind)
                    else {
                        continue;
                    };
                    let element = if block == Block::Run { "vec4u" } else { "u32" };
                    self.bind(Resource::Output(index), |binding| {
                        format!(
                            "@group(0) @binding({binding}) var<storage, read_write> output_{index}: array<{element}>;"
                        )
                    });
                    let (name, buffer) = (index.to_string(), format!("output_{index}"));
                    let text = match block {
                        Block::Run => formats::output_run(&name, &buffer, description.format),
                        Block::Strip | Block::Column | Block::Tall => {
                            formats::output_strip(&name, &buffer, description.format)
                        }
                    };
                    self.add(&format!("store_{index}"), text);
                    let _ = writeln!(finish, "    store_{index}(x, row, r{value});");
                }
                Target::Stored(Storage::Texture(slot)) => {
                    let format = self.plan.textures.get(slot).map_or(TexelFormat::Rgba16Float, |layout| layout.format);
                    let layers = self.layers(slot);
                    let kind = if layers.is_some() { "texture_storage_2d_array" } else { "texture_storage_2d" };
                    self.bind(Resource::TextureWrite(slot), |binding| {
                        format!("@group(0) @binding({binding}) var written_{slot}: {kind}<{}, write>;", format.wgsl())
                    });
                    if let Some(layers) = &layers {
                        let store = format!("{layers}    textureStore(written_{slot}, inside, layer, texel);");
                        let text = format!("fn write_{slot}(at: vec2i, texel: vec4f) {{\n{store}\n}}");
                        self.add(&format!("write_{slot}"), text);
                    }
                    for (index, member) in block.pixels().iter().enumerate() {
                        // Some drivers turn what a half cannot hold into NaN.
                        let stored = match format {
                            TexelFormat::Rgba16Float => {
                                format!("clamp(r{value}.{member}, vec4f(-65504.0), vec4f(65504.0))")
                            }
                            _ => format!("r{value}.{member}"),
                        };
                        let call = match layers {
                            Some(_) => format!("write_{slot}("),
                            None => format!("textureStore(written_{slot}, "),
                        };
                        let store = format!("{call}vec2i(x + {index}, row), {stored});");
                        let _ = match index {
                            0 => writeln!(finish, "    {store}"),
                            _ => writeln!(
                                finish,
                                "    if x + {index} < i32(uniforms.extent.x) {{\n        {store}\n    }}"
                            ),
                        };
                    }
                }
                Target::Stored(Storage::Buffer(_)) => {}
            }
        }
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
    pub(in crate::shader) fn strip_function(&mut self, value: Value) -> Result<String> {
        let ends = self.pixel_function(&[value])?;
        let mut text = String::new();
        for end in &ends {
            if self.is_leaf(*end) {
                self.leaf(*end)?;
                let _ = writeln!(text, "    let v{0} = strip_{0}(x, y);", end.0);
            } else {
                self.gather(*end, Block::Strip)?;
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
}

/// An entry point whose invocations each make a block by these statements, or several, after what they `fill` together.
/// Several are calls after each other, not rounds of a loop: SwiftShader compiles branches in a loop by powers of two.
fn entry_point(block: Block, shape: PassShape, fill: &str, statements: &str) -> String {
    let ([width, height], [columns, rows], items) = (block.size(), shape.workgroup, shape.items);
    let index = if fill.is_empty() { "" } else { ", @builtin(local_invocation_index) index: u32" };
    let calls: String = (0..items)
        .map(|item| format!("    make_block(place.x * {width}, (place.y + {}) * {height});\n", item * rows))
        .collect();
    format!(
        "fn make_block(x: i32, y: i32) {{\n    \
         if x >= i32(uniforms.extent.x) || y >= i32(uniforms.extent.y) {{\n        return;\n    }}\n{statements}}}\n\n\
         @compute @workgroup_size({columns}, {rows})\n\
         fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u{index}) {{\n{fill}    \
         let place = vec2i((group.xy + uniforms.first) * vec2u({columns}u, {}u) + local.xy);\n{calls}}}",
        rows * items
    )
}
