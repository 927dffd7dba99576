//! Sorting, by radix: stable, for keys of 32 bits with a payload of 32 bits.

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Text, Work, count, read, write};
use super::element::{Element, Scalar, ScalarKind};
use crate::error::Result;

const RADIX: &str = include_str!("../../wgsl/compute/radix.wgsl");
const COUNT: &str = include_str!("../../wgsl/compute/radix_count.wgsl");
const PLACE: &str = include_str!("../../wgsl/compute/radix_place.wgsl");
const PAIRS: &str = include_str!("../../wgsl/compute/pairs.wgsl");

/// 64 invocations keep 16 digits in 4 KiB; 16 items for each make blocks of a thousand.
const WORKGROUP: u32 = 64;
const ITEMS: u32 = 16;

impl Engine<'_> {
    /// Pairs of the words of two buffers; without a second, of a word and its index.
    pub(super) fn join(&self, first: &Buffer<u32>, second: Option<&Buffer<u32>>) -> Result<Buffer<[u32; 2]>> {
        let (index, zip) = ("i", "second[i]");
        self.joined(first, second, if second.is_some() { zip } else { index })
    }

    /// Pairs of a word and zero.
    pub(super) fn join_zero(&self, first: &Buffer<u32>) -> Result<Buffer<[u32; 2]>> {
        self.joined(first, None, "0u")
    }

    fn joined(&self, first: &Buffer<u32>, second: Option<&Buffer<u32>>, other: &str) -> Result<Buffer<[u32; 2]>> {
        let length = count("join", first.len())?;
        let pairs = self.output(first.len())?;
        let extra =
            if second.is_some() { "@group(0) @binding(3) var<storage, read> second: array<u32>;\n" } else { "" };
        let text = Text::new().constant("WORKGROUP", WORKGROUP).with(&format!(
            "{extra}@group(0) @binding(1) var<storage, read> first: array<u32>;\n\
             @group(0) @binding(2) var<storage, read_write> pairs: array<vec2u>;\n\
             fn move_one(i: u32) {{ pairs[i] = vec2u(first[i], {other}); }}\n{PAIRS}"
        ));
        let mut binds = vec![Bind::Uniform(vec![length]), read(first), write(&pairs)];
        binds.extend(second.map(read));
        let groups = self.fold(u64::from(length.div_ceil(WORKGROUP)))?;
        self.run("join", text, binds, groups, Work::moving(u64::from(length) * 16))?;
        Ok(pairs)
    }

    /// The first (0) or second (1) word of each pair.
    pub(super) fn part(&self, pairs: &Buffer<[u32; 2]>, number: u32) -> Result<Buffer<u32>> {
        let length = count("part", pairs.len())?;
        let words = self.output(pairs.len())?;
        let text = Text::new().constant("WORKGROUP", WORKGROUP).with(&format!(
            "@group(0) @binding(1) var<storage, read> pairs: array<vec2u>;\n\
             @group(0) @binding(2) var<storage, read_write> words: array<u32>;\n\
             fn move_one(i: u32) {{ words[i] = pairs[i][{number}]; }}\n{PAIRS}"
        ));
        let binds = vec![Bind::Uniform(vec![length]), read(pairs), write(&words)];
        let groups = self.fold(u64::from(length.div_ceil(WORKGROUP)))?;
        self.run("part", text, binds, groups, Work::moving(u64::from(length) * 12))?;
        Ok(words)
    }

    /// Items in the order of their keys. `item` is their WGSL type, `key` what is made of an item.
    fn radix_sort<T: Element>(&self, items: Buffer<T>, item: &str, key: &str) -> Result<Buffer<T>> {
        let length = count("sort", items.len())?;
        let blocks = length.div_ceil(WORKGROUP * ITEMS);
        let groups = self.fold(u64::from(blocks))?;
        let bytes = items.byte_length();
        let text = || {
            Text::new()
                .constant("WORKGROUP", WORKGROUP)
                .constant("ITEMS", ITEMS)
                .alias("Item", item)
                .with(&format!("fn key(item: Item) -> u32 {{ return {key}; }}\n"))
        };
        let mut current = items;
        for shift in (0..32).step_by(4) {
            let uniforms = || Bind::Uniform(vec![length, blocks, shift]);
            let counts: Buffer<u32> = self.output(16 * blocks as usize)?;
            let binds = vec![uniforms(), read(&current), write(&counts)];
            self.run("sort, count", text().with(COUNT).with(RADIX), binds, groups, Work::moving(bytes))?;
            let starts = counts.scan_exclusive()?;
            let sorted = self.output(current.len())?;
            let binds = vec![uniforms(), read(&current), read(&starts), write(&sorted)];
            self.run("sort, place", text().with(PLACE).with(RADIX), binds, groups, Work::moving(2 * bytes))?;
            current = sorted;
        }
        Ok(current)
    }
}

