//! Compute work outside of programs: buffers and kernels by number, dispatches in the order asked for. Commands gather in
//! one encoder, which is submitted when nothing more waits or a result is wanted, so that a chain of small kernels costs one
//! submit. Nothing here answers before the device has done it except through a channel; what fails marks the buffers that it
//! should have written, and whoever reads one of those learns why.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use futures_intrusive::channel::shared::OneshotSender;

use super::bytes::PooledBytes;
use super::device::{FrameInput, FrameSource};
use super::frame::Waiting;
use super::memory::Gpu;
use super::pipelines::{ComputeKernel, compute_kernel};
use super::readings::Reading;
use super::status::count;
use super::timing::Stamps;
use crate::compute::command::{Bound, Content, Dispatch, Groups, Id, KernelSource, Step, TimedStep, UNIFORM_BYTES};
use crate::error::{Error, Result};

/// What handles ask for.
pub(crate) enum ComputeCommand {
    /// A buffer of `size` bytes with this content, or zeros.
    MakeBuffer {
        id: Id,
        size: u64,
        content: Content,
    },
    /// Copies bytes into a buffer. Offset and length are whole words.
    Write {
        id: Id,
        offset: u64,
        bytes: Vec<u8>,
    },
    FreeBuffer {
        id: Id,
    },
    /// Compiles. Without `reply` a failure marks what the kernel should have written.
    MakeKernel {
        id: Id,
        source: KernelSource,
        reply: Option<OneshotSender<Result<()>>>,
    },
    FreeKernel {
        id: Id,
    },
    Run {
        steps: Vec<Step>,
    },
    /// Gives the bytes once all work before is done. An empty range waits for the work alone.
    Read {
        id: Id,
        offset: u64,
        size: u64,
        reply: OneshotSender<Result<PooledBytes>>,
        wanted: Weak<()>,
    },
    /// Times each dispatch alone, from now on, under a number.
    Trace {
        id: Id,
    },
    /// Stops and gives what was timed under a number, to whoever wants it.
    Traced {
        id: Id,
        reply: Option<OneshotSender<Result<Vec<TimedStep>>>>,
    },
}

/// Bytes of uniforms between two submits: of one dispatch, or of 256 small ones.
const ARENA: u64 = UNIFORM_BYTES;

/// Idle buffers are kept up to this many bytes in all: making one anew costs a page fault for every page.
const IDLE: u64 = 512 << 20;

struct Stored {
    buffer: Option<wgpu::Buffer>,
    /// Why its content is not what it should be.
    fault: Option<Error>,
}

/// Work that has been encoded and not submitted.
pub(super) struct Pending {
    pub(super) encoder: wgpu::CommandEncoder,
    uniforms: Vec<u8>,
    written: Vec<Id>,
    cost: f64,
}

struct Tracing {
    began: Instant,
    steps: Vec<TimedStep>,
}

/// All compute state of a device.
pub(super) struct Compute {
    buffers: HashMap<Id, Stored>,
    kernels: HashMap<Id, Result<ComputeKernel>>,
    idle: Vec<wgpu::Buffer>,
    pub(super) staging: Vec<wgpu::Buffer>,
    arena: Option<wgpu::Buffer>,
    pending: Option<Pending>,
    pub(super) readings: Vec<Reading>,
    tracing: HashMap<Id, Tracing>,
    checked: bool,
    /// Work in one submit, in element operations.
    submit_bound: f64,
}

