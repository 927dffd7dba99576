//! Memory that is used again. Fresh pages are dear (writing 48 MB into them takes 24 ms, into used ones 7), so planes and
//! output pixels return here when they are dropped, and the next run takes them from here.
//!
//! The content of a buffer is whatever its last user left: whoever takes one writes every element before reading it.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::ops::{Deref, DerefMut};

/// Most bytes that lie idle. Four planes of 32 megapixels: what a blur of a large photograph needs at once.
const IDLE_LIMIT: usize = 512 << 20;
/// Below this many bytes the allocator's own free lists do as well, and do not crowd out large buffers here.
const SMALL: usize = 64 << 10;

static IDLE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

/// Floats of unspecified content, which go back to the pool.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<f32>,
    length: usize,
}

impl Buffer {
    /// `length` floats.
    pub fn new(length: usize) -> Result<Buffer> {
        if let Some(memory) = take(length) {
            return Ok(Buffer { memory, length });
        }
        // Asking first turns a hopeless request into an error; `vec!` would abort. `vec!` itself is wanted because it gets
        // zeros from the operating system, page by page as the workers first touch them, instead of writing them here.
        let mut probe: Vec<f32> = Vec::new();
        if probe.try_reserve_exact(length).is_err() {
            return Err(Error::OutOfMemory(format!("{} bytes for a picture", length.saturating_mul(size_of::<f32>()))));
        }
        drop(probe);
        Ok(Buffer { memory: vec![0.0; length], length })
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[..self.length] // memory is never shorter: see `new` and `take`
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[..self.length] // as above
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.memory));
    }
}

/// Packed pixels in pooled memory, which an [`Image`](crate::image::Image) lends out and returns when it is dropped.
/// Backed by floats, so samples of any type lie aligned.
#[derive(Debug)]
pub(super) struct Bytes {
    buffer: Buffer,
    length: usize,
}

impl Bytes {
    /// `length` bytes.
    pub fn new(length: usize) -> Result<Bytes> {
        Ok(Bytes { buffer: Buffer::new(length.div_ceil(size_of::<f32>()))?, length })
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.buffer)[..self.length] // rounded up when made
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.buffer)[..self.length] // rounded up when made
    }
}

/// Gives idle memory back to the operating system. Later runs allocate anew.
pub fn release_memory() {
    IDLE.lock().clear();
}

/// The smallest idle memory that is long enough, unless it is more than twice as long as needed.
fn take(length: usize) -> Option<Vec<f32>> {
    let mut idle = IDLE.lock();
    let (index, _) = idle
        .iter()
        .enumerate()
        .filter(|(_, memory)| (length..=length.saturating_mul(2)).contains(&memory.len()))
        .min_by_key(|(_, memory)| memory.len())?;
    Some(idle.swap_remove(index))
}

fn give(memory: Vec<f32>) {
    let bytes = |memory: &Vec<f32>| memory.len() * size_of::<f32>();
    if bytes(&memory) < SMALL || bytes(&memory) > IDLE_LIMIT {
        return;
    }
    let mut dropped = Vec::new();
    let mut idle = IDLE.lock();
    idle.push(memory);
    let mut total: usize = idle.iter().map(bytes).sum();
    while total > IDLE_LIMIT {
        // The first has, by and large, waited longest.
        let oldest = idle.remove(0);
        total -= bytes(&oldest);
        dropped.push(oldest);
    }
    drop(idle); // so that nobody waits while the operating system takes the pages back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_serves_again() {
        // A size that no other test asks for.
        let length = 1_234_567;
        let mut buffer = Buffer::new(length).unwrap();
        buffer[length - 1] = 7.0;
        let address = buffer.as_ptr();
        drop(buffer);
        let again = Buffer::new(length - 5).unwrap();
        assert_eq!(again.as_ptr(), address);
        assert_eq!(again.len(), length - 5);
    }

    #[test]
    fn a_hopeless_request_is_an_error() {
        assert!(matches!(Buffer::new(usize::MAX / 8), Err(Error::OutOfMemory(_))));
    }

    #[test]
    fn bytes_round_up_to_floats() {
        let mut bytes = Bytes::new(5).unwrap();
        bytes.bytes_mut().copy_from_slice(&[1, 2, 3, 4, 5]);
        assert_eq!(bytes.as_ref(), [1, 2, 3, 4, 5]);
    }
}
