//! Colour matrices, which several operators share. Luma and transfer curves stand in [`crate::maths`]. It knows neither
//! graphs nor shaders.

/// Rows for red, green and blue; columns are the factors of red, green, blue, and an offset.
pub type Matrix = [[f32; 4]; 3];

/// The matrix that changes nothing.
pub const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// A row of a matrix applied to a colour.
#[inline(always)]
pub fn weigh(row: [f32; 4], red: f32, green: f32, blue: f32) -> f32 {
    row[0] * red + row[1] * green + row[2] * blue + row[3]
}

/// The same scaling and offset of each channel, as a matrix.
pub fn uniform(factor: f32, offset: f32) -> Matrix {
    [[factor, 0.0, 0.0, offset], [0.0, factor, 0.0, offset], [0.0, 0.0, factor, offset]]
}

/// A matrix without offsets, from numbers in double precision.
pub fn without_offset(rows: [[f64; 3]; 3]) -> Matrix {
    rows.map(|[red, green, blue]| [red as f32, green as f32, blue as f32, 0.0])
}

/// What the unit tests of the colour operators share.
#[cfg(test)]
pub(crate) mod testing {
    use super::weigh;
    use crate::op::{Point, Position, Rgba};

    /// A position for kernels that ignore it.
    pub const AT: Position = Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 };

    /// Colours about the unit cube, and beyond it.
    pub const SAMPLES: [Rgba; 8] = [
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 1.0, 1.0, 0.5],
        [0.25, 0.5, 0.75, 0.25],
        [1.0, 0.0, 0.0, 1.0],
        [0.1, 0.9, 0.3, 0.0],
        [0.6, 0.6, 0.6, 1.0],
        [-0.5, 2.0, 0.5, 1.0],
        [4.0, 0.01, -1.0, 0.75],
    ];

    /// Runs a point kernel on one colour.
    pub fn run<K: Point>(kernel: &K, color: Rgba) -> Rgba {
        kernel.pixel(color, AT)
    }

    /// Asserts that two colours agree within `tolerance`.
    #[track_caller]
    pub fn assert_near(found: Rgba, expected: Rgba, tolerance: f32) {
        let far = |(found, expected): (&f32, &f32)| !((found - expected).abs() <= tolerance);
        assert!(!found.iter().zip(&expected).any(far), "found {found:?}, expected {expected:?}");
    }

    /// Asserts that a kernel is the matrix that it says it is.
    #[track_caller]
    pub fn assert_matrix<K: Point>(kernel: &K) {
        let [red, green, blue] = kernel.matrix().expect("a matrix");
        for color in SAMPLES {
            let [r, g, b, a] = color;
            let expected = [weigh(red, r, g, b), weigh(green, r, g, b), weigh(blue, r, g, b), a];
            assert_near(run(kernel, color), expected, 4e-6);
        }
    }
}
