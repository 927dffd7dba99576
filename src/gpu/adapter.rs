//! Which adapters there are, what each can do, and in which order they are tried. Makes one wgpu instance per backend, and
//! only for backends that are wanted: the mere enumeration of one that is not has crashed processes. Knows nothing of
//! recordings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

use super::device::DeviceOptions;
use super::faults::{self, Fault};
use crate::error::{Error, Result, nearest};
use crate::plan::recording::{Limits, PassShape, PassShapes};

/// A graphics interface that a device is reached through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    Metal,
    Vulkan,
    Dx12,
    /// OpenGL ES 3.1, or OpenGL 4.3.
    Gl,
}

impl BackendName {
    /// All of them, in the order in which they are tried: native interfaces first, OpenGL where nothing else is.
    pub const ALL: [BackendName; 4] = [BackendName::Metal, BackendName::Vulkan, BackendName::Dx12, BackendName::Gl];

    /// The name in options and environment variables.
    pub const fn name(self) -> &'static str {
        match self {
            BackendName::Metal => "metal",
            BackendName::Vulkan => "vulkan",
            BackendName::Dx12 => "dx12",
            BackendName::Gl => "gl",
        }
    }

    /// Whether this build, on this platform, contains it.
    pub fn is_built(self) -> bool {
        wgpu::Instance::enabled_backend_features().contains(self.flag())
    }

    fn flag(self) -> wgpu::Backends {
        match self {
            BackendName::Metal => wgpu::Backends::METAL,
            BackendName::Vulkan => wgpu::Backends::VULKAN,
            BackendName::Dx12 => wgpu::Backends::DX12,
            BackendName::Gl => wgpu::Backends::GL,
        }
    }
}

impl std::fmt::Display for BackendName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for BackendName {
    type Err = Error;
    fn from_str(text: &str) -> Result<BackendName> {
        BackendName::ALL.into_iter().find(|backend| backend.name() == text).ok_or_else(|| Error::UnknownName {
            what: "backend",
            name: text.to_string(),
            suggestion: nearest(text, BackendName::ALL.map(BackendName::name)),
        })
    }
}

/// What is known of an adapter.
#[derive(Debug, Clone, serde::Serialize)]
pub struct AdapterInfo {
    /// As the driver names it.
    pub name: String,
    pub backend: BackendName,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `unknown`.
    pub device_type: &'static str,
    /// Name of the driver.
    pub driver: String,
    /// Version of the driver, as it likes to write it.
    pub driver_info: String,
    /// Whether it is a rasteriser on the CPU: correct, but slower than the CPU backend.
    pub software: bool,
    /// What a plan must keep within; already the smaller ones where the options gave some.
    pub limits: Limits,
    /// Every limit of the adapter, one a line.
    pub all_limits: String,
    /// Features and downlevel capabilities by wgpu's names.
    pub features: Vec<String>,
    /// Texture formats that kernels can write, and which of them they can read as well.
    pub storage_formats: Vec<String>,
    /// Whether pictures go to and from buffers that the device uses directly, without a copy in between.
    pub mappable: bool,
    /// Whether passes can be timed.
    pub timestamps: bool,
    /// What its driver is known to do wrong.
    pub faults: Vec<&'static Fault>,
    /// Why it cannot be used: no compute shaders, or wrong answers in the self-test. `None`: it can.
    pub unusable: Option<String>,
}

/// An adapter that might do. It keeps its instance alive, as does a device.
pub(super) struct Candidate {
    pub(super) adapter: wgpu::Adapter,
    pub(super) info: AdapterInfo,
}

