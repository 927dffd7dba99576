//! Host memory for finished pictures, used again. A fresh allocation of a large picture costs more than twice the copy into
//! it, because every page faults; so bytes go back to a pool when their last user drops them. Knows nothing of devices.

use std::sync::Arc;

use crate::error::{Error, Result};
use parking_lot::Mutex;

/// Idle memory is kept up to this many buffers: the frames in flight of a program with two outputs.
const IDLE_BUFFERS: usize = 8;

/// Idle memory is kept up to this many bytes: five RGBA pictures of 12 megapixels.
const IDLE_BYTES: usize = 256 << 20;

/// Memory waiting for its next use.
#[derive(Default)]
pub(super) struct BytePool {
    /// The longest idle first.
    idle: Mutex<Vec<Vec<u8>>>,
}

impl BytePool {
    /// A copy of `source` in pooled memory.
    pub(super) fn copy(self: &Arc<Self>, source: &[u8]) -> Result<PooledBytes> {
        let mut bytes = self.take(source.len())?;
        bytes.clear();
        bytes.extend_from_slice(source);
        Ok(PooledBytes { bytes, pool: Arc::clone(self) })
    }

    /// Memory that holds `size` bytes and not over twice as many, so that a thumbnail does not tie up a photograph's.
    fn take(&self, size: usize) -> Result<Vec<u8>> {
        let mut idle = self.idle.lock();
        let fitting = idle.iter().rposition(|bytes| bytes.capacity() >= size && bytes.capacity() / 2 <= size);
        if let Some(index) = fitting {
            return Ok(idle.remove(index));
        }
        let mut fresh = Vec::new();
        let failed = |_| Error::OutOfMemory(format!("{size} bytes for a result of the device"));
        fresh.try_reserve_exact(size).map_err(failed)?;
        Ok(fresh)
    }

    fn give_back(&self, bytes: Vec<u8>) {
        let mut idle = self.idle.lock();
        idle.push(bytes);
        let held = |idle: &Vec<Vec<u8>>| idle.iter().map(Vec::capacity).sum::<usize>();
        while idle.len() > IDLE_BUFFERS || held(&idle) > IDLE_BYTES {
            idle.remove(0);
        }
    }
}

/// The bytes of one output. The memory is used again once they are dropped.
pub struct PooledBytes {
    bytes: Vec<u8>,
    pool: Arc<BytePool>,
}

impl AsRef<[u8]> for PooledBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::ops::Deref for PooledBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for PooledBytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PooledBytes({})", self.bytes.len())
    }
}

impl Drop for PooledBytes {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_capped() {
        let pool = Arc::new(BytePool::default());
        let first = pool.copy(&[1; 1000]).unwrap();
        let address = first.as_ptr();
        drop(first);
        let second = pool.copy(&[2; 900]).unwrap();
        assert_eq!((second.as_ptr(), second.len(), second[899]), (address, 900, 2));
        drop(second);
        assert_ne!(pool.copy(&[3; 10]).unwrap().as_ptr(), address, "too large for ten bytes");

        let many: Vec<_> = (0..2 * IDLE_BUFFERS).map(|_| pool.copy(&[0; 100]).unwrap()).collect();
        drop(many);
        assert_eq!(pool.idle.lock().len(), IDLE_BUFFERS);
        assert!(matches!(pool.take(usize::MAX / 2), Err(Error::OutOfMemory(_))));
    }
}
