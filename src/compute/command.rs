//! What a device is told about compute work: plain data over numbered buffers and kernels. Made by this folder, carried out
//! by the GPU backend, which learns nothing of operators from it. Knows no graphics API.

use std::sync::Arc;

/// A number that stands for a buffer or a kernel on one device.
pub(crate) type Id = u64;

/// What a new buffer holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    Zeros,
    /// Anything: the first kernel that uses it writes all of it.
    Any,
}

/// How a kernel uses a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BindingKind {
    Uniform,
    Read,
    Write,
}

/// A kernel to compile. All bindings are in group 0.
#[derive(Debug, Clone)]
pub(crate) struct KernelSource {
    /// For captures and timings.
    pub label: String,
    /// The whole module.
    pub wgsl: Arc<str>,
    /// Name of the entry point.
    pub entry: String,
    /// Binding numbers and kinds.
    pub bindings: Vec<(u32, BindingKind)>,
    /// Whether loops are known to end, so that bounding them can be left out. Bounds of arrays are always checked.
    pub trusted: bool,
    /// Whether workgroup memory must read as zero at first.
    pub zeroed: bool,
}

/// What goes into a binding.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    /// A uniform block's bytes.
    Uniform(Vec<u8>),
    /// A part of a buffer.
    Buffer { id: Id, offset: u64, size: u64, written: bool },
}

/// Most bytes of uniforms that a dispatch has, blocks beginning at multiples of [`UNIFORM_ALIGNMENT`].
pub(crate) const UNIFORM_BYTES: u64 = 64 << 10;

/// Where blocks of uniforms begin.
pub(crate) const UNIFORM_ALIGNMENT: u64 = 256;

/// How many workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    Fixed([u32; 3]),
    /// Three words in a buffer, which a kernel may have written.
    Indirect {
        buffer: Id,
        offset: u64,
    },
}

/// One dispatch.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub kernel: Id,
    /// Binding numbers and what they are.
    pub bindings: Vec<(u32, Bound)>,
    pub groups: Groups,
    /// Bytes that it must move at least, for profiles.
    pub bytes: u64,
    /// Rough number of element operations, by which long work is split over submits.
    pub cost: f64,
}

/// One piece of work.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Dispatch(Dispatch),
    Copy {
        source: Id,
        source_offset: u64,
        target: Id,
        target_offset: u64,
        size: u64,
    },
    /// Zeros.
    Clear {
        target: Id,
        offset: u64,
        size: u64,
    },
}

/// One dispatch, timed.
#[derive(Debug, Clone)]
pub(crate) struct TimedStep {
    pub label: String,
    /// Milliseconds since tracing began, by the host's clock.
    pub start_ms: f64,
    /// From submit to completion by the host's clock, alone on the device.
    pub wall_ms: f64,
    /// By the device's own timestamps. `None` where there are none, or they read zero.
    pub device_ms: Option<f64>,
    /// Bytes that must be moved at least.
    pub bytes: u64,
}