/// The adapters that `options` allow, the best first, and why others are not among them. Backends are asked one after
/// the other, and no further than up to the first that has a GPU.
pub(super) fn candidates(options: &DeviceOptions) -> Result<Vec<Candidate>> {
    let software_allowed = options.allow_software || options.backend.is_some() || options.adapter.is_some();
    let wanted = |name: &str| {
        let part = options.adapter.as_ref().map(|part| part.to_lowercase());
        part.is_none_or(|part| name.to_lowercase().contains(&part))
    };
    let mut seen = Vec::new();
    let mut software = Vec::new();
    for backend in BackendName::ALL.into_iter().filter(|&backend| options.backend.is_none_or(|only| only == backend)) {
        let mut found = match enumerate(backend, options) {
            Ok(found) => found,
            Err(reason) => {
                seen.push(format!("{backend}: {reason}"));
                continue;
            }
        };
        found.sort_by_key(|candidate| rank(&candidate.info));
        seen.extend(found.iter().map(|candidate| format!("{backend}: {}", candidate.info.name)));
        found.retain(|candidate| wanted(&candidate.info.name));
        let (cpu, gpu): (Vec<_>, Vec<_>) = found.into_iter().partition(|candidate| candidate.info.software);
        if !gpu.is_empty() {
            return Ok(gpu);
        }
        software.extend(cpu);
    }
    if software_allowed && !software.is_empty() {
        return Ok(software);
    }
    let what = match &options.adapter {
        Some(part) => format!("no adapter with '{part}' in its name"),
        None if software.is_empty() => "no GPU".to_string(),
        None => "no GPU, and a software rasteriser is used only when asked for by name".to_string(),
    };
    let seen = if seen.is_empty() { "nothing".to_string() } else { seen.join("; ") };
    Err(Error::NoDevice(format!("{what} (found {seen})")))
}

/// All adapters of a backend, or why there are none.
pub(super) fn enumerate(backend: BackendName, options: &DeviceOptions) -> Result<Vec<Candidate>, String> {
    if !backend.is_built() {
        return Err("not in this build".to_string());
    }
    // EGL and drivers are known to panic or `expect` in here.
    guarded(|| {
        let instance = wgpu::Instance::new(descriptor(backend));
        let adapters = pollster::block_on(instance.enumerate_adapters(backend.flag()));
        if adapters.is_empty() {
            return Err("no adapter".to_string());
        }
        let candidate = |adapter: wgpu::Adapter| Candidate { info: describe(&adapter, backend, options), adapter };
        Ok(adapters.into_iter().map(candidate).collect())
    })
}

/// Runs `work`, a panic turned into a reason.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // What a panic leaves behind is dropped, never looked at.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

/// The text of a panic.
pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the driver interface panicked: {}", text.unwrap_or("no message"))
}

fn descriptor(backend: BackendName) -> wgpu::InstanceDescriptor {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // No driver validation, also in debug builds: it slows tests down many times. WGPU_VALIDATION and WGPU_DEBUG switch it
    // on.
    descriptor.flags = wgpu::InstanceFlags::empty();
    descriptor = descriptor.with_env();
    descriptor.backends = backend.flag();
    descriptor
}

/// The best first. `Other` is what OpenGL calls a GPU that it cannot place.
fn rank(info: &AdapterInfo) -> u32 {
    match info.device_type {
        "discrete" => 0,
        "integrated" => 1,
        "unknown" => 2,
        "virtual" => 3,
        _ => 4,
    }
}

