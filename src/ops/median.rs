//! median: the middle value of a 3x3 or 5x5 window, channel by channel.
//!
//! The values pass a network of exchanges, each of which puts a pair in order; only the middle comes out sorted. 19
//! exchanges for 9 values (A. Paeth, Graphics Gems, 1990) are the least there can be; 99 do for 25 (N. Devillard, Fast
//! median search, 1998). The WGSL lists the same exchanges, which a test compares with the tables here.

use crate::cpu::simd::vectorize;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::op::{
    Arguments, Builder, EDGE_MODES, Group, IMAGE, Kernel, Operator, Parameter, Planes, Position, Rgba, Rows, Value,
    Window, edge_from, kernel,
};
use std::sync::Arc;

/// Middle value of a window.
pub static OPERATOR: Operator = Operator {
    name: "median",
    group: Group::Filter,
    summary: "Takes the middle value of a window: removes specks",
    details: "The median of the 9 or 25 values of each channel on its own, alpha as well, premultiplied. Every result is \
              a value of the window, so it works alike on encoded and on linear values. OpenCV's medianBlur, whose edge \
              is clamped too.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("size", 3, 5, 3, "px").help("Side of the window: 3 or 5"),
        Parameter::choice("edge", EDGE_MODES, 0).help("What is read outside of the picture"),
        Parameter::color("edge-color", [0.0, 0.0, 0.0, 1.0]).help("Colour outside, for edge=constant"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let edge = edge_from(arguments);
    match arguments.integer("size") {
        3 => Ok(builder.window_step(inputs[0], 1, edge, kernel_3())),
        5 => Ok(builder.window_step(inputs[0], 2, edge, kernel_5())),
        size => Err(Error::BadParameter {
            operator: OPERATOR.name.into(),
            parameter: "size".into(),
            expected: "3 or 5".into(),
            found: size.to_string(),
        }),
    }
}

/// A table of exchanges, and a function that makes them and gives the middle. Written out one by one, so that the values
/// stay in registers.
macro_rules! network {
    ($table:ident, $function:ident, $length:literal, $(($first:literal, $second:literal))*) => {
        #[cfg(test)]
        const $table: &[(usize, usize)] = &[$(($first, $second)),*];

        #[inline(always)]
        fn $function<T: Copy>(mut values: [T; $length], exchange: impl Fn(T, T) -> (T, T)) -> T {
            $((values[$first], values[$second]) = exchange(values[$first], values[$second]);)*
            values[$length / 2]
        }
    };
}

network! {
    NETWORK_9, middle_of_9, 9,
    (1, 2) (4, 5) (7, 8) (0, 1) (3, 4) (6, 7) (1, 2) (4, 5) (7, 8) (0, 3) (5, 8) (4, 7) (3, 6) (1, 4) (2, 5) (4, 7)
    (4, 2) (6, 4) (4, 2)
}

network! {
    NETWORK_25, middle_of_25, 25,
    (0, 1) (3, 4) (2, 4) (2, 3) (6, 7) (5, 7) (5, 6) (9, 10) (8, 10) (8, 9) (12, 13) (11, 13) (11, 12) (15, 16)
    (14, 16) (14, 15) (18, 19) (17, 19) (17, 18) (21, 22) (20, 22) (20, 21) (23, 24) (2, 5) (3, 6) (0, 6) (0, 3)
    (4, 7) (1, 7) (1, 4) (11, 14) (8, 14) (8, 11) (12, 15) (9, 15) (9, 12) (13, 16) (10, 16) (10, 13) (20, 23)
    (17, 23) (17, 20) (21, 24) (18, 24) (18, 21) (19, 22) (8, 17) (9, 18) (0, 18) (0, 9) (10, 19) (1, 19) (1, 10)
    (11, 20) (2, 20) (2, 11) (12, 21) (3, 21) (3, 12) (13, 22) (4, 22) (4, 13) (14, 23) (5, 23) (5, 14) (15, 24)
    (6, 24) (6, 15) (7, 16) (7, 19) (13, 21) (15, 23) (7, 13) (7, 15) (1, 9) (3, 11) (5, 17) (11, 17) (9, 17)
    (4, 10) (6, 12) (7, 14) (4, 6) (4, 7) (12, 14) (10, 14) (6, 7) (10, 12) (6, 10) (6, 17) (12, 17) (7, 17)
    (7, 10) (12, 18) (7, 12) (10, 18) (12, 20) (10, 20) (10, 12)
}

/// The lesser and the greater: one instruction each.
#[inline(always)]
fn ordered(first: f32, second: f32) -> (f32, f32) {
    (if first < second { first } else { second }, if first > second { first } else { second })
}

kernel! { "median-3", cost: 6.0, pub struct Median3 {} }

impl Window<9> for Median3 {
    #[inline(always)]
    fn pixel(&self, window: &[Rgba; 9], _: Position) -> Rgba {
        [0, 1, 2, 3].map(|channel: usize| middle_of_9(window.map(|color| color[channel]), ordered))
    }
}

kernel! { "median-5", cost: 30.0, pub struct Median5 {} }

impl Window<25> for Median5 {
    #[inline(always)]
    fn pixel(&self, window: &[Rgba; 25], _: Position) -> Rgba {
        [0, 1, 2, 3].map(|channel: usize| middle_of_25(window.map(|color| color[channel]), ordered))
    }
}

fn kernel_3() -> Kernel {
    let mut kernel = Kernel::window::<3, 9, _>(Median3 {});
    kernel.rows = by_channel(middles_of_9);
    kernel
}

fn kernel_5() -> Kernel {
    let mut kernel = Kernel::window::<5, 25, _>(Median5 {});
    kernel.rows = by_channel(middles_of_25);
    kernel
}

/// The same as `pixel`, one channel after the other: the values of one window fit the registers, those of four do not, and
/// LLVM then sorts pixel by pixel (318 against 14 ns for 5x5).
fn by_channel<const SIDE: usize>(middles: fn([&[f32]; SIDE], &mut [f32])) -> Rows {
    Rows::Window(Arc::new(move |rows, out, _| {
        let Ok(rows) = <&[Planes; SIDE]>::try_from(rows) else { return }; // the engine hands SIDE rows
        middles(rows.map(|row| row.r), out.r);
        middles(rows.map(|row| row.g), out.g);
        middles(rows.map(|row| row.b), out.b);
        middles(rows.map(|row| row.a), out.a);
    }))
}

/// Rows of one channel, each two longer than the results.
fn middles_of_9([a, b, c]: [&[f32]; 3], out: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || {
            let length = out.len();
            let (a, b, c) = (&a[..length + 2], &b[..length + 2], &c[..length + 2]);
            for x in 0..length {
                let window = [a[x], a[x + 1], a[x + 2], b[x], b[x + 1], b[x + 2], c[x], c[x + 1], c[x + 2]];
                out[x] = middle_of_9(window, ordered);
            }
        },
    );
}

