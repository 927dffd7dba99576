//! The context: a device, or the CPU, chosen once, that compiles graphs into programs. Knows which backends there are,
//! not how they work.

use crate::error::{Error, Result, nearest};
use crate::graph::Graph;
use crate::image::Description;
use crate::plan::Options;
use crate::plan::recording::Limits;
use crate::program::Program;
use parking_lot::{Condvar, Mutex};
use std::str::FromStr;
use std::sync::Arc;

/// Which backend a context uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// The best GPU, else the CPU.
    #[default]
    Auto,
    /// The CPU on all cores.
    Cpu,
    Vulkan,
    Gl,
    Metal,
    Dx12,
}

impl BackendChoice {
    /// All choices.
    pub const ALL: [BackendChoice; 6] = [
        BackendChoice::Auto,
        BackendChoice::Cpu,
        BackendChoice::Vulkan,
        BackendChoice::Gl,
        BackendChoice::Metal,
        BackendChoice::Dx12,
    ];

    /// Name on the command line and in `CYANOTYPE_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            BackendChoice::Auto => "auto",
            BackendChoice::Cpu => "cpu",
            BackendChoice::Vulkan => "vulkan",
            BackendChoice::Gl => "gl",
            BackendChoice::Metal => "metal",
            BackendChoice::Dx12 => "dx12",
        }
    }
}

impl std::fmt::Display for BackendChoice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for BackendChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        BackendChoice::ALL.into_iter().find(|choice| choice.name() == text).ok_or_else(|| Error::UnknownName {
            what: "backend",
            name: text.into(),
            suggestion: nearest(text, BackendChoice::ALL.iter().map(|choice| choice.name())),
        })
    }
}

/// How a context is made.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextOptions {
    /// Which backend.
    pub backend: BackendChoice,
    /// Whether `Auto` may take a software rasteriser. It is slower than the CPU backend.
    pub allow_software: bool,
    /// Most frames in flight; each holds its pictures in memory.
    pub frames_in_flight: usize,
    /// Limits to keep within where they are smaller than the device's own, for trying what a weaker device would do.
    pub limits: Option<Limits>,
    /// Compiles kernels with every check, for debugging your own.
    pub checked: bool,
}

impl Default for ContextOptions {
    fn default() -> Self {
        ContextOptions {
            backend: BackendChoice::Auto,
            allow_software: false,
            // Host, bus and device each busy with one.
            frames_in_flight: 3,
            limits: None,
            checked: false,
        }
    }
}

/// A device with its caches. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    backend: Backend,
    reason: String,
    compute: crate::compute::State,
}

/// What runs the programs.
pub(crate) enum Backend {
    /// This process, with a bound on frames in flight.
    Cpu(Arc<Bound>),
    #[cfg(feature = "gpu")]
    Gpu(crate::gpu::Device),
}

impl std::fmt::Debug for Context {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Context({})", self.description())
    }
}

