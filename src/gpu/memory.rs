//! Buffers and textures. An [`Inlet`] takes bytes from the host to kernels, an [`Outlet`] back; where host and device share
//! memory both are one buffer that kernels use directly, elsewhere two with a copy between. What frames do not touch from
//! the host is shared: frames of one queue run one after the other, so one set serves all frames of all programs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use super::bytes::{BytePool, PooledBytes};
use super::frame::Waiting;
use super::status::{Status, count};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::plan::recording::{PackedLayout, TexelFormat, TextureLayout};

/// The open device, for the worker's use alone.
pub(super) struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) status: Arc<Status>,
    /// Kernels use mapped buffers directly.
    pub(super) mappable: bool,
    /// Passes can be timed.
    pub(super) timestamps: bool,
}

impl Gpu {
    /// Runs `work` with its errors caught and returned; `what` is for the message.
    pub(super) fn scoped<T>(&self, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let filters = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let result = work();
        // Scopes are a stack, and the last popped is the first in the list: out of memory explains the others.
        let mut errors: Vec<wgpu::Error> =
            scopes.into_iter().rev().filter_map(|scope| pollster::block_on(scope.pop())).collect();
        errors.sort_by_key(|error| !matches!(error, wgpu::Error::OutOfMemory { .. }));
        let error = match errors.into_iter().next() {
            None => return result,
            Some(wgpu::Error::OutOfMemory { source }) => Error::OutOfMemory(format!("{what}: {source}")),
            Some(error) => Error::Device(format!("{what}: {error}")),
        };
        Err(error)
    }

    /// A buffer, counted.
    pub(super) fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages, mapped: bool) -> wgpu::Buffer {
        count(&self.status.tally.buffers);
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: mapped,
        })
    }
}

/// Resources that programs share: the n-th of a layout in one program is the n-th of that layout in all others. They live
/// as long as a program that uses them.
#[derive(Default)]
pub(super) struct SharedPool {
    textures: HashMap<TextureLayout, Vec<Weak<wgpu::TextureView>>>,
    buffers: HashMap<u64, Vec<Weak<wgpu::Buffer>>>,
}

impl SharedPool {
    /// A view of each texture.
    pub(super) fn textures(&mut self, gpu: &Gpu, layouts: &[TextureLayout]) -> Vec<Arc<wgpu::TextureView>> {
        take(&mut self.textures, layouts.iter().copied(), |layout| {
            count(&gpu.status.tally.textures);
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("between passes"),
                size: wgpu::Extent3d {
                    width: layout.extent.width,
                    height: layout.extent.height,
                    depth_or_array_layers: 1,
                },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: texture_format(layout.format),
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::STORAGE_BINDING,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        })
    }

    /// Buffers in the device's own memory.
    pub(super) fn buffers(&mut self, gpu: &Gpu, sizes: impl Iterator<Item = u64>) -> Vec<Arc<wgpu::Buffer>> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        take(&mut self.buffers, sizes, |size| gpu.buffer("between passes", size, usage, false))
    }
}

fn take<K: Copy + Eq + Hash, T>(
    pool: &mut HashMap<K, Vec<Weak<T>>>,
    keys: impl Iterator<Item = K>,
    make: impl Fn(K) -> T,
) -> Vec<Arc<T>> {
    pool.retain(|_, members| members.iter().any(|member| member.strong_count() > 0));
    let mut used: HashMap<K, usize> = HashMap::new();
    keys.map(|key| {
        let members = pool.entry(key).or_default();
        let index = used.entry(key).or_default();
        let member = members.get(*index).and_then(Weak::upgrade).unwrap_or_else(|| {
            let made = Arc::new(make(key));
            let weak = Arc::downgrade(&made);
            match members.get_mut(*index) {
                Some(place) => *place = weak,
                None => members.push(weak),
            }
            made
        });
        *index += 1;
        member
    })
    .collect()
}

/// wgpu's name of a format.
pub(super) fn texture_format(format: TexelFormat) -> wgpu::TextureFormat {
    match format {
        TexelFormat::Rgba8Unorm => wgpu::TextureFormat::Rgba8Unorm,
        TexelFormat::Rgba16Float => wgpu::TextureFormat::Rgba16Float,
        TexelFormat::Rgba32Float => wgpu::TextureFormat::Rgba32Float,
        TexelFormat::R32Float => wgpu::TextureFormat::R32Float,
    }
}

/// Memory that the host writes and kernels read. Mapped whenever its frame is not in flight.
pub(super) struct Inlet {
    host: wgpu::Buffer,
    device: Option<Arc<wgpu::Buffer>>,
    /// Ranges written since the last frame.
    written: Vec<std::ops::Range<u64>>,
    mapped: bool,
}

