//! Linear filters: convolution over one dimension and two, and FIR filters. Short kernels go directly, with their taps
//! against vectors in registers; long ones over one dimension by Fourier transforms of overlapping pieces (overlap-save).

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, ROUNDS, Text, Work, count, parts, read, write};
use crate::error::Result;

const CORRELATE: &str = include_str!("../../wgsl/compute/correlate.wgsl");
const WORKGROUP: u32 = 64;

/// Most products and sums of one dispatch, as for matrices.
const MOST: u64 = 1 << 29;

/// From so many taps on a filter goes by Fourier transforms. A direct product and sum costs some 0.3 ns for each tap on
/// lavapipe, and overlap-save some 60 ns for each output whatever the taps.
const LONG: usize = 512;

/// Which part of a convolution is wanted, by the names that NumPy and SciPy have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Everything that is not zero by definition: n + k - 1 values.
    Full,
    /// As long as the signal, from the middle of the full one.
    Same,
    /// Where the kernel lies within the signal: n - k + 1 values.
    Valid,
}

impl Extent {
    /// Length of the result, and where it begins within the full one.
    fn of(self, signal: usize, kernel: usize) -> (usize, usize) {
        match self {
            Extent::Full => (signal + kernel - 1, 0),
            Extent::Same => (signal, (kernel - 1) / 2),
            Extent::Valid => ((signal + 1).saturating_sub(kernel), kernel - 1),
        }
    }
}

/// Rows and columns.
type Size = [usize; 2];

impl Buffer<f32> {
    /// The convolution with a `kernel`, the signal being zero outside.
    ///
    /// A device takes kernels of 512 taps and more by Fourier transforms of pieces of the signal: errors are then relative to
    /// the largest element of a piece, and what is not finite spreads over all of it.
    /// [`convolve_2d`](Self::convolve_2d) of one row always goes directly.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) for a kernel without taps.
    pub fn convolve(&self, kernel: &[f32], extent: Extent) -> Result<Buffer<f32>> {
        if kernel.len() >= LONG && self.len() > kernel.len() && Engine::of(self.context()).is_some() {
            let (length, first) = extent.of(self.len(), kernel.len());
            return self.overlap_save(kernel, length, first);
        }
        self.convolve_2d([1, self.len()], kernel, [1, kernel.len()], extent)
    }

    /// The convolution of the buffer, as rows of a picture, with a `kernel` of the size given (rows, columns); zero outside.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) where a size is not that of the elements, or the kernel has no taps.
    pub fn convolve_2d(&self, size: Size, kernel: &[f32], kernel_size: Size, extent: Extent) -> Result<Buffer<f32>> {
        let fits = |length: usize, [rows, columns]: Size| rows.checked_mul(columns) == Some(length);
        if !fits(self.len(), size) || !fits(kernel.len(), kernel_size) || kernel.is_empty() {
            let given = format!("{} elements as {} x {}", self.len(), size[0], size[1]);
            let taps = format!("{} taps as {} x {}", kernel.len(), kernel_size[0], kernel_size[1]);
            return Err(bad("convolve", format!("{given}, {taps}")));
        }
        let (rows, top) = extent.of(size[0], kernel_size[0]);
        let (columns, left) = extent.of(size[1], kernel_size[1]);
        if self.is_empty() {
            return self.context().zeros(0);
        }
        count("convolve", rows.saturating_mul(columns))?;
        // A convolution is a correlation with the kernel turned round; output (0, 0) sees the element at (top, left) last.
        let turned: Vec<f32> = kernel.iter().rev().copied().collect();
        let before = [kernel_size[0] - 1 - top, kernel_size[1] - 1 - left];
        match Engine::of(self.context()) {
            None => self.with_host_data(on_cpu(&self.on_host(), size, &turned, kernel_size, [rows, columns], before)),
            Some(engine) => engine.correlate(self, size, &turned, kernel_size, [rows, columns], before),
        }
    }

    /// A causal FIR filter: output `n` is the sum of `taps[k]` times input `n - k`, the input being zero before its
    /// beginning (SciPy's `lfilter(taps, 1, x)`). Many taps are taken as by [`convolve`](Self::convolve).
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) for no taps.
    pub fn fir(&self, taps: &[f32]) -> Result<Buffer<f32>> {
        if taps.is_empty() {
            return Err(bad("fir", "it has no taps"));
        }
        if taps.len() >= LONG && self.len() > taps.len() && Engine::of(self.context()).is_some() {
            return self.overlap_save(taps, self.len(), 0);
        }
        if self.is_empty() {
            return self.context().zeros(0);
        }
        let turned: Vec<f32> = taps.iter().rev().copied().collect();
        let (size, window) = ([1, self.len()], [1, taps.len()]);
        match Engine::of(self.context()) {
            None => self.with_host_data(on_cpu(&self.on_host(), size, &turned, window, size, [0, taps.len() - 1])),
            Some(engine) => engine.correlate(self, size, &turned, window, size, [0, taps.len() - 1]),
        }
    }
}

