//! Planning: which values become textures, which passes there are, in which order, and why. Plain functions from a
//! simplified graph to a [`Plan`]; no device, no shader text.

mod cost;
mod fuse;
mod memory;
pub mod recording;
pub mod report;

pub(crate) use cost::{COLUMN, own_cost};
pub(crate) use fuse::holds_weights;
pub use fuse::plan;
pub use recording::{Limits, PassShape, PassShapes, TexelFormat, TextureLayout};
pub use report::Report;

use crate::graph::lower::Value;
use crate::op::Extent;

/// How a graph is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether operators share passes. Off: one operator per pass, for comparison.
    pub fuse: bool,
    /// Format of textures between passes.
    pub precision: Precision,
    /// How passes are cut into invocations. `None`: as tuned on the device, else by its class.
    pub pass_shapes: Option<PassShapes>,
}

impl Default for Options {
    fn default() -> Self {
        Options { fuse: true, precision: Precision::Half, pass_shapes: None }
    }
}

/// Format of textures between passes on a GPU. The CPU backend keeps single floats whatever is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// `rgba8unorm`: fast previews; values outside 0..1 are lost between passes.
    Byte,
    /// `rgba16float`: 11 significant bits; values beyond ±65504 are cut off between passes.
    #[default]
    Half,
    /// `rgba32float`.
    Full,
}

/// The passes of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In order of execution.
    pub passes: Vec<Pass>,
    /// Values that are stored between passes.
    pub stored: Vec<Stored>,
    /// Physical textures; several values may use one at different times.
    pub textures: Vec<TextureLayout>,
    /// Physical buffers: entries of four words.
    pub buffers: Vec<u32>,
    /// Decisions and figures for people and tests.
    pub report: Report,
}

/// A value that is stored between passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub value: Value,
    pub place: Storage,
}

/// Where a stored value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Index into [`Plan::textures`].
    Texture(usize),
    /// Index into [`Plan::buffers`].
    Buffer(usize),
}

/// One pass: evaluates `inline` values at each pixel of `extent` and writes some of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Names of the operators in it, in order.
    pub label: String,
    /// Extent of everything it writes (of what it reads, for a reduction).
    pub extent: Extent,
    /// Values evaluated in this pass, each after its inputs. An input that is not among them is read from where it is
    /// stored: a source, a texture or a buffer.
    pub inline: Vec<Value>,
    /// What it writes.
    pub writes: Vec<Write>,
}

/// One result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    pub value: Value,
    pub target: Target,
}

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A texture or buffer between passes.
    Stored(Storage),
    /// Packed, as the output of this index.
    Output(usize),
}

impl Plan {
    /// Where a value is stored between passes, if it is.
    pub fn storage(&self, value: Value) -> Option<Storage> {
        self.stored.iter().find(|stored| stored.value == value).map(|stored| stored.place)
    }

    /// Bytes of all textures and buffers between passes.
    pub fn intermediate_bytes(&self) -> u64 {
        let textures: u64 = self.textures.iter().map(|texture| texture.size()).sum();
        let buffers: u64 = self.buffers.iter().map(|length| u64::from(*length) * 16).sum();
        textures + buffers
    }
}
