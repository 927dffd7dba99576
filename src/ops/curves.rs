//! curves: a tone curve through points. A monotone cubic: Fritsch and Carlson, "Monotone Piecewise Cubic Interpolation",
//! SIAM J. Numer. Anal. 17 (1980). It passes through the points and never overshoots between them. It is sampled into a
//! table, which the kernel reads with linear interpolation.

use crate::cpu::simd::clamp_to_int;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Channels, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Rgba, Value, kernel,
};
use std::sync::Arc;

/// A tone curve.
pub static OPERATOR: Operator = Operator {
    name: "curves",
    group: Group::Color,
    summary: "Applies a tone curve through points",
    details: "A monotone cubic (Fritsch-Carlson) through the points, on values as stored, for all channels or for one. Flat \
              before the first and after the last point, so HDR values need a point of their own. Between the points it \
              stays between their values, unlike the natural spline of GIMP and Photoshop, which may overshoot. Sampled \
              at 1021 places over the range of the points: 8-bit values meet the samples of 0..1 exactly.",
    inputs: IMAGE,
    parameters: &[
        Parameter::floats("points", 4, 128, &[0.0, 0.0, 1.0, 1.0])
            .help("x, y, x, y ... with x rising: the value x becomes y"),
        Parameter::choice("channel", &["rgb", "red", "green", "blue"], 0).help("Which channels it changes"),
    ],
    lower,
};

kernel! { "curves", cost: 3.0, pub struct Curves { channels: [f32; 3], start: f32, scale: f32 } table samples }

/// Parts that the range of the points is divided into: the last index of the table. A multiple of 255.
const PARTS: i32 = 1020;

/// Points closer than this cannot be told apart by the table, nor do they mean anything in a picture.
const LEAST_STEP: f64 = 1e-4;

/// Points beyond this lie outside of half floats.
const LIMIT: f32 = 65504.0;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let index = arguments.choice_index("channel");
    let channels: [f32; 3] = std::array::from_fn(|channel| if index == 0 || index == channel + 1 { 1.0 } else { 0.0 });
    let kernel = Curves::new(arguments.floats("points"), channels)?;
    Ok(match index {
        0 => builder.point(inputs[0], kernel),
        _ => builder.point_to(inputs[0], Kernel::point(kernel), Channels::Color),
    })
}

impl Curves {
    /// From points x, y, x, y ...; `channels` are 1 where the curve acts, else 0.
    pub fn new(points: &[f32], channels: [f32; 3]) -> Result<Self> {
        let bad = |expected: &str, found: String| Error::BadParameter {
            operator: "curves".into(),
            parameter: "points".into(),
            expected: expected.into(),
            found,
        };
        let (pairs, rest) = points.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(bad("pairs x, y", format!("{} numbers", points.len())));
        }
        if let Some(value) = points.iter().find(|value| !(value.abs() <= LIMIT)) {
            return Err(bad("numbers from -65504 to 65504", value.to_string()));
        }
        let points: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.map(f64::from)).collect();
        let ([first, .., last], steps) = (points.as_slice(), points.windows(2)) else {
            return Err(bad("two points or more", format!("{} numbers", pairs.len() * 2)));
        };
        for step in steps {
            if let [from, to] = step
                && to[0] - from[0] < LEAST_STEP
            {
                return Err(bad("points whose x rises, by 0.0001 or more", format!("x {} after {}", to[0], from[0])));
            }
        }
        let (start, range) = (first[0], last[0] - first[0]);
        let slopes = slopes(&points);
        let mut values: Vec<f32> = (0..=PARTS)
            .map(|part| evaluate(&points, &slopes, start + range * f64::from(part) / f64::from(PARTS)) as f32)
            .collect();
        values.push(last[1] as f32);
        // Each entry holds a sample and the way to the next, so that one load serves a lookup.
        let samples: Arc<[[f32; 4]]> = values.windows(2).map(|pair| [pair[0], pair[1] - pair[0], 0.0, 0.0]).collect(); // windows of two
        Ok(Curves { channels, start: start as f32, scale: (f64::from(PARTS) / range) as f32, samples })
    }

    #[inline(always)]
    fn curve(&self, value: f32) -> f32 {
        let place = maths::clamp((value - self.start) * self.scale, 0.0, PARTS as f32);
        let part = clamp_to_int::<0, PARTS>(place);
        // The table has an entry for each of 0..=PARTS; `get` says so without a panic.
        let [sample, step, ..] = self.samples.get(part as usize).copied().unwrap_or_default();
        sample + step * (place - part as f32)
    }
}

impl Point for Curves {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let [red, green, blue] = self.channels;
        [
            if red > 0.5 { self.curve(r) } else { r },
            if green > 0.5 { self.curve(g) } else { g },
            if blue > 0.5 { self.curve(b) } else { b },
            a,
        ]
    }
}