fn describe(adapter: &wgpu::Adapter, backend: BackendName, options: &DeviceOptions) -> AdapterInfo {
    let info = adapter.get_info();
    let device_type = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "unknown",
    };
    let all_limits = adapter.limits();
    // Mesa's "softpipe" is not among the names that wgpu knows as software.
    let software = device_type == "cpu" || info.name.to_lowercase().contains("softpipe");
    // SwiftShader is left out: it compiles slowly, and was not measured.
    let is_llvmpipe = info.name.to_lowercase().contains("llvmpipe");
    let own_limits = convert(&all_limits, is_llvmpipe);
    let limits = options.limits.map_or(own_limits, |smaller| least(own_limits, smaller));
    let features = adapter.features();
    let faults = if options.believing { Vec::new() } else { faults::of(backend, &info) };
    let downlevel = adapter.get_downlevel_capabilities();
    #[cfg(test)]
    let downlevel = match options.injected {
        Some(super::status::Injected::NoCompute) => {
            wgpu::DownlevelCapabilities { flags: downlevel.flags - wgpu::DownlevelFlags::COMPUTE_SHADERS, ..downlevel }
        }
        _ => downlevel,
    };
    let names = features.iter_names().map(|(name, _)| name.to_string());
    let downlevel_names = downlevel.flags.iter_names().map(|(name, _)| name.to_string());
    AdapterInfo {
        software,
        name: info.name,
        backend,
        device_type,
        limits,
        all_limits: format!("{all_limits:#?}"),
        features: names.chain(downlevel_names).collect(),
        storage_formats: storage_formats(adapter, faults::has(&faults, &faults::ALL_FORMATS_READ_AND_WRITE)),
        // On a discrete GPU the device would read pictures over the bus, again for each access.
        mappable: features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
            && matches!(device_type, "integrated" | "cpu"),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY)
            && !faults::has(&faults, &faults::LATE_TIMESTAMPS),
        unusable: unusable(&own_limits, &downlevel),
        faults,
        driver: info.driver,
        driver_info: info.driver_info,
    }
}

/// Formats that a kernel might store to.
const FORMATS: [wgpu::TextureFormat; 12] = [
    wgpu::TextureFormat::R32Uint,
    wgpu::TextureFormat::R32Sint,
    wgpu::TextureFormat::R32Float,
    wgpu::TextureFormat::Rg32Float,
    wgpu::TextureFormat::Rgba8Unorm,
    wgpu::TextureFormat::Rgba8Snorm,
    wgpu::TextureFormat::Rgba8Uint,
    wgpu::TextureFormat::Bgra8Unorm,
    wgpu::TextureFormat::Rgba16Uint,
    wgpu::TextureFormat::Rgba16Float,
    wgpu::TextureFormat::Rgba32Uint,
    wgpu::TextureFormat::Rgba32Float,
];

fn storage_formats(adapter: &wgpu::Adapter, only_r32_read_and_write: bool) -> Vec<String> {
    let describe = |format: &wgpu::TextureFormat| {
        let flags = adapter.get_texture_format_features(*format);
        if !flags.allowed_usages.contains(wgpu::TextureUsages::STORAGE_BINDING) {
            return None;
        }
        let name = format!("{format:?}").to_lowercase();
        let both = flags.flags.contains(wgpu::TextureFormatFeatureFlags::STORAGE_READ_WRITE)
            && (!only_r32_read_and_write || name.starts_with("r32"));
        Some(if both { format!("{name} (read-write)") } else { name })
    };
    FORMATS.iter().filter_map(describe).collect()
}

/// Devices without compute shaders, or without storage in them, report limits of zero.
fn unusable(limits: &Limits, downlevel: &wgpu::DownlevelCapabilities) -> Option<String> {
    if !downlevel.flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        return Some("it has no compute shaders".to_string());
    }
    let needed = [
        ("storage buffers", u64::from(limits.storage_buffers)),
        ("storage textures", u64::from(limits.storage_textures)),
        ("sampled textures", u64::from(limits.sampled_textures)),
        ("bytes of a storage binding", limits.storage_binding_size),
        ("bytes of a uniform binding", limits.uniform_binding_size),
        ("invocations of a workgroup", u64::from(limits.workgroup_invocations)),
        ("workgroups", u64::from(limits.workgroups)),
        ("texels", u64::from(limits.texture_size)),
    ];
    needed.iter().find(|(_, value)| *value == 0).map(|(what, _)| format!("it allows no {what} in compute shaders"))
}

