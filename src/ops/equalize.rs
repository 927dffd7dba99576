//! equalize: a tone curve that makes all values about equally frequent (histogram equalisation).
//!
//! Histogram, table and pixels follow on the device: nothing waits for the CPU.

use crate::cpu::simd::clamp_to_int;
use crate::error::Result;
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Choice, Derive, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Reduction, Rgba,
    Value, kernel, of_buffer,
};

/// Values made equally frequent.
pub static OPERATOR: Operator = Operator {
    name: "equalize",
    group: Group::Measure,
    summary: "Evens out the histogram: more contrast where values crowd",
    details: "OpenCV's equalizeHist: a value of bin i becomes (n(i) - n(first)) / (n(255) - n(first)), where n(i) counts \
              the pixels up to bin i and 'first' is the lowest bin in use; between the 256 bins the curve is linear, \
              so values finer than 8 bit keep their steps. By default the curve is that of Rec. 709 luma, and the \
              change of luma is added to red, green and blue, which keeps the differences of colour (as by equalising \
              Y of YCbCr); per-channel=true gives each channel its own curve, as Pillow's ImageOps.equalize does \
              (which counts in whole pixels per level and so differs by some levels on small pictures). A \
              picture of one value stays as it is. Values are straight, as stored; alpha stays.",
    inputs: IMAGE,
    parameters: &[
        Parameter::switch("per-channel", false).help("A curve for each channel, which changes the balance of colours")
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let kernel = Equalize { per_channel: Choice(u32::from(arguments.switch("per-channel"))) };
    let histogram = builder.reduce(inputs[0], Reduction::Histogram);
    let curve = builder.derive(histogram, 256, EqualizeTable {});
    let kernel = Kernel::point_with_buffer(kernel, |kernel, curve| Curves::new(kernel.per_channel.0 != 0, curve));
    Ok(builder.point_with_buffer(inputs[0], curve, kernel))
}

kernel! { "equalize-table", cost: 1000.0, pub struct EqualizeTable {} }

impl Derive for EqualizeTable {
    fn entries(&self, histogram: &[[u32; 4]]) -> Vec<[u32; 4]> {
        let curves = [0, 1, 2, 3].map(|channel| curve(histogram.iter().map(|counts| counts[channel])));
        (0..histogram.len()).map(|bin| [0, 1, 2, 3].map(|channel: usize| curves[channel][bin].to_bits())).collect()
    }
}

/// The curve of one channel: the share of pixels up to each bin, the lowest bin in use set aside.
fn curve(counts: impl Iterator<Item = u32> + Clone) -> Vec<f32> {
    let pixels: u32 = counts.clone().sum(); // below 2^32: sides are at most 65535
    let first = counts.clone().find(|count| *count > 0).unwrap_or(0);
    let mut seen = 0u32;
    let level = |(bin, count): (usize, u32)| {
        seen += count;
        match pixels - first {
            0 => bin as f32 / 255.0,
            rest => seen.saturating_sub(first) as f32 / rest as f32,
        }
    };
    counts.enumerate().map(level).collect()
}

kernel! { "equalize", cost: 3.0, pub struct Equalize { per_channel: Choice } }

/// The pixel code once the curves are known: red, green, blue, luma.
struct Curves {
    per_channel: bool,
    curves: Box<[[f32; 256]; 4]>,
}

impl Curves {
    fn new(per_channel: bool, buffer: &[[u32; 4]]) -> Self {
        let mut curves = Box::new([[0.0; 256]; 4]);
        for (bin, entry) in buffer.iter().enumerate().take(256) {
            for (curve, level) in curves.iter_mut().zip(entry) {
                curve[bin] = f32::from_bits(*level);
            }
        }
        Curves { per_channel, curves }
    }
}

of_buffer!(Curves: Equalize);

/// A curve at a value: between its two bins.
#[inline(always)]
fn look_up(curve: &[f32; 256], value: f32) -> f32 {
    let place = maths::clamp(value, 0.0, 1.0) * 255.0;
    let bin = clamp_to_int::<0, 254>(place);
    let index = bin as usize & 255;
    maths::mix(curve[index], curve[(index + 1) & 255], place - bin as f32)
}

impl Point for Curves {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let [red, green, blue, luma] = &*self.curves;
        if self.per_channel {
            return [look_up(red, r), look_up(green, g), look_up(blue, b), a];
        }
        let value = maths::luma709(r, g, b);
        let change = look_up(luma, value) - value;
        [r + change, g + change, b + change, a]
    }
}

impl Node {
    /// Evens out the histogram of luma.
    pub fn equalize(&self) -> Node {
        self.apply("equalize", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_those_of_opencv() {
        // equalizeHist of 4 pixels of 10, 2 of 20, 1 of 30, 1 of 200: 0, 128, 191, 255.
        let mut histogram = vec![[0u32; 4]; 256];
        for (bin, count) in [(10, 4), (20, 2), (30, 1), (200, 1)] {
            histogram[bin] = [count; 4];
        }
        let buffer = EqualizeTable {}.entries(&histogram);
        let curves = Curves::new(true, &buffer);
        for (value, expected) in [(10.0, 0.0), (20.0, 0.5), (30.0, 0.75), (200.0, 1.0), (25.0, 0.5), (29.5, 0.625)] {
            let level = look_up(&curves.curves[3], value / 255.0);
            assert!((level - expected).abs() < 1e-4, "{value}: {level}");
        }
    }

    #[test]
    fn one_value_stays() {
        let mut histogram = vec![[0u32; 4]; 256];
        histogram[77] = [1000; 4];
        let curves = Curves::new(false, &EqualizeTable {}.entries(&histogram));
        let pixel = curves.pixel([0.3, 0.3, 0.3, 0.5], Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 });
        assert!((pixel[0] - 0.3).abs() < 1e-6 && pixel[3] == 0.5, "{pixel:?}");
    }
}
