//! hue-rotate: colours turned about the grey axis, luma kept. The matrix of the W3C filter effect `hueRotate`
//! (Filter Effects Module Level 1, feColorMatrix), whose constants are derived here from the weights of Rec. 709.

use crate::color;
use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// Rotation of the hue.
pub static OPERATOR: Operator = Operator {
    name: "hue-rotate",
    group: Group::Color,
    summary: "Turns the hue, keeping luma",
    details: "The matrix of the W3C filter effect `hue-rotate` with the full weights of Rec. 709 (the standard rounds \
              them to three digits), on values as stored. Luma and grey stay as they are, 0 and 360 change nothing. \
              Being linear, it can leave 0..1 for vivid colours; turning the H of HSV, as OpenCV recipes do, cannot, but \
              changes luma.",
    inputs: IMAGE,
    parameters: &[
        Parameter::float("angle", -360.0, 360.0, 0.0, "degrees").help("120 turns red towards green, 240 towards blue")
    ],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], HueRotate::new(arguments.float("angle"))))
    },
};

kernel! { "hue-rotate", cost: 1.0, pub struct HueRotate { r: [f32; 3], g: [f32; 3], b: [f32; 3] } }

impl HueRotate {
    /// By an angle in degrees.
    pub fn new(degrees: f32) -> Self {
        let (sin, cos) = f64::from(degrees).rem_euclid(360.0).to_radians().sin_cos();
        let [wr, wg, wb] = [0.2126, 0.7152, 0.0722]; // of Rec. 709, in double precision
        // Each row is luma + cos * (channel - luma) + sin * (a direction that has no luma and is 0 for grey).
        let turned = [
            [-wr, -wg, 1.0 - wb],
            [(wr * wr + wb * (1.0 - wr)) / wg, wr - wb, -(wr * (1.0 - wb) + wb * wb) / wg],
            [wr - 1.0, wg, wb],
        ];
        let mut rows = [[0.0; 3]; 3];
        for (index, (row, turned)) in rows.iter_mut().zip(turned).enumerate() {
            for (column, ((slot, weight), turned)) in row.iter_mut().zip([wr, wg, wb]).zip(turned).enumerate() {
                let own = if column == index { 1.0 } else { 0.0 };
                *slot = (weight + cos * (own - weight) + sin * turned) as f32;
            }
        }
        let [r, g, b] = rows;
        HueRotate { r, g, b }
    }
}

impl Point for HueRotate {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        // Each row sums to 1, so it is a weighted mean, in the form that leaves grey exactly as it is.
        let turned = |row: [f32; 3]| maths::weighted_luma(r, g, b, row);
        [turned(self.r), turned(self.g), turned(self.b), a]
    }

    fn is_identity(&self) -> bool {
        self.matrix() == Some(color::IDENTITY)
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some([self.r, self.g, self.b].map(|[r, g, b]| [r, g, b, 0.0]))
    }
}

impl Node {
    /// Turns the hue by an angle in degrees.
    pub fn hue_rotate(&self, angle: f32) -> Node {
        self.apply("hue-rotate", &[("angle", angle.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{SAMPLES, assert_matrix, assert_near, run};

    #[test]
    fn whole_turns_are_the_identity() {
        for angle in [0.0, -0.0, 360.0, -360.0, 720.0] {
            assert!(HueRotate::new(angle).is_identity(), "{angle}");
        }
        assert!(!HueRotate::new(1.0).is_identity());
    }

    #[test]
    fn grey_and_luma_stay() {
        for angle in [-300.0, -90.0, 17.0, 45.0, 180.0, 270.0] {
            let kernel = HueRotate::new(angle);
            assert_eq!(run(&kernel, [0.7, 0.7, 0.7, 0.5]), [0.7, 0.7, 0.7, 0.5]);
            for color in SAMPLES {
                let [r, g, b, _] = run(&kernel, color);
                assert!((maths::luma709(r, g, b) - maths::luma709(color[0], color[1], color[2])).abs() < 2e-6);
            }
            assert_matrix(&kernel);
        }
    }

    #[test]
    fn as_the_standard_within_its_rounding() {
        // The standard's matrix at 90 degrees: cos 0, sin 1.
        let kernel = HueRotate::new(90.0);
        let expected = [
            [0.213 - 0.213, 0.715 - 0.715, 0.072 + 0.928],
            [0.213 + 0.143, 0.715 + 0.140, 0.072 - 0.283],
            [0.213 - 0.787, 0.715 + 0.715, 0.072 + 0.072],
        ];
        for (row, expected) in [kernel.r, kernel.g, kernel.b].iter().zip(expected) {
            row.iter().zip(expected).for_each(|(found, wanted)| assert!((found - wanted).abs() < 1.5e-3, "{row:?}"));
        }
    }

    #[test]
    fn turns_add_up() {
        let color = [0.2, 0.4, 0.6, 1.0];
        let twice = run(&HueRotate::new(35.0), run(&HueRotate::new(25.0), color));
        assert_near(twice, run(&HueRotate::new(60.0), color), 1e-6);
    }
}