/// Rows of one channel, each four longer than the results.
#[rustfmt::skip] // one line for each row of the window
fn middles_of_25([a, b, c, d, e]: [&[f32]; 5], out: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || {
            let length = out.len();
            let (a, b, c) = (&a[..length + 4], &b[..length + 4], &c[..length + 4]);
            let (d, e) = (&d[..length + 4], &e[..length + 4]);
            for x in 0..length {
                let window = [
                    a[x], a[x + 1], a[x + 2], a[x + 3], a[x + 4],
                    b[x], b[x + 1], b[x + 2], b[x + 3], b[x + 4],
                    c[x], c[x + 1], c[x + 2], c[x + 3], c[x + 4],
                    d[x], d[x + 1], d[x + 2], d[x + 3], d[x + 4],
                    e[x], e[x + 1], e[x + 2], e[x + 3], e[x + 4],
                ];
                out[x] = middle_of_25(window, ordered);
            }
        },
    );
}

impl Node {
    /// The middle value of a window of `size` (3 or 5) pixels a side, channel by channel; edges clamped.
    pub fn median(&self, size: u32) -> Node {
        self.apply("median", &[("size", size.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Place, PlanesMut, Shader};

    /// Six inputs that take all 64 patterns within one word.
    const PATTERNS: [u64; 6] = [
        0xaaaa_aaaa_aaaa_aaaa,
        0xcccc_cccc_cccc_cccc,
        0xf0f0_f0f0_f0f0_f0f0,
        0xff00_ff00_ff00_ff00,
        0xffff_0000_ffff_0000,
        0xffff_ffff_0000_0000,
    ];

    /// Tries all patterns of zeros and ones, 64 at a time. By the 0-1 principle a network that finds the middle of
    /// those finds the middle of anything.
    fn first_wrong<const N: usize>(middle: impl Fn([u64; N], fn(u64, u64) -> (u64, u64)) -> u64) -> Option<u32> {
        (0..1u32 << (N - 6)).find(|high| {
            let inputs = std::array::from_fn(|index| match index.checked_sub(6) {
                None => PATTERNS[index],
                Some(bit) => 0u64.wrapping_sub(u64::from(high >> bit & 1)),
            });
            let expected = (0..64u64)
                .map(|lane| u64::from(lane.count_ones() + high.count_ones() > N as u32 / 2) << lane)
                .fold(0, |all, bit| all | bit);
            middle(inputs, |a, b| (a & b, a | b)) != expected
        })
    }

    #[test]
    fn networks_find_the_middle() {
        assert_eq!(first_wrong::<9>(middle_of_9), None);
        assert_eq!(first_wrong::<25>(middle_of_25), None);
        // The check can fail: unsorted, the middle is wrong.
        assert!(first_wrong::<9>(|values, _| values[4]).is_some());
    }

    /// The pairs that a WGSL text exchanges, in order.
    fn exchanges(text: &str) -> Vec<(usize, usize)> {
        text.lines()
            .filter_map(|line| {
                let (_, call) = line.split_once("min(p").or_else(|| line.split_once("max(p"))?;
                let (first, rest) = call.split_once(", p")?;
                let (second, _) = rest.split_once(')')?;
                Some((first.parse().ok()?, second.parse().ok()?))
            })
            .collect()
    }

    #[test]
    fn wgsl_makes_the_same_exchanges() {
        assert_eq!(exchanges(Median3::WGSL), NETWORK_9);
        assert_eq!(exchanges(Median5::WGSL), NETWORK_25);
        assert_eq!((NETWORK_9.len(), NETWORK_25.len()), (19, 99));
    }

    fn rows_are_those_of_the_pixel<const SIDE: usize, const N: usize>(kernel: &Kernel, pixel: impl Window<N>) {
        const LENGTH: usize = 37;
        let width = LENGTH + SIDE - 1;
        let values: Vec<f32> = (0..4 * SIDE * width).map(|index| (index * 7919 % 1021) as f32 / 511.0 - 1.0).collect();
        let plane = |row: usize, channel: usize| &values[(row * 4 + channel) * width..][..width];
        let rows: [Planes; SIDE] = std::array::from_fn(|row| {
            let [r, g, b, a] = [0, 1, 2, 3].map(|channel| plane(row, channel));
            Planes { r, g, b, a }
        });
        let (mut r, mut g, mut b, mut a) = ([0.0; LENGTH], [0.0; LENGTH], [0.0; LENGTH], [0.0; LENGTH]);
        let Rows::Window(code) = &kernel.rows else { panic!("a window has rows") };
        let place = Place { x: 0, y: 0, width: LENGTH as u32, height: 1 };
        code(&rows, PlanesMut { r: &mut r, g: &mut g, b: &mut b, a: &mut a }, place);
        for x in 0..LENGTH {
            let window =
                std::array::from_fn(|entry| [0, 1, 2, 3].map(|channel| plane(entry / SIDE, channel)[x + entry % SIDE]));
            assert_eq!([r[x], g[x], b[x], a[x]], pixel.pixel(&window, place.position(x)), "{x}");
        }
    }

    #[test]
    fn rows_agree_with_pixels() {
        rows_are_those_of_the_pixel::<3, 9>(&kernel_3(), Median3 {});
        rows_are_those_of_the_pixel::<5, 25>(&kernel_5(), Median5 {});
    }

    #[test]
    fn values_are_those_of_the_window() {
        let window: [Rgba; 25] = std::array::from_fn(|index| {
            let value = (index * 7 % 25) as f32;
            [value, -value, value * 0.5, 1.0]
        });
        let position = Position { x: 0.5, y: 0.5, width: 1.0, height: 1.0 };
        assert_eq!(Median5 {}.pixel(&window, position), [12.0, -12.0, 6.0, 1.0]);
    }
}
