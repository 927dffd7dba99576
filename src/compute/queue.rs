//! Compute work's way to the device: allocations, kernels and steps, as handles over the numbers of [`super::command`]. The
//! only file of this folder that knows the GPU backend; `queue_absent.rs` stands in for it in builds without one.

use std::sync::Arc;

use futures_intrusive::channel::shared::oneshot_channel;

use super::Pending;
use super::command::{Content, Id, KernelSource, Step, TimedStep};
use crate::context::{Backend, Context};
use crate::error::{Error, Result};
use crate::gpu::{ComputeCommand, Device};

/// The device of a context.
#[derive(Clone)]
pub(crate) struct Queue(Device);

/// Memory on the device; freed, after the work asked for before, when dropped.
pub(crate) struct Allocation {
    device: Device,
    pub id: Id,
    pub size: u64,
    /// Bytes that hold elements; what is behind them is padding.
    pub used: u64,
}

/// A compiled kernel.
pub(crate) struct KernelHandle {
    device: Device,
    pub id: Id,
}

/// A trace that is on.
pub(crate) struct TraceHandle {
    device: Device,
    id: Id,
}

impl Queue {
    /// `None` on the CPU.
    pub fn of(context: &Context) -> Option<Queue> {
        match context.backend() {
            Backend::Cpu(_) => None,
            Backend::Gpu(device) => Some(Queue(device.clone())),
        }
    }

    /// Memory for `used` bytes: whole vectors of four words, and never nothing.
    ///
    /// # Errors
    /// [`Error::Limit`] where it is more than the device can bind. Running out of memory shows when it is read.
    pub fn allocate(&self, used: u64, content: Content) -> Result<Arc<Allocation>> {
        let size = used.max(1).next_multiple_of(16);
        let limits = self.0.limits();
        for (what, limit) in
            [("a buffer", limits.buffer_size), ("a buffer bound to a kernel", limits.storage_binding_size)]
        {
            if size > limit {
                return Err(Error::Limit { what: format!("{what}, in bytes,"), found: size, limit });
            }
        }
        let id = self.0.new_id();
        self.0.compute(ComputeCommand::MakeBuffer { id, size, content })?;
        Ok(Arc::new(Allocation { device: self.0.clone(), id, size, used }))
    }

    /// Compiles without waiting: a failure shows where the results are read.
    pub fn kernel(&self, source: KernelSource) -> Result<KernelHandle> {
        let id = self.0.new_id();
        self.0.compute(ComputeCommand::MakeKernel { id, source, reply: None })?;
        Ok(KernelHandle { device: self.0.clone(), id })
    }

    /// Compiles, and waits for the verdict.
    pub fn kernel_now(&self, source: KernelSource) -> Result<KernelHandle> {
        if self.0.is_own_thread() {
            return Err(Error::Device("a kernel made on the device's own thread would wait for itself".to_string()));
        }
        let id = self.0.new_id();
        let (reply, made) = oneshot_channel();
        self.0.compute(ComputeCommand::MakeKernel { id, source, reply: Some(reply) })?;
        let handle = KernelHandle { device: self.0.clone(), id };
        pollster::block_on(made.receive()).unwrap_or_else(gone)?;
        Ok(handle)
    }

    /// Copies `bytes`, whole words, into memory.
    pub fn write(&self, target: &Allocation, offset: u64, bytes: Vec<u8>) -> Result<()> {
        self.0.compute(ComputeCommand::Write { id: target.id, offset, bytes })
    }

    /// Does work, in order.
    pub fn run(&self, steps: Vec<Step>) -> Result<()> {
        self.0.compute(ComputeCommand::Run { steps })
    }

    /// The bytes of a range once all work before is done, handed to `finish`. `None` waits for the work alone.
    pub fn read<R: Send + 'static>(
        &self,
        source: Option<&Arc<Allocation>>,
        offset: u64,
        size: u64,
        finish: impl FnOnce(&[u8]) -> Result<R> + Send + 'static,
    ) -> Pending<R> {
        let (reply, receiver) = oneshot_channel();
        let wanted = Arc::new(());
        let id = source.map_or(0, |source| source.id);
        let command = ComputeCommand::Read { id, offset, size, reply, wanted: Arc::downgrade(&wanted) };
        if let Err(error) = self.0.compute(command) {
            return Pending::ready(Err(error));
        }
        Pending::new(async move {
            let bytes = receiver.receive().await.unwrap_or_else(gone)?;
            drop(wanted);
            finish(&bytes)
        })
    }

    /// Times each dispatch from now on, until what it gives is dropped.
    pub fn trace(&self) -> Result<TraceHandle> {
        let id = self.0.new_id();
        self.0.compute(ComputeCommand::Trace { id })?;
        Ok(TraceHandle { device: self.0.clone(), id })
    }
}

impl TraceHandle {
    /// What was timed; no more is.
    pub fn finish(&self) -> Pending<Vec<TimedStep>> {
        let (reply, receiver) = oneshot_channel();
        match self.device.compute(ComputeCommand::Traced { id: self.id, reply: Some(reply) }) {
            Ok(()) => Pending::new(async move { receiver.receive().await.unwrap_or_else(gone) }),
            Err(error) => Pending::ready(Err(error)),
        }
    }
}

fn gone<T>() -> Result<T> {
    Err(Error::DeviceLost("the device's thread has ended".to_string()))
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Fails only on a device that is lost and has forgotten everything.
        let _ = self.device.compute(ComputeCommand::FreeBuffer { id: self.id });
    }
}

impl Drop for KernelHandle {
    fn drop(&mut self) {
        // As above.
        let _ = self.device.compute(ComputeCommand::FreeKernel { id: self.id });
    }
}

impl Drop for TraceHandle {
    fn drop(&mut self) {
        // As above. One that is finished is known no more.
        let _ = self.device.compute(ComputeCommand::Traced { id: self.id, reply: None });
    }
}
