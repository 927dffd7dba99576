//! Kernels of your own, in WGSL. What is bound is checked against what the kernel declares, and the kernel against the
//! device, before anything runs; differences are told in words. The device checks every access besides, and bounds loops.

use std::sync::Arc;

use parking_lot::Mutex;

use super::argument::{Argument, CpuCall, Given, compare};
use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Text, Work, fold, read, write};
use super::command::{BindingKind, Bound, Dispatch, Groups, KernelSource, Step};
use super::queue::{KernelHandle, Queue};
use super::reflect::{Binding, Interface, entry_point, interface, parse};
use super::specialise::{FOLDED, folded, specialise};
use crate::context::Context;
use crate::error::{Error, Result, nearest};

const INDIRECT: &str = include_str!("../../wgsl/compute/indirect.wgsl");
const INDIRECT_WITHIN: &str = include_str!("../../wgsl/compute/indirect_within.wgsl");

/// CPU code of a kernel: reads its arguments and sets those that it writes.
type CpuCode = dyn Fn(&mut CpuCall) -> Result<()> + Send + Sync;

/// A kernel of your own.
///
/// ```no_run
/// # fn main() -> cyanotype::Result<()> {
/// let context = cyanotype::Context::new()?;
/// let kernel = context.kernel(
///     "@group(0) @binding(0) var<storage, read_write> data: array<f32>;
///      @compute @workgroup_size(64) fn halve(@builtin(global_invocation_id) id: vec3u) {
///          if id.x < arrayLength(&data) { data[id.x] *= 0.5; }
///      }",
/// )?;
/// let data = context.buffer(&[1.0f32, 2.0, 3.0])?;
/// kernel.call().with("data", &data).dispatch(data.len())?;
/// assert_eq!(data.read().wait()?, [0.5, 1.0, 1.5]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    context: Context,
    label: String,
    /// Without overrides.
    text: String,
    entry: naga::EntryPoint,
    interface: Interface,
    zeroed: bool,
    /// `None` on the CPU.
    plain: Option<(Queue, KernelHandle)>,
    folded: Mutex<Option<Arc<KernelHandle>>>,
    cpu: Option<Box<CpuCode>>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Kernel({})", self.0.label)
    }
}

/// How a kernel is made.
#[derive(Default)]
pub struct KernelOptions<'a> {
    /// Name in messages, captures and profiles. By default that of the entry point.
    pub label: Option<&'a str>,
    /// The entry point, where there are several.
    pub entry: Option<&'a str>,
    /// Values of `override`s: a workgroup size, say.
    pub overrides: &'a [(&'a str, f64)],
    /// Whether the kernel sets its workgroup memory itself before it reads it. WGSL promises zeros; setting them takes some
    /// OpenGL drivers a minute for 16 KiB, the first time.
    pub sets_workgroup_memory: bool,
    /// What to run on the CPU.
    pub cpu: Option<Box<CpuCode>>,
}

impl Context {
    /// Compiles a kernel, and waits for that. Its bindings are in `@group(0)`: storage buffers and uniform blocks.
    ///
    /// # Errors
    /// [`Error::Shader`] with the place if it does not parse or is invalid; [`Error::KernelLimit`] if the device cannot run
    /// it; [`Error::Device`] if the driver refuses it. On a context without a GPU it compiles, and
    /// [`Error::NoCpuCode`] comes when it is called.
    pub fn kernel(&self, wgsl: &str) -> Result<Kernel> {
        self.kernel_with(wgsl, KernelOptions::default())
    }

    /// As [`kernel`](Context::kernel), with options.
    ///
    /// # Errors
    /// As for `kernel`; [`Error::UnknownName`] for an override that the kernel does not have.
    pub fn kernel_with(&self, wgsl: &str, options: KernelOptions) -> Result<Kernel> {
        let label = options.label.or(options.entry).unwrap_or("kernel");
        let module = parse(label, wgsl)?;
        let name = entry_point(label, &module, options.entry)?.name.clone();
        let label = options.label.unwrap_or(&name);
        let text = specialise(wgsl, &module, options.overrides)?;
        let module = parse(label, &text)?;
        let entry = entry_point(label, &module, Some(&name))?.clone();
        let interface = interface(label, &module, &entry)?;
        interface.check(label, &self.limits())?;
        let plain = match Queue::of(self) {
            None => None,
            Some(queue) => {
                let zeroed = !options.sets_workgroup_memory;
                let handle = queue.kernel_now(source(label, &text, &name, &interface, zeroed))?;
                Some((queue, handle))
            }
        };
        Ok(Kernel(Arc::new(Inner {
            context: self.clone(),
            label: label.to_string(),
            text,
            entry,
            interface,
            zeroed: !options.sets_workgroup_memory,
            plain,
            folded: Mutex::new(None),
            cpu: options.cpu,
        })))
    }
}

