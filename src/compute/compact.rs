//! Choosing elements by a condition: the chosen ones moved together, their order kept. Flags, their running count, and a
//! scatter; how many there are is known on the device first, where an indirect dispatch can use it.

use super::buffer::Buffer;
use super::builtin::{Bind, Engine, Text, Work, count, read, write};
use super::element::Scalar;
use super::pending::Pending;
use crate::error::{Error, Result};
use crate::shader::front::Mistake;

const SCATTER: &str = include_str!("../../wgsl/compute/scatter.wgsl");
const WORKGROUP: u32 = 64;

/// Elements chosen from a buffer.
#[derive(Clone, Debug)]
pub struct Chosen<T> {
    /// As long as the buffer that was chosen from. The chosen elements come first; behind them follow the others after a
    /// partition, and anything after a compaction.
    pub values: Buffer<T>,
    /// One number: how many were chosen.
    pub count: Buffer<u32>,
}

impl<T: Scalar> Chosen<T> {
    /// The chosen elements.
    pub fn read(&self) -> Pending<Vec<T>> {
        let (values, count) = (self.values.read(), self.count.read());
        Pending::new(async move {
            let (mut values, count) = (values.await?, count.await?);
            values.truncate(count.first().map_or(0, |&count| count as usize));
            Ok(values)
        })
    }
}

impl<T: Scalar> Buffer<T> {
    /// The elements for which `condition`, a WGSL expression like that of [`map`](Buffer::map) but a `bool`, holds.
    ///
    /// ```
    /// # fn main() -> cyanotype::Result<()> {
    /// # let context = cyanotype::Context::cpu();
    /// let numbers = context.buffer(&[3.0f32, -1.0, 2.0])?;
    /// assert_eq!(numbers.compact("x > 0.0")?.read().wait()?, [3.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for `map`.
    pub fn compact(&self, condition: &str) -> Result<Chosen<T>> {
        self.chosen(condition, false)
    }

    /// The elements for which `condition` holds, then the others; both in their order.
    ///
    /// # Errors
    /// As for [`compact`](Buffer::compact).
    pub fn partition(&self, condition: &str) -> Result<Chosen<T>> {
        self.chosen(condition, true)
    }

    fn chosen(&self, condition: &str, partition: bool) -> Result<Chosen<T>> {
        // A number in place of the bool would be converted without a word.
        let flags: Buffer<u32> = self.map(&format!("u32((\n{condition}\n) == true)")).map_err(|error| match error {
            Error::Shader { operator, line, column, message } => {
                Mistake { line, column, message }.within(condition).of(&operator)
            }
            other => other,
        })?;
        let length = count("compact", self.len())?;
        let Some(engine) = Engine::of(self.context()) else {
            let (elements, flags) = (self.on_host(), flags.on_host());
            let pick = |wanted: u32| {
                let pairs = elements.iter().zip(&flags);
                pairs.filter(move |pair| *pair.1 == wanted).map(|(element, _)| *element)
            };
            let mut values: Vec<T> = pick(1).collect();
            let chosen = values.len() as u32;
            values.extend(pick(0));
            return Ok(Chosen { values: self.with_host_data(values)?, count: self.context().buffer(&[chosen])? });
        };
        let values = engine.output(self.len())?;
        let total = self.context().zeros(1)?;
        if length > 0 {
            let running = flags.scan()?;
            let text =
                Text::new().constant("WORKGROUP", WORKGROUP).constant("PARTITION", u32::from(partition)).with(SCATTER);
            let input = self.aligned()?;
            let binds = vec![Bind::Uniform(vec![length]), read(&input), read(&running), write(&values), write(&total)];
            let groups = engine.fold(u64::from(length.div_ceil(WORKGROUP)))?;
            engine.run("compact", text, binds, groups, Work::moving(u64::from(length) * 12))?;
        }
        Ok(Chosen { values, count: total })
    }
}
