//! Fourier transforms of any length, over one dimension and two, of complex and real signals; and long filters by way of
//! them. Stockham's passes with mixed radix; Bluestein's convolution for lengths with a large prime factor.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Text, Work, count, read, write};
use super::dft::{self, Complex};
use super::queue::Allocation;
use crate::error::Result;

const FOURIER: &str = include_str!("../../wgsl/compute/fourier.wgsl");
const WEIGH: &str = include_str!("../../wgsl/compute/weigh.wgsl");
const MIRROR: &str = include_str!("../../wgsl/compute/mirror.wgsl");
const WORKGROUP: u32 = 64;

/// Prime factors above this go through a convolution: a butterfly of r values costs r^2 products, a convolution some
/// sixteen passes.
const LARGEST: usize = 13;

/// Tables of roots, by what they are for: kept because making one takes the host longer than the transform the device.
pub(super) type Tables = Mutex<HashMap<(Table, usize), Arc<Allocation>>>;

/// Most tables kept: more lengths than a program is likely to use in turn.
const KEPT: usize = 32;

/// What a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Table {
    /// The roots of unity.
    Roots,
    /// Bluestein's chirp.
    Chirp,
    /// The spectrum of its conjugate.
    ChirpSpectrum,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Inverse,
}

impl Direction {
    fn sign(self) -> f32 {
        if self == Direction::Forward { 1.0 } else { -1.0 }
    }
}

type Complexes = Buffer<[f32; 2]>;

fn narrow(values: &[Complex]) -> Vec<[f32; 2]> {
    values.iter().map(|&[re, im]| [re as f32, im as f32]).collect()
}

fn widen(values: &[[f32; 2]]) -> Vec<Complex> {
    values.iter().map(|&[re, im]| [f64::from(re), f64::from(im)]).collect()
}

impl Buffer<[f32; 2]> {
    /// The Fourier transform of complex values (real part, imaginary part), without a scale, as NumPy's `fft`. Any length;
    /// the fastest are products of small primes.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn fft(&self) -> Result<Complexes> {
        self.rows_transformed(self.len(), Direction::Forward)
    }

    /// The inverse transform, divided by the length.
    ///
    /// # Errors
    /// As for [`fft`](Buffer::fft).
    pub fn inverse_fft(&self) -> Result<Complexes> {
        self.rows_transformed(self.len(), Direction::Inverse)
    }

    /// The transform of each row of `columns` values.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if the buffer is no whole number of rows.
    pub fn fft_rows(&self, columns: usize) -> Result<Complexes> {
        self.rows_transformed(columns, Direction::Forward)
    }

    /// The transform over two dimensions of `rows` rows of `columns` values.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if that is not the buffer's length.
    pub fn fft_2d(&self, rows: usize, columns: usize) -> Result<Complexes> {
        self.both(rows, columns, Direction::Forward)
    }

    /// The inverse over two dimensions, divided by the number of values.
    ///
    /// # Errors
    /// As for [`fft_2d`](Buffer::fft_2d).
    pub fn inverse_fft_2d(&self, rows: usize, columns: usize) -> Result<Complexes> {
        self.both(rows, columns, Direction::Inverse)
    }

    /// The real signal of `length` values that has this spectrum; the first `length / 2 + 1` values count, and what cannot
    /// be imaginary is taken as real. The inverse of [`fft`](Buffer::<f32>::fft) of a real signal.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if the spectrum is too short.
    pub fn inverse_fft_real(&self, length: usize) -> Result<Buffer<f32>> {
        if length == 0 {
            return self.context().zeros(0);
        }
        if self.len() < length / 2 + 1 {
            return Err(bad("fft", format!("{} values of a spectrum for {length} values", self.len())));
        }
        let size = count("fft", length)?;
        let Some(engine) = Engine::of(self.context()) else {
            let half = widen(&self.on_host());
            let whole: Vec<Complex> = (0..length)
                .map(|i| match i {
                    i if i == 0 || 2 * i == length => [half[i][0], 0.0],
                    i if 2 * i < length => half[i],
                    i => [half[length - i][0], -half[length - i][1]],
                })
                .collect();
            return self.with_host_data(dft::inverse(&whole).iter().map(|value| value[0] as f32).collect());
        };
        let whole: Complexes = engine.output(length)?;
        let text = Text::new().constant("WORKGROUP", WORKGROUP).with(MIRROR);
        let binds = vec![Bind::Uniform(vec![size]), read(&self.aligned()?), write(&whole)];
        let groups = engine.fold(u64::from(size.div_ceil(WORKGROUP)))?;
        engine.run("mirror spectrum", text, binds, groups, Work::moving(u64::from(size) * 12))?;
        engine.part(&whole.inverse_fft()?.cast()?, 0)?.cast()
    }

    fn both(&self, rows: usize, columns: usize, direction: Direction) -> Result<Complexes> {
        let along = self.transpose(rows, columns)?.rows_transformed(rows, direction)?;
        along.transpose(columns, rows)?.rows_transformed(columns, direction)
    }

    fn rows_transformed(&self, columns: usize, direction: Direction) -> Result<Complexes> {
        if self.is_empty() {
            return self.context().zeros(0);
        }
        if columns == 0 || !self.len().is_multiple_of(columns) {
            return Err(bad("fft", format!("{} values are no whole rows of {columns}", self.len())));
        }
        count("fft", self.len())?;
        match Engine::of(self.context()) {
            None => {
                let way = match direction {
                    Direction::Forward => dft::transform,
                    Direction::Inverse => dft::inverse,
                };
                let rows = self.on_host();
                self.with_host_data(rows.chunks(columns).flat_map(|row| narrow(&way(&widen(row)))).collect())
            }
            Some(engine) => engine.transform(self.aligned()?, columns, direction),
        }
    }
}

