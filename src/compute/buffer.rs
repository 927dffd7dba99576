//! Typed buffers: memory of a device, or of the host where the context is the CPU. A handle; clones and views share the
//! memory. Nothing here waits for a device.

use std::marker::PhantomData;
use std::ops::{Bound as End, RangeBounds};
use std::sync::Arc;

use parking_lot::RwLock;

use super::command::{Content, Step};
use super::queue::{Allocation, Queue};
use super::{Element, Pending};
use crate::context::Context;
use crate::error::{Error, Result};

/// Where a binding may begin: WebGPU's default for storage buffers, and the largest that devices ask for.
pub(super) const ALIGNMENT: u64 = 256;

/// `T`s in the memory of a context's device. Cheap to clone; clones and [views](Buffer::view) share the memory.
///
/// ```
/// # fn main() -> cyanotype::Result<()> {
/// let context = cyanotype::Context::new()?;
/// let numbers = context.buffer(&[1.0f32, 2.0, 3.0])?;
/// let squares = numbers.map::<f32>("x * x")?;
/// assert_eq!(squares.read().wait()?, [1.0, 4.0, 9.0]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T> {
    context: Context,
    store: Store,
    /// First element.
    first: usize,
    length: usize,
    element: PhantomData<T>,
}

/// The memory.
#[derive(Clone)]
pub(super) enum Store {
    /// Words of eight bytes, so that every element lies aligned.
    Host(Arc<RwLock<Vec<u64>>>),
    Device(Queue, Arc<Allocation>),
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { context: self.context.clone(), store: self.store.clone(), element: PhantomData, ..*self }
    }
}

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Buffer({} of {})", self.length, std::any::type_name::<T>())
    }
}

/// A number of bytes. Lengths of slices never overflow; those that callers invent may.
fn bytes_of<T>(length: usize) -> Result<u64> {
    let limit = i64::MAX as u64;
    (length as u64).checked_mul(size_of::<T>() as u64).filter(|&bytes| bytes <= limit).ok_or_else(|| Error::Limit {
        what: "a buffer, in elements,".to_string(),
        found: length as u64,
        limit: limit / size_of::<T>().max(1) as u64,
    })
}

impl Context {
    /// A buffer that holds a copy of `data`.
    ///
    /// # Errors
    /// [`Error::Limit`] if it is larger than the device allows, [`Error::DeviceLost`]. Running out of memory shows when a
    /// result is read.
    pub fn buffer<T: Element>(&self, data: &[T]) -> Result<Buffer<T>> {
        Buffer::make(self, data.len(), Content::Bytes(bytemuck::cast_slice(data).to_vec()))
    }

    /// A buffer of `length` zeros.
    ///
    /// # Errors
    /// As for [`Context::buffer`].
    pub fn zeros<T: Element>(&self, length: usize) -> Result<Buffer<T>> {
        Buffer::make(self, length, Content::Zeros)
    }

    /// Waits, when awaited, for all compute work asked for so far.
    pub fn finish(&self) -> Pending<()> {
        match Queue::of(self) {
            None => Pending::ready(Ok(())),
            Some(queue) => queue.read(None, 0, 0, |_| Ok(())),
        }
    }
}

impl<T: Element> Buffer<T> {
    /// Fails to compile for elements that memory cannot hold: of words of eight bytes on the host.
    const FITS: () = {
        assert!(size_of::<T>() > 0, "an element of a buffer has at least a byte");
        assert!(align_of::<T>() <= align_of::<u64>(), "an element of a buffer is aligned to eight bytes at most");
    };

    pub(super) fn make(context: &Context, length: usize, content: Content) -> Result<Self> {
        let () = Self::FITS;
        let bytes = bytes_of::<T>(length)?;
        let store = match Queue::of(context) {
            Some(queue) => {
                let content = match content {
                    // The device takes whole words.
                    Content::Bytes(mut bytes) => {
                        bytes.resize(bytes.len().next_multiple_of(4), 0);
                        Content::Bytes(bytes)
                    }
                    other => other,
                };
                let allocation = queue.allocate(bytes, content)?;
                Store::Device(queue, allocation)
            }
            None => {
                let words = usize::try_from(bytes.div_ceil(8)).unwrap_or(usize::MAX);
                let mut memory: Vec<u64> = Vec::new();
                memory
                    .try_reserve_exact(words)
                    .map_err(|error| Error::OutOfMemory(format!("a buffer of {bytes} bytes: {error}")))?;
                memory.resize(words, 0);
                if let Content::Bytes(content) = content {
                    bytemuck::cast_slice_mut(&mut memory)[..content.len()].copy_from_slice(&content);
                }
                Store::Host(Arc::new(RwLock::new(memory)))
            }
        };
        Ok(Buffer { context: context.clone(), store, first: 0, length, element: PhantomData })
    }

