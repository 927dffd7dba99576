//! The report of a plan: passes, textures and refusals with their reasons, and bytes moved. Plain data that prints for a
//! person and serialises for a program.

use super::recording::{PackedLayout, TextureLayout};
use super::{Pass, Storage, Stored, Target};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::op::{Extent, Step, StepKind};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a plan does and why.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// In order of execution.
    pub passes: Vec<PassReport>,
    /// Values that are stored in a texture or buffer between passes.
    pub textures: Vec<TextureReport>,
    /// Fusions that were considered and refused.
    pub refusals: Vec<Refusal>,
    /// Simplifications that were made.
    pub notes: Vec<String>,
    /// Bytes that all passes read, each stored value or source counted once in a pass.
    pub bytes_read: u64,
    /// Bytes that all passes write.
    pub bytes_written: u64,
    /// Bytes of all physical textures and buffers: values that live at different times share them.
    pub peak_intermediate_bytes: u64,
    /// Number of physical textures.
    pub physical_textures: usize,
}

/// One pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassReport {
    /// The operators in it.
    pub label: String,
    /// What its costliest step reads.
    pub kind: StepKind,
    pub extent: Extent,
    /// Names of the values read, with their formats.
    pub reads: Vec<String>,
    /// Names of the results, with their formats.
    pub writes: Vec<String>,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// A value between passes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextureReport {
    /// Whose result it is.
    pub value: String,
    /// "texture 0 (rgba16float)" or "buffer 1".
    pub place: String,
    pub extent: Extent,
    pub bytes: u64,
    /// Why it exists.
    pub reason: String,
}

/// A fusion that was refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    /// Whose result could have stayed pending.
    pub producer: String,
    /// Who would have evaluated it.
    pub consumer: String,
    pub reason: String,
}

pub(super) fn build(
    graph: &Lowered,
    passes: &[Pass],
    stored: &[Stored],
    textures: &[TextureLayout],
    reasons: &BTreeMap<Value, String>,
    refusals: Vec<Refusal>,
    notes: Vec<String>,
) -> Report {
    let place = |value: Value| stored.iter().find(|stored| stored.value == value).map(|stored| stored.place);
    let size_of = |value: Value, place: Storage| match place {
        Storage::Texture(slot) => textures.get(slot).map_or(0, |texture| texture.size()),
        Storage::Buffer(_) => u64::from(graph.node(value).shape.extent().width) * 16,
    };
    let place_name = |place: Storage| match place {
        Storage::Texture(slot) => {
            let Some(texture) = textures.get(slot) else { return format!("texture {slot}") };
            let [columns, rows] = texture.layers;
            let layers = match texture.is_layered() {
                true => format!(", {columns}x{rows} layers of {}", texture.layer()),
                false => String::new(),
            };
            format!("texture {slot} ({}{layers})", texture.format.wgsl())
        }
        Storage::Buffer(slot) => format!("buffer {slot}"),
    };
    let mut report = Report { refusals, notes, ..Report::default() };
    for pass in passes {
        let inline: BTreeSet<Value> = pass.inline.iter().copied().collect();
        let mut leaves: BTreeSet<Value> =
            pass.inline.iter().flat_map(|value| graph.node(*value).inputs.iter().copied()).collect();
        leaves.extend(pass.writes.iter().map(|write| write.value));
        let mut entry = PassReport {
            label: pass.label.clone(),
            kind: kind_of(graph, pass),
            extent: pass.extent,
            reads: Vec::new(),
            writes: Vec::new(),
            bytes_read: 0,
            bytes_written: 0,
        };
        for leaf in leaves.difference(&inline) {
            let node = graph.node(*leaf);
            if let Step::Source { input } = node.step {
                if let Some((name, description)) = graph.inputs.get(input) {
                    entry.reads.push(format!("input {name} ({})", description.format));
                    entry.bytes_read += PackedLayout::of(description).size();
                }
            } else if let Some(place) = place(*leaf) {
                entry.reads.push(format!("{} in {}", node.label, place_name(place)));
                entry.bytes_read += size_of(*leaf, place);
            }
        }
        for write in &pass.writes {
            match write.target {
                Target::Stored(place) => {
                    entry.writes.push(format!("{} to {}", graph.node(write.value).label, place_name(place)));
                    entry.bytes_written += size_of(write.value, place);
                }
                Target::Output(index) => {
                    let Some(output) = graph.outputs.get(index) else { continue };
                    if let OutputKind::Picture(description) = output.kind {
                        entry.writes.push(format!("output {} ({})", output.name, description.format));
                        entry.bytes_written += PackedLayout::of(&description).size();
                    }
                }
            }
        }
        report.bytes_read += entry.bytes_read;
        report.bytes_written += entry.bytes_written;
        report.passes.push(entry);
    }
    let mut buffer_bytes = 0;
    for stored in stored {
        let node = graph.node(stored.value);
        let bytes = size_of(stored.value, stored.place);
        if matches!(stored.place, Storage::Buffer(_)) {
            buffer_bytes += bytes;
        }
        report.textures.push(TextureReport {
            value: node.label.clone(),
            place: place_name(stored.place),
            extent: node.shape.extent(),
            bytes,
            reason: reasons.get(&stored.value).cloned().unwrap_or_default(),
        });
    }
    report.physical_textures = textures.len();
    report.peak_intermediate_bytes = textures.iter().map(|texture| texture.size()).sum::<u64>() + buffer_bytes;
    report
}