impl Buffer<f32> {
    /// The Fourier transform of a real signal: the first half of its spectrum, `len() / 2 + 1` values, as NumPy's `rfft`.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn fft(&self) -> Result<Complexes> {
        if self.is_empty() {
            return self.context().zeros(0);
        }
        let half = self.len() / 2 + 1;
        match Engine::of(self.context()) {
            None => {
                let values: Vec<Complex> = self.on_host().iter().map(|&value| [f64::from(value), 0.0]).collect();
                self.with_host_data(narrow(&dft::transform(&values)[..half]))
            }
            Some(_) => self.complex()?.fft()?.view(..half),
        }
    }

    /// Complex values with these real parts.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn complex(&self) -> Result<Complexes> {
        match Engine::of(self.context()) {
            Some(engine) if !self.is_empty() => engine.join_zero(&self.aligned()?.cast()?)?.cast(),
            _ => self.with_host_data(self.on_host().iter().map(|&value| [value, 0.0]).collect()),
        }
    }

    /// `length` values of the full convolution from `first` on, by transforms of overlapping pieces. For a device.
    pub(super) fn overlap_save(&self, kernel: &[f32], length: usize, first: usize) -> Result<Buffer<f32>> {
        let Some(engine) = Engine::of(self.context()) else { return Err(bad("convolve", "it needs a device")) };
        // Pieces of four kernels: three quarters of each transform are of use.
        let size = (4 * kernel.len()).next_power_of_two().min(4 * (length + kernel.len()).next_power_of_two());
        let useful = size + 1 - kernel.len();
        let pieces = length.div_ceil(useful);
        count("convolve", pieces.saturating_mul(size))?;
        let mut taps: Vec<Complex> = kernel.iter().map(|&tap| [f64::from(tap), 0.0]).collect();
        taps.resize(size, [0.0; 2]);
        let spectrum = self.context().buffer(&narrow(&dft::transform(&taps)))?;
        let signal = self.complex()?;
        // Piece p holds the values from p * useful + first - (kernel - 1) on.
        let shift = (first as u32).wrapping_sub(kernel.len() as u32 - 1);
        let gathered =
            engine.weigh(&signal, pieces * size, Rows { columns: size, valid: size, step: useful, shift }, None)?;
        let there = engine.transform(gathered, size, Direction::Forward)?;
        let rows = Rows { columns: size, valid: size, step: size, shift: 0 };
        let product = engine.weigh(&there, pieces * size, rows, Some((&spectrum, 1.0)))?;
        let back = engine.transform(product, size, Direction::Inverse)?;
        // The first values of each piece have wrapped around.
        let rows = Rows { columns: useful, valid: useful, step: size, shift: kernel.len() as u32 - 1 };
        let result = engine.weigh(&back, pieces * useful, rows, None)?;
        engine.part(&result.cast()?, 0)?.cast::<f32>()?.view(..length)
    }
}

/// How rows of an output lie in an input. See `weigh.wgsl`.
struct Rows {
    columns: usize,
    valid: usize,
    step: usize,
    shift: u32,
}

