//! Transposition: rows to columns, of elements of one word or two.

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Text, Work, count, read, write};
use super::element::Element;
use crate::error::Result;

const TRANSPOSE: &str = include_str!("../../wgsl/compute/transpose.wgsl");

impl<T: Element> Buffer<T> {
    /// The buffer as `rows` rows of `columns` elements, transposed.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if that is not its length, or for elements that are neither one word long
    /// nor two.
    pub fn transpose(&self, rows: usize, columns: usize) -> Result<Buffer<T>> {
        if rows.checked_mul(columns) != Some(self.len()) {
            return Err(bad("transpose", format!("{} elements are not {rows} x {columns}", self.len())));
        }
        let kind = match size_of::<T>() {
            4 => "u32",
            8 => "vec2u",
            other => return Err(bad("transpose", format!("elements of {other} bytes; they must have 4 or 8"))),
        };
        let length = count("transpose", self.len())?;
        let Some(engine) = Engine::of(self.context()) else {
            let elements = self.on_host();
            let places = (0..columns).flat_map(|x| (0..rows).map(move |y| y * columns + x));
            return self.with_host_data(places.map(|place| elements[place]).collect());
        };
        let output = engine.output(self.len())?;
        if length > 0 {
            // Both divide `length`, a u32.
            let (rows, columns) = (rows as u32, columns as u32);
            let (across, tiles) = (columns.div_ceil(16), columns.div_ceil(16) * rows.div_ceil(16));
            let uniforms = Bind::Uniform(vec![rows, columns, across, tiles]);
            let binds = vec![uniforms, read(&self.aligned()?), write(&output)];
            let text = Text::new().alias("Element", kind).with(TRANSPOSE);
            let work = Work::moving(2 * self.byte_length());
            engine.run("transpose", text, binds, engine.fold(u64::from(tiles))?, work)?;
        }
        Ok(output)
    }
}
