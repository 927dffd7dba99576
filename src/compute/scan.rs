//! Running sums, in one of two ways.
//!
//! Reduce, then scan: the sums of blocks are made, scanned themselves, and each block is scanned on top of its own. Three
//! dispatches and one and a half times the traffic of a copy, for every type.
//!
//! In a single pass: blocks tell each other their sums while they are made. The traffic of a copy, for integers alone; see
//! `wgsl/compute/scan_look_back.wgsl`.

use super::buffer::Buffer;
use super::builtin::{Bind, Engine, Text, Work, count, read, write};
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
        if T::KIND == ScalarKind::F32 {
            return reduce_then_scan(&engine, &input, engine.shape("scan"), exclusive);
        }
        let shape = engine.shape("scan-integers");
        match engine.scans_in_a_single_pass() {
            true => single_pass(&engine, &input, shape, exclusive, SPINS),
            false => reduce_then_scan(&engine, &input, shape, exclusive),
        }
    }
}

fn text(shape: Shape, kind: ScalarKind, exclusive: bool) -> Text {
    shape.text().alias("Element", kind.wgsl()).constant("EXCLUSIVE", u32::from(exclusive))
}

/// Vectors of four, and blocks of them.
fn blocks(length: u32, shape: Shape) -> (u32, u32) {
    let vectors = length.div_ceil(4);
    (vectors, vectors.div_ceil(shape.workgroup * shape.items))
}

/// `input` is not empty, and begins where a kernel can bind it.
fn reduce_then_scan<T: Scalar>(engine: &Engine, input: &Buffer<T>, shape: Shape, exclusive: bool) -> Result<Buffer<T>> {
    let length = count("scan", input.len())?;
    let (vectors, groups) = blocks(length, shape);
    let output = engine.output(input.len())?;
    let mut binds = vec![Bind::Uniform(vec![vectors]), read(input), write(&output)];
    let mut way = ALONE;
    if groups > 1 {
        let kind = T::KIND.wgsl();
        let text_of_sum = format!("alias Element = {kind};\n{SUM_WRAPPING}");
        let reduction = Reduction { label: "scan, sums of blocks", text: text_of_sum, element: kind };
        let sums: Buffer<T> = engine.reduce_blocks(&reduction, input, None, shape)?;
        binds.push(read(&reduce_then_scan(engine, &sums, shape, true)?));
        way = BEFORE;
    }
    let text = text(shape, T::KIND, exclusive).with(way).with(SCAN);
    engine.run("scan", text, binds, engine.fold(u64::from(groups))?, Work::moving(u64::from(length) * 8))?;
    Ok(output)
}

/// How often a block looks whether the one before it has told its sum. A look takes tens of nanoseconds on a CPU and some
/// hundred on a GPU, a block some microseconds: a block that is under way is worth waiting for.
const SPINS: u32 = 256;

/// As above; of integers.
fn single_pass<T: Scalar>(
    engine: &Engine,
    input: &Buffer<T>,
    shape: Shape,
    exclusive: bool,
    spins: u32,
) -> Result<Buffer<T>> {
    let length = count("scan", input.len())?;
    let (vectors, groups) = blocks(length, shape);
    let output = engine.output(input.len())?;
    let grid = engine.fold(u64::from(groups))?;
    // Workgroups beyond the last block take one, too.
    let [columns, rows, _] = grid.map(|side| side as usize);
    let state = engine.context.zeros::<u32>(1 + 2 * columns * rows)?;
    let binds = vec![Bind::Uniform(vec![vectors]), read(input), write(&output), write(&state)];
    let text = text(shape, T::KIND, exclusive).constant("SPINS", spins).with(LOOK_BACK).with(SCAN);
    let work = Work::moving(u64::from(length) * 8);
    engine.run("scan in a single pass", text, binds, grid, work)?;
    Ok(output)
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
                assert_eq!(of(reduce_then_scan(&engine, &input, shape, exclusive)), right, "{what}");
                for spins in [SPINS, 1, 0] {
                    assert_eq!(of(single_pass(&engine, &input, shape, exclusive, spins)), right, "{what}, {spins}");
                }
                let made = single_pass(&engine, &context.buffer(signed).unwrap(), shape, exclusive, SPINS);
                assert_eq!(of(made.and_then(|buffer| buffer.cast())), right, "{what}, with signs");
            }
        }
    }
}
