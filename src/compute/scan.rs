//! Running sums, in one of two ways.
//!
//! Reduce, then scan: the sums of blocks are made, scanned themselves, and each block is scanned on top of its own. Three
//! dispatches and one and a half times the traffic of a copy, for every type.
//!
//! In a single pass: blocks tell each other their sums while they are made. The traffic of a copy, for integers alone; see
//! `wgsl/compute/scan_look_back.wgsl`.

use super::buffer::Buffer;
use super::builtin::{Bind, Engine, Work, count, read, write};
use super::element::{Scalar, ScalarKind};
use super::reduce::Reduction;
use super::tune::Shape;
use crate::error::Result;

const SCAN: &str = include_str!("../../wgsl/compute/scan.wgsl");
const ALONE: &str = include_str!("../../wgsl/compute/scan_alone.wgsl");
const BEFORE: &str = include_str!("../../wgsl/compute/scan_before.wgsl");
const LOOK_BACK: &str = include_str!("../../wgsl/compute/scan_look_back.wgsl");
const SUM_WRAPPING: &str = include_str!("../../wgsl/compute/sum_wrapping.wgsl");

impl<T: Scalar> Buffer<T> {
    /// For each element the sum of those up to it, itself included. Integers wrap around; floats are added in another order
    /// than by a loop.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn scan(&self) -> Result<Buffer<T>> {
        self.scanned(false)
    }

    /// For each element the sum of those before it.
    ///
    /// # Errors
    /// As for [`scan`](Buffer::scan).
    pub fn scan_exclusive(&self) -> Result<Buffer<T>> {
        self.scanned(true)
    }

    fn scanned(&self, exclusive: bool) -> Result<Buffer<T>> {
        let length = count("scan", self.len())?;
        let Some(engine) = Engine::of(self.context()) else {
            return self.with_host_data(on_cpu(&self.on_host(), exclusive));
        };
        if length == 0 {
            return engine.output(0);
        }
        let input = self.aligned()?;
        let kernel = if T::KIND == ScalarKind::F32 { "scan" } else { "scan-integers" };
        let scan = Scan { engine: &engine, input: &input, shape: engine.shape(kernel), exclusive };
        match T::KIND != ScalarKind::F32 && engine.scans_in_a_single_pass() {
            true => scan.single_pass(SPINS),
            false => scan.reduce_then_scan(),
        }
    }
}

/// A scan on the device. The input is not empty, and begins where a kernel can bind it.
struct Scan<'a, T: Scalar> {
    engine: &'a Engine<'a>,
    input: &'a Buffer<T>,
    shape: Shape,
    exclusive: bool,
}

/// How often a block looks whether the one before it has told its sum. A look takes tens of nanoseconds on a CPU and some
/// hundred on a GPU, a block some microseconds: a block that is under way is worth waiting for.
const SPINS: u32 = 256;

