//! The engine's own kernels: a file of WGSL behind a few constants and types, compiled once for each set of those, and
//! dispatched with its buffers. What a kernel computes is in the file of its family.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use parking_lot::Mutex;

use super::buffer::Buffer;
use super::command::{BindingKind, Bound, Content, Dispatch, Groups, KernelSource, Step};
use super::fourier::Tables;
use super::queue::{Allocation, KernelHandle, Queue};
use super::tune::Tuning;
use super::{Element, bad};
use crate::context::Context;
use crate::error::{Error, Result};

/// What compute work keeps between calls on one context.
#[derive(Default)]
pub(crate) struct State {
    /// Compiled kernels by their text.
    kernels: Mutex<HashMap<Arc<str>, Arc<KernelHandle>>>,
    pub(super) tables: Tables,
    /// What tuning has found; `None` before anyone has asked.
    pub(super) tuning: Mutex<Option<Tuning>>,
    /// Measured copy bandwidth.
    pub(super) bandwidth: Mutex<Option<f64>>,
}

impl Context {
    /// The WGSL of the engine's own kernels that were compiled on this context so far, in no particular order: what a
    /// device was given, to read or to hand to another tool. None on the CPU.
    ///
    /// ```
    /// # fn main() -> cyanotype::Result<()> {
    /// let context = cyanotype::Context::new()?;
    /// let sum = context.buffer(&[1.0f32, 2.0])?.sum().wait()?;
    /// for text in context.kernel_texts() {
    ///     println!("{text}");
    /// }
    /// # assert_eq!(sum, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn kernel_texts(&self) -> Vec<String> {
        self.compute_state().kernels.lock().keys().map(|text| text.to_string()).collect()
    }
}

/// The text of a kernel in the making: constants and aliases, then files.
pub(super) struct Text(String);

impl Text {
    pub fn new() -> Text {
        Text(String::new())
    }

    /// `const NAME = value` of type u32.
    pub fn constant(mut self, name: &str, value: u32) -> Text {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "const {name} = {value}u;");
        self
    }

    /// `alias Name = type`.
    pub fn alias(mut self, name: &str, kind: &str) -> Text {
        // As above.
        let _ = writeln!(self.0, "alias {name} = {kind};");
        self
    }

    /// Text as it is.
    pub fn with(mut self, text: &str) -> Text {
        self.0.push_str(text);
        self
    }
}

/// A binding of a kernel, numbered by its place.
pub(super) enum Bind {
    Uniform(Vec<u32>),
    Buffer(BoundBuffer),
}

/// A buffer in a binding. It keeps the memory until the work has been asked for; the device keeps it from then on.
pub(super) struct BoundBuffer {
    /// `None` for one in host memory, which the device refuses with a message.
    allocation: Option<Arc<Allocation>>,
    offset: u64,
    size: u64,
    written: bool,
}

/// Binds a buffer for reading.
pub(super) fn read<T: Element>(buffer: &Buffer<T>) -> Bind {
    bind(buffer, false)
}

/// Binds a buffer for reading and writing.
pub(super) fn write<T: Element>(buffer: &Buffer<T>) -> Bind {
    bind(buffer, true)
}

fn bind<T: Element>(buffer: &Buffer<T>, written: bool) -> Bind {
    let allocation = buffer.allocation().cloned();
    let offset = buffer.offset();
    let end = allocation.as_ref().map_or(0, |allocation| allocation.size);
    // Whole vectors, so that kernels may read four elements at a time; what lies beyond the end is padding, or elements of
    // a larger buffer that the kernel does not look at.
    let size = buffer.byte_length().next_multiple_of(16).max(16).min(end.saturating_sub(offset));
    Bind::Buffer(BoundBuffer { allocation, offset, size, written })
}

/// A device, for running the engine's kernels.
pub(super) struct Engine<'a> {
    pub context: &'a Context,
    pub queue: Queue,
}

/// How much a dispatch does, for profiles and for splitting work over submits. Kernels that do much with each element
/// (products, filters) are also split into dispatches, so that none comes near a driver's watchdog; of the others a dispatch
/// is never more than moving what a device can bind, some tens of milliseconds of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// Bytes that must be moved at least.
    pub bytes: u64,
    /// Operations on elements.
    pub cost: f64,
}

/// Most rounds that the loops of a kernel make in one invocation. llvmpipe leaves loops after 65535 (the fault "short loops"),
/// and short dispatches keep a driver's watchdog quiet.
pub(super) const ROUNDS: u32 = 1 << 15;

/// An extent in parts of at most so much: where each begins and ends.
pub(super) fn parts(extent: u32, most: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..extent).step_by(most as usize).map(move |first| (first, first.saturating_add(most).min(extent)))
}