impl Engine<'_> {
    /// Output (0, 0) is the sum over the window whose first element is `before` rows and columns outside of the input.
    fn correlate(
        &self,
        input: &Buffer<f32>,
        size: Size,
        kernel: &[f32],
        kernel_size: Size,
        output_size: Size,
        before: Size,
    ) -> Result<Buffer<f32>> {
        let [rows, columns] = output_size;
        if rows == 0 || columns == 0 {
            return self.context.zeros(0);
        }
        let vectors = columns.div_ceil(4);
        let tap_vectors = kernel_size[1].div_ceil(4);
        let stride = vectors + tap_vectors + 1;
        let padded_size = [rows + kernel_size[0] - 1, 4 * stride];
        count("convolve", padded_size[0].saturating_mul(padded_size[1]))?;
        let narrow = |[rows, columns]: Size| [rows as u32, columns as u32]; // just counted
        let padded = self.pad(&input.aligned()?, narrow(size), narrow(padded_size), narrow(before))?;
        let mut taps = vec![0.0; kernel_size[0] * tap_vectors * 4];
        for (row, taps) in kernel.chunks(kernel_size[1]).zip(taps.chunks_mut(tap_vectors * 4)) {
            taps[..row.len()].copy_from_slice(row);
        }
        let taps = self.context.buffer(&taps)?;
        let output = self.output(rows * vectors * 4)?;
        let total = (rows * vectors) as u32;
        for [first_row, end_row, first_vector, end_vector] in pieces(kernel_size[0] as u32, tap_vectors as u32) {
            let each = 16 * u64::from(end_row - first_row) * u64::from(end_vector - first_vector);
            let most = u32::try_from((MOST / each).max(1)).unwrap_or(u32::MAX).min(total);
            let mut first = 0;
            while first < total {
                let part = most.min(total - first);
                let uniforms = vec![
                    rows as u32,
                    vectors as u32,
                    stride as u32,
                    kernel_size[1] as u32,
                    tap_vectors as u32,
                    first,
                    part,
                    first_row,
                    end_row,
                    first_vector,
                    end_vector,
                ];
                let text = Text::new().constant("WORKGROUP", WORKGROUP).with(CORRELATE);
                let binds = vec![Bind::Uniform(uniforms), read(&padded), read(&taps), write(&output)];
                let work = Work { bytes: 32 * u64::from(part), cost: (each * u64::from(part)) as f64 };
                self.run("correlate", text, binds, self.fold(u64::from(part.div_ceil(WORKGROUP)))?, work)?;
                first += part;
            }
        }
        match columns % 4 {
            0 => Ok(output),
            _ if rows == 1 => output.view(..columns),
            _ => self.pad(&output, narrow([rows, 4 * vectors]), narrow(output_size), [0, 0]),
        }
    }
}

/// Taps in pieces of at most [`ROUNDS`]: first row and the one after the last, first vector of each and the one after the
/// last.
fn pieces(rows: u32, vectors: u32) -> impl Iterator<Item = [u32; 4]> {
    // A row costs one round besides its vectors.
    let columns = vectors.min(ROUNDS - 1);
    let height = ROUNDS / (columns + 1);
    parts(rows, height).flat_map(move |(first_row, end_row)| {
        parts(vectors, columns).map(move |(first, end)| [first_row, end_row, first, end])
    })
}

fn on_cpu(
    input: &[f32],
    [height, width]: Size,
    kernel: &[f32],
    [tap_rows, taps]: Size,
    [rows, columns]: Size,
    [top, left]: Size,
) -> Vec<f32> {
    let mut output = Vec::with_capacity(rows * columns);
    for y in 0..rows {
        for x in 0..columns {
            let mut sum = 0.0;
            for j in 0..tap_rows {
                for i in 0..taps {
                    let (row, column) = ((y + j).wrapping_sub(top), (x + i).wrapping_sub(left));
                    if row < height && column < width {
                        sum += kernel[j * taps + i] * input[row * width + column];
                    }
                }
            }
            output.push(sum);
        }
    }
    output
}
