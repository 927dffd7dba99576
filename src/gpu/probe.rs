//! Whether a texture has memory behind it. OpenGL answers a request that it cannot meet with a note that wgpu does not
//! read, and then draws into nothing: the picture comes back black, without an error. So a large texture is asked: its
//! last texel is written and must read the same. Knows nothing of what textures are for.

use super::memory::Gpu;
use crate::error::{Error, Result};
use std::time::{Duration, Instant};

/// Smaller textures are not asked: where they do not fit, the buffers of pictures of that size, which are mapped, fail
/// with an error of their own.
const LARGE: u64 = 32 << 20;

/// Numbers that are finite in every format.
const PATTERN: [u8; 16] =
    [0x12, 0x34, 0x56, 0x38, 0x78, 0x36, 0x9a, 0x37, 0x21, 0x35, 0x43, 0x39, 0x87, 0x34, 0xa9, 0x36];

/// One row of a copy: the least that wgpu takes.
const ROW: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

/// A driver that does not answer for so long will not.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a texture must allow so that it can be asked.
pub(super) const USAGE: wgpu::TextureUsages = wgpu::TextureUsages::COPY_SRC.union(wgpu::TextureUsages::COPY_DST);

/// Asks a texture of so many bytes per texel.
///
/// # Errors
/// [`Error::OutOfMemory`] if it does not remember what is written to it.
pub(super) fn holds(gpu: &Gpu, texture: &wgpu::Texture, texel: u32) -> Result<()> {
    let size = texture.size();
    let bytes =
        u64::from(size.width) * u64::from(size.height) * u64::from(size.depth_or_array_layers) * u64::from(texel);
    if bytes < LARGE || remembers(gpu, texture, texel)? {
        return Ok(());
    }
    // Some drivers cannot read this format back at all; then a small texture, which has memory, does not answer either.
    let small = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("probe"),
        size: wgpu::Extent3d { width: 4, height: 4, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: texture.format(),
        usage: texture.usage(),
        view_formats: &[],
    });
    match remembers(gpu, &small, texel)? {
        true => Err(Error::OutOfMemory(format!("the device has no {bytes} bytes for a texture"))),
        false => Ok(()),
    }
}

/// Whether the last texel keeps what is written to it.
fn remembers(gpu: &Gpu, texture: &wgpu::Texture, texel: u32) -> Result<bool> {
    let pattern = PATTERN.get(..texel as usize).unwrap_or(&PATTERN);
    let one = wgpu::Extent3d { width: 1, height: 1, depth_or_array_layers: 1 };
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(ROW), rows_per_image: None };
    let (width, height, layers) = (texture.width(), texture.height(), texture.depth_or_array_layers());
    let origin = wgpu::Origin3d { x: width - 1, y: height - 1, z: layers - 1 }; // no texture is empty
    let last = wgpu::TexelCopyTextureInfo { texture, mip_level: 0, origin, aspect: wgpu::TextureAspect::All };
    let answer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("probe"),
        size: u64::from(ROW),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    gpu.queue.write_texture(last, pattern, layout, one);
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("probe") });
    encoder.copy_texture_to_buffer(last, wgpu::TexelCopyBufferInfo { buffer: &answer, layout }, one);
    gpu.queue.submit([encoder.finish()]);
    let (sender, receiver) = std::sync::mpsc::channel();
    // Nobody listens any more where the wait below was given up.
    answer.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        gpu.device.poll(wgpu::PollType::Poll).map_err(|error| Error::Device(format!("probe of a texture: {error}")))?;
        if let Ok(result) = receiver.try_recv() {
            let read =
                |_| answer.slice(..u64::from(texel)).get_mapped_range().is_ok_and(|view| view.iter().eq(pattern));
            return Ok(result.is_ok_and(read));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Error::Device(format!("probe of a texture: no answer within {PATIENCE:?}")))
}
