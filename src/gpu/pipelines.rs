//! WGSL to compute pipelines, each made once. The bind group layout follows from the recording's resources, so a kernel
//! that declares something else is refused when the pipeline is made. Knows nothing of frames.

use std::collections::HashMap;
use std::sync::Arc;

use super::memory::{Gpu, texture_format};
use super::status::count;
use crate::compute::command::{BindingKind, KernelSource};
use crate::error::Result;
use crate::plan::recording::{Dispatch, Resource, TexelFormat, TextureLayout};

/// Pipelines that no program uses any more are kept up to this many in all, since the next program is likely to need some
/// of them; they cost some ten kilobytes each.
const KEPT: usize = 256;

/// One binding, as far as a layout tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Binding {
    Uniforms,
    Read,
    Write,
    Texture(wgpu::TextureViewDimension),
    Words,
    TextureWrite(TexelFormat, wgpu::TextureViewDimension),
}

/// A compiled kernel.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// All pipelines made so far.
pub(super) struct Pipelines {
    /// Whether wgpu's loop bounding stays on: for debugging kernels.
    checked: bool,
    made: HashMap<(Arc<str>, Vec<Binding>), Arc<Pipeline>>,
}

impl Pipelines {
    pub(super) fn new(checked: bool) -> Pipelines {
        Pipelines { checked, made: HashMap::new() }
    }

    /// The pipeline of a dispatch. `textures` tells the formats of what it writes.
    pub(super) fn get(&mut self, gpu: &Gpu, dispatch: &Dispatch, textures: &[TextureLayout]) -> Result<Arc<Pipeline>> {
        let bindings: Vec<Binding> = dispatch.bindings.iter().map(|&resource| binding(resource, textures)).collect();
        let key = (Arc::clone(&dispatch.wgsl), bindings);
        if let Some(pipeline) = self.made.get(&key) {
            return Ok(Arc::clone(pipeline));
        }
        if self.made.len() >= KEPT {
            self.made.retain(|_, pipeline| Arc::strong_count(pipeline) > 1);
        }
        let pipeline = gpu.scoped(&dispatch.label, || Ok(Arc::new(self.make(gpu, dispatch, &key.1))))?;
        count(&gpu.status.tally.pipelines);
        self.made.insert(key, Arc::clone(&pipeline));
        Ok(pipeline)
    }

    fn make(&self, gpu: &Gpu, dispatch: &Dispatch, bindings: &[Binding]) -> Pipeline {
        let label = Some(dispatch.label.as_str());
        let entries: Vec<_> = (0..).zip(bindings).map(|(index, &binding)| entry(index, binding)).collect();
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = module(gpu, label, &dispatch.wgsl, self.checked || !dispatch.trusted);
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                // Kernels initialise their own: wgpu's way costs seconds on some drivers and miscompiles on others.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        Pipeline { pipeline, layout }
    }
}

/// A kernel of compute work outside of programs.
pub(super) struct ComputeKernel {
    pub(super) label: String,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) pipeline: wgpu::ComputePipeline,
}

/// Compiles one; its bindings are as it says.
pub(super) fn compute_kernel(gpu: &Gpu, source: &KernelSource, checked: bool) -> Result<ComputeKernel> {
    let label = Some(source.label.as_str());
    count(&gpu.status.tally.pipelines);
    gpu.scoped(&source.label, || {
        let entries: Vec<_> = source
            .bindings
            .iter()
            .map(|&(binding, kind)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match kind {
                        BindingKind::Uniform => wgpu::BufferBindingType::Uniform,
                        BindingKind::Read => wgpu::BufferBindingType::Storage { read_only: true },
                        BindingKind::Write => wgpu::BufferBindingType::Storage { read_only: false },
                    },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = module(gpu, label, &source.wgsl, checked || !source.trusted);
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(&source.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: source.zeroed,
            },
            cache: None,
        });
        Ok(ComputeKernel { label: source.label.clone(), layout, pipeline })
    })
}

/// A shader module. Its loops are bounded only if it is `checked`; all other checks are always on.
pub(super) fn module(gpu: &Gpu, label: Option<&str>, wgsl: &str, checked: bool) -> wgpu::ShaderModule {
    let source =
        wgpu::ShaderModuleDescriptor { label, source: wgpu::ShaderSource::Wgsl(std::borrow::Cow::Borrowed(wgsl)) };
    if checked {
        return gpu.device.create_shader_module(source);
    }
    let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };
    // SAFETY: all checks are on except the bounding of loops (which made pipelines a hundred times slower), and every
    // loop of the engine's own modules ends; a user's module comes here checked.
    unsafe { gpu.device.create_shader_module_trusted(source, checks) }
}

fn binding(resource: Resource, textures: &[TextureLayout]) -> Binding {
    // A number out of range is refused before this is asked.
    let dimension = |index: usize| match textures.get(index).is_some_and(|layout| layout.is_layered()) {
        true => wgpu::TextureViewDimension::D2Array,
        false => wgpu::TextureViewDimension::D2,
    };
    match resource {
        Resource::Uniforms => Binding::Uniforms,
        Resource::Table | Resource::Source(_) | Resource::Buffer(_) => Binding::Read,
        Resource::Output(_) | Resource::BufferWrite(_) => Binding::Write,
        Resource::Texture(index) => Binding::Texture(dimension(index)),
        Resource::SourceTexture(_) => Binding::Words,
        Resource::TextureWrite(index) => {
            let format = textures.get(index).map_or(TexelFormat::Rgba16Float, |layout| layout.format);
            Binding::TextureWrite(format, dimension(index))
        }
    }
}

fn entry(index: u32, binding: Binding) -> wgpu::BindGroupLayoutEntry {
    let buffer = |ty, has_dynamic_offset| wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None };
    let ty = match binding {
        Binding::Uniforms => buffer(wgpu::BufferBindingType::Uniform, true),
        Binding::Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }, false),
        Binding::Write => buffer(wgpu::BufferBindingType::Storage { read_only: false }, false),
        Binding::Texture(view_dimension) => wgpu::BindingType::Texture {
            // No sampler ever, so that float textures need no filtering feature.
            sample_type: wgpu::TextureSampleType::Float { filterable: false },
            view_dimension,
            multisampled: false,
        },
        Binding::Words => wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Uint,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        Binding::TextureWrite(format, view_dimension) => wgpu::BindingType::StorageTexture {
            access: wgpu::StorageTextureAccess::WriteOnly,
            format: texture_format(format),
            view_dimension,
        },
    };
    wgpu::BindGroupLayoutEntry { binding: index, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None }
}
