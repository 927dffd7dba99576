//! auto-levels: stretches the values that a picture has over the whole range.
//!
//! The picture is measured on the device (exact extrema, or a histogram where a part of the pixels may be cut off), the
//! range is derived there, and the pixels read it from a buffer: nothing waits for the CPU.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{
    Arguments, Builder, Derive, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Reduction, Rgba, Value,
    kernel, of_buffer,
};

/// Values stretched to 0..1.
pub static OPERATOR: Operator = Operator {
    name: "auto-levels",
    group: Group::Measure,
    summary: "Stretches the values over the whole range",
    details: "(value - low) / (high - low) on red, green and blue as stored. With low=0 and high=0 the ends are the exact \
              extrema; else they are histogram bins, the first from below (above) up to which more than that share of \
              the pixels lies, as in Pillow's autocontrast(cutoff). With per-channel=false all three use the widest of \
              the three ranges, which keeps the balance of colours. A range below 1e-4 stays as it is. Alpha stays; \
              values that are cut off leave 0..1 and clip where the picture is stored as integers.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("low", 0.0, 49.0, 0.0, "%").help("Share of the darkest pixels that may become black"),
        Parameter::float("high", 0.0, 49.0, 0.0, "%").help("Share of the brightest pixels that may become white"),
        Parameter::switch("per-channel", true)
            .help("Stretches each channel on its own; false keeps the colour balance"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let parts = |name: &str| (arguments.float(name) * 100.0 + 0.5) as u32; // 0..=4900 by the parameters' range
    let (low, high) = (parts("low"), parts("high"));
    let common = u32::from(!arguments.switch("per-channel"));
    let range = if low == 0 && high == 0 {
        let statistics = builder.reduce(inputs[0], Reduction::Statistics);
        builder.derive(statistics, 2, AutoLevelsExtrema { joint: common })
    } else {
        let histogram = builder.reduce(inputs[0], Reduction::Histogram);
        builder.derive(histogram, 2, AutoLevelsPercentiles { low, high, joint: common })
    };
    let kernel = Kernel::point_with_buffer(AutoLevels {}, |_, buffer| Stretch::new(buffer));
    Ok(builder.point_with_buffer(inputs[0], range, kernel))
}

/// A range as the two entries of the buffer, low ends and scales. The WGSL of both derivations does the same.
fn entries(mut low: [f32; 3], mut high: [f32; 3], common: bool) -> Vec<[u32; 4]> {
    if common {
        low = [low[0].min(low[1]).min(low[2]); 3];
        high = [high[0].max(high[1]).max(high[2]); 3];
    }
    let (mut offset, mut scale) = ([0.0; 3], [1.0; 3]);
    for channel in 0..3 {
        let range = high[channel] - low[channel];
        if range >= SMALLEST_RANGE {
            (offset[channel], scale[channel]) = (low[channel], 1.0 / range);
        }
    }
    [offset, scale].map(|[r, g, b]| [r, g, b, 0.0].map(f32::to_bits)).to_vec()
}

/// Seven steps of 16 bit: what is left of an even picture once textures and rounding have been at it is not stretched.
const SMALLEST_RANGE: f32 = 1e-4;

kernel! { "auto-levels-extrema", cost: 4.0, pub struct AutoLevelsExtrema { joint: u32 } }

impl Derive for AutoLevelsExtrema {
    fn entries(&self, statistics: &[[u32; 4]]) -> Vec<[u32; 4]> {
        let [low, high, ..] = statistics else { return Vec::new() }; // four entries, by the reduction
        let ends = |[r, g, b, _]: [u32; 4]| [r, g, b].map(f32::from_bits);
        entries(ends(*low), ends(*high), self.joint != 0)
    }
}

kernel! {
    "auto-levels-percentiles",
    cost: 1000.0,
    pub struct AutoLevelsPercentiles {
        /// Share cut off from below, in hundredths of a percent.
        low: u32,
        /// Share cut off from above, in hundredths of a percent.
        high: u32,
        joint: u32,
    }
}

impl Derive for AutoLevelsPercentiles {
    fn entries(&self, histogram: &[[u32; 4]]) -> Vec<[u32; 4]> {
        let pixels: u32 = histogram.iter().map(|counts| counts[0]).sum(); // below 2^32: sides are at most 65535
        // Whole numbers without overflow, so that the GPU cuts at the same pixel.
        let share = |parts: u32| pixels / 10_000 * parts + pixels % 10_000 * parts / 10_000;
        let cut = [share(self.low), share(self.high)];
        let ends = |channel: usize| {
            // Bins from one end until more pixels than the cut have been seen.
            let skipped = |counts: &mut dyn Iterator<Item = u32>, cut: u32| {
                let mut seen = 0;
                counts
                    .take_while(|count| {
                        seen += count;
                        seen <= cut
                    })
                    .count() as f32
            };
            let mut counts = histogram.iter().map(|counts| counts[channel]);
            let low = skipped(&mut counts.clone(), cut[0]);
            let high = 255.0 - skipped(&mut counts.by_ref().rev(), cut[1]);
            [low / 255.0, high / 255.0]
        };
        let ends = [0, 1, 2].map(ends);
        entries(ends.map(|[low, _]| low), ends.map(|[_, high]| high), self.joint != 0)
    }
}

kernel! { "auto-levels", cost: 1.0, pub struct AutoLevels {} }

/// The pixel code once the range is known.
struct Stretch {
    low: [f32; 3],
    scale: [f32; 3],
}

impl Stretch {
    fn new(buffer: &[[u32; 4]]) -> Self {
        let entry = |index: usize| {
            let [r, g, b, _] = buffer.get(index).copied().unwrap_or_default();
            [r, g, b].map(f32::from_bits)
        };
        Stretch { low: entry(0), scale: entry(1) }
    }
}

of_buffer!(Stretch: AutoLevels);

impl Point for Stretch {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let stretch = |value: f32, channel: usize| (value - self.low[channel]) * self.scale[channel];
        [stretch(r, 0), stretch(g, 1), stretch(b, 2), a]
    }
}