fn source(label: &str, text: &str, entry: &str, interface: &Interface, zeroed: bool) -> KernelSource {
    KernelSource {
        label: label.to_string(),
        wgsl: text.into(),
        entry: entry.to_string(),
        bindings: interface.bindings.iter().map(|binding| (binding.number, binding.kind)).collect(),
        // Whoever wrote it: not us.
        trusted: false,
        zeroed,
    }
}

/// How much work a dispatch is.
#[derive(Clone, Debug)]
pub enum Grid {
    /// At least so many invocations. One dimension folds over two where the device needs it, and the kernel does not
    /// notice: `global_invocation_id.x` goes on.
    Invocations([usize; 3]),
    /// So many workgroups.
    Workgroups([u32; 3]),
    /// At least as many invocations along x as the first number in the buffer says, which a kernel may have counted.
    Counted(Buffer<u32>),
    /// As many workgroups along x, y and z as the first three numbers in the buffer say; none where one is over the
    /// device's limit.
    Indirect(Buffer<u32>),
}

impl From<usize> for Grid {
    fn from(x: usize) -> Grid {
        Grid::Invocations([x, 1, 1])
    }
}

impl From<[usize; 2]> for Grid {
    fn from([x, y]: [usize; 2]) -> Grid {
        Grid::Invocations([x, y, 1])
    }
}

impl From<[usize; 3]> for Grid {
    fn from(size: [usize; 3]) -> Grid {
        Grid::Invocations(size)
    }
}

/// A call of a kernel in the making.
#[must_use = "nothing happens before it is dispatched"]
pub struct Call<'k> {
    kernel: &'k Kernel,
    arguments: Vec<(String, Argument)>,
}

impl Kernel {
    /// A call, to be given arguments and dispatched.
    pub fn call(&self) -> Call<'_> {
        Call { kernel: self, arguments: Vec::new() }
    }

    /// Invocations of a workgroup along x, y and z.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.0.interface.workgroup_size
    }

    /// Names, numbers and WGSL types of its bindings.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        self.0.interface.bindings.iter().map(|one| (one.name.as_str(), one.number, one.wgsl.as_str()))
    }

    fn folded(&self, queue: &Queue) -> Result<Arc<KernelHandle>> {
        let inner = &self.0;
        let mut made = inner.folded.lock();
        if let Some(made) = &*made {
            return Ok(Arc::clone(made));
        }
        let text = folded(&inner.text, &inner.entry)?;
        let kernel = Arc::new(queue.kernel_now(source(&inner.label, &text, FOLDED, &inner.interface, inner.zeroed))?);
        *made = Some(Arc::clone(&kernel));
        Ok(kernel)
    }
}