impl Inlet {
    /// `size` is in whole words, `usage` what kernels do with it. `device` is the buffer to copy to where the host's own cannot be used directly;
    /// `None` makes one.
    pub(super) fn new(
        gpu: &Gpu,
        label: &str,
        size: u64,
        usage: wgpu::BufferUsages,
        device: Option<Arc<wgpu::Buffer>>,
    ) -> Inlet {
        let host_usage = if gpu.mappable { usage } else { wgpu::BufferUsages::COPY_SRC };
        let host = gpu.buffer(label, size, wgpu::BufferUsages::MAP_WRITE | host_usage, true);
        let own = || Arc::new(gpu.buffer(label, size, usage | wgpu::BufferUsages::COPY_DST, false));
        let device = (!gpu.mappable).then(|| device.unwrap_or_else(own));
        Inlet { host, device, written: Vec::new(), mapped: true }
    }

    /// The buffer that kernels read.
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        self.device.as_deref().unwrap_or(&self.host)
    }

    /// Copies `bytes` to `offset`; both whole words.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let range = offset..offset + bytes.len() as u64;
        self.host.slice(range.clone()).get_mapped_range_mut().map_err(map_error)?.copy_from_slice(bytes);
        self.written.push(range);
        Ok(())
    }

    /// Copies a picture, its rows spread to the device's stride. What lies between rows stays as it was.
    pub(super) fn write_image(&mut self, image: &Image, layout: PackedLayout) -> Result<()> {
        let size = self.host.size();
        let mut view = self.host.slice(..).get_mapped_range_mut().map_err(map_error)?;
        // Checked against the mapped range, so that neither a wrong layout nor a picture whose memory changes its length
        // can panic.
        let mut copy = |start: u64, bytes: &[u8]| {
            if start + bytes.len() as u64 <= size {
                view.slice(start as usize..start as usize + bytes.len()).copy_from_slice(bytes);
            }
        };
        if image.stride() as u64 == layout.stride() {
            copy(0, image.bytes());
        } else {
            image.view().rows().zip(0_u64..).for_each(|(row, y)| copy(y * layout.stride(), row));
        }
        drop(view);
        self.written.push(0..size);
        Ok(())
    }

    /// Hands the memory to the device.
    pub(super) fn release(&mut self, encoder: &mut wgpu::CommandEncoder) {
        match &self.device {
            // Nothing new: the device has its copy, and the host memory can stay mapped.
            Some(_) if self.written.is_empty() => return,
            Some(device) => {
                self.host.unmap();
                for range in self.written.drain(..) {
                    let length = (range.end - range.start).next_multiple_of(4);
                    encoder.copy_buffer_to_buffer(&self.host, range.start, device, range.start, length);
                }
            }
            None => self.host.unmap(),
        }
        self.written.clear();
        self.mapped = false;
    }

    /// Asks for the memory back once the submitted work is done.
    pub(super) fn map(&mut self, waiting: &Arc<Waiting>) {
        if !self.mapped {
            waiting.map(&self.host, wgpu::MapMode::Write);
            self.mapped = true;
        }
    }
}

/// Memory that kernels write and the host reads.
pub(super) struct Outlet {
    host: wgpu::Buffer,
    device: Option<Arc<wgpu::Buffer>>,
}

impl Outlet {
    /// `device` is the buffer that kernels write; `None` where they write the host's own.
    pub(super) fn new(gpu: &Gpu, size: u64, device: Option<Arc<wgpu::Buffer>>) -> Outlet {
        let usage = if device.is_none() {
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC
        } else {
            wgpu::BufferUsages::COPY_DST
        };
        let host = gpu.buffer("output", size, wgpu::BufferUsages::MAP_READ | usage, false);
        Outlet { host, device }
    }

    /// The buffer that kernels write.
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        self.device.as_deref().unwrap_or(&self.host)
    }

    /// Records the copy to the host's memory, if one is needed.
    pub(super) fn fetch(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(device) = &self.device {
            encoder.copy_buffer_to_buffer(device, 0, &self.host, 0, self.host.size());
        }
    }

    /// Asks for the bytes once the submitted work is done.
    pub(super) fn map(&self, waiting: &Arc<Waiting>) {
        waiting.map(&self.host, wgpu::MapMode::Read);
    }

    /// The mapped bytes, copied if somebody `wants` them; the device has its memory back afterwards.
    pub(super) fn read(&self, pool: &Arc<BytePool>, wanted: bool) -> Result<Option<PooledBytes>> {
        let bytes = match wanted {
            true => self.host.slice(..).get_mapped_range().map_err(map_error).map(|view| Some(pool.copy(&view))),
            false => Ok(None),
        };
        self.host.unmap();
        bytes
    }
}

fn map_error(error: wgpu::MapRangeError) -> Error {
    Error::Device(format!("mapped memory: {error}"))
}