impl Node {
    /// Stretches each channel's values over the whole range.
    pub fn auto_levels(&self) -> Node {
        self.apply("auto-levels", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(entries: &[[u32; 4]]) -> Vec<[f32; 4]> {
        entries.iter().map(|entry| entry.map(f32::from_bits)).collect()
    }

    fn bits(entries: &[[f32; 4]]) -> Vec<[u32; 4]> {
        entries.iter().map(|entry| entry.map(f32::to_bits)).collect()
    }

    #[test]
    fn extrema_become_the_ends() {
        let statistics = bits(&[[0.25, 0.5, 0.0, 1.0], [0.75, 0.5, 2.0, 1.0], [0.5; 4], [0.0; 4]]);
        let own = AutoLevelsExtrema { joint: 0 }.entries(&statistics);
        assert_eq!(floats(&own), [[0.25, 0.0, 0.0, 0.0], [2.0, 1.0, 0.5, 0.0]]);
        let common = AutoLevelsExtrema { joint: 1 }.entries(&statistics);
        assert_eq!(floats(&common), [[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.0]]);
        let pixel =
            Stretch::new(&own).pixel([0.25, 0.5, 1.0, 0.3], Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 });
        assert_eq!(pixel, [0.0, 0.5, 0.5, 0.3]);
    }

    #[test]
    fn percentiles_skip_whole_bins() {
        let mut histogram = vec![[0u32; 4]; 256];
        histogram[0] = [10, 100, 0, 0];
        histogram[51] = [90, 0, 100, 0];
        histogram[204] = [90, 100, 100, 0];
        histogram[255] = [10, 0, 0, 0];
        let entries = |low, high| floats(&AutoLevelsPercentiles { low, high, joint: 0 }.entries(&histogram));
        // 5 percent of 200 pixels: red's 10 darkest and 10 brightest may go; green and blue have no such tails.
        let [low, scale] = entries(500, 500)[..] else { panic!() };
        assert_eq!(low, [0.2, 0.0, 0.2, 0.0]);
        for (channel, range) in [0.6, 0.8, 0.6].into_iter().enumerate() {
            assert!((scale[channel] * range - 1.0).abs() < 1e-6, "{scale:?}");
        }
        // One pixel less, and the bins stay.
        assert_eq!(entries(499, 500)[0][0], 0.0);
        assert_eq!(entries(4900, 4900)[0], [0.2, 0.0, 0.2, 0.0]);
    }
}