impl Context {
    /// The best GPU that passes its self-test, else the CPU. The environment variable `CYANOTYPE_BACKEND` (`auto`, `cpu`,
    /// `vulkan`, `gl`, `metal`, `dx12`) chooses otherwise.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if a backend is named and cannot be had; without a name there is always the CPU.
    ///
    /// ```
    /// # fn main() -> cyanotype::Result<()> {
    /// let context = cyanotype::Context::new()?;
    /// println!("{}", context.description());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new() -> Result<Self> {
        let backend = match std::env::var("CYANOTYPE_BACKEND") {
            Ok(name) if !name.is_empty() => name.parse()?,
            _ => BackendChoice::Auto,
        };
        Self::with(&ContextOptions { backend, ..ContextOptions::default() })
    }

    /// The CPU backend.
    pub fn cpu() -> Self {
        Self::on_cpu("asked for by name", ContextOptions::default().frames_in_flight)
    }

    fn on_cpu(reason: impl Into<String>, frames: usize) -> Self {
        Context(Arc::new(Inner {
            backend: Backend::Cpu(Arc::new(Bound::new(frames))),
            reason: reason.into(),
            compute: Default::default(),
        }))
    }

    /// A context of your choice.
    pub fn with(options: &ContextOptions) -> Result<Self> {
        match options.backend {
            BackendChoice::Cpu => Ok(Self::on_cpu("asked for by name", options.frames_in_flight)),
            BackendChoice::Auto => {
                Ok(Self::open(options, None).unwrap_or_else(|error| Self::instead(&error, options.frames_in_flight)))
            }
            named => Self::open(options, Some(named)),
        }
    }

    /// The CPU, where no GPU will do.
    pub(crate) fn instead(error: &Error, frames_in_flight: usize) -> Self {
        log::info!("falling back to the CPU: {error}");
        Self::on_cpu(format!("the CPU, since: {error}"), frames_in_flight)
    }

    #[cfg(feature = "gpu")]
    fn open(options: &ContextOptions, named: Option<BackendChoice>) -> Result<Self> {
        use crate::gpu::{BackendName, Device, DeviceOptions};
        let backend = match named {
            Some(BackendChoice::Vulkan) => Some(BackendName::Vulkan),
            Some(BackendChoice::Gl) => Some(BackendName::Gl),
            Some(BackendChoice::Metal) => Some(BackendName::Metal),
            Some(BackendChoice::Dx12) => Some(BackendName::Dx12),
            _ => None,
        };
        let device = Device::open(&DeviceOptions {
            backend,
            allow_software: options.allow_software,
            limits: options.limits,
            frames_in_flight: options.frames_in_flight,
            checked: options.checked,
            ..DeviceOptions::default()
        })?;
        let reason = match named {
            Some(named) => format!("asked for as {named}"),
            None => "the best device that passed its self-test".into(),
        };
        Ok(Context(Arc::new(Inner { backend: Backend::Gpu(device), reason, compute: Default::default() })))
    }

    #[cfg(not(feature = "gpu"))]
    fn open(_: &ContextOptions, named: Option<BackendChoice>) -> Result<Self> {
        let what = named.map_or("a GPU", BackendChoice::name);
        Err(Error::NoDevice(format!("{what}: built without the feature 'gpu'")))
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    /// What compute work keeps between calls.
    pub(crate) fn compute_state(&self) -> &crate::compute::State {
        &self.0.compute
    }

    /// Whether both are the same device, opened once.
    pub(crate) fn is_same(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether programs run on a GPU (or a software driver that acts as one).
    pub fn is_gpu(&self) -> bool {
        !matches!(self.0.backend, Backend::Cpu(_))
    }

    /// Whether it is a software rasteriser.
    pub(crate) fn is_software(&self) -> bool {
        match &self.0.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => device.info().software,
        }
    }

    /// Whether the device's clock can be trusted.
    pub(crate) fn has_timestamps(&self) -> bool {
        match &self.0.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => device.info().timestamps,
        }
    }

    /// Adapter and driver, as a key for what was measured on them.
    pub(crate) fn device_key(&self) -> String {
        match &self.0.backend {
            Backend::Cpu(_) => "CPU".into(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => {
                let info = device.info();
                format!("{} | {} | {} {}", info.name, info.backend, info.driver, info.driver_info)
            }
        }
    }

    /// Name of the device and why it was chosen.
    pub fn description(&self) -> String {
        match &self.0.backend {
            Backend::Cpu(_) => {
                format!("CPU, {} threads ({})", rayon::current_num_threads(), self.0.reason)
            }
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => {
                let info = device.info();
                format!("{} through {} ({})", info.name, info.backend, self.0.reason)
            }
        }
    }

    /// The device as [`devices`] lists it, for programs that show or judge what they were given.
    pub fn device(&self) -> DeviceInfo {
        match &self.0.backend {
            Backend::Cpu(_) => DeviceInfo::cpu(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => DeviceInfo::gpu(device.info().clone()),
        }
    }

    /// What plans must keep within.
    pub fn limits(&self) -> Limits {
        match &self.0.backend {
            Backend::Cpu(_) => Limits::UNLIMITED,
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => device.limits(),
        }
    }

    /// Compiles a graph for inputs of the given descriptions.
    ///
    /// # Errors
    /// A mistake in the graph, an input that is not described, a kernel that does not compile, a lost device.
    pub fn compile(&self, graph: &Graph, inputs: &[(&str, Description)]) -> Result<Program> {
        self.compile_with(graph, inputs, &Options::default())
    }

    /// Compiles with options: without fusion, or with another precision between passes.
    pub fn compile_with(&self, graph: &Graph, inputs: &[(&str, Description)], options: &Options) -> Result<Program> {
        Program::new(self.clone(), graph.data(), inputs, options)
    }

    /// How much has been created on the device so far; zeros on the CPU.
    pub fn counters(&self) -> Counters {
        match &self.0.backend {
            Backend::Cpu(_) => Counters::default(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => {
                let counted = device.counters();
                Counters {
                    pipelines: counted.pipelines,
                    buffers: counted.buffers,
                    textures: counted.textures,
                    bind_groups: counted.bind_groups,
                    frames: counted.frames,
                }
            }
        }
    }

    /// Destroys the device, as a driver might at any time: for testing how a program copes. Every later call on this
    /// context answers [`Error::DeviceLost`]. The CPU cannot be lost.
    #[doc(hidden)]
    pub fn lose_device(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(device) => device.lose(),
        }
    }
}

/// What has been created on a device since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub pipelines: u64,
    pub buffers: u64,
    pub textures: u64,
    pub bind_groups: u64,
    pub frames: u64,
}

