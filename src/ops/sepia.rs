//! sepia: brown tones. The matrix of the W3C filter effect `sepia` (Filter Effects Module Level 1).

use crate::color;
use crate::graph::Node;
use crate::op::{
    Arguments, Builder, Channels, Group, IMAGE, Kernel, Operator, Parameter, Point, Position, Rgba, Value, kernel,
};

/// Brown tones.
pub static OPERATOR: Operator = Operator {
    name: "sepia",
    group: Group::Color,
    summary: "Gives brown tones as of old prints",
    details: "The matrix of the W3C filter effect `sepia`, on values as stored, mixed with the picture by amount. Its rows \
              sum to 1.351, 1.203 and 0.937, so bright tones pass 1.",
    inputs: IMAGE,
    parameters: &[Parameter::float("amount", 0.0, 1.0, 1.0, "").help("0 changes nothing, 1 is all sepia")],
    lower: |builder: &mut Builder, arguments: &Arguments, inputs: &[Value]| {
        // Grey becomes brown.
        Ok(builder.point_to(inputs[0], Kernel::point(Sepia::new(arguments.float("amount"))), Channels::Color))
    },
};

kernel! { "sepia", cost: 1.0, pub struct Sepia { r: [f32; 3], g: [f32; 3], b: [f32; 3] } }

const FULL: [[f64; 3]; 3] = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]];

impl Sepia {
    /// By how much, 0 to 1.
    pub fn new(amount: f32) -> Self {
        let amount = f64::from(amount);
        let mut rows = [[0.0; 3]; 3];
        for (index, (row, full)) in rows.iter_mut().zip(FULL).enumerate() {
            for (column, (slot, full)) in row.iter_mut().zip(full).enumerate() {
                let own = if column == index { 1.0 } else { 0.0 };
                *slot = (full * amount + own * (1.0 - amount)) as f32;
            }
        }
        let [r, g, b] = rows;
        Sepia { r, g, b }
    }
}

impl Point for Sepia {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let dot = |row: [f32; 3]| row[0] * r + row[1] * g + row[2] * b;
        [dot(self.r), dot(self.g), dot(self.b), a]
    }

    fn is_identity(&self) -> bool {
        self.matrix() == Some(color::IDENTITY)
    }

    fn matrix(&self) -> Option<color::Matrix> {
        Some([self.r, self.g, self.b].map(|[r, g, b]| [r, g, b, 0.0]))
    }
}

impl Node {
    /// Gives brown tones; `amount` 0 to 1.
    pub fn sepia(&self, amount: f32) -> Node {
        self.apply("sepia", &[("amount", amount.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{assert_matrix, assert_near, run};

    #[test]
    fn as_the_standard() {
        assert_near(run(&Sepia::new(1.0), [1.0, 0.0, 0.0, 0.5]), [0.393, 0.349, 0.272, 0.5], 1e-7);
        assert_near(run(&Sepia::new(1.0), [1.0, 1.0, 1.0, 1.0]), [1.351, 1.203, 0.937, 1.0], 1e-6);
        let half = [0.393 + 0.607 * 0.5, 0.349 * 0.5, 0.272 * 0.5, 1.0];
        assert_near(run(&Sepia::new(0.5), [1.0, 0.0, 0.0, 1.0]), half, 1e-6);
        assert!(Sepia::new(0.0).is_identity());
        assert_matrix(&Sepia::new(0.6));
    }
}
