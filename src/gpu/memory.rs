//! Buffers and textures. An [`Inlet`] takes bytes from the host to kernels, an [`Outlet`] back; where host and device share
//! memory both are one buffer that kernels use directly, elsewhere two with a copy between. What frames do not touch from
//! the host is shared: frames of one queue run one after the other, so one set serves all frames of all programs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::bytes::{BytePool, PooledBytes};
use super::frame::Waiting;
use super::probe;
use super::status::{Status, count};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::op::Extent;
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
    /// The driver does not tell when it has no memory for a texture, so large ones are probed.
    pub(super) silent: bool,
    /// Square layers in sixes would be a cube ([`super::faults::LAYERS_ARE_CUBES`]).
    pub(super) cubes: bool,
    /// A device that does not answer for so long counts as lost.
    pub(super) deadline: Duration,
}

impl Gpu {
    /// Waits until the device is idle. Only measuring does this.
    pub(super) fn settle(&self) -> Result<()> {
        let since = Instant::now();
        loop {
            // A GL fence waits for some two seconds at most, and then reports a timeout.
            let timeout = Some(Duration::from_secs(1));
            match self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout }) {
                Ok(_) => return self.status.check(),
                Err(_) if since.elapsed() < self.deadline => self.status.check()?,
                Err(error) => return Err(Error::Device(format!("waiting for the device: {error}"))),
            }
        }
    }

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

    /// A texture of so many bytes per texel that kernels read, counted; probed where the driver would not tell that it has
    /// no memory for it.
    fn texture(
        &self,
        label: &str,
        extent: Extent,
        layers: u32,
        format: wgpu::TextureFormat,
        texel: u32,
        usage: wgpu::TextureUsages,
    ) -> Result<wgpu::Texture> {
        count(&self.status.tally.textures);
        let probed = if self.silent { probe::USAGE } else { wgpu::TextureUsages::empty() };
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(label),
            size: wgpu::Extent3d { width: extent.width, height: extent.height, depth_or_array_layers: layers },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | usage | probed,
            view_formats: &[],
        });
        if self.silent {
            probe::holds(self, &texture, texel)?;
        }
        Ok(texture)
    }
}

/// Resources that programs share: the n-th of a layout in one program is the n-th of that layout in all others. They live
/// as long as a program that uses them.
#[derive(Default)]
pub(super) struct SharedPool {
    textures: HashMap<TextureLayout, Vec<Weak<wgpu::TextureView>>>,
    buffers: HashMap<u64, Vec<Weak<wgpu::Buffer>>>,
    words: HashMap<Extent, Vec<Weak<Words>>>,
}

/// A texture that holds four words of a packed picture in each texel.
pub(super) struct Words {
    texture: wgpu::Texture,
    pub(super) view: wgpu::TextureView,
}

impl SharedPool {
    /// A view of each texture.
    pub(super) fn textures(&mut self, gpu: &Gpu, layouts: &[TextureLayout]) -> Result<Vec<Arc<wgpu::TextureView>>> {
        let usage = wgpu::TextureUsages::STORAGE_BINDING;
        take(&mut self.textures, layouts.iter().copied(), |layout| {
            let (format, texel) = (texture_format(layout.format), layout.format.bytes());
            let layers = layout.count() as u32; // no more than a device has
            let layers = if gpu.cubes && layers.is_multiple_of(6) { layers + 1 } else { layers };
            let texture = gpu.texture("between passes", layout.layer(), layers, format, texel, usage)?;
            Ok(texture.create_view(&wgpu::TextureViewDescriptor::default()))
        })
    }

    /// A texture for the words of each source.
    pub(super) fn words(&mut self, gpu: &Gpu, texels: impl Iterator<Item = Extent>) -> Result<Vec<Arc<Words>>> {
        let usage = wgpu::TextureUsages::COPY_DST;
        take(&mut self.words, texels, |extent| {
            let texture = gpu.texture("source", extent, 1, wgpu::TextureFormat::Rgba32Uint, 16, usage)?;
            Ok(Words { view: texture.create_view(&wgpu::TextureViewDescriptor::default()), texture })
        })
    }

    /// Buffers in the device's own memory.
    pub(super) fn buffers(&mut self, gpu: &Gpu, sizes: impl Iterator<Item = u64>) -> Result<Vec<Arc<wgpu::Buffer>>> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        take(&mut self.buffers, sizes, |size| Ok(gpu.buffer("between passes", size, usage, false)))
    }
}

