//! lookup: colours by a table that is a picture, from a file, another part of the graph or a compute buffer. The table is
//! read on the device each frame, so it may change as often as the picture does.

use crate::cpu::simd::clamp_to_int;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Group, Input, Kernel, Operator, Parameter, Point, Position, Reduction, Rgba, Value, kernel,
    of_buffer,
};

/// A table of colours.
pub static OPERATOR: Operator = Operator {
    name: "lookup",
    group: Group::Color,
    summary: "Looks values up in a table that is a picture",
    details: "The pixels of the table, row by row, are its entries for values from 0 to 1: of n, entry i belongs to \
              i / (n - 1), and between two the result is linear, so a table of 256 meets 8-bit values exactly, as \
              OpenCV's LUT and libvips' maplut do. Values outside of 0..1 get the first or last entry. Red is \
              looked up in the table's red, and so on, so that a table of one channel is one curve for all, and a grey \
              picture by a table of colours gives false colours. Values are straight, as stored; the picture's alpha \
              stays, the table's is left aside. The table may have 65536 pixels.",
    inputs: &[Input::required("image"), Input::required("table")],
    parameters: &[Parameter::float("strength", 0.0, 1.0, 1.0, "").help("0 changes nothing, 1 is all table")],
    lower,
};

/// Most entries: one for each 16-bit value.
const MOST: u64 = 65536;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let (image, table) = (inputs[0], inputs[1]);
    let extent = builder.shape(table).extent();
    if extent.pixels() > MOST {
        let message = format!("a table of {extent} has {} pixels, {MOST} are the most", extent.pixels());
        return Err(Error::BadInput { operator: "lookup".into(), message });
    }
    let channels = builder.shape(image).channels().max(builder.shape(table).channels());
    let entries = builder.reduce(table, Reduction::Pixels(extent));
    // At most 65536 pixels, at least one.
    let kernel = Lookup { last: extent.pixels() as u32 - 1, strength: arguments.float("strength") };
    let kernel = Kernel::point_with_buffer(kernel, Table::new);
    Ok(builder.point_with_buffer_to(image, entries, kernel, channels))
}

kernel! { "lookup", cost: 4.0, pub struct Lookup { last: u32, strength: f32 } }

/// The pixel code once the table is known.
struct Table {
    strength: f32,
    entries: Vec<[f32; 4]>,
}

impl Table {
    fn new(kernel: &Lookup, buffer: &[[u32; 4]]) -> Self {
        Table { strength: kernel.strength, entries: buffer.iter().map(|entry| entry.map(f32::from_bits)).collect() }
    }

    /// A channel of the table at a value.
    #[inline(always)]
    fn level(&self, value: f32, channel: usize) -> f32 {
        let last = self.entries.len().saturating_sub(1);
        let place = maths::clamp(value, 0.0, 1.0) * last as f32;
        let index = (clamp_to_int::<0, { MOST as i32 }>(place) as usize).min(last.saturating_sub(1));
        // Both lie within the table, `get` says so without a panic; a channel is below 4.
        let entry = |index: usize| self.entries.get(index).map_or(0.0, |entry| entry[channel]);
        maths::mix(entry(index), entry((index + 1).min(last)), place - index as f32)
    }
}

of_buffer!(Table: Lookup);

impl Point for Table {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        // Not as value + (level - value) * strength, in which a large value would swallow the level.
        let mixed =
            |value: f32, channel: usize| value * (1.0 - self.strength) + self.level(value, channel) * self.strength;
        [mixed(r, 0), mixed(g, 1), mixed(b, 2), a]
    }
}

impl Node {
    /// Looks values up in the pixels of `table`; `strength` 1 is all table.
    pub fn lookup(&self, table: &Node, strength: f32) -> Node {
        self.apply_with("lookup", &[table], &[("strength", strength.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Position = Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 };

    fn table(entries: &[[f32; 4]], strength: f32) -> Table {
        let buffer: Vec<[u32; 4]> = entries.iter().map(|entry| entry.map(f32::to_bits)).collect();
        Table::new(&Lookup { last: entries.len() as u32 - 1, strength }, &buffer)
    }

    #[test]
    fn between_entries_it_is_linear_and_beyond_it_stays() {
        let three = table(&[[0.0, 1.0, 0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.5, 0.25, 0.5, 0.0]], 1.0);
        let of = |value: f32| three.pixel([value, value, value, 0.25], AT);
        assert_eq!(of(0.0), [0.0, 1.0, 0.5, 0.25]);
        assert_eq!(of(0.25), [0.5, 0.5, 0.5, 0.25]);
        assert_eq!(of(0.5), [1.0, 0.0, 0.5, 0.25]);
        assert_eq!(of(0.75), [0.75, 0.125, 0.5, 0.25]);
        assert_eq!(of(1.0), [0.5, 0.25, 0.5, 0.25]);
        assert_eq!(of(-3.0), of(0.0));
        assert_eq!(of(f32::MAX), of(1.0));
    }

    #[test]
    fn one_entry_is_a_colour_and_strength_mixes() {
        assert_eq!(table(&[[0.25, 0.5, 1.0, 1.0]], 1.0).pixel([0.7, 0.1, 0.0, 0.5], AT), [0.25, 0.5, 1.0, 0.5]);
        assert_eq!(table(&[[1.0; 4]], 0.25).pixel([0.0, 0.5, 1.0, 1.0], AT), [0.25, 0.625, 1.0, 1.0]);
    }
}
