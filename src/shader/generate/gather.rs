//! Steps that read a neighbourhood: functions that make a block of their outputs at once, so that neighbouring outputs
//! share reads.

use super::{Block, Generator, substitute};
use crate::error::{Error, Result};
use crate::graph::lower::Value;
use crate::op::{Axis, Interpolation, Kernel, ResampleWeights, Step, Taps};
use crate::plan::holds_weights;
use crate::plan::recording::{RUN, STRIP};
use std::fmt::Write;

/// Strips that a run of outputs reads through `wide_N` at most, beyond its own four. Longer rows are read in a loop.
const WIDE_QUADS: u32 = 5;

impl Generator<'_> {
    /// `gather_N(x, y)`: the block of outputs of a step that reads a neighbourhood.
    pub(super) fn gather(&mut self, value: Value, block: Block) -> Result<()> {
        let id = value.0;
        let gather = format!("gather_{id}");
        if self.has(&gather) {
            return Ok(());
        }
        self.edge(value)?;
        let node = self.graph.node(value);
        let [edge, edge_strip, edge_row] = self.readers(value);
        let mut names: Vec<(&str, String)> = vec![
            ("GATHER", gather.clone()),
            ("GATHER_pixel", format!("gather_pixel_{id}")),
            ("EDGE", edge),
            ("EDGE_STRIP", edge_strip),
            ("EDGE_ROW", edge_row),
            ("EDGE_RUN", format!("edge_run_{id}")),
        ];
        let text = match &node.step {
            Step::Correlate { taps, .. } => {
                let line = Line::of(taps, block);
                self.weights(id, taps, &line);
                names.push(("WEIGHTS", format!("weights_{id}")));
                names.push(("QUADS", line.quads.to_string()));
                names.push(("REACH", line.reach.to_string()));
                names.push(("HEIGHT", taps.height.to_string()));
                names.push(("ANCHOR", taps.anchor[1].to_string()));
                match (taps.width, block) {
                    (1, Block::Column) => {
                        self.edge_row(value)?;
                        include_str!("../../../wgsl/pass/correlate_column.wgsl")
                    }
                    (1, Block::Tall) => {
                        self.edge_row(value)?;
                        include_str!("../../../wgsl/pass/correlate_tall.wgsl")
                    }
                    (1, _) => {
                        self.edge_row(value)?;
                        include_str!("../../../wgsl/pass/correlate_column_single.wgsl")
                    }
                    (_, Block::Run) if line.lead == 0 => {
                        self.wide(value)?;
                        let text = short_run(id, taps, &line);
                        self.add(&gather, text);
                        return Ok(());
                    }
                    (_, Block::Run) => {
                        self.edge_run(value)?;
                        names.push(("PARTS", (line.quads / 4 - 1).to_string()));
                        include_str!("../../../wgsl/pass/correlate_long_run.wgsl")
                    }
                    _ => {
                        self.edge_strip(value)?;
                        include_str!("../../../wgsl/pass/correlate_rows.wgsl")
                    }
                }
            }
            Step::Window { kernel, radius, .. } if block == Block::Run => {
                self.wide(value)?;
                let text = self.window_run(value, kernel, *radius)?;
                self.add(&gather, text);
                return Ok(());
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
                include_str!("../../../wgsl/pass/weighted_mean.wgsl")
            }
            Step::Resample { axis, weights, .. } => {
                let windows = match axis {
                    Axis::Horizontal => Windows::of(weights, STRIP),
                    Axis::Vertical => {
                        self.edge_row(value)?;
                        Windows::of(weights, 1)
                    }
                };
                let name = format!("windows_{id}");
                self.vectors(id, &name, &windows.entries, windows.entries.len() <= UNIFORM_WINDOWS);
                names.push(("WINDOWS", name));
                names.push(("QUADS", windows.quads.to_string()));
                names.push(("ENTRIES", format!("{}u", windows.length)));
                names.push(("COUNT", windows.count.to_string()));
                names.push(("PERIOD", windows.period.to_string()));
                names.push(("ADVANCE", windows.advance.to_string()));
                match axis {
                    Axis::Horizontal => include_str!("../../../wgsl/pass/resample_horizontal.wgsl"),
                    Axis::Vertical => include_str!("../../../wgsl/pass/resample_vertical.wgsl"),
                }
            }
            Step::Warp { kernel, interpolation, .. } => {
                let call = self.call(value, kernel, &[], "vec2i(x, y)")?;
                let source_text = format!("fn source_of_{id}(x: i32, y: i32) -> vec2f {{\n    return {call};\n}}");
                self.add(&format!("source_of_{id}"), source_text);
                names.push(("SOURCE", format!("source_of_{id}")));
                let text = match interpolation {
                    Interpolation::Nearest => include_str!("../../../wgsl/pass/warp_nearest.wgsl"),
                    Interpolation::Bilinear => include_str!("../../../wgsl/pass/warp_bilinear.wgsl"),
                    Interpolation::Bicubic => include_str!("../../../wgsl/pass/warp_bicubic.wgsl"),
                };
                self.add(&format!("gather_pixel_{id}"), substitute(text, &names));
                let pixels: Vec<String> = (0..4).map(|index| format!("gather_pixel_{id}(x + {index}, y)")).collect();
                self.add(&gather, Block::Strip.function(&gather, "", &pixels));
                return Ok(());
            }
            Step::Remap { .. } => {
                self.remap(value)?;
                let pixels: Vec<String> = (0..block.pixels().len())
                    .map(|index| format!("edge_{id}(remap_{id}(vec2i(x + {index}, y)))"))
                    .collect();
                self.add(&gather, block.function(&gather, "", &pixels));
                return Ok(());
            }
            _ => return Err(Error::BadGraph(format!("{} reads no neighbourhood", node.label))),
        };
        self.add(&gather, substitute(text, &names));
        Ok(())
    }

    /// Weights of a correlation in fours along its moving axis, as the skeletons read them.
    fn weights(&mut self, id: usize, taps: &Taps, line: &Line) {
        let mut entries = vec![[0.0; 4]; (line.lines * line.quads) as usize];
        for (weights, row) in taps.weights.chunks(line.length as usize).zip(entries.chunks_mut(line.quads as usize)) {
            let first = line.lead * 4 + line.reach - line.anchor;
            row.as_flattened_mut()
                .iter_mut()
                .skip(first as usize)
                .zip(weights)
                .for_each(|(place, weight)| *place = *weight);
        }
        self.vectors(id, &format!("weights_{id}"), &entries, holds_weights(taps));
    }

    /// `NAME(index)`: constant vectors of step N, from the uniform block or the pass's table.
    fn vectors(&mut self, id: usize, name: &str, entries: &[[f32; 4]], uniform: bool) {
        if uniform {
            let words = entries.iter().flatten().map(|weight| weight.to_bits()).collect();
            self.field(name, &format!("array<vec4f, {}>", entries.len()), words);
            self.add(name, format!("fn {name}(index: u32) -> vec4f {{\n    return uniforms.{name}[index];\n}}"));
        } else {
            self.table_function(id, entries);
            self.add(name, format!("fn {name}(index: u32) -> vec4f {{\n    return table_{id}(index);\n}}"));
        }
    }

    /// A small window for a run of outputs: rows are read once for all sixteen.
    fn window_run(&mut self, value: Value, kernel: &Kernel, radius: u32) -> Result<String> {
        let id = value.0;
        let radius = radius as i32;
        let mut head = String::new();
        for row in -radius..=radius {
            let _ = writeln!(head, "    let row_{} = wide_{id}(x, y + {row});", row + radius); // cannot fail
        }
        let mut pixels = Vec::new();
        for output in 0..RUN as i32 {
            let mut entries = Vec::new();
            for row in 0..=2 * radius {
                for column in -radius..=radius {
                    entries.push(format!("row_{row}.{}", wide_pixel(output + column)));
                }
            }
            let window = format!("array<vec4f, {}>({})", entries.len(), entries.join(", "));
            pixels.push(self.call(value, kernel, &[("window", window)], &format!("vec2i(x + {output}, y)"))?);
        }
        Ok(Block::Run.function(&format!("gather_{id}"), &head, &pixels))
    }

    /// A small window in registers: rows are read once for four neighbouring outputs.
    fn window(&mut self, value: Value, kernel: &Kernel, radius: u32) -> Result<String> {
        let id = value.0;
        let side = 2 * radius + 1;
        let radius = radius as i32;
        let [edge, edge_strip, _] = self.readers(value);
        let packed = !self.tiles.contains_key(&value)
            && self.graph.node(value).inputs.first().is_some_and(|input| self.is_packed(*input));
        let mut head = String::new();
        if packed {
            self.edge_strip(value)?;
        }
        for row in 0..side as i32 {
            let y = row - radius;
            if packed {
                for (name, shift) in [("left", -4), ("middle", 0), ("right", 4)] {
                    let _ = writeln!(head, "    let {name}_{row} = {edge_strip}(x + {shift}, y + {y});");
                }
            } else {
                for column in 0..side as i32 + 3 {
                    let _ =
                        writeln!(head, "    let p_{row}_{column} = {edge}(vec2i(x + {}, y + {y}));", column - radius);
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
        Ok(Block::Strip.function(&format!("gather_{id}"), &head, &results))
    }
}

/// How the weights of a correlation stand in fours along its moving axis.
pub(super) struct Line {
    /// Weights in a line, and the one that meets the output's own pixel.
    length: u32,
    anchor: u32,
    /// Number of lines.
    lines: u32,
    /// Fours in a line, padded with zeros.
    pub(super) quads: u32,
    /// How far before the output the first four after the lead lie.
    pub(super) reach: u32,
    /// Fours of zeros before.
    lead: u32,
}

impl Line {
    pub(super) fn of(taps: &Taps, block: Block) -> Line {
        let (length, anchor, lines) = match taps.width {
            1 => (taps.height, taps.anchor[1], 1),
            _ => (taps.width, taps.anchor[0], taps.height),
        };
        // A single row of outputs needs no alignment down a column; otherwise reads start at multiples of four, and the
        // last of four outputs needs three more.
        let single = taps.width == 1 && block.rows().is_empty();
        let (unit, extra) = if single { (1, 0) } else { (STRIP, STRIP - 1) };
        let reach = anchor.next_multiple_of(unit);
        let quads = (reach - anchor + length + extra).div_ceil(4) + u32::from(block == Block::Tall);
        if block == Block::Run && !single && (quads > WIDE_QUADS || reach > RUN) {
            // Read in whole runs; the last strip of outputs needs three more strips than the first.
            let reach = anchor.next_multiple_of(RUN);
            let parts = ((reach - anchor + length + extra).div_ceil(4) + 3).div_ceil(4);
            return Line { length, anchor, lines, quads: parts * 4 + 4, reach, lead: 4 };
        }
        Line { length, anchor, lines, quads, reach, lead: 0 }
    }
}

/// Weighted sum over rows for a run of outputs, each row read as a whole with what lies on both sides.
fn short_run(id: usize, taps: &Taps, line: &Line) -> String {
    let quads = line.quads;
    let mut text = format!(
        "fn gather_{id}(x: i32, y: i32) -> Run {{\n    var sum = Run();\n    \
         for (var row = 0; row < {}; row += 1) {{\n        let input = wide_{id}(x, y + row - {});\n        \
         let w0 = vec4f(0.0);\n",
        taps.height, taps.anchor[1]
    );
    // Writing to a String cannot fail.
    for quad in 0..quads {
        let _ = writeln!(text, "        let w{} = weights_{id}(u32(row) * {quads}u + {quad}u);", quad + 1);
    }
    for (output, strip) in ["a", "b", "c", "d"].iter().enumerate() {
        for quad in 0..quads {
            let input = wide_strip(output as i32 + quad as i32 - (line.reach / STRIP) as i32);
            let _ = writeln!(
                text,
                "        sum.{strip} = strip_correlate(sum.{strip}, input.{input}, w{quad}, w{});",
                quad + 1
            );
        }
    }
    text + "    }\n    return sum;\n}"
}

/// Member of a `Wide` that is the strip of this index, counted from its middle run.
fn wide_strip(index: i32) -> String {
    let runs = ["left", "middle", "right"];
    let run = runs.get((index + 4).div_euclid(4) as usize).copied().unwrap_or("right"); // callers stay within
    format!("{run}.{}", ["a", "b", "c", "d"][index.rem_euclid(4) as usize])
}

/// Member of a `Wide` that is the pixel of this index, counted from its middle run.
fn wide_pixel(index: i32) -> String {
    format!("{}.{}", wide_strip(index.div_euclid(4)), ["a", "b", "c", "d"][index.rem_euclid(4) as usize])
}

/// Most vectors of a resampling's windows that stand in the uniform block. Only those that repeat are so few.
const UNIFORM_WINDOWS: usize = 256;

/// Longest period that is looked for.
const LONGEST_PERIOD: usize = 8;

/// The windows of a resampling for groups of neighbouring outputs, which share their reads. A group's entry is its first
/// source coordinate, then for every four source coordinates the weights by which each of its outputs takes them.
struct Windows {
    entries: Vec<[f32; 4]>,
    /// Vectors of a group.
    length: u32,
    /// How many times four source coordinates a group reads.
    quads: u32,
    /// Number of groups.
    count: usize,
    /// Groups after which the weights repeat, with the source coordinate `advance` further.
    period: usize,
    advance: i32,
}

impl Windows {
    fn of(weights: &ResampleWeights, group: u32) -> Windows {
        let taps = weights.taps as usize;
        let group = group as usize;
        let groups: Vec<(&[i32], &[f32])> =
            weights.start.chunks(group).zip(weights.weights.chunks(group * taps)).collect();
        let first = |starts: &[i32]| starts.iter().copied().min().unwrap_or(0);
        let span = |starts: &[i32]| starts.iter().map(|start| start.abs_diff(first(starts))).max().unwrap_or(0);
        let quads = (groups.iter().map(|(starts, _)| span(starts)).max().unwrap_or(0) + weights.taps).div_ceil(4);
        let entry = |(starts, weights): &(&[i32], &[f32])| {
            let mut entry = vec![[0.0; 4]; 1 + quads as usize * group];
            let first = first(starts);
            entry[0][0] = first as f32;
            for (output, (start, weights)) in starts.iter().zip(weights.chunks(taps)).enumerate() {
                for (place, weight) in (start.abs_diff(first) as usize..).zip(weights) {
                    // Within: `quads` was counted from the span and the taps.
                    entry[1 + place / 4 * group + output][place % 4] = *weight;
                }
            }
            entry
        };
        let made: Vec<Vec<[f32; 4]>> = groups.iter().map(entry).collect();
        let (period, advance) = period(&made);
        Windows {
            entries: made[..period].concat(),
            length: 1 + quads * group as u32,
            quads,
            count: made.len(),
            period,
            advance,
        }
    }
}

/// The least number of entries after which all repeat with their first coordinate moved by the same amount, and that
/// amount; all of them where there is none.
fn period(entries: &[Vec<[f32; 4]>]) -> (usize, i32) {
    let start = |entry: &[[f32; 4]]| entry[0][0] as i32; // the first vector is always there
    for period in 1..=LONGEST_PERIOD.min(entries.len() / 2) {
        let advance = start(&entries[period]) - start(&entries[0]); // there are at least twice as many
        // The last group may be short of outputs, which nobody makes.
        let repeats = entries
            .iter()
            .zip(&entries[period..entries.len() - 1])
            .all(|(entry, later)| start(later) - start(entry) == advance && entry[1..] == later[1..]);
        let last = entries.last().zip(entries.get((entries.len() - 1) % period));
        let ends = last.is_some_and(|(last, same)| {
            start(last) - start(same) == advance * ((entries.len() - 1) / period) as i32
                && last[1..].iter().zip(&same[1..]).all(|(last, same)| *last == [0.0; 4] || last == same)
        });
        if repeats && ends {
            return (period, advance);
        }
    }
    (entries.len(), 0)
}
