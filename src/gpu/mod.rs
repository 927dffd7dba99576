//! The GPU backend: carries out a [`Recording`](crate::plan::recording::Recording) on a device, any number of times, and
//! hands back bytes. It is the only folder that names wgpu, and it must not know operators, graphs or plans: a recording
//! is plain commands over numbered resources.
//!
//! One worker thread owns everything of wgpu (instance, device, queue, buffers); a [`Device`] is a handle that sends it
//! commands. So nothing here locks, a GL context stays on one thread, and a caller never waits for a driver that
//! executes work inside `submit`.
//!
//! ```text
//! device.rs     Device, Loaded, Ticket: what callers hold
//! worker.rs     the thread: takes commands, polls while frames are in flight, delivers
//! adapter.rs    which adapters there are, which is chosen, what it can do
//! faults.rs     what drivers are known to do wrong, and what is done instead
//! self_test.rs  known answers that a device must give before it is trusted
//! program.rs    a loaded recording: pipelines, shared resources, spare slots
//! frame.rs      a slot (buffers of one frame) and a frame in flight: upload, encode, read back
//! schedule.rs   splits long dispatches and long frames; plain arithmetic
//! pipelines.rs  WGSL to pipelines, cached
//! memory.rs     buffers: inlets, outlets, the pool of resources that programs share
//! bytes.rs      host memory that is used again
//! compute.rs    buffers, kernels and dispatches outside of programs; readings.rs how their results come back
//! bound.rs      the bound on frames in flight
//! timing.rs     timestamps
//! status.rs     what the worker tells the handles: counters, the reason a device was lost
//! ```

mod adapter;
mod bound;
mod bytes;
mod compute;
mod device;
mod faults;
mod frame;
mod memory;
mod pipelines;
mod probe;
mod program;
mod readings;
mod schedule;
mod self_test;
mod status;
mod timing;
mod worker;

#[cfg(test)]
pub(crate) mod tests;

pub use adapter::{AdapterInfo, BackendName};
pub use bytes::PooledBytes;
pub(crate) use compute::ComputeCommand;
pub use device::{Device, DeviceOptions, DispatchData, FrameInput, FrameOutput, FrameSource, Loaded, Ticket, WhenFull};
pub use faults::Fault;
pub use schedule::WorkBounds;
pub use status::Counters;