/// The slope at each point.
fn slopes(points: &[[f64; 2]]) -> Vec<f64> {
    let chords: Vec<f64> =
        points.windows(2).map(|pair| (pair[1][1] - pair[0][1]) / (pair[1][0] - pair[0][0])).collect();
    let (Some(first), Some(last)) = (chords.first(), chords.last()) else { return vec![0.0; points.len()] };
    let mut slopes = vec![*first];
    // Flat at an extremum, else the mean of the chords on both sides.
    slopes.extend(chords.windows(2).map(|pair| if pair[0] * pair[1] <= 0.0 { 0.0 } else { (pair[0] + pair[1]) / 2.0 }));
    slopes.push(*last);
    // Slopes are shortened into the circle of radius 3 in which the cubic is monotone.
    for (index, chord) in chords.iter().enumerate() {
        let ends = &mut slopes[index..index + 2]; // there is one slope more than there are chords
        if *chord == 0.0 {
            ends.fill(0.0);
            continue;
        }
        let length = (ends[0] / chord).hypot(ends[1] / chord);
        if length > 3.0 {
            ends.iter_mut().for_each(|slope| *slope *= 3.0 / length);
        }
    }
    slopes
}

/// The cubic at `x`, which lies within the points.
fn evaluate(points: &[[f64; 2]], slopes: &[f64], x: f64) -> f64 {
    let after = points.partition_point(|point| point[0] <= x).clamp(1, points.len() - 1);
    // `after` lies in 1..points.len(), and there are as many slopes.
    let ([x0, y0], [x1, y1]) = (points[after - 1], points[after]);
    let (m0, m1) = (slopes[after - 1], slopes[after]);
    let width = x1 - x0;
    let t = ((x - x0) / width).clamp(0.0, 1.0);
    let (t2, t3) = (t * t, t * t * t);
    y0 * (2.0 * t3 - 3.0 * t2 + 1.0) + y1 * (3.0 * t2 - 2.0 * t3) + width * (m0 * (t3 - 2.0 * t2 + t) + m1 * (t3 - t2))
}

impl Node {
    /// Applies a monotone tone curve through `[x, y]` points, x rising, to red, green and blue.
    pub fn curves(&self, points: &[[f32; 2]]) -> Node {
        self.apply("curves", &[("points", points.as_flattened().into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_near, run};

    const ALL: [f32; 3] = [1.0; 3];

    fn curve(points: &[f32]) -> Curves {
        Curves::new(points, ALL).unwrap()
    }

    #[test]
    fn two_points_are_a_line() {
        let kernel = curve(&[0.0, 0.0, 1.0, 1.0]);
        for level in 0..=255u32 {
            let value = level as f32 / 255.0;
            assert_near(run(&kernel, [value, value, value, 0.5]), [value, value, value, 0.5], 2e-7);
        }
        assert_near(run(&curve(&[0.25, 1.0, 0.75, 0.0]), [0.0, 0.5, 2.0, 1.0]), [1.0, 0.5, 0.0, 1.0], 1e-6);
    }

    #[test]
    fn passes_through_the_points() {
        let points = [0.0, 0.1, 0.2, 0.4, 0.5, 0.5, 0.8, 0.9, 1.0, 0.95];
        let kernel = curve(&points);
        for pair in points.chunks(2) {
            assert!((run(&kernel, [pair[0]; 4])[0] - pair[1]).abs() < 2e-5, "{pair:?}");
        }
        // NaN, and values beyond the points.
        assert_near(run(&kernel, [f32::NAN, -1.0, 1e30, 1.0]), [0.1, 0.1, 0.95, 1.0], 1e-6);
    }

    #[test]
    fn never_overshoots() {
        let kernel = curve(&[0.0, 0.0, 0.1, 0.0, 0.12, 0.9, 0.5, 0.9, 0.6, 1.0, 1.0, 1.0]);
        let mut last = -1.0;
        for step in 0..=10_000 {
            let value = kernel.curve(step as f32 / 10_000.0);
            assert!(value >= last - 1e-6 && (0.0..=1.0).contains(&value), "{step}: {value}");
            last = value;
        }
    }

    #[test]
    fn known_values() {
        // Slopes: 1, (1 + 0.5) / 2 and 0.5, none of which needs shortening.
        let kernel = curve(&[0.0, 0.0, 0.5, 0.5, 1.0, 0.75]);
        let quarter = 0.5 * 0.5 + 0.5 * (1.0 - 0.75) * 0.125;
        assert!((kernel.curve(0.25) - quarter).abs() < 1e-6);
    }

    #[test]
    fn one_channel() {
        let kernel = Curves::new(&[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0]).unwrap();
        assert_near(run(&kernel, [0.2, 0.2, 0.2, 0.5]), [0.2, 0.8, 0.2, 0.5], 1e-6);
    }

    #[test]
    fn bad_points_are_errors() {
        for points in [
            &[0.0, 0.0, 1.0][..],
            &[0.0, 0.0],
            &[],
            &[0.5, 0.0, 0.5, 1.0],
            &[1.0, 0.0, 0.0, 1.0],
            &[0.0, 0.0, 1e30, 1.0],
        ] {
            assert!(matches!(Curves::new(points, ALL), Err(Error::BadParameter { .. })), "{points:?}");
        }
    }
}
