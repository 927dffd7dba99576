//! saturation: distances from the luma, multiplied.

use crate::color;
use crate::graph::Node;
use crate::maths;
use crate::op::{Arguments, Builder, Group, IMAGE, Operator, Parameter, Point, Position, Rgba, Value, kernel};

/// `luma + (value - luma) * amount`.
pub static OPERATOR: Operator = Operator {
    name: "saturation",
    group: Group::Color,
    summary: "Multiplies the distance of each channel from the luma",
    details: "luma + (value - luma) * amount, with the luma of Rec. 709 of values as stored. Luma is kept and grey is \
              left exactly as it is. The W3C filter effect `saturate` is the same with weights rounded to three digits; \
              scaling the S of HSV, as OpenCV recipes do, changes luma.",
    inputs: IMAGE,
    parameters: &[Parameter::float("amount", 0.0, 10.0, 1.0, "").help("0 gives grey, 1 changes nothing, 2 is vivid")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        Ok(builder.point(inputs[0], Saturation { amount: arguments.float("amount") }))
    },
};

kernel! { "saturation", cost: 0.7, pub struct Saturation { amount: f32 } }

impl Point for Saturation {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let luma = maths::luma709(r, g, b);
        let stretch = |value: f32| luma + (value - luma) * self.amount;
        [stretch(r), stretch(g), stretch(b), a]
    }

    fn is_identity(&self) -> bool {
        self.amount == 1.0
    }

    fn matrix(&self) -> Option<color::Matrix> {
        let amount = f64::from(self.amount);
        let luma = maths::REC709.map(|weight| f64::from(weight) * (1.0 - amount));
        let mut rows = [luma; 3];
        for (index, row) in rows.iter_mut().enumerate() {
            row[index] += amount;
        }
        Some(color::without_offset(rows))
    }
}

impl Node {
    /// Multiplies the distance of each channel from the luma by `amount`.
    pub fn saturation(&self, amount: f32) -> Node {
        self.apply("saturation", &[("amount", amount.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{SAMPLES, assert_matrix, assert_near, run};

    #[test]
    fn grey_and_luma_stay() {
        for amount in [0.0, 0.5, 1.0, 3.0, 10.0] {
            let kernel = Saturation { amount };
            assert_eq!(run(&kernel, [0.3, 0.3, 0.3, 0.5]), [0.3, 0.3, 0.3, 0.5]);
            for color in SAMPLES {
                let [r, g, b, _] = run(&kernel, color);
                assert!((maths::luma709(r, g, b) - maths::luma709(color[0], color[1], color[2])).abs() < 1e-5);
            }
            assert_matrix(&kernel);
        }
    }

    #[test]
    fn ends_of_the_range() {
        assert_near(run(&Saturation { amount: 0.0 }, [1.0, 0.0, 0.0, 1.0]), [0.2126, 0.2126, 0.2126, 1.0], 1e-7);
        assert_near(run(&Saturation { amount: 2.0 }, [0.0, 1.0, 0.0, 1.0]), [-0.7152, 1.2848, -0.7152, 1.0], 1e-6);
        assert!(Saturation { amount: 1.0 }.is_identity());
    }
}
