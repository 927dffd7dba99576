//! Reductions: sums, extrema, mean and variance. Sums of floats go by a tree, so that the error grows with the logarithm of
//! the length; sums of integers are exact.

use super::buffer::Buffer;
use super::builtin::{Bind, Engine, Work, count, read, write};
use super::element::{Element, Scalar, ScalarKind};
use super::pending::Pending;
use super::tune::Shape;
use crate::error::{Error, Result};

const REDUCE: &str = include_str!("../../wgsl/compute/reduce.wgsl");
const TAKE_VECTOR: &str = include_str!("../../wgsl/compute/take_vector.wgsl");
const SUM_FLOAT: &str = include_str!("../../wgsl/compute/sum_float.wgsl");
const SUM_INTEGER: &str = include_str!("../../wgsl/compute/sum_integer.wgsl");
const DEVIATIONS: &str = include_str!("../../wgsl/compute/deviations.wgsl");
pub(super) const FLOAT_KEY: &str = include_str!("../../wgsl/compute/float_key.wgsl");
const EXTREME: &str = include_str!("../../wgsl/compute/extreme.wgsl");

/// What a reduction computes, as text.
pub(super) struct Reduction {
    pub label: &'static str,
    /// Value, `identity`, `combine`, `lift`.
    pub text: String,
    /// WGSL type of the elements that `lift` takes.
    pub element: &'static str,
}

impl Reduction {
    pub fn sum_float() -> Reduction {
        Reduction { label: "sum", text: SUM_FLOAT.to_string(), element: "f32" }
    }

    pub fn sum_integer(kind: ScalarKind) -> Reduction {
        let text = format!("const SIGNED = {}u;\n{SUM_INTEGER}", u32::from(kind == ScalarKind::I32));
        Reduction { label: "sum", text, element: "u32" }
    }

    fn extreme(kind: ScalarKind, largest: bool) -> Reduction {
        let number = match kind {
            ScalarKind::U32 => 0,
            ScalarKind::I32 => 1,
            ScalarKind::F32 => 2,
        };
        let flip = if largest { u32::MAX } else { 0 };
        let text = format!("const KIND = {number}u;\nconst FLIP = {flip}u;\n{FLOAT_KEY}{EXTREME}");
        Reduction { label: if largest { "max" } else { "min" }, text, element: "u32" }
    }
}

impl Engine<'_> {
    /// One value for each block of `shape`: `WORKGROUP * ITEMS` vectors.
    pub(super) fn reduce_blocks<T: Element, V: Element>(
        &self,
        reduction: &Reduction,
        input: &Buffer<T>,
        extra: Option<Bind>,
        shape: Shape,
    ) -> Result<Buffer<V>> {
        let length = count(reduction.label, input.len())?;
        let vectors = length.div_ceil(4);
        let groups = vectors.div_ceil(shape.workgroup * shape.items).max(1);
        let output = self.output(groups as usize)?;
        let text = shape
            .text()
            .with(&reduction.text)
            .alias("Unit", &format!("vec4<{}>", reduction.element))
            .with(TAKE_VECTOR)
            .with(REDUCE);
        let mut binds = vec![Bind::Uniform(vec![length, length / 4, groups]), read(input), write(&output)];
        binds.extend(extra);
        let work = Work::moving(u64::from(length) * 4);
        self.run(reduction.label, text, binds, self.fold(u64::from(groups))?, work)?;
        Ok(output)
    }

    /// The reduction of all elements: a buffer of one value.
    pub(super) fn reduce<T: Element, V: Element>(
        &self,
        reduction: &Reduction,
        input: &Buffer<T>,
        extra: Option<Bind>,
    ) -> Result<Buffer<V>> {
        let shape = self.shape("reduce");
        let mut values: Buffer<V> = self.reduce_blocks(reduction, &input.aligned()?, extra, shape)?;
        while values.len() > 1 {
            let length = count(reduction.label, values.len())?;
            let groups = length.div_ceil(shape.workgroup * shape.items);
            let output = self.output(groups as usize)?;
            let text = shape
                .text()
                // The first stage's extra buffer is not here.
                .with(&reduction.text.replace("uniforms.length", "1u").replace(DEVIATIONS_BINDING, DEVIATIONS_ABSENT))
                .alias("Unit", "Value")
                .with(
                    "fn take(at: u32) -> Value { return input[at]; }\n\
                     fn take_rest() -> Value { return identity(); }\n",
                )
                .with(REDUCE);
            let binds = vec![Bind::Uniform(vec![length, length, groups]), read(&values), write(&output)];
            let work = Work::moving(values.byte_length());
            self.run(reduction.label, text, binds, self.fold(u64::from(groups))?, work)?;
            values = output;
        }
        Ok(values)
    }
}