impl Call<'_> {
    /// Gives the binding of this name its buffer or its uniform.
    pub fn with(mut self, name: &str, argument: impl Into<Argument>) -> Self {
        self.arguments.push((name.to_string(), argument.into()));
        self
    }

    /// Runs it, after all work asked for before. Returns at once. Nothing to do is no error.
    ///
    /// # Errors
    /// [`Error::UnknownName`] and [`Error::BadInput`] where the arguments are not what the kernel declares, with what
    /// differs; [`Error::KernelLimit`] for a grid that the device cannot run; [`Error::NoCpuCode`];
    /// [`Error::DeviceLost`].
    pub fn dispatch(self, grid: impl Into<Grid>) -> Result<()> {
        let (grid, inner) = (grid.into(), &*self.kernel.0);
        let arguments = self.checked(&grid)?;
        let nothing = match &grid {
            Grid::Invocations(size) => size.contains(&0),
            Grid::Workgroups(size) => size.contains(&0),
            Grid::Counted(_) | Grid::Indirect(_) => false,
        };
        if nothing {
            return Ok(());
        }
        for (binding, argument) in &arguments {
            let Given::Buffer { bytes, .. } = &argument.0 else { continue };
            if bytes.is_empty() {
                let message =
                    format!("'{}' is given an empty buffer; leave the call out where there is no work", binding.name);
                return Err(bad(&inner.label, message));
            }
        }
        match &inner.plain {
            None => self.on_cpu(&grid, &arguments),
            Some((queue, plain)) => self.on_device(queue, plain, grid, &arguments),
        }
    }

    fn on_device(
        &self,
        queue: &Queue,
        plain: &KernelHandle,
        grid: Grid,
        arguments: &[(&Binding, &Argument)],
    ) -> Result<()> {
        let inner = &*self.kernel.0;
        let limit = inner.context.limits().workgroups;
        let [x, y, z] = inner.interface.workgroup_size.map(|side| side as usize);
        // Kept until the work has been asked for.
        let counted;
        let mut handle = None;
        let groups = match grid {
            Grid::Invocations([length, 1, 1]) if length.div_ceil(x) as u64 > u64::from(limit) => {
                handle = Some(self.kernel.folded(queue)?);
                Groups::Fixed(fold(length.div_ceil(x) as u64, limit)?)
            }
            Grid::Invocations(size) => {
                let groups = [size[0].div_ceil(x), size[1].div_ceil(y), size[2].div_ceil(z)];
                Groups::Fixed(self.within(groups.map(|side| side as u64), limit)?)
            }
            Grid::Workgroups(groups) => Groups::Fixed(self.within(groups.map(u64::from), limit)?),
            Grid::Counted(count) => {
                handle = Some(self.kernel.folded(queue)?);
                counted = groups_of("count workgroups", INDIRECT, vec![x as u32, limit], &count)?;
                indirect(&counted)?
            }
            Grid::Indirect(groups) => {
                counted = groups_of("check workgroups", INDIRECT_WITHIN, vec![limit], &groups)?;
                indirect(&counted)?
            }
        };
        let (mut bindings, mut bytes) = (Vec::new(), 0);
        for (binding, argument) in arguments {
            let bound = match &argument.0 {
                Given::Uniform { bytes, .. } => {
                    let mut bytes = bytes.clone();
                    bytes.resize(bytes.len().next_multiple_of(16), 0);
                    Bound::Uniform(bytes)
                }
                Given::Buffer { bytes: buffer, .. } => {
                    let Some(allocation) = buffer.allocation() else {
                        return Err(bad(&inner.label, "not on the device"));
                    };
                    bytes += buffer.byte_length();
                    Bound::Buffer {
                        id: allocation.id,
                        offset: buffer.offset(),
                        // Whole words, so that the kernel's arrayLength is the number of elements.
                        size: buffer.byte_length().next_multiple_of(4),
                        written: binding.kind == BindingKind::Write,
                    }
                }
                Given::Wrong(error) => return Err(error.clone()),
            };
            bindings.push((binding.number, bound));
        }
        let kernel = handle.as_ref().map_or(plain.id, |handle| handle.id);
        let cost = bytes as f64 / 4.0;
        queue.run(vec![Step::Dispatch(Dispatch { kernel, bindings, groups, bytes, cost })])
    }

    fn within(&self, groups: [u64; 3], limit: u32) -> Result<[u32; 3]> {
        let found = groups.into_iter().max().unwrap_or(0);
        match groups.iter().all(|&side| side <= u64::from(limit)) {
            true => Ok(groups.map(|side| side as u32)),
            false => Err(Error::KernelLimit {
                kernel: self.kernel.0.label.clone(),
                limit: "workgroups of a dispatch along one dimension",
                found,
                allowed: u64::from(limit),
                fits: "a larger workgroup or work over one dimension, which folds by itself, would fit".to_string(),
            }),
        }
    }

    /// The arguments in the order of the bindings, each compared with what the kernel declares.
    fn checked(&self, grid: &Grid) -> Result<Vec<(&Binding, &Argument)>> {
        let inner = &*self.kernel.0;
        let bindings = &inner.interface.bindings;
        for (number, (name, argument)) in self.arguments.iter().enumerate() {
            if !bindings.iter().any(|binding| binding.name == *name) {
                let suggestion = nearest(name, bindings.iter().map(|binding| binding.name.as_str()));
                return Err(Error::UnknownName { what: "binding of the kernel", name: name.clone(), suggestion });
            }
            if self.arguments.iter().take(number).any(|(other, _)| other == name) {
                return Err(bad(&inner.label, format!("'{name}' is given twice")));
            }
            if let Given::Buffer { bytes, .. } = &argument.0
                && !bytes.context().is_same(&inner.context)
            {
                return Err(bad(&inner.label, format!("'{name}' is given a buffer of another context")));
            }
        }
        if let Grid::Counted(buffer) | Grid::Indirect(buffer) = grid {
            let needed = if matches!(grid, Grid::Counted(_)) { 1 } else { 3 };
            if buffer.len() < needed || !buffer.context().is_same(&inner.context) {
                return Err(bad(
                    &inner.label,
                    format!("the grid's buffer must have {needed} numbers, of this context"),
                ));
            }
        }
        let pair = |binding| {
            let found = self.arguments.iter().find(|(name, _)| *name == binding_name(binding));
            let Some((_, argument)) = found else {
                let message = format!("'{}' (binding {}, {}) is not given", binding.name, binding.number, binding.wgsl);
                return Err(bad(&inner.label, message));
            };
            compare(&inner.label, binding, argument)?;
            Ok((binding, argument))
        };
        let pairs: Vec<(&Binding, &Argument)> = bindings.iter().map(pair).collect::<Result<_>>()?;
        self.check_aliases(&pairs)?;
        Ok(pairs)
    }

    /// A buffer that is written must not be bound twice where the bindings overlap: the kernel would race with itself.
    fn check_aliases(&self, pairs: &[(&Binding, &Argument)]) -> Result<()> {
        let memory = |argument: &Argument| match &argument.0 {
            Given::Buffer { bytes, .. } if !bytes.is_empty() => {
                let id = bytes.allocation().map(|allocation| allocation.id);
                id.map(|id| (id, bytes.offset(), bytes.offset() + bytes.byte_length()))
            }
            _ => None,
        };
        for (index, (first, one)) in pairs.iter().enumerate() {
            for (second, other) in &pairs[index + 1..] {
                let (Some(a), Some(b)) = (memory(one), memory(other)) else { continue };
                let written = first.kind == BindingKind::Write || second.kind == BindingKind::Write;
                // A device tracks whole buffers.
                if a.0 == b.0 && written && (first.kind != second.kind || (a.1 < b.2 && b.1 < a.2)) {
                    let message = format!(
                        "'{}' and '{}' are given the same memory, and one of them is written; copy() one of them",
                        first.name, second.name
                    );
                    return Err(bad(&self.kernel.0.label, message));
                }
            }
        }
        Ok(())
    }

    fn on_cpu(&self, grid: &Grid, arguments: &[(&Binding, &Argument)]) -> Result<()> {
        let inner = &*self.kernel.0;
        let Some(code) = &inner.cpu else { return Err(Error::NoCpuCode { operator: inner.label.clone() }) };
        let [x, y, z] = inner.interface.workgroup_size.map(|side| side as usize);
        let invocations = match grid {
            Grid::Invocations(size) => *size,
            Grid::Workgroups(groups) => [groups[0] as usize * x, groups[1] as usize * y, groups[2] as usize * z],
            Grid::Counted(count) => [count.on_host().first().copied().unwrap_or(0) as usize, 1, 1],
            Grid::Indirect(groups) => {
                let groups = groups.on_host();
                let side = |index: usize| groups.get(index).copied().unwrap_or(0) as usize;
                [side(0) * x, side(1) * y, side(2) * z]
            }
        };
        let named = arguments.iter().map(|(binding, argument)| (binding.name.clone(), (*argument).clone())).collect();
        code(&mut CpuCall { label: inner.label.clone(), invocations, arguments: named })
    }
}

fn binding_name(binding: &Binding) -> &str {
    &binding.name
}

fn indirect(groups: &Buffer<u32>) -> Result<Groups> {
    match groups.allocation() {
        Some(allocation) => Ok(Groups::Indirect { buffer: allocation.id, offset: groups.offset() }),
        None => Err(bad("dispatch", "the grid's buffer is not on the device")),
    }
}

/// A grid of workgroups made by a kernel from numbers that only the device knows. It has memory of its own, so that the work
/// may write the numbers.
fn groups_of(label: &str, text: &str, uniforms: Vec<u32>, numbers: &Buffer<u32>) -> Result<Buffer<u32>> {
    let Some(engine) = Engine::of(numbers.context()) else { return Err(bad("dispatch", "no device")) };
    let groups = engine.output(3)?;
    let binds = vec![Bind::Uniform(uniforms), read(&numbers.aligned()?), write(&groups)];
    engine.run(label, Text::new().with(text), binds, [1, 1, 1], Work::moving(16))?;
    Ok(groups)
}
