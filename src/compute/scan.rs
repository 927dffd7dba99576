//! Running sums. Reduce, then scan: the sums of blocks are made, scanned themselves, and each block is scanned on top of its
//! own. Three dispatches, one and a half times the traffic of a copy, and no assumption about the order in which a device
//! runs workgroups.

use super::buffer::Buffer;
use super::builtin::{Bind, Engine, Work, count, read, write};
use super::element::{Scalar, ScalarKind};
use super::reduce::Reduction;
use crate::error::Result;

const SCAN: &str = include_str!("../../wgsl/compute/scan.wgsl");
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
        let output = engine.output(self.len())?;
        if length == 0 {
            return Ok(output);
        }
        let input = self.aligned()?;
        let shape = engine.shape("scan");
        let kind = T::KIND.wgsl();
        let vectors = length.div_ceil(4);
        let groups = vectors.div_ceil(shape.workgroup * shape.items);
        let mut binds = vec![Bind::Uniform(vec![vectors]), read(&input), write(&output)];
        let mut text = shape.text().alias("Element", kind).constant("EXCLUSIVE", u32::from(exclusive));
        if groups > 1 {
            let text_of_sum = format!("alias Element = {kind};\n{SUM_WRAPPING}");
            let reduction = Reduction { label: "scan, sums of blocks", text: text_of_sum, element: kind };
            let sums: Buffer<T> = engine.reduce_blocks(&reduction, &input, None, shape)?;
            binds.push(read(&sums.scanned(true)?));
            text = text.with(
                "@group(0) @binding(3) var<storage, read> sums: array<Element>;\n\
                 fn before(group: u32) -> Element { return sums[group]; }\n",
            );
        } else {
            text = text.with("fn before(group: u32) -> Element { return Element(); }\n");
        }
        let work = Work::moving(u64::from(length) * 8);
        engine.run("scan", text.with(SCAN), binds, engine.fold(u64::from(groups))?, work)?;
        Ok(output)
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