/// A bound on frames in flight on the CPU.
pub(crate) struct Bound {
    most: usize,
    running: Mutex<usize>,
    freed: Condvar,
}

/// One place taken; given back on drop.
pub(crate) struct Place(Arc<Bound>);

impl Bound {
    fn new(most: usize) -> Self {
        Bound { most: most.max(1), running: Mutex::new(0), freed: Condvar::new() }
    }

    /// Takes a place, waiting for one if `wait`.
    pub fn take(self: &Arc<Self>, wait: bool) -> Result<Place> {
        let mut running = self.running.lock();
        while *running >= self.most {
            if !wait {
                return Err(Error::Busy { in_flight: *running, bound: self.most });
            }
            self.freed.wait(&mut running);
        }
        *running += 1;
        Ok(Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.freed.notify_one();
    }
}

/// A device that could be used, for `cyanotype devices` and choosers.
#[derive(Debug, Clone, serde::Serialize)]
pub struct DeviceInfo {
    /// As the driver names it.
    pub name: String,
    /// "cpu", "vulkan", "gl", "metal", "dx12".
    pub backend: String,
    /// "discrete GPU", "integrated GPU", "CPU" and so on.
    pub kind: String,
    /// Driver and version.
    pub driver: String,
    /// Whether it is a software rasteriser, which `Auto` does not take.
    pub software: bool,
    /// What plans must keep within.
    pub limits: Limits,
    /// Features that the engine uses or reports.
    pub features: Vec<String>,
    /// Formats of textures that kernels can write, with `read-write` where they can also read what they write.
    pub storage_formats: Vec<String>,
    /// Every limit by the driver interface's own names, one a line.
    pub all_limits: String,
    /// What its driver is known to do wrong, and what the engine does instead.
    pub faults: Vec<String>,
    /// Why it cannot be used, if it cannot: missing compute, a failed self-test.
    pub unusable: Option<String>,
}

impl DeviceInfo {
    /// The CPU backend.
    fn cpu() -> Self {
        DeviceInfo {
            name: format!("CPU backend, {} threads", rayon::current_num_threads()),
            backend: "cpu".into(),
            kind: "CPU".into(),
            driver: format!("{:?}", crate::cpu::simd::level()),
            software: false,
            limits: Limits::UNLIMITED,
            features: Vec::new(),
            storage_formats: Vec::new(),
            all_limits: String::new(),
            faults: Vec::new(),
            unusable: None,
        }
    }

    #[cfg(feature = "gpu")]
    fn gpu(info: crate::gpu::AdapterInfo) -> Self {
        DeviceInfo {
            name: info.name,
            backend: info.backend.to_string(),
            kind: info.device_type.into(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().into(),
            software: info.software,
            limits: info.limits,
            features: info.features,
            storage_formats: info.storage_formats,
            all_limits: info.all_limits,
            faults: info.faults.iter().map(|fault| format!("{}: {}", fault.what, fault.instead)).collect(),
            unusable: info.unusable,
        }
    }
}

/// All devices: the CPU, then what the drivers offer.
pub fn devices() -> Vec<DeviceInfo> {
    let mut found = vec![DeviceInfo::cpu()];
    #[cfg(feature = "gpu")]
    found.extend(crate::gpu::Device::list().into_iter().map(DeviceInfo::gpu));
    found
}