impl Work {
    /// Of a kernel that does little with each of its bytes.
    pub fn moving(bytes: u64) -> Work {
        Work { bytes, cost: bytes as f64 / 4.0 }
    }
}

impl<'a> Engine<'a> {
    /// `None` where the context is the CPU.
    pub fn of(context: &'a Context) -> Option<Engine<'a>> {
        Queue::of(context).map(|queue| Engine { context, queue })
    }

    /// Runs a kernel. Binding `n` is `binds[n]`.
    pub fn run(&self, label: &str, text: Text, binds: Vec<Bind>, groups: [u32; 3], work: Work) -> Result<()> {
        self.run_groups(label, text, binds, Groups::Fixed(groups), work)
    }

    pub fn run_groups(&self, label: &str, text: Text, binds: Vec<Bind>, groups: Groups, work: Work) -> Result<()> {
        let kind = |bind: &Bind| match bind {
            Bind::Uniform(_) => BindingKind::Uniform,
            Bind::Buffer(BoundBuffer { written: false, .. }) => BindingKind::Read,
            Bind::Buffer(BoundBuffer { written: true, .. }) => BindingKind::Write,
        };
        let bindings = (0..).zip(binds.iter().map(kind)).collect();
        let kernel = self.kernel(label, text, bindings)?;
        let bound = |bind: &Bind| match bind {
            Bind::Uniform(words) => {
                let mut words = words.clone();
                // A block is whole vectors long.
                words.resize(words.len().next_multiple_of(4), 0);
                Bound::Uniform(bytemuck::cast_slice(&words).to_vec())
            }
            Bind::Buffer(bound) => Bound::Buffer {
                id: bound.allocation.as_ref().map_or(0, |allocation| allocation.id),
                offset: bound.offset,
                size: bound.size,
                written: bound.written,
            },
        };
        self.queue.run(vec![Step::Dispatch(Dispatch {
            kernel: kernel.id,
            bindings: (0..).zip(binds.iter().map(bound)).collect(),
            groups,
            bytes: work.bytes,
            cost: work.cost,
        })])
    }

    fn kernel(&self, label: &str, text: Text, bindings: Vec<(u32, BindingKind)>) -> Result<Arc<KernelHandle>> {
        let mut kernels = self.context.compute_state().kernels.lock();
        if let Some(kernel) = kernels.get(text.0.as_str()) {
            return Ok(Arc::clone(kernel));
        }
        let wgsl: Arc<str> = text.0.into();
        let source = KernelSource {
            label: label.to_string(),
            wgsl: Arc::clone(&wgsl),
            entry: "main".to_string(),
            bindings,
            trusted: true,
            // Each initialises what it reads.
            zeroed: false,
        };
        let kernel = Arc::new(self.queue.kernel(source)?);
        kernels.insert(wgsl, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// A grid of at least `count` workgroups within the device's limit along each dimension. A kernel knows its number by
    /// `workgroup_id.y * num_workgroups.x + workgroup_id.x`, and does nothing if that is too large.
    pub fn fold(&self, count: u64) -> Result<[u32; 3]> {
        fold(count, self.context.limits().workgroups)
    }

    /// A buffer that a kernel will fill.
    pub fn output<T: Element>(&self, length: usize) -> Result<Buffer<T>> {
        Buffer::make(self.context, length, Content::Any)
    }
}

/// A grid of at least `count` workgroups, at most `limit` along x and y.
pub(super) fn fold(count: u64, limit: u32) -> Result<[u32; 3]> {
    let rows = count.div_ceil(u64::from(limit.max(1))).max(1);
    if rows > u64::from(limit) {
        return Err(Error::Limit {
            what: "a dispatch, in workgroups,".to_string(),
            found: count,
            limit: u64::from(limit) * u64::from(limit),
        });
    }
    // Both at most `limit`, a u32.
    Ok([count.div_ceil(rows) as u32, rows as u32, 1])
}

/// A number of elements as kernels count them.
pub(super) fn count(operator: &str, length: usize) -> Result<u32> {
    u32::try_from(length)
        .map_err(|_| bad(operator, format!("{length} elements are more than kernels count (2^32 - 1)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_hold_all_groups_and_few_more() {
        for (groups, limit) in [(1, 65535), (65535, 65535), (65536, 65535), (1_000_003, 65535), (10, 4), (16, 4)] {
            let [x, y, z] = fold(groups, limit).unwrap();
            let total = u64::from(x) * u64::from(y);
            assert!(x <= limit && y <= limit && z == 1 && total >= groups && total < groups + u64::from(y));
        }
        assert!(matches!(fold(17, 4), Err(Error::Limit { found: 17, limit: 16, .. })));
    }
}
