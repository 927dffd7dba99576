//! Tiles: what a workgroup's neighbourhoods read, with its halo, taken once into workgroup memory. Whether that pays is a
//! matter of the device, so it is a choice of the pass's shape; the pixels are the same. A tile holds its input as read at
//! any coordinate, edges resolved and fused operators applied, so what is left to a read is an index.

use super::gather::Line;
use super::{Block, Generator};
use crate::error::Result;
use crate::graph::lower::Value;
use crate::op::{Edge, Step};
use crate::plan::recording::{Limits, PassShape, STRIP};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A workgroup's part of the input of one step.
pub(super) struct Tile {
    /// Pixels before the workgroup's first, along x (a multiple of four) and y.
    before: [u32; 2],
    /// Width (a multiple of four) and height.
    size: [u32; 2],
    /// One channel is enough.
    is_gray: bool,
}

impl Tile {
    /// For a step whose pixels in a block read so many pixels before and after it, along x and y.
    fn of([before, after]: [[u32; 2]; 2], block: Block, shape: PassShape, is_gray: bool) -> Tile {
        let ([width, height], [columns, rows]) = (block.size(), shape.cover());
        let before = [before[0].next_multiple_of(STRIP), before[1]];
        let size =
            [before[0] + width * columns + after[0].next_multiple_of(STRIP), before[1] + height * rows + after[1]];
        Tile { before, size, is_gray }
    }

    fn bytes(&self) -> u64 {
        self.size.map(u64::from).iter().product::<u64>() * if self.is_gray { 4 } else { 16 }
    }
}

/// How far before and after a block a step of the tiled kinds reads: windows that move with the pixel.
fn reach(step: &Step, block: Block) -> Option<[[u32; 2]; 2]> {
    match step {
        Step::Correlate { taps, .. } => {
            let line = Line::of(taps, block);
            // Reads come in fours; the last of them may reach beyond the window.
            let after = |made: u32| 4 * line.quads - line.reach - made;
            Some(match taps.width {
                1 => [[0, line.reach], [0, after(block.rows().len().max(1) as u32)]],
                _ => [[line.reach, taps.anchor[1]], [after(STRIP), taps.height - 1 - taps.anchor[1]]],
            })
        }
        Step::Window { radius, .. } | Step::WeightedMean { radius, .. } => Some([[*radius; 2]; 2]),
        _ => None,
    }
}

impl Generator<'_> {
    /// Takes the block and the tiles of a shape that asks for tiles, if there is something to tile and the device has the
    /// memory. Runs of sixteen are for reading rows without one.
    pub(super) fn tile(&mut self, gathers: &[Value], shape: PassShape, limits: &Limits) -> Option<Block> {
        if !shape.tile {
            return None;
        }
        let block = match self.block(gathers, shape) {
            Block::Run => Block::Strip,
            other => other,
        };
        let tile = |value: &Value| {
            let node = self.graph.node(*value);
            let is_constant = matches!(node.step.edge(), Some(Edge::Constant(_)));
            let input = node.inputs.first()?;
            let is_gray = self.known(*input) == Some("gray_opaque") && !is_constant;
            Some((*value, Tile::of(reach(&node.step, block)?, block, shape, is_gray)))
        };
        let tiles: BTreeMap<Value, Tile> = gathers.iter().filter_map(tile).collect();
        let bytes: u64 = tiles.values().map(Tile::bytes).sum();
        if tiles.is_empty() || bytes > u64::from(limits.workgroup_memory) {
            return None;
        }
        self.workgroup_memory = bytes as u32; // at most the limit, a u32
        self.tiles = tiles;
        Some(block)
    }

    /// How the functions are called that read the input of a step: one pixel anywhere, four from anywhere, and four from a
    /// multiple of four inside, in any row.
    pub(super) fn readers(&self, value: Value) -> [String; 3] {
        let id = value.0;
        match self.tiles.contains_key(&value) {
            true => [format!("tile_{id}"), format!("tile_strip_{id}"), format!("tile_strip_{id}")],
            false => [format!("edge_{id}"), format!("edge_strip_{id}"), format!("edge_row_{id}")],
        }
    }

    /// The tiles' declarations, and statements that fill them; nothing where there are none.
    pub(super) fn tiles(&mut self, block: Block, shape: PassShape) -> Result<(String, String)> {
        let (mut declarations, mut fill) = (String::new(), String::new());
        if self.tiles.is_empty() {
            return Ok((declarations, fill));
        }
        let ([width, height], [columns, rows]) = (block.size(), shape.cover());
        let invocations = shape.workgroup[0] * shape.workgroup[1];
        declarations += "// The first pixel of the workgroup.\nvar<private> corner: vec2i;\n";
        // Writing to a String cannot fail.
        let _ = writeln!(
            fill,
            "    corner = vec2i((group.xy + uniforms.first) * vec2u({}u, {}u));",
            width * columns,
            height * rows
        );
        for (value, tile) in std::mem::take(&mut self.tiles) {
            self.edge_strip(value)?;
            let id = value.0;
            let Tile { before: [left, top], size: [width, height], is_gray } = tile;
            let (kind, channel, whole) =
                if is_gray { ("f32", ".r", ["gray_opaque(vec4f(", "))"]) } else { ("vec4f", "", ["", ""]) };
            let _ = writeln!(declarations, "var<workgroup> tiled_{id}: array<{kind}, {}>;", width * height);
            let place = |x: &str, y: &str| format!("({y} - corner.y + {top}) * {width} + {x} - corner.x + {left}");
            let read = |index: &str| format!("{}tiled_{id}[{index}]{}", whole[0], whole[1]);
            let pixels: Vec<String> = (0..STRIP).map(|pixel| read(&format!("place + {pixel}"))).collect();
            let text = format!(
                "fn tile_{id}(at: vec2i) -> vec4f {{\n    return {};\n}}\n\n\
                 fn tile_strip_{id}(x: i32, y: i32) -> Strip {{\n    let place = {};\n    return Strip({});\n}}",
                read(&place("at.x", "at.y")),
                place("x", "y"),
                pixels.join(", ")
            );
            self.add(&format!("tile_{id}"), text);
            let strips = width / STRIP;
            let _ = writeln!(
                fill,
                "    for (var strip = index; strip < {}u; strip += {invocations}u) {{\n        \
                 let read = edge_strip_{id}(corner.x - {left} + i32(strip % {strips}u) * 4, \
                 corner.y - {top} + i32(strip / {strips}u));",
                strips * height
            );
            for (pixel, member) in ["a", "b", "c", "d"].iter().enumerate() {
                let _ = writeln!(fill, "        tiled_{id}[strip * 4u + {pixel}u] = read.{member}{channel};");
            }
            fill += "    }\n";
            self.tiles.insert(value, tile);
        }
        fill += "    workgroupBarrier();\n";
        Ok((declarations, fill))
    }
}
