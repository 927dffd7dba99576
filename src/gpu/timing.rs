//! Where the time of a frame goes: wall time of upload and readback, timestamps per pass where the device has them.

use std::sync::Arc;

use super::frame::Waiting;
use super::memory::Gpu;
use super::status::count;

/// WebGPU allows 4096 queries in a set: two per pass.
const PASSES: usize = 2048;

/// Timestamps of one frame: two per pass.
pub(super) struct Stamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    host: wgpu::Buffer,
    queries: u32,
}

impl Stamps {
    /// `None` where the device has no timestamps.
    pub(super) fn new(gpu: &Gpu, passes: usize) -> Option<Stamps> {
        // At most PASSES * 2 queries, which fits.
        let queries = (passes.min(PASSES) * 2) as u32;
        if !gpu.timestamps || queries == 0 {
            return None;
        }
        let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: queries,
        });
        let buffer = |label, usage| {
            count(&gpu.status.tally.buffers);
            let size = u64::from(queries) * u64::from(wgpu::QUERY_SIZE);
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer("timestamps", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let host = buffer("timestamps to read", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        Some(Stamps { set, resolved, host, queries })
    }

    /// What a compute pass writes if it begins or ends dispatch number `index` (a split dispatch may span passes).
    pub(super) fn writes(
        &self,
        index: usize,
        begins: bool,
        ends: bool,
    ) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let first = u32::try_from(index).ok()?.checked_mul(2)?;
        (first + 1 < self.queries && (begins || ends)).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: begins.then_some(first),
            end_of_pass_write_index: ends.then_some(first + 1),
        })
    }

    /// Records the copies to memory that can be mapped.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..self.queries, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.host, 0, self.host.size());
    }

    /// Asks for the results.
    pub(super) fn map(&self, waiting: &Arc<Waiting>) {
        waiting.map(&self.host, wgpu::MapMode::Read);
    }

    /// Milliseconds of each pass, with the buffer unmapped again. Zeros and times that run backwards are missing values:
    /// drivers have given both.
    pub(super) fn read(&self, period: f32) -> Vec<Option<f64>> {
        let ticks = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
        let times = self.host.slice(..).get_mapped_range().map(|view| {
            let stamps: Vec<u64> = view.as_chunks::<8>().0.iter().map(ticks).collect();
            let pairs = stamps.as_chunks::<2>().0.iter();
            pairs
                .map(|&[begin, end]| {
                    (begin != 0 && end > begin).then(|| (end - begin) as f64 * f64::from(period) / 1e6)
                })
                .collect()
        });
        self.host.unmap();
        times.unwrap_or_default()
    }
}