impl<T: Scalar> Scan<'_, T> {
    fn reduce_then_scan(&self) -> Result<Buffer<T>> {
        if self.blocks()? == 1 {
            return self.run("scan", ALONE, None);
        }
        let kind = T::KIND.wgsl();
        let text = format!("alias Element = {kind};\n{SUM_WRAPPING}");
        let reduction = Reduction { label: "scan, sums of blocks", text, element: kind };
        let sums: Buffer<T> = self.engine.reduce_blocks(&reduction, self.input, None, self.shape)?;
        let before = Scan { input: &sums, exclusive: true, ..*self }.reduce_then_scan()?;
        self.run("scan", BEFORE, Some(read(&before)))
    }

    /// Of integers.
    fn single_pass(&self, spins: u32) -> Result<Buffer<T>> {
        // Workgroups beyond the last block take one, too.
        let [columns, rows, _] = self.engine.fold(u64::from(self.blocks()?))?.map(|side| side as usize);
        let state = self.engine.context.zeros::<u32>(1 + 2 * columns * rows)?;
        let way = format!("const SPINS = {spins}u;\n{LOOK_BACK}");
        self.run("scan in a single pass", &way, Some(write(&state)))
    }

    /// Runs `scan.wgsl`. `way` is how a workgroup gets its block and the sum before that, with the help of `known`.
    fn run(&self, label: &str, way: &str, known: Option<Bind>) -> Result<Buffer<T>> {
        let Scan { engine, input, shape, exclusive } = *self;
        let output = engine.output(input.len())?;
        let text = shape.text().alias("Element", T::KIND.wgsl()).constant("EXCLUSIVE", u32::from(exclusive));
        let mut binds = vec![Bind::Uniform(vec![self.vectors()?]), read(input), write(&output)];
        binds.extend(known);
        let grid = engine.fold(u64::from(self.blocks()?))?;
        let work = Work::moving(2 * input.byte_length());
        engine.run(label, text.with(way).with(SCAN), binds, grid, work)?;
        Ok(output)
    }

    /// Of four elements.
    fn vectors(&self) -> Result<u32> {
        Ok(count("scan", self.input.len())?.div_ceil(4))
    }

    /// One for each workgroup.
    fn blocks(&self) -> Result<u32> {
        Ok(self.vectors()?.div_ceil(self.shape.workgroup * self.shape.items))
    }
}

fn on_cpu<T: Scalar>(elements: &[T], exclusive: bool) -> Vec<T> {
    fn running<E: Copy>(elements: &[E], zero: E, exclusive: bool, add: impl Fn(E, E) -> E) -> Vec<E> {
        let mut sum = zero;
        let step = |&element: &E| {
            let before = sum;
            sum = add(sum, element);
            if exclusive { before } else { sum }
        };
        elements.iter().map(step).collect()
    }
    match T::KIND {
        ScalarKind::F32 => {
            bytemuck::cast_vec(running(bytemuck::cast_slice(elements), 0.0_f32, exclusive, |a, b| a + b))
        }
        // Two's complement: signed and unsigned are added alike.
        _ => bytemuck::cast_vec(running(bytemuck::cast_slice(elements), 0_u32, exclusive, u32::wrapping_add)),
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;
    use crate::context::{BackendChoice, Context, ContextOptions};
    use crate::gpu::tests::skip;

    /// Both ways, in small blocks so that there are many; and where no block waits for another, each sums up what others
    /// are late with.
    #[test]
    fn every_way_gives_the_same() {
        let backend = std::env::var("CYANOTYPE_BACKEND").ok().filter(|name| !name.is_empty() && name != "cpu");
        let Some(backend) = backend else { return skip("CYANOTYPE_BACKEND names no driver") };
        let backend: BackendChoice = backend.parse().unwrap();
        let options = ContextOptions { backend, allow_software: true, ..ContextOptions::default() };
        let context = Context::with(&options).unwrap();
        let engine = Engine::of(&context).unwrap();
        let shape = Shape { workgroup: 64, items: 1 };
        for length in [1, 256, 257, 100_003] {
            let numbers: Vec<u32> = (0..length).map(|index: u32| index.wrapping_mul(2_654_435_761)).collect();
            let (input, signed) = (context.buffer(&numbers).unwrap(), bytemuck::cast_slice::<u32, i32>(&numbers));
            for exclusive in [false, true] {
                let right = on_cpu(&numbers, exclusive);
                let of = |made: Result<Buffer<u32>>| made.and_then(|buffer| buffer.read().wait()).unwrap();
                let what = format!("{length} numbers, exclusive: {exclusive}");
                let scan = Scan { engine: &engine, input: &input, shape, exclusive };
                assert_eq!(of(scan.reduce_then_scan()), right, "{what}");
                for spins in [SPINS, 1, 0] {
                    assert_eq!(of(scan.single_pass(spins)), right, "{what}, {spins}");
                }
                let scan = Scan { engine: &engine, input: &context.buffer(signed).unwrap(), shape, exclusive };
                assert_eq!(of(scan.single_pass(SPINS).and_then(|buffer| buffer.cast())), right, "{what}, with signs");
            }
        }
    }
}