impl Engine<'_> {
    fn table(&self, table: Table, length: usize, make: impl FnOnce() -> Vec<Complex>) -> Result<Complexes> {
        let tables = &self.context.compute_state().tables;
        if let Some(found) = tables.lock().get(&(table, length)) {
            let length = (found.size / 8) as usize;
            return Ok(Buffer::of_allocation(self.context, self.queue.clone(), Arc::clone(found), length));
        }
        let made = self.context.buffer(&narrow(&make()))?;
        if let Some(allocation) = made.allocation() {
            let mut tables = tables.lock();
            if tables.len() >= KEPT {
                tables.clear();
            }
            tables.insert((table, length), Arc::clone(allocation));
        }
        Ok(made)
    }

    fn weigh(
        &self,
        input: &Complexes,
        total: usize,
        rows: Rows,
        factors: Option<(&Complexes, f32)>,
    ) -> Result<Complexes> {
        let output = self.output(total)?;
        let [total, columns] = [count("weigh", total)?, rows.columns as u32];
        let sign = factors.map_or(1.0, |(_, sign)| sign);
        let uniforms = vec![
            total,
            columns,
            rows.valid as u32,
            rows.step as u32,
            rows.shift,
            count("weigh", input.len())?,
            sign.to_bits(),
            1.0_f32.to_bits(),
        ];
        let text = Text::new().constant("WORKGROUP", WORKGROUP).constant("FACTORS", u32::from(factors.is_some()));
        let factors = factors.map_or(input, |(factors, _)| factors);
        let binds = vec![Bind::Uniform(uniforms), read(input), write(&output), read(factors)];
        let groups = self.fold(u64::from(total.div_ceil(WORKGROUP)))?;
        self.run("weigh", text.with(WEIGH), binds, groups, Work::moving(u64::from(total) * 16))?;
        Ok(output)
    }

    /// Transforms each row of `columns` values.
    fn transform(&self, input: Complexes, columns: usize, direction: Direction) -> Result<Complexes> {
        let Some(radices) = radices(columns) else { return self.bluestein(&input, columns, direction) };
        let roots = || (0..columns).map(|part| dft::root(part, columns)).collect();
        let roots = self.table(Table::Roots, columns, roots)?;
        let mut current = input;
        let mut stride = 1;
        for (number, &radix) in radices.iter().enumerate() {
            let output = self.output(current.len())?;
            let last = number + 1 == radices.len();
            let scale = if last && direction == Direction::Inverse { 1.0 / columns as f32 } else { 1.0 };
            let each = columns / radix;
            let total = (current.len() / radix) as u32;
            let uniforms =
                vec![columns as u32, each as u32, total, stride as u32, direction.sign().to_bits(), scale.to_bits(), 0];
            let text = Text::new().constant("WORKGROUP", WORKGROUP).constant("RADIX", radix as u32).with(FOURIER);
            let binds = vec![Bind::Uniform(uniforms), read(&current), write(&output), read(&roots)];
            let groups = self.fold(u64::from(total.div_ceil(WORKGROUP)))?;
            self.run(&format!("fft, radix {radix}"), text, binds, groups, Work::moving(2 * current.byte_length()))?;
            current = output;
            stride *= radix;
        }
        Ok(current)
    }

    /// A transform as a convolution with a chirp, whose length can be chosen.
    fn bluestein(&self, input: &Complexes, columns: usize, direction: Direction) -> Result<Complexes> {
        let rows = input.len() / columns;
        let padded = (2 * columns - 1).next_power_of_two();
        count("fft", rows.saturating_mul(padded))?;
        let chirp = self.table(Table::Chirp, columns, || dft::chirp(columns))?;
        let spectrum = self.table(Table::ChirpSpectrum, columns, || dft::bluestein_spectrum(&dft::chirp(columns)))?;
        let sign = direction.sign();
        let there = Rows { columns: padded, valid: columns, step: columns, shift: 0 };
        let signal = self.weigh(input, rows * padded, there, Some((&chirp, sign)))?;
        let transformed = self.transform(signal, padded, Direction::Forward)?;
        // The chirp is symmetric, so its conjugate has the conjugate spectrum, backwards and so again itself.
        let same = Rows { columns: padded, valid: padded, step: padded, shift: 0 };
        let product = self.weigh(&transformed, rows * padded, same, Some((&spectrum, sign)))?;
        let back = self.transform(product, padded, Direction::Inverse)?;
        let out = Rows { columns, valid: columns, step: padded, shift: 0 };
        let result = self.weigh(&back, rows * columns, out, Some((&chirp, sign)))?;
        match direction {
            Direction::Forward => Ok(result),
            Direction::Inverse => {
                let scale = 1.0 / columns as f32;
                let scaled: Buffer<f32> = result.cast::<f32>()?.map_with("x * a", [scale, 0.0])?;
                scaled.cast()
            }
        }
    }
}

/// The length as a product of radices, fours first; `None` where a prime factor is too large.
fn radices(length: usize) -> Option<Vec<usize>> {
    let mut rest = length;
    let mut found = Vec::new();
    for radix in [4, 2, 3, 5, 7, 11, LARGEST] {
        while rest.is_multiple_of(radix) {
            found.push(radix);
            rest /= radix;
        }
    }
    (rest == 1).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_products_of_small_primes_or_not() {
        assert_eq!(radices(1), Some(vec![]));
        assert_eq!(radices(2 * 4 * 3 * 13), Some(vec![4, 2, 3, 13]));
        assert_eq!(radices(17), None);
    }
}
