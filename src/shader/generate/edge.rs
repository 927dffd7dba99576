//! What neighbourhoods read at and beyond the edge of their input: functions that take any coordinates and resolve them by
//! the step's edge mode. Four and sixteen pixels at once come without branches where the mode allows, since rasterisers on
//! the CPU take both ways of each.

use super::Generator;
use crate::error::{Error, Result};
use crate::graph::lower::Value;
use crate::op::{Edge, Remap, Step};

impl Generator<'_> {
    fn input(&self, value: Value) -> Result<Value> {
        let node = self.graph.node(value);
        node.inputs.first().copied().ok_or_else(|| Error::BadGraph(format!("{} has no input", node.label)))
    }

    /// The colour outside as a uniform; returns the expression.
    fn edge_color(&mut self, value: Value, color: [f32; 4]) -> String {
        let name = format!("edge_color_{}", value.0);
        self.field(&name, "vec4f", color.map(f32::to_bits).to_vec());
        format!("uniforms.{name}")
    }

    /// `edge_N(at)`: the input of step N at any coordinate, outside ones resolved by the step's edge mode.
    pub(super) fn edge(&mut self, value: Value) -> Result<()> {
        let id = value.0;
        if self.has(&format!("edge_{id}")) {
            return Ok(());
        }
        let input = self.input(value)?;
        let node = self.graph.node(value);
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
                let color = self.edge_color(value, color);
                format!(
                    "    let inside = clamp(at, vec2i(0), vec2i({size}.xy) - vec2i(1));\n    \
                     return color_select({read}(inside), {color}, any(inside != at));\n"
                )
            }
        };
        self.add(&format!("edge_{id}"), format!("fn edge_{id}(at: vec2i) -> vec4f {{\n{body}}}"));
        Ok(())
    }

    /// `edge_strip_N(x, y)`: four pixels of the input of step N from x, a multiple of four, at any coordinate.
    pub(super) fn edge_strip(&mut self, value: Value) -> Result<()> {
        self.edge(value)?;
        let id = value.0;
        let input = self.input(value)?;
        let size = self.size(input);
        let strip = format!("strip_{}", input.0);
        let packed = self.is_packed(input);
        let body = match self.graph.node(value).step.edge().unwrap_or(Edge::Clamp) {
            Edge::Clamp if packed => format!(
                "    let last = i32({size}.x) - 1;\n    let start = clamp(x, 0, last / 4 * 4);\n    \
                 let read = {strip}(start, clamp(y, 0, i32({size}.y) - 1));\n    \
                 let strip = strip_clamped(read, read.a, last - start);\n    \
                 return strip_select(strip, strip_of(color_select(strip.d, strip.a, x < start)), x != start);\n"
            ),
            Edge::Constant(color) if packed => {
                let color = self.edge_color(value, color);
                format!(
                    "    let last = i32({size}.x) - 1;\n    let start = clamp(x, 0, last / 4 * 4);\n    \
                     let row = clamp(y, 0, i32({size}.y) - 1);\n    \
                     let outside = vec2<bool>(any(vec2i(x, y) != vec2i(start, row)));\n    let end = select(vec2i(last - start), vec2i(-1), outside).x;\n    \
                     return strip_filled({strip}(start, row), {color}, end);\n"
                )
            }
            _ => {
                let singles: Vec<String> = (0..4).map(|index| format!("edge_{id}(vec2i(x + {index}, y))")).collect();
                let singles = singles.join(", ");
                // Four packed pixels inside of the picture are read at once.
                let fast = if packed {
                    format!(
                        "    if all(vec4i(x, y, x + 3, y) == clamp(vec4i(x, y, x + 3, y), vec4i(0), vec4i({size}.xyxy) - vec4i(1))) {{\n        \
                         return {strip}(x, y);\n    }}\n"
                    )
                } else {
                    String::new()
                };
                format!("{fast}    return Strip({singles});\n")
            }
        };
        self.add(&format!("edge_strip_{id}"), format!("fn edge_strip_{id}(x: i32, y: i32) -> Strip {{\n{body}}}"));
        Ok(())
    }

    /// `edge_row_N(x, y)`: four pixels of the input of step N from x, a multiple of four inside, in any row.
    pub(super) fn edge_row(&mut self, value: Value) -> Result<()> {
        self.edge(value)?;
        let id = value.0;
        let input = self.input(value)?;
        let size = self.size(input);
        let strip = format!("strip_{}", input.0);
        let height = format!("i32({size}.y)");
        let body = match self.graph.node(value).step.edge().unwrap_or(Edge::Clamp) {
            Edge::Clamp => format!("    return {strip}(x, clamp(y, 0, {height} - 1));\n"),
            Edge::Mirror => format!("    return {strip}(x, mirror_coordinate(y, {height}));\n"),
            Edge::Wrap => format!("    return {strip}(x, wrap_coordinate(y, {height}));\n"),
            Edge::Constant(color) => {
                let color = self.edge_color(value, color);
                format!(
                    "    let row = clamp(y, 0, {height} - 1);\n    \
                     return strip_select({strip}(x, row), strip_of({color}), y != row);\n"
                )
            }
        };
        self.add(&format!("edge_row_{id}"), format!("fn edge_row_{id}(x: i32, y: i32) -> Strip {{\n{body}}}"));
        Ok(())
    }

    /// `edge_run_N(x, y)`: sixteen pixels of the input of step N from x, a multiple of sixteen, at any coordinate. For the
    /// modes clamp and constant.
    pub(super) fn edge_run(&mut self, value: Value) -> Result<()> {
        let id = value.0;
        let input = self.input(value)?;
        self.readable(input)?;
        let size = self.size(input);
        let head = format!(
            "    let last = i32({size}.x) - 1;\n    let start = clamp(x, 0, last / 16 * 16);\n    \
             let row = clamp(y, 0, i32({size}.y) - 1);\n    let read = run_{}(start, row);\n",
            input.0
        );
        let body = match self.graph.node(value).step.edge() {
            Some(Edge::Constant(color)) => {
                let color = self.edge_color(value, color);
                format!(
                    "    let outside = vec2<bool>(any(vec2i(x, y) != vec2i(start, row)));\n    let end = select(vec2i(last - start), vec2i(-1), outside).x;\n    \
                     return run_filled(read, {color}, end);\n"
                )
            }
            _ => "    let run = run_clamped(read, read.a.a, last - start);\n    \
                  return run_select(run, run_of(color_select(run.d.d, run.a.a, x < start)), x != start);\n"
                .to_string(),
        };
        self.add(&format!("edge_run_{id}"), format!("fn edge_run_{id}(x: i32, y: i32) -> Run {{\n{head}{body}}}"));
        Ok(())
    }

    /// `wide_N(x, y)`: the run of the input of step N from x, a multiple of sixteen inside, in any row, with the runs on
    /// both sides. For the modes clamp and constant.
    pub(super) fn wide(&mut self, value: Value) -> Result<()> {
        let id = value.0;
        let input = self.input(value)?;
        self.readable(input)?;
        let size = self.size(input);
        let run = format!("run_{}", input.0);
        let head = format!(
            "    let last = i32({size}.x) - 1;\n    let row = clamp(y, 0, i32({size}.y) - 1);\n    \
             let left = {run}(max(x - 16, 0), row);\n    let middle = {run}(x, row);\n    \
             let right = {run}(min(x + 16, last / 16 * 16), row);\n"
        );
        let body = match self.graph.node(value).step.edge() {
            Some(Edge::Constant(color)) => {
                let color = self.edge_color(value, color);
                format!(
                    "    let end = select(last - x, -1, y != row);\n    return Wide(\n        \
                     run_select(left, run_of({color}), x == 0 || end < 0),\n        \
                     run_filled(middle, {color}, end),\n        run_filled(right, {color}, end - 16),\n    );\n"
                )
            }
            _ => "    let inside = run_clamped(middle, middle.a.a, last - x);\n    return Wide(\n        \
                  run_select(left, run_of(inside.a.a), x == 0),\n        inside,\n        \
                  run_clamped(right, inside.d.d, last - x - 16),\n    );\n"
                .to_string(),
        };
        self.add(&format!("wide_{id}"), format!("fn wide_{id}(x: i32, y: i32) -> Wide {{\n{head}{body}}}"));
        Ok(())
    }

    /// `remap_N(at)`: the coordinate that a remapping reads.
    pub(super) fn remap(&mut self, value: Value) -> Result<()> {
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
}