    /// A buffer that a kernel is about to write in full.
    pub(super) fn unwritten(context: &Context, length: usize) -> Result<Self> {
        Buffer::make(context, length, Content::Any)
    }

    /// A buffer of the same context with what the host has computed.
    pub(super) fn with_host_data<U: Element>(&self, data: Vec<U>) -> Result<Buffer<U>> {
        self.context.buffer(&data)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The context whose memory it is.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Part of the buffer; the memory is shared.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the range reaches beyond the end.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<Buffer<T>> {
        let start = match range.start_bound() {
            End::Included(&start) => start,
            End::Excluded(&start) => start.saturating_add(1),
            End::Unbounded => 0,
        };
        let end = match range.end_bound() {
            End::Included(&end) => end.saturating_add(1),
            End::Excluded(&end) => end,
            End::Unbounded => self.length,
        };
        if start > end || end > self.length {
            return Err(bad("view", format!("{start}..{end} of a buffer of {} elements", self.length)));
        }
        Ok(Buffer { first: self.first + start, length: end - start, ..self.clone() })
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::BadInput`] if they are no whole number of those.
    pub fn cast<U: Element>(&self) -> Result<Buffer<U>> {
        let () = Buffer::<U>::FITS;
        let (start, bytes) = (self.first * size_of::<T>(), self.length * size_of::<T>());
        if start % size_of::<U>() != 0 || bytes % size_of::<U>() != 0 {
            return Err(bad("cast", format!("{bytes} bytes from byte {start} on are no whole {}", U::WGSL)));
        }
        Ok(Buffer {
            context: self.context.clone(),
            store: self.store.clone(),
            first: start / size_of::<U>(),
            length: bytes / size_of::<U>(),
            element: PhantomData,
        })
    }

    /// The elements, once all work asked for so far is done.
    pub fn read(&self) -> Pending<Vec<T>> {
        match &self.store {
            Store::Host(_) => Pending::ready(Ok(self.on_host())),
            Store::Device(..) if self.length == 0 => Pending::ready(Ok(Vec::new())),
            Store::Device(queue, allocation) => {
                let (start, end) = (self.offset(), self.offset() + self.byte_length());
                // Whole words are read, and what was not asked for is dropped.
                let (first, last) = (start / 4 * 4, end.next_multiple_of(4));
                let range = (start - first) as usize..(end - first) as usize;
                queue.read(Some(allocation), first, last - first, move |bytes| {
                    let bytes = bytes.get(range).ok_or_else(|| Error::Device("a read came back short".to_string()))?;
                    Ok(bytemuck::pod_collect_to_vec(bytes))
                })
            }
        }
    }

    /// Replaces the elements.
    ///
    /// # Errors
    /// [`Error::BadInput`] if `data` is not as long as the buffer, or where elements narrower than a word do not fill whole
    /// words; [`Error::DeviceLost`].
    pub fn write(&self, data: &[T]) -> Result<()> {
        if data.len() != self.length {
            return Err(bad("write", format!("{} elements into a buffer of {}", data.len(), self.length)));
        }
        match &self.store {
            Store::Host(memory) => {
                self.slice_mut(&mut memory.write()).copy_from_slice(data);
                Ok(())
            }
            Store::Device(queue, allocation) => {
                let mut bytes: Vec<u8> = bytemuck::cast_slice(data).to_vec();
                let (offset, size) = self.whole_words("write", allocation)?;
                bytes.resize(size as usize, 0);
                queue.write(allocation, offset, bytes)
            }
        }
    }

    /// A copy in memory of its own.
    ///
    /// # Errors
    /// As for [`Context::buffer`].
    pub fn copy(&self) -> Result<Buffer<T>> {
        match &self.store {
            Store::Host(_) => self.with_host_data(self.on_host()),
            Store::Device(queue, allocation) => {
                let copy = Buffer::unwritten(&self.context, self.length)?;
                if !self.offset().is_multiple_of(4) {
                    return Err(bad("copy", format!("it begins at byte {}, within a word", self.offset())));
                }
                if let (Store::Device(_, target), false) = (&copy.store, self.is_empty()) {
                    let size = self.byte_length().next_multiple_of(4);
                    queue.run(vec![Step::Copy {
                        source: allocation.id,
                        source_offset: self.offset(),
                        target: target.id,
                        target_offset: 0,
                        size,
                    }])?;
                }
                Ok(copy)
            }
        }
    }

    /// Fills it with zeros.
    ///
    /// # Errors
    /// [`Error::BadInput`] where it does not cover whole words; [`Error::DeviceLost`].
    pub fn clear(&self) -> Result<()> {
        match &self.store {
            Store::Host(memory) => {
                self.slice_mut(&mut memory.write()).fill(T::zeroed());
                Ok(())
            }
            Store::Device(..) if self.is_empty() => Ok(()),
            Store::Device(queue, allocation) => {
                let (offset, size) = self.whole_words("clear", allocation)?;
                queue.run(vec![Step::Clear { target: allocation.id, offset, size }])
            }
        }
    }

    /// First byte and number of bytes as a device writes them, in whole words. Behind the last element of the memory there is
    /// only padding.
    fn whole_words(&self, operator: &str, allocation: &Allocation) -> Result<(u64, u64)> {
        let (offset, length) = (self.offset(), self.byte_length());
        let size = if offset + length == allocation.used { length.next_multiple_of(4) } else { length };
        match offset % 4 == 0 && size % 4 == 0 {
            true => Ok((offset, size)),
            false => Err(bad(operator, format!("bytes {offset}..{} are no whole words", offset + length))),
        }
    }

    /// Whether it is all of its memory, not a view.
    pub(crate) fn is_whole(&self) -> bool {
        let size = match &self.store {
            Store::Host(memory) => 8 * memory.read().len() as u64,
            Store::Device(_, allocation) => allocation.size,
        };
        self.first == 0 && self.byte_length().next_multiple_of(16) >= size
    }

    /// The number that the device knows its memory by.
    pub(crate) fn device_number(&self) -> Option<u64> {
        self.allocation().map(|allocation| allocation.id)
    }

    pub(super) fn of_allocation(context: &Context, queue: Queue, allocation: Arc<Allocation>, length: usize) -> Self {
        let store = Store::Device(queue, allocation);
        Buffer { context: context.clone(), store, first: 0, length, element: PhantomData }
    }

    /// The memory on the device, if it is there.
    pub(super) fn allocation(&self) -> Option<&Arc<Allocation>> {
        match &self.store {
            Store::Host(_) => None,
            Store::Device(_, allocation) => Some(allocation),
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// First byte.
    pub(super) fn offset(&self) -> u64 {
        (self.first * size_of::<T>()) as u64
    }

    /// Number of bytes.
    pub(super) fn byte_length(&self) -> u64 {
        (self.length * size_of::<T>()) as u64
    }

    /// The same elements where a kernel can bind them: this buffer, or a copy if it begins at an odd place.
    pub(super) fn aligned(&self) -> Result<Buffer<T>> {
        if self.offset().is_multiple_of(ALIGNMENT) { Ok(self.clone()) } else { self.copy() }
    }

    /// The elements of a buffer in host memory. Empty for one on a device.
    pub(super) fn on_host(&self) -> Vec<T> {
        match &self.store {
            Store::Host(memory) => self.slice(&memory.read()).to_vec(),
            Store::Device(..) => Vec::new(),
        }
    }

    pub(super) fn slice<'a>(&self, memory: &'a [u64]) -> &'a [T] {
        // `view` keeps the range within the memory.
        let bytes: &[u8] = bytemuck::cast_slice(memory);
        bytemuck::cast_slice(&bytes[self.offset() as usize..(self.offset() + self.byte_length()) as usize])
    }

    fn slice_mut<'a>(&self, memory: &'a mut [u64]) -> &'a mut [T] {
        // As above.
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory);
        bytemuck::cast_slice_mut(&mut bytes[self.offset() as usize..(self.offset() + self.byte_length()) as usize])
    }

    /// [`Error::BadInput`] if `other` lives elsewhere.
    pub(super) fn beside<U: Element>(&self, what: &str, other: &Buffer<U>) -> Result<()> {
        match self.context.is_same(&other.context) {
            true => Ok(()),
            false => Err(bad(what, "the buffers belong to different contexts".to_string())),
        }
    }
}

/// A mistake in what an operation was given.
pub(super) fn bad(operator: &str, message: impl Into<String>) -> Error {
    Error::BadInput { operator: operator.to_string(), message: message.into() }
}