/// The kind that decides how a pass runs: a neighbourhood before a pixel.
fn kind_of(graph: &Lowered, pass: &Pass) -> StepKind {
    let kinds: Vec<StepKind> = pass.inline.iter().map(|value| graph.node(*value).step.kind()).collect();
    let order = [
        StepKind::Reduce,
        StepKind::Derive,
        StepKind::Area,
        StepKind::Resample,
        StepKind::Warp,
        StepKind::Composite,
        StepKind::Point,
        StepKind::Generate,
    ];
    order.into_iter().find(|kind| kinds.contains(kind)).unwrap_or(StepKind::Source)
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| format!("{:.2} MB", bytes as f64 / 1e6);
        let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let passes =
            if self.passes.len() == 1 { "1 pass".to_string() } else { format!("{} passes", self.passes.len()) };
        writeln!(
            formatter,
            "{passes}, {} of {}; reads {}, writes {}",
            plural(self.physical_textures, "texture"),
            megabytes(self.peak_intermediate_bytes),
            megabytes(self.bytes_read),
            megabytes(self.bytes_written)
        )?;
        for (index, pass) in self.passes.iter().enumerate() {
            writeln!(formatter, "pass {}: {} [{:?}, {}]", index + 1, pass.label, pass.kind, pass.extent)?;
            writeln!(formatter, "  reads  {} ({})", pass.reads.join(", "), megabytes(pass.bytes_read))?;
            writeln!(formatter, "  writes {} ({})", pass.writes.join(", "), megabytes(pass.bytes_written))?;
        }
        if !self.textures.is_empty() {
            writeln!(formatter, "stored between passes:")?;
        }
        for texture in &self.textures {
            writeln!(
                formatter,
                "  {} in {}, {}, {}: {}",
                texture.value,
                texture.place,
                texture.extent,
                megabytes(texture.bytes),
                texture.reason
            )?;
        }
        if !self.refusals.is_empty() {
            writeln!(formatter, "fusions refused:")?;
        }
        for refusal in &self.refusals {
            writeln!(formatter, "  {} into {}: {}", refusal.producer, refusal.consumer, refusal.reason)?;
        }
        if !self.notes.is_empty() {
            writeln!(formatter, "simplified:")?;
        }
        for note in &self.notes {
            writeln!(formatter, "  {note}")?;
        }
        Ok(())
    }
}
