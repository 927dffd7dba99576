//! Reads of compute buffers: a copy into a staging buffer, mapped when the work before it is done, and delivered. Staging
//! buffers are used again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use futures_intrusive::channel::shared::OneshotSender;

use super::bytes::{BytePool, PooledBytes};
use super::compute::Compute;
use super::frame::Waiting;
use super::memory::Gpu;
use crate::compute::command::Id;
use crate::error::{Error, Result};

/// Staging buffers kept for the next reads.
const STAGING: usize = 8;

/// A read in flight.
pub(super) struct Reading {
    pub(super) staging: Option<wgpu::Buffer>,
    pub(super) size: u64,
    pub(super) waiting: Arc<Waiting>,
    pub(super) reply: OneshotSender<Result<PooledBytes>>,
    pub(super) wanted: Weak<()>,
}

impl Compute {
    pub(super) fn begin_read(
        &mut self,
        gpu: &Gpu,
        id: Id,
        offset: u64,
        size: u64,
    ) -> Result<(Option<wgpu::Buffer>, Arc<Waiting>)> {
        gpu.status.check()?;
        let waiting = Arc::new(Waiting::default());
        if size == 0 {
            self.flush(gpu);
            waiting.work_done(&gpu.queue);
            return Ok((None, waiting));
        }
        let source = self.sound(id)?;
        let fitting = self.staging.iter().position(|staging| (size..=2 * size).contains(&staging.size()));
        let staging = match fitting {
            Some(index) => self.staging.remove(index),
            None => {
                let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
                let make = || Ok(gpu.buffer("to read", size, usage, false));
                gpu.scoped(&format!("{size} bytes to read back into"), make)?
            }
        };
        self.pending(gpu).encoder.copy_buffer_to_buffer(&source, offset, &staging, 0, size);
        self.flush(gpu);
        // A submit that failed has marked what it should have written.
        self.sound(id)?;
        waiting.map_part(&staging, size);
        Ok((Some(staging), waiting))
    }

    /// Delivers what has been read. True if there was something.
    pub(super) fn deliver(&mut self, gpu: &Gpu, pool: &Arc<BytePool>) -> bool {
        let (over, readings): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.readings).into_iter().partition(|reading| reading.waiting.is_over());
        self.readings = readings;
        let delivered = !over.is_empty();
        for Reading { staging, size, waiting, reply, wanted } in over {
            let bytes = match &staging {
                _ if waiting.failed.load(Ordering::Acquire) => {
                    Err(Error::Device("the device did not give its memory back for reading".to_string()))
                }
                None => pool.copy(&[]),
                Some(_) if wanted.strong_count() == 0 => pool.copy(&[]),
                Some(staging) => match staging.slice(..size).get_mapped_range() {
                    Ok(view) => pool.copy(&view),
                    Err(error) => Err(Error::Device(format!("mapped memory: {error}"))),
                },
            };
            if let Some(staging) = staging {
                staging.unmap();
                if bytes.is_ok() && self.staging.len() < STAGING {
                    self.staging.push(staging);
                }
            }
            let bytes = bytes.and_then(|bytes| {
                gpu.status.check()?;
                gpu.status.take_fault()?;
                Ok(bytes)
            });
            // Nobody may be listening any more.
            let _ = reply.send(bytes.map_err(|error| gpu.status.explain(error)));
        }
        delivered
    }
}