fn take<K: Copy + Eq + Hash, T>(
    pool: &mut HashMap<K, Vec<Weak<T>>>,
    keys: impl Iterator<Item = K>,
    make: impl Fn(K) -> Result<T>,
) -> Result<Vec<Arc<T>>> {
    pool.retain(|_, members| members.iter().any(|member| member.strong_count() > 0));
    let mut used: HashMap<K, usize> = HashMap::new();
    keys.map(|key| {
        let members = pool.entry(key).or_default();
        let index = used.entry(key).or_default();
        let member = match members.get(*index).and_then(Weak::upgrade) {
            Some(member) => member,
            None => {
                let made = Arc::new(make(key)?);
                let weak = Arc::downgrade(&made);
                match members.get_mut(*index) {
                    Some(place) => *place = weak,
                    None => members.push(weak),
                }
                made
            }
        };
        *index += 1;
        Ok(member)
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

/// Where kernels read what the host wrote.
enum Place {
    /// In the host's own memory.
    Host,
    /// In a copy.
    Buffer(Arc<wgpu::Buffer>),
    /// In a copy of a picture's words.
    Texture(Arc<Words>),
}

/// Bytes from one row to the next where rows are copied to a texture, as WebGPU demands of such copies.
fn texture_stride(layout: PackedLayout) -> u64 {
    layout.stride().next_multiple_of(u64::from(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT))
}

/// Memory that the host writes and kernels read. Mapped whenever its frame is not in flight.
pub(super) struct Inlet {
    host: wgpu::Buffer,
    device: Place,
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
        let host_usage = if gpu.mappable { usage | wgpu::BufferUsages::COPY_DST } else { wgpu::BufferUsages::COPY_SRC };
        let host = gpu.buffer(label, size, wgpu::BufferUsages::MAP_WRITE | host_usage, true);
        let own = || Arc::new(gpu.buffer(label, size, usage | wgpu::BufferUsages::COPY_DST, false));
        let device = if gpu.mappable { Place::Host } else { Place::Buffer(device.unwrap_or_else(own)) };
        Inlet { host, device, written: Vec::new(), mapped: true }
    }

    /// For a picture that kernels read from a texture of words.
    pub(super) fn to_texture(gpu: &Gpu, layout: PackedLayout, words: Arc<Words>) -> Inlet {
        let size = texture_stride(layout) * u64::from(layout.extent.height);
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let host = gpu.buffer("source", size, usage, true);
        Inlet { host, device: Place::Texture(words), written: Vec::new(), mapped: true }
    }

    /// The buffer that kernels read, unless it is a texture.
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        match &self.device {
            Place::Buffer(buffer) => buffer,
            Place::Host | Place::Texture(_) => &self.host,
        }
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
        let stride = match self.device {
            Place::Texture(_) => texture_stride(layout),
            Place::Host | Place::Buffer(_) => layout.stride(),
        };
        let mut view = self.host.slice(..).get_mapped_range_mut().map_err(map_error)?;
        // Checked against the mapped range, so that neither a wrong layout nor a picture whose memory changes its length
        // can panic.
        let mut copy = |start: u64, bytes: &[u8]| {
            if start + bytes.len() as u64 <= size {
                view.slice(start as usize..start as usize + bytes.len()).copy_from_slice(bytes);
            }
        };
        if image.stride() as u64 == stride {
            copy(0, image.bytes());
        } else {
            image.view().rows().zip(0_u64..).for_each(|(row, y)| copy(y * stride, row));
        }
        drop(view);
        self.written.push(0..size);
        Ok(())
    }

    /// Hands the memory to the device.
    pub(super) fn release(&mut self, encoder: &mut wgpu::CommandEncoder) {
        match &self.device {
            // Nothing new: the device has its copy, and the host memory can stay mapped.
            Place::Buffer(_) | Place::Texture(_) if self.written.is_empty() => return,
            Place::Buffer(device) => {
                self.host.unmap();
                for range in self.written.drain(..) {
                    let length = (range.end - range.start).next_multiple_of(4);
                    encoder.copy_buffer_to_buffer(&self.host, range.start, device, range.start, length);
                }
            }
            Place::Texture(words) => {
                self.host.unmap();
                let size = words.texture.size();
                let stride = (self.host.size() / u64::from(size.height)) as u32; // a row is far below 2^32 bytes
                let layout =
                    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(stride), rows_per_image: None };
                encoder.copy_buffer_to_texture(
                    wgpu::TexelCopyBufferInfo { buffer: &self.host, layout },
                    words.texture.as_image_copy(),
                    size,
                );
            }
            Place::Host => self.host.unmap(),
        }
        self.written.clear();
        self.mapped = false;
    }

    /// Takes a picture's words from a buffer of the device, after [`Inlet::release`].
    pub(super) fn copy_from(&self, encoder: &mut wgpu::CommandEncoder, source: &wgpu::Buffer, layout: PackedLayout) {
        let stride = layout.stride();
        match &self.device {
            Place::Host => encoder.copy_buffer_to_buffer(source, 0, &self.host, 0, layout.size()),
            Place::Buffer(device) => encoder.copy_buffer_to_buffer(source, 0, device, 0, layout.size()),
            // Row by row: rows of several at once would have to begin at multiples of 256 bytes.
            Place::Texture(words) => {
                for y in 0..layout.extent.height {
                    let start = u64::from(y) * stride;
                    let row = wgpu::TexelCopyBufferLayout { offset: start, bytes_per_row: None, rows_per_image: None };
                    encoder.copy_buffer_to_texture(
                        wgpu::TexelCopyBufferInfo { buffer: source, layout: row },
                        wgpu::TexelCopyTextureInfo {
                            origin: wgpu::Origin3d { x: 0, y, z: 0 },
                            ..words.texture.as_image_copy()
                        },
                        wgpu::Extent3d { height: 1, ..words.texture.size() },
                    );
                }
            }
        }
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

    /// Memory that is gone cannot be mapped.
    #[cfg(test)]
    pub(super) fn destroy(&self) {
        self.host.destroy();
    }

    /// Asks for the bytes once the submitted work is done.
    pub(super) fn map(&self, waiting: &Arc<Waiting>) {
        waiting.map(&self.host, wgpu::MapMode::Read);
    }

    /// The mapped bytes, copied if somebody `wants` them; the device has its memory back afterwards.
    pub(super) fn read(&self, pool: &Arc<BytePool>, wanted: bool) -> Result<Option<PooledBytes>> {
        let bytes = match wanted {
            true => {
                self.host.slice(..).get_mapped_range().map_err(map_error).and_then(|view| pool.copy(&view).map(Some))
            }
            false => Ok(None),
        };
        self.host.unmap();
        bytes
    }
}

fn map_error(error: wgpu::MapRangeError) -> Error {
    Error::Device(format!("mapped memory: {error}"))
}