/// A word in the order of the elements. Zeros are equal, NaN comes last.
fn key_of<T: Scalar>() -> &'static str {
    match T::KIND {
        ScalarKind::U32 => "x",
        ScalarKind::I32 => "x ^ 0x80000000u",
        ScalarKind::F32 => {
            "select(select(select(x ^ 0x80000000u, ~x, (x >> 31u) == 1u), 0x80000000u, x == 0x80000000u), 0xffffffffu, \
             (x & 0x7fffffffu) > 0x7f800000u)"
        }
    }
}

fn order_on_cpu<T: Scalar>(elements: &[T]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..elements.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&elements[a as usize], &elements[b as usize]);
        // Two that cannot be compared: NaN comes last.
        let is_nan = |value: &T| value.partial_cmp(value).is_none();
        a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
    });
    order
}

impl<T: Scalar> Buffer<T> {
    /// The elements in ascending order, NaN last. Stable: elements that compare equal (zeros of both signs) keep their order.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn sort(&self) -> Result<Buffer<T>> {
        let words: Buffer<u32> = self.cast()?;
        match Engine::of(self.context()) {
            Some(engine) if !self.is_empty() && T::KIND == ScalarKind::U32 => {
                engine.radix_sort(words.aligned()?, "u32", "item")?.cast()
            }
            _ => Ok(self.sort_with(self)?.1),
        }
    }

    /// The indices that would sort the buffer. Stable.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn argsort(&self) -> Result<Buffer<u32>> {
        let Some(engine) = Engine::of(self.context()) else {
            count("sort", self.len())?;
            return self.with_host_data(order_on_cpu(&self.on_host()));
        };
        if self.is_empty() {
            return self.context().zeros(0);
        }
        let keys: Buffer<u32> = self.cast::<u32>()?.map(key_of::<T>())?;
        engine.part(&engine.radix_sort(engine.join(&keys, None)?, "vec2u", "item.x")?, 1)
    }

    /// The elements in ascending order, and the `payload` in the same order. Stable.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if the lengths differ or the payload is not one word for each element.
    pub fn sort_with<P: Element>(&self, payload: &Buffer<P>) -> Result<(Buffer<T>, Buffer<P>)> {
        if payload.len() != self.len() || size_of::<P>() != 4 {
            let found =
                format!("{} keys with a payload of {} times {} bytes", self.len(), payload.len(), size_of::<P>());
            return Err(bad("sort", format!("{found}; it must be one word for each key")));
        }
        self.beside("sort", payload)?;
        let Some(engine) = Engine::of(self.context()) else {
            let (elements, payload) = (self.on_host(), payload.on_host());
            let order = order_on_cpu(&elements);
            let elements = order.iter().map(|&index| elements[index as usize]).collect();
            let payload = order.iter().map(|&index| payload[index as usize]).collect();
            return Ok((self.with_host_data(elements)?, self.with_host_data(payload)?));
        };
        if self.is_empty() {
            return Ok((self.clone(), payload.clone()));
        }
        let words: Buffer<u32> = self.cast()?;
        let keys: Buffer<u32> = words.map(key_of::<T>())?;
        let payload: Buffer<u32> = payload.cast()?;
        let pairs = engine.radix_sort(engine.join(&keys, Some(&payload.aligned()?))?, "vec2u", "item.x")?;
        let (keys, payload) = (engine.part(&pairs, 0)?, engine.part(&pairs, 1)?);
        let back = match T::KIND {
            ScalarKind::U32 => "x",
            ScalarKind::I32 => "x ^ 0x80000000u",
            ScalarKind::F32 => "select(select(~x, x ^ 0x80000000u, (x >> 31u) == 1u), 0x7fc00000u, x == 0xffffffffu)",
        };
        Ok((keys.map::<u32>(back)?.cast()?, payload.cast()?))
    }
}