impl Compute {
    pub(super) fn new(checked: bool, submit_bound: f64) -> Compute {
        Compute {
            buffers: HashMap::new(),
            kernels: HashMap::new(),
            idle: Vec::new(),
            staging: Vec::new(),
            arena: None,
            pending: None,
            readings: Vec::new(),
            tracing: HashMap::new(),
            checked,
            submit_bound,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Carries a command out, as far as that goes without waiting for the device.
    pub(super) fn execute(&mut self, gpu: &Gpu, command: ComputeCommand) {
        match command {
            ComputeCommand::MakeBuffer { id, size, content } => self.make_buffer(gpu, id, size, content),
            ComputeCommand::Write { id, offset, bytes } => self.write(gpu, id, offset, &bytes),
            ComputeCommand::FreeBuffer { id } => {
                if let Some(buffer) = self.buffers.remove(&id).and_then(|stored| stored.buffer) {
                    self.keep(buffer);
                }
            }
            ComputeCommand::MakeKernel { id, source, reply } => {
                let made = gpu.status.check().and_then(|()| compute_kernel(gpu, &source, self.checked));
                let answer = made.as_ref().map(|_| ()).map_err(Error::clone);
                self.kernels.insert(id, made);
                if let Some(reply) = reply {
                    // Whoever asked may have gone.
                    let _ = reply.send(answer.map_err(|error| gpu.status.explain(error)));
                }
            }
            ComputeCommand::FreeKernel { id } => drop(self.kernels.remove(&id)),
            ComputeCommand::Run { steps } => steps.into_iter().for_each(|step| self.step(gpu, &step)),
            ComputeCommand::Read { id, offset, size, reply, wanted } => match self.begin_read(gpu, id, offset, size) {
                Ok((staging, waiting)) => {
                    self.readings.push(Reading { staging, size, waiting, reply, wanted });
                }
                Err(error) => drop(reply.send(Err(gpu.status.explain(error)))),
            },
            ComputeCommand::Trace { id } => {
                self.flush(gpu);
                self.tracing.insert(id, Tracing { began: Instant::now(), steps: Vec::new() });
            }
            ComputeCommand::Traced { id, reply } => {
                let steps = self.tracing.remove(&id).map(|tracing| tracing.steps).unwrap_or_default();
                if let Some(reply) = reply {
                    // As above.
                    let _ = reply.send(gpu.status.check().map(|()| steps));
                }
            }
        }
    }

    fn make_buffer(&mut self, gpu: &Gpu, id: Id, size: u64, content: Content) {
        let fitting = self.idle.iter().rposition(|buffer| buffer.size() == size);
        let made = match fitting {
            Some(index) => Ok((self.idle.remove(index), true)),
            None => {
                let usage = wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST
                    | wgpu::BufferUsages::INDIRECT;
                let make = || Ok(gpu.buffer("compute", size, usage, false));
                let made = gpu.status.check().and_then(|()| gpu.scoped(&format!("a buffer of {size} bytes"), make));
                match made {
                    // Idle memory may be what is missing.
                    Err(Error::OutOfMemory(_)) if !self.idle.is_empty() => {
                        self.flush(gpu);
                        self.idle.clear();
                        gpu.scoped(&format!("a buffer of {size} bytes"), make)
                    }
                    made => made,
                }
                .map(|buffer| (buffer, false))
            }
        };
        match made {
            Ok((buffer, used)) => {
                self.buffers.insert(id, Stored { buffer: Some(buffer), fault: None });
                match content {
                    Content::Bytes(bytes) => self.write(gpu, id, 0, &bytes),
                    // A new buffer is zero.
                    Content::Zeros if used => self.step(gpu, &Step::Clear { target: id, offset: 0, size }),
                    Content::Zeros | Content::Any => {}
                }
            }
            Err(error) => drop(self.buffers.insert(id, Stored { buffer: None, fault: Some(error) })),
        }
    }

    /// Keeps a buffer for the next of its size. Its memory may still be in use: the queue's order takes care of that.
    fn keep(&mut self, buffer: wgpu::Buffer) {
        self.idle.push(buffer);
        while self.idle.iter().map(wgpu::Buffer::size).sum::<u64>() > IDLE {
            self.idle.remove(0);
        }
    }

    fn write(&mut self, gpu: &Gpu, id: Id, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // The queue writes before what is submitted next, so what was asked for before goes first.
        self.flush(gpu);
        let Some(buffer) = self.buffers.get(&id).and_then(|stored| stored.buffer.clone()) else { return };
        let written = gpu.scoped("an upload", || {
            gpu.queue.write_buffer(&buffer, offset, bytes);
            Ok(())
        });
        if let Err(error) = written {
            self.fail(&[id], &error);
        }
    }

    fn fail(&mut self, written: &[Id], error: &Error) {
        for id in written {
            if let Some(stored) = self.buffers.get_mut(id) {
                stored.fault.get_or_insert_with(|| error.clone());
            }
        }
    }

    fn step(&mut self, gpu: &Gpu, step: &Step) {
        let written: Vec<Id> = match step {
            Step::Dispatch(dispatch) => dispatch.bindings.iter().filter_map(|(_, bound)| written(bound)).collect(),
            Step::Copy { target, .. } | Step::Clear { target, .. } => vec![*target],
        };
        let outcome = match step {
            Step::Dispatch(dispatch) if !self.tracing.is_empty() => self.timed(gpu, dispatch, &written),
            Step::Dispatch(dispatch) => self.dispatch(gpu, dispatch, &written, None),
            Step::Copy { source, source_offset, target, target_offset, size } => {
                self.sound(*source).and_then(|source| Ok((source, self.present(*target)?))).map(|(source, target)| {
                    let pending = self.pending(gpu);
                    pending.encoder.copy_buffer_to_buffer(&source, *source_offset, &target, *target_offset, *size);
                    pending.written.extend(&written);
                })
            }
            Step::Clear { target, offset, size } => self.present(*target).map(|target| {
                let pending = self.pending(gpu);
                pending.encoder.clear_buffer(&target, *offset, Some(*size));
                pending.written.extend(&written);
            }),
        };
        if let Err(error) = outcome {
            self.fail(&written, &error);
        }
    }

    /// A buffer whose content is what it should be.
    pub(super) fn sound(&self, id: Id) -> Result<wgpu::Buffer> {
        match self.buffers.get(&id) {
            Some(Stored { fault: Some(fault), .. }) => Err(fault.clone()),
            _ => self.present(id),
        }
    }

    fn present(&self, id: Id) -> Result<wgpu::Buffer> {
        match self.buffers.get(&id) {
            Some(Stored { buffer: Some(buffer), .. }) => Ok(buffer.clone()),
            Some(Stored { fault: Some(fault), .. }) => Err(fault.clone()),
            _ => Err(Error::Device(format!("no buffer with number {id}"))),
        }
    }

    /// A frame with the buffers themselves: those that it reads must hold what they should.
    pub(super) fn resolve(&self, input: FrameInput) -> Result<FrameInput<wgpu::Buffer>> {
        let source = |source| match source {
            FrameSource::Image(image) => Ok(FrameSource::Image(image)),
            FrameSource::Buffer(id) => self.sound(id).map(FrameSource::Buffer),
        };
        let sources = input.sources.into_iter().map(source).collect::<Result<_>>()?;
        let copies = input.copies.into_iter().map(|(output, id)| Ok((output, self.present(id)?)));
        Ok(FrameInput { sources, data: input.data, profile: input.profile, copies: copies.collect::<Result<_>>()? })
    }

    pub(super) fn pending(&mut self, gpu: &Gpu) -> &mut Pending {
        self.pending.get_or_insert_with(|| Pending {
            encoder: new_encoder(gpu),
            uniforms: Vec::new(),
            written: Vec::new(),
            cost: 0.0,
        })
    }

    fn dispatch(&mut self, gpu: &Gpu, dispatch: &Dispatch, written: &[Id], stamps: Option<&Stamps>) -> Result<()> {
        gpu.status.check()?;
        let alignment = u64::from(gpu.device.limits().min_uniform_buffer_offset_alignment.max(16));
        let length = |bytes: &[u8]| (bytes.len() as u64).next_multiple_of(alignment);
        let needed: u64 = dispatch
            .bindings
            .iter()
            .map(|(_, bound)| match bound {
                Bound::Uniform(bytes) => length(bytes),
                Bound::Buffer { .. } => 0,
            })
            .sum();
        let full = |pending: &Pending| {
            pending.uniforms.len() as u64 + needed > ARENA || pending.cost + dispatch.cost > self.submit_bound
        };
        if self.pending.as_ref().is_some_and(full) {
            self.flush(gpu);
        }
        let arena = match &self.arena {
            Some(arena) => arena.clone(),
            None => {
                let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
                let arena = gpu.scoped("uniforms", || Ok(gpu.buffer("uniforms", ARENA, usage, false)))?;
                self.arena.insert(arena).clone()
            }
        };
        let start = self.pending(gpu).uniforms.len() as u64;
        let mut uniforms: Vec<u8> = Vec::new();
        // Kept alive while the bind group is made.
        let mut parts = Vec::new();
        for (binding, bound) in &dispatch.bindings {
            parts.push(match bound {
                Bound::Uniform(bytes) => {
                    let offset = start + uniforms.len() as u64;
                    uniforms.extend_from_slice(bytes);
                    uniforms.resize(uniforms.len().next_multiple_of(alignment as usize), 0);
                    (*binding, arena.clone(), offset, bytes.len() as u64)
                }
                // What is only written need not be sound; what it held is gone after this.
                Bound::Buffer { id, offset, size, .. } => (*binding, self.sound(*id)?, *offset, *size),
            });
        }
        let indirect = match dispatch.groups {
            Groups::Fixed(_) => None,
            Groups::Indirect { buffer, offset } => Some((self.sound(buffer)?, offset)),
        };
        let kernel = match self.kernels.get(&dispatch.kernel) {
            Some(Ok(kernel)) => kernel,
            Some(Err(error)) => return Err(error.clone()),
            None => return Err(Error::Device(format!("no kernel with number {}", dispatch.kernel))),
        };
        let entries: Vec<_> = parts
            .iter()
            .map(|(binding, buffer, offset, size)| wgpu::BindGroupEntry {
                binding: *binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset: *offset,
                    size: std::num::NonZeroU64::new(*size),
                }),
            })
            .collect();
        count(&gpu.status.tally.bind_groups);
        let group = gpu.scoped(&kernel.label, || {
            Ok(gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&kernel.label),
                layout: &kernel.layout,
                entries: &entries,
            }))
        })?;
        let Some(pending) = &mut self.pending else { return Err(Error::Device("no encoder".to_string())) };
        let mut pass = pending.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&kernel.label),
            timestamp_writes: stamps.and_then(|stamps| stamps.writes(0, true, true)),
        });
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        match (dispatch.groups, &indirect) {
            (Groups::Fixed([x, y, z]), _) => pass.dispatch_workgroups(x, y, z),
            (Groups::Indirect { .. }, Some((buffer, offset))) => pass.dispatch_workgroups_indirect(buffer, *offset),
            (Groups::Indirect { .. }, None) => {}
        }
        drop(pass);
        pending.uniforms.extend_from_slice(&uniforms);
        pending.written.extend(written);
        pending.cost += dispatch.cost;
        Ok(())
    }

    /// Runs a dispatch alone and waits for it. The device idles before and after, so the host's clock sees this dispatch,
    /// and a submit.
    fn timed(&mut self, gpu: &Gpu, dispatch: &Dispatch, written: &[Id]) -> Result<()> {
        self.flush(gpu);
        gpu.settle()?;
        let stamps = Stamps::new(gpu, 1);
        self.dispatch(gpu, dispatch, written, stamps.as_ref())?;
        if let (Some(stamps), Some(pending)) = (&stamps, &mut self.pending) {
            stamps.resolve(&mut pending.encoder);
        }
        let start = Instant::now();
        self.flush(gpu);
        let waiting = Arc::new(Waiting::default());
        if let Some(stamps) = &stamps {
            stamps.map(&waiting);
        }
        gpu.settle()?;
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let device_ms =
            stamps.and_then(|stamps| stamps.read(gpu.queue.get_timestamp_period()).first().copied().flatten());
        let label = match self.kernels.get(&dispatch.kernel) {
            Some(Ok(kernel)) => kernel.label.clone(),
            _ => String::new(),
        };
        for tracing in self.tracing.values_mut() {
            let start_ms = start.duration_since(tracing.began).as_secs_f64() * 1e3;
            let (label, bytes) = (label.clone(), dispatch.bytes);
            tracing.steps.push(TimedStep { label, start_ms, wall_ms, device_ms, bytes });
        }
        Ok(())
    }

    /// Submits what has gathered.
    pub(super) fn flush(&mut self, gpu: &Gpu) {
        let Some(Pending { encoder, uniforms, written, .. }) = self.pending.take() else { return };
        let arena = self.arena.clone();
        let submitted = gpu.scoped("compute", || {
            if let Some(arena) = arena.filter(|_| !uniforms.is_empty()) {
                gpu.queue.write_buffer(&arena, 0, &uniforms);
            }
            gpu.queue.submit([encoder.finish()]);
            Ok(())
        });
        if let Err(error) = submitted {
            self.fail(&written, &error);
        }
    }

    /// Answers all reads with the reason why they will not come.
    pub(super) fn fail_all(&mut self, error: &Error) {
        for reading in self.readings.drain(..) {
            let _ = reading.reply.send(Err(error.clone()));
        }
        self.pending = None;
        self.buffers.clear();
        self.kernels.clear();
    }
}

fn written(bound: &Bound) -> Option<Id> {
    match bound {
        Bound::Buffer { id, written: true, .. } => Some(*id),
        _ => None,
    }
}

fn new_encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("compute") })
}
