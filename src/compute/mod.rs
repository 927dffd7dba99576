//! General compute over buffers, on the same [`Context`](crate::Context) as pictures: kernels that are there (maps,
//! reductions, scans, sorting, matrix products, filters, Fourier transforms) and kernels of your own in WGSL. Each of the
//! engine's has a plain CPU version beside it, which is its specification and what runs where there is no GPU.
//!
//! ```
//! # fn main() -> cyanotype::Result<()> {
//! let context = cyanotype::Context::new()?;
//! let numbers = context.buffer(&[3.0f32, 4.0])?;
//! let length = numbers.map::<f32>("x * x")?.read().wait()?.iter().sum::<f32>().sqrt();
//! assert_eq!(length, 5.0);
//! # Ok(())
//! # }
//! ```
//!
//! Calls return at once; the device works through them in order, and a [`Pending`] result is a future. What goes wrong on
//! the way (out of memory, a lost device) is told where a result is read.
//!
//! ```text
//! buffer.rs      Buffer, views; element.rs what they hold; pending.rs results on their way
//! kernel.rs      kernels of your own; argument.rs what they are given, reflect.rs what naga knows of them,
//!                specialise.rs their text made fit
//! builtin.rs     the engine's kernels: text put together, compiled once
//! map.rs ...     one file for each family, with wgsl/compute/*.wgsl of the same name
//! profile.rs     traces; tune.rs shapes, measured; devices.rs what a device lacks
//! expression.rs  expressions of WGSL that the CPU computes
//! command.rs     what a device is told; queue.rs the way there
//! ```
//! Nothing here knows wgpu, and only `queue.rs` knows the GPU backend.

mod argument;
mod buffer;
mod builtin;
pub(crate) mod command;
mod compact;
mod devices;
mod dft;
mod element;
mod expression;
mod filter;
mod fourier;
mod histogram;
mod kernel;
mod map;
mod matrix;
mod pending;
mod profile;
#[cfg(feature = "gpu")]
mod queue;
#[cfg(not(feature = "gpu"))]
#[path = "queue_absent.rs"]
mod queue;
mod reduce;
mod reflect;
mod scan;
mod sort;
mod specialise;
mod transpose;
mod tune;

pub use argument::{Argument, CpuCall};
pub use buffer::Buffer;
pub(crate) use builtin::State;
pub use compact::Chosen;
pub use devices::Lack;
pub use element::{Element, Field, Layout, Scalar, ScalarKind};
pub use filter::Extent;
pub use kernel::{Call, Grid, Kernel, KernelOptions};
pub use matrix::{Matrix, Number, Product};
pub use pending::Pending;
pub use profile::{Trace, TraceEvent, Tracing};
pub use tune::{Shape, TUNABLE, TuneOptions, TuneReport, TuneRow, default_file as tuning_file};

use buffer::bad;