const DEVIATIONS_BINDING: &str = "@group(0) @binding(3) var<storage, read> sum: array<f32>;";
const DEVIATIONS_ABSENT: &str = "const sum = array<f32, 1>(0.0);";

fn short<T>() -> Result<T> {
    Err(Error::Device("a reduction came back without its value".to_string()))
}

/// A scalar's words of key and index, back as the scalar. See `extreme.wgsl`.
fn value_of_key<T: Scalar>(key: u32, largest: bool) -> T {
    let plain = if largest { !key } else { key };
    let bits = match T::KIND {
        ScalarKind::U32 => plain,
        ScalarKind::I32 => plain ^ 0x8000_0000,
        ScalarKind::F32 if key == 0 => f32::NAN.to_bits(),
        ScalarKind::F32 if plain >> 31 == 1 => plain ^ 0x8000_0000,
        ScalarKind::F32 => !plain,
    };
    bytemuck::cast_slice::<u32, T>(&[bits])[0] // a scalar is one word
}

/// The first of the least (or largest) elements, NaN before all others.
fn extreme_on_cpu<T: Scalar>(elements: &[T], largest: bool) -> Option<(usize, T)> {
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    let mut best: Option<(usize, T)> = None;
    for (index, &value) in elements.iter().enumerate() {
        let better = match &best {
            None => true,
            Some((_, old)) if is_nan(old) => false,
            Some((_, old)) => is_nan(&value) || if largest { value > *old } else { value < *old },
        };
        if better {
            best = Some((index, value));
        }
    }
    // Zero has no sign.
    best.map(|(index, value)| (index, if value == T::default() { T::default() } else { value }))
}

/// Sums by halves down to short runs, as NumPy does.
pub(super) fn pairwise(values: &[f32], of: &impl Fn(f32) -> f32) -> f32 {
    if values.len() <= 64 {
        return values.iter().map(|&value| of(value)).sum();
    }
    let (left, right) = values.split_at(values.len() / 2);
    pairwise(left, of) + pairwise(right, of)
}

impl<T: Scalar> Buffer<T> {
    /// The smallest element; `None` of an empty buffer, NaN if there is one. Zero has no sign in the answer.
    pub fn min(&self) -> Pending<Option<T>> {
        self.extreme(false).map(|found| found.map(|(_, value)| value))
    }

    /// The largest element; `None` of an empty buffer, NaN if there is one. Zero has no sign in the answer.
    pub fn max(&self) -> Pending<Option<T>> {
        self.extreme(true).map(|found| found.map(|(_, value)| value))
    }

    /// Index of the first of the smallest elements, or of the first NaN, as NumPy has it.
    pub fn argmin(&self) -> Pending<Option<usize>> {
        self.extreme(false).map(|found| found.map(|(index, _)| index))
    }

    /// Index of the first of the largest elements, or of the first NaN, as NumPy has it.
    pub fn argmax(&self) -> Pending<Option<usize>> {
        self.extreme(true).map(|found| found.map(|(index, _)| index))
    }

    fn extreme(&self, largest: bool) -> Pending<Option<(usize, T)>> {
        Pending::of(|| {
            if self.is_empty() {
                return Ok(Pending::ready(Ok(None)));
            }
            let Some(engine) = Engine::of(self.context()) else {
                return Ok(Pending::ready(Ok(extreme_on_cpu(&self.on_host(), largest))));
            };
            let found: Buffer<[u32; 2]> = engine.reduce(&Reduction::extreme(T::KIND, largest), self, None)?;
            Ok(found.read().and_then(move |found| match found.first() {
                Some(&[key, index]) => Ok(Some((index as usize, value_of_key(key, largest)))),
                None => short(),
            }))
        })
    }
}

