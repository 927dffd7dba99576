//! Cyanotype: describe an image pipeline as a graph; it is compiled into the fewest GPU passes, says what it did and why,
//! and gives the same pixels on Vulkan, OpenGL ES, Metal, DirectX 12 and on the CPU.
//!
//! ```
//! use cyanotype::{Context, Description, Graph, Image, PixelFormat};
//! # fn main() -> cyanotype::Result<()> {
//! let photo = Image::new(Description::new(4, 4, PixelFormat::Rgb8), vec![100; 48])?;
//! let graph = Graph::new();
//! let out = graph.input("photo").exposure(0.7).gaussian_blur(2.0).gamma(1.2);
//! graph.output("out", &out);
//! let context = Context::new()?; // the best GPU, else the CPU
//! let program = context.compile(&graph, &[("photo", photo.description())])?;
//! println!("{}", program.explain());
//! let result = program.run(&[("photo", &photo)])?.image("out")?;
//! assert_eq!(result.width(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! # The map of the house
//! A graph goes through plain functions, each from one data type to the next, and ends in a backend:
//!
//! ```text
//! GraphData -> lower -> simplify -> plan (fuse, memory) -> shader::record -> gpu   -> Results
//!                                                       \------------------> cpu   -/
//! ```
//!
//! - [`image`]: pictures in host memory and their files. Knows nothing above it.
//! - [`op`]: what an operator is; parameters, kernels, and the steps that operators lower to.
//! - [`ops`]: the operators, one file each, and the registry.
//! - [`graph`]: graphs as people build them; text and JSON forms; lowering and simplification.
//! - [`plan`]: which values are stored, which passes there are, and why. No device, no shader text.
//! - [`shader`]: one WGSL module for each pass. No device.
//! - `gpu`: carries out a recording through wgpu. Knows no operator.
//! - [`cpu`]: carries out a plan on all cores. The only place that knows threads of its own.
//! - [`compute`]: general kernels over buffers, on the same context.
//! - [`Context`] and [`Program`]: what a user holds.

pub mod color;
// Without the GPU nobody reads what a device would be told.
#[cfg_attr(not(feature = "gpu"), allow(dead_code))]
pub mod compute;
pub mod cpu;
pub mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod graph;
pub mod image;
pub mod maths;
pub mod op;
pub mod ops;
pub mod plan;
pub mod shader;

// Without the GPU there is one backend left, and what tells the two apart becomes trivial.
#[cfg_attr(not(feature = "gpu"), allow(unused_mut, unused_imports, irrefutable_let_patterns))]
mod context;
#[cfg_attr(not(feature = "gpu"), allow(unused_mut, unused_imports, unused_variables, irrefutable_let_patterns))]
mod program;
mod timings;

pub use context::{BackendChoice, Context, ContextOptions, Counters, DeviceInfo, devices};
pub use error::{Error, Result};
pub use graph::{CustomKind, CustomOperator, Graph, GraphData, Node, ParameterHandle};
pub use image::{AlphaMode, ColorSpace, Description, Image, ImageView, PixelFormat};
pub use op::Argument;
pub use plan::recording::Limits;
pub use plan::{Options, PassShape, PassShapes, Precision, Report};
pub use program::{FrameOptions, ParameterPath, Picture, Program, Readback, Results, WhenFull};
pub use timings::{PassTime, Profile, Timings};
