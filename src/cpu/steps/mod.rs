//! The steps that read other pixels than their own. Each takes rows of its input as a [`View`](super::picture::View) and
//! fills the rows of a cell; edges have been dealt with before. They know nothing of stages, blocks and threads.
//!
//! Sums are taken in the order in which the step is defined (row by row, left to right), each term rounded, so the result
//! is that of the plain loop to the last bit, whatever the instruction set.

pub(super) mod correlate;
pub(super) mod remap;
pub(super) mod resample;
pub(super) mod warp;
pub(super) mod window;

/// Where a step writes: a slot of four channels of `capacity` pixels, the rows of the cell one after the other.
pub(super) struct Target<'a> {
    pub slot: &'a mut [f32],
    pub capacity: usize,
    pub width: usize,
    pub height: usize,
}

impl Target<'_> {
    /// All pixels of a channel.
    pub fn channel(&mut self, channel: usize) -> &mut [f32] {
        let start = channel * self.capacity;
        &mut self.slot[start..start + self.width * self.height] // a cell fits its slot, which has four channels
    }

    /// One row of a channel.
    pub fn row(&mut self, channel: usize, row: usize) -> &mut [f32] {
        let start = channel * self.capacity + row * self.width;
        &mut self.slot[start..start + self.width] // as above
    }
}

/// The starts of strips of `N` that cover `0..width`; the last one overlaps the one before it where `width` is no multiple.
/// Nothing if `width` is below `N`.
#[inline(always)]
fn strips<const N: usize>(width: usize) -> impl Iterator<Item = usize> {
    let whole = if width < N { 0 } else { width / N };
    let last = (width >= N && !width.is_multiple_of(N)).then(|| width - N);
    (0..whole).map(|strip| strip * N).chain(last)
}

/// `N` floats of a row from `start` on.
#[inline(always)]
fn strip<const N: usize>(row: &[f32], start: usize) -> &[f32; N] {
    row[start..].first_chunk().expect("strips lie within the row") // the caller's `strips` saw to it
}

/// `sums += weight * values`.
#[inline(always)]
fn accumulate<const N: usize>(sums: &mut [f32; N], weight: f32, values: &[f32; N]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += weight * value;
    }
}