impl Buffer<f32> {
    /// The sum, by a tree: its relative error is some twenty roundings for a million elements of one sign, where a plain loop
    /// has up to a million.
    pub fn sum(&self) -> Pending<f32> {
        Pending::of(|| {
            if self.is_empty() {
                return Ok(Pending::ready(Ok(0.0)));
            }
            let Some(engine) = Engine::of(self.context()) else {
                return Ok(Pending::ready(Ok(pairwise(&self.on_host(), &|value| value))));
            };
            let sum: Buffer<f32> = engine.reduce(&Reduction::sum_float(), self, None)?;
            Ok(sum.read().and_then(|sum| sum.first().copied().map_or_else(short, Ok)))
        })
    }

    /// The mean. NaN of an empty buffer.
    pub fn mean(&self) -> Pending<f32> {
        let length = self.len();
        self.sum().map(move |sum| (f64::from(sum) / length as f64) as f32)
    }

    /// The variance: the sum of squared deviations from the mean, divided by the length less `removed` (0 for the population,
    /// 1 for a sample). Two passes, corrected for the rounding of the mean. NaN if that leaves nothing to divide by.
    pub fn variance(&self, removed: usize) -> Pending<f32> {
        Pending::of(|| {
            let length = self.len();
            if length <= removed {
                return Ok(Pending::ready(Ok(f32::NAN)));
            }
            let finish = move |[deviations, squares]: [f32; 2]| {
                let correction = f64::from(deviations) * f64::from(deviations) / length as f64;
                ((f64::from(squares) - correction) / (length - removed) as f64) as f32
            };
            let Some(engine) = Engine::of(self.context()) else {
                let elements = self.on_host();
                let mean = pairwise(&elements, &|value| value) / length as f32;
                let deviations = pairwise(&elements, &|value| value - mean);
                let squares = pairwise(&elements, &|value| (value - mean) * (value - mean));
                return Ok(Pending::ready(Ok(finish([deviations, squares]))));
            };
            let sum: Buffer<f32> = engine.reduce(&Reduction::sum_float(), self, None)?;
            let text = Reduction { label: "variance", text: DEVIATIONS.to_string(), element: "f32" };
            let sums: Buffer<[f32; 2]> = engine.reduce(&text, self, Some(read(&sum)))?;
            Ok(sums.read().and_then(move |sums| sums.first().copied().map(finish).map_or_else(short, Ok)))
        })
    }
}

impl Buffer<u32> {
    /// The exact sum.
    pub fn sum(&self) -> Pending<u64> {
        self.sum_in_two_words().map(|[low, high]| u64::from(low) | u64::from(high) << 32)
    }
}

impl Buffer<i32> {
    /// The exact sum.
    pub fn sum(&self) -> Pending<i64> {
        self.sum_in_two_words().map(|[low, high]| (u64::from(low) | u64::from(high) << 32) as i64)
    }
}

impl<T: Scalar> Buffer<T> {
    fn sum_in_two_words(&self) -> Pending<[u32; 2]> {
        Pending::of(|| {
            if self.is_empty() {
                return Ok(Pending::ready(Ok([0, 0])));
            }
            let Some(engine) = Engine::of(self.context()) else {
                let words: Vec<u32> = bytemuck::pod_collect_to_vec(&self.on_host());
                let wide =
                    |word: &u32| if T::KIND == ScalarKind::I32 { i64::from(*word as i32) } else { i64::from(*word) };
                // Below 2^32 elements of below 2^32: no overflow.
                let sum: i64 = words.iter().map(wide).fold(0, i64::wrapping_add);
                return Ok(Pending::ready(Ok([sum as u32, (sum >> 32) as u32])));
            };
            let sum: Buffer<[u32; 2]> = engine.reduce(&Reduction::sum_integer(T::KIND), self, None)?;
            Ok(sum.read().and_then(|sum| sum.first().copied().map_or_else(short, Ok)))
        })
    }
}