/// The limits that plans keep within.
fn convert(limits: &wgpu::Limits, is_llvmpipe: bool) -> Limits {
    // One buffer of the total is the uniform block.
    let buffers = limits.max_buffers_and_acceleration_structures_per_shader_stage.saturating_sub(1);
    Limits {
        texture_size: limits.max_texture_dimension_2d,
        texture_layers: limits.max_texture_array_layers,
        storage_buffers: limits.max_storage_buffers_per_shader_stage.min(buffers),
        storage_textures: limits.max_storage_textures_per_shader_stage,
        sampled_textures: limits.max_sampled_textures_per_shader_stage,
        storage_binding_size: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        buffer_size: limits.max_buffer_size,
        uniform_binding_size: limits.max_uniform_buffer_binding_size,
        workgroup_invocations: limits.max_compute_invocations_per_workgroup,
        workgroup_size: [limits.max_compute_workgroup_size_x, limits.max_compute_workgroup_size_y],
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        workgroups: limits.max_compute_workgroups_per_dimension,
        // Registers are cache there, and plenty.
        source_textures: is_llvmpipe,
        pass_shapes: PassShapes::both(PassShape { large_blocks: is_llvmpipe, ..PassShape::DEFAULT }),
    }
}

/// The smaller of each; passes shaped as by the first.
fn least(one: Limits, other: Limits) -> Limits {
    let [x, y] = one.workgroup_size;
    let [other_x, other_y] = other.workgroup_size;
    Limits {
        texture_size: one.texture_size.min(other.texture_size),
        texture_layers: one.texture_layers.min(other.texture_layers),
        storage_buffers: one.storage_buffers.min(other.storage_buffers),
        storage_textures: one.storage_textures.min(other.storage_textures),
        sampled_textures: one.sampled_textures.min(other.sampled_textures),
        storage_binding_size: one.storage_binding_size.min(other.storage_binding_size),
        buffer_size: one.buffer_size.min(other.buffer_size),
        uniform_binding_size: one.uniform_binding_size.min(other.uniform_binding_size),
        workgroup_invocations: one.workgroup_invocations.min(other.workgroup_invocations),
        workgroup_size: [x.min(other_x), y.min(other_y)],
        workgroup_memory: one.workgroup_memory.min(other.workgroup_memory),
        workgroups: one.workgroups.min(other.workgroups),
        source_textures: one.source_textures,
        pass_shapes: one.pass_shapes,
    }
}

impl Candidate {
    /// A device with the adapter's own limits and no feature that is not used.
    pub(super) fn request(&self) -> Result<(wgpu::Device, wgpu::Queue), String> {
        let mut features = wgpu::Features::empty();
        features.set(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, self.info.mappable);
        features.set(wgpu::Features::TIMESTAMP_QUERY, self.info.timestamps);
        let mut limits = self.adapter.limits();
        // DirectX 12 allocates a heap of this many descriptors up front; the default million is 32 MB. A slot of a long
        // program uses some hundreds.
        limits.max_non_sampler_bindings = limits.max_non_sampler_bindings.min(100_000);
        let request = self.adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("cyanotype"),
            required_features: features,
            required_limits: limits,
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            // Pictures are large, few and long-lived: blocks to suballocate from would only hold memory.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            trace: wgpu::Trace::Off,
        });
        pollster::block_on(request).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_parse_as_they_print() {
        for backend in BackendName::ALL {
            assert_eq!(backend.to_string().parse::<BackendName>().unwrap(), backend);
        }
        let slip = "vulcan".parse::<BackendName>().unwrap_err().to_string();
        assert!(slip.contains("did you mean 'vulkan'"), "{slip}");
    }

    #[test]
    fn the_smaller_limit_counts() {
        assert_eq!(least(Limits::UNLIMITED, Limits::DOWNLEVEL), Limits::DOWNLEVEL);
        assert_eq!(convert(&wgpu::Limits::default(), false).storage_binding_size, 128 << 20);
    }

    #[test]
    fn a_panic_becomes_a_reason() {
        let reason = guarded::<()>(|| panic!("no EGL {}", 1.5)).unwrap_err();
        assert!(reason.ends_with("no EGL 1.5"), "{reason}");
    }
}
