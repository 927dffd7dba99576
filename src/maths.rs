//! Elementary functions on `f32` that a loop can be vectorised with: no branches, no tables, no calls to libm, nothing
//! but additions, multiplications, comparisons and integer operations on the bits. `f32::powf` in the same loop would
//! cost some five times as much, since LLVM has no vector form of it.
//!
//! They are total, as pictures need them. For finite arguments the results are finite: what would be infinite becomes
//! `f32::MAX`, what lies below the normal numbers becomes 0 (GPUs flush these too), and where mathematics has no answer
//! there is a stated one. NaN is answered with a number, as stated with each function. `wgsl/lib/maths.wgsl` holds the
//! same conventions for the GPU.
//!
//! No fused multiply-add, for two reasons. `f32::mul_add` is one instruction where the processor has it and a slow call
//! into libm where not, and stable Rust has no "fuse if it is cheap". And without it every processor computes the same
//! bits (see `cpu/simd.rs`), which makes the CPU backend a reference that can be compared exactly. Processors that add
//! and multiply on separate ports, as AMD's since Zen do, lose little; on Intel's the arithmetic of a sum of products
//! takes up to twice as long.
//!
//! The polynomials were fitted for this file by a Remez exchange that minimises the largest relative error, in forty
//! digits, then rounded to `f32`; "fit" states that error after rounding. The tests state the error of the whole
//! function against `f64`. Long ones are summed in pairs (Estrin's scheme), which shortens the chain of operations that
//! wait for each other: a processor overlaps only two or three turns of such a loop.
//!
//! Everything is `#[inline(always)]`, which `simd::vectorize` requires. This file knows neither pixels nor processors.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, PI};

/// Adding it to a float of magnitude below 2^22 rounds that to a whole number (to nearest), which then stands in the
/// low bits of the sum. SSE2 can do that; it has no instruction that rounds.
const ROUNDER: f32 = 12_582_912.0; // 1.5 * 2^23
/// From this exponent on a power of two is answered with `f32::MAX`. It lies 0.0001 below 128 because `pow` knows its
/// exponent to 0.00002 and must never build the bits of an infinity or a NaN.
const EXPONENT_LIMIT: f32 = 127.9999;
/// The exponent of the smallest normal number.
const EXPONENT_LOW: f32 = -126.0;

/// `2^fraction * 2^whole`, where `whole_bits` are those of `whole + ROUNDER` and fraction lies in about -0.5..=0.5.
/// `exponent`, their sum, decides whether the result is a normal number.
#[inline(always)]
fn scaled_exp2(exponent: f32, whole_bits: u32, fraction: f32) -> f32 {
    // Fit: 2.2e-8. The constant term is exactly 1, so whole exponents give exact powers.
    let square = fraction * fraction;
    let upper = (0.055_503_104 + 0.009_617_693 * fraction) + square * (0.001_340_664_3 + 0.000_155_946_76 * fraction);
    let lower = (0.693_147_24 + 0.240_226_52 * fraction) * fraction;
    let sum = 1.0 + (lower + square * fraction * upper);
    // The nine low bits of ROUNDER are 0, so this shift leaves `whole` alone, in the place of a float's exponent.
    let scaled = f32::from_bits(sum.to_bits().wrapping_add(whole_bits << 23));
    let scaled = if exponent < EXPONENT_LIMIT { scaled } else { f32::MAX };
    // Last, so that a NaN exponent gives 0.
    if exponent >= EXPONENT_LOW { scaled } else { 0.0 }
}

/// A positive normal number as `exponent + log2(1 + x)`, and `tail` with which `log2(1 + x) = x * (LOG2_E + x * tail)`.
/// The logarithm lies in -0.5..=0.5 and is relatively exact, also close to 0. Infinity passes for 2^128.
#[inline(always)]
fn split_log2(value: f32) -> (f32, f32, f32) {
    // Counting exponents from sqrt(1/2) puts the mantissa into sqrt(1/2)..sqrt(2), around 1.
    let bits = value.to_bits();
    let exponent = bits.wrapping_sub(0x3f35_04f3).cast_signed() >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub(exponent.cast_unsigned() << 23));
    let x = mantissa - 1.0; // exact
    // Fit, of the logarithm: 4.4e-8.
    let square = x * x;
    let upper = (-0.238_944_83 + 0.215_715_62 * x) + square * (-0.207_269_74 + 0.125_837 * x);
    let lower = (-0.721_347_33 + 0.480_910_63 * x) + square * (-0.360_703_68 + 0.287_916_24 * x);
    (exponent as f32, x, lower + square * square * upper)
}

/// 2 to the power of `exponent`. From 127.9999 on `f32::MAX`, below -126 and for NaN 0.
#[inline(always)]
pub fn exp2(exponent: f32) -> f32 {
    // Outside the range the bits below are nonsense, and scaled_exp2 does not use them.
    let rounded = exponent + ROUNDER;
    scaled_exp2(exponent, rounded.to_bits(), exponent - (rounded - ROUNDER))
}

/// The base-2 logarithm of `value`, which is raised to the smallest normal number first: 0, negative numbers and NaN
/// give -126. Infinity gives 128.
#[inline(always)]
pub fn log2(value: f32) -> f32 {
    let (exponent, x, tail) = split_log2(if value > f32::MIN_POSITIVE { value } else { f32::MIN_POSITIVE });
    exponent + x * (LOG2_E + x * tail)
}

/// e to the power of `exponent`. From about 88.72 on `f32::MAX`, below about -87.34 and for NaN 0.
#[inline(always)]
pub fn exp(exponent: f32) -> f32 {
    // ln 2 in two parts, so that the product of the first with a whole number below 2^13 is exact.
    const LN_2_HIGH: f32 = 0.692_871_1; // its first 11 bits
    const LN_2_LOW: f32 = 0.000_276_086_83;
    let scaled = exponent * LOG2_E;
    let rounded = scaled + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = (exponent - whole * LN_2_HIGH) - whole * LN_2_LOW;
    scaled_exp2(scaled, rounded.to_bits(), rest * LOG2_E)
}

/// The natural logarithm of `value`, clamped as in [`log2`]: 0, negative numbers and NaN give -87.34.
#[inline(always)]
pub fn ln(value: f32) -> f32 {
    log2(value) * LN_2
}

/// `base` to the power of `exponent`. Anything to the power of 0 is 1. A base that is 0, negative or NaN gives 0 for a
/// positive exponent and `f32::MAX` for a negative one. A NaN exponent gives 0.
#[inline(always)]
pub fn pow(base: f32, exponent: f32) -> f32 {
    let (whole_log, x, tail) = split_log2(if base > f32::MIN_POSITIVE { base } else { f32::MIN_POSITIVE });
    // The result's relative error is the absolute error of exponent * log2(base), which may be as large as 128. So the
    // large part of the product is kept exact: whole_log has 8 bits, and the exponent is split into 12 and 12.
    let high = f32::from_bits(exponent.to_bits() & 0xffff_f000);
    let low = exponent - high;
    let product_high = high * whole_log;
    // exponent * log2(1 + x), with the products that need not wait for `tail` taken out.
    let scaled_x = exponent * x;
    let product_low = (low * whole_log + scaled_x * LOG2_E) + scaled_x * x * tail;
    let product = product_high + product_low;
    let rounded = product + ROUNDER;
    let fraction = (product_high - (rounded - ROUNDER)) + product_low;
    let power = scaled_exp2(product, rounded.to_bits(), fraction);
    let power_of_nothing = if exponent < 0.0 { f32::MAX } else { 0.0 };
    let power = if base > 0.0 { power } else { power_of_nothing };
    if exponent == 0.0 { 1.0 } else { power }
}

/// The square root; negative numbers and NaN give 0.
#[inline(always)]
pub fn sqrt(value: f32) -> f32 {
    // A compare, not `max`: `max` of NaN costs two instructions more.
    let value = if value > 0.0 { value } else { 0.0 };
    value.sqrt()
}

/// The cube root, odd: that of a negative number is negative. Numbers below 1e-37 give 0; NaN gives 0.
#[inline(always)]
pub fn cbrt(value: f32) -> f32 {
    let magnitude = clamp(value.abs(), 1e-37, f32::MAX);
    // The bits of a float are nearly its logarithm, so a third of them is nearly that of its cube root; negative, of
    // one over it. The constant (searched for) keeps the relative error below 3.5%. The third is summed as a geometric
    // series, because there is no vector division of integers.
    let bits = magnitude.to_bits();
    let third = (bits >> 2) + (bits >> 4);
    let third = third + (third >> 4);
    let third = third + (third >> 8);
    let mut root = f32::from_bits(0x54a2_2000_u32.wrapping_sub(third));
    // Newton's step for 1/root^3 = magnitude needs no division. The first takes the series two terms further.
    let miss = 1.0 - magnitude * root * root * root;
    root += root * miss * (miss * (miss * (14.0 / 81.0) + 2.0 / 9.0) + 1.0 / 3.0);
    let miss = 1.0 - magnitude * root * root * root;
    root += root * miss * (1.0 / 3.0);
    let root = (magnitude * root * root).copysign(value);
    if value.abs() > 1e-37 { root } else { 0.0 }
}

/// The sine of an angle in radians, to 1e-7 for angles up to 10 000. Far beyond that, and for infinity and NaN, it is
/// some number in -1..=1.
#[inline(always)]
pub fn sin(angle: f32) -> f32 {
    sin_cos(angle).0
}

/// The cosine of an angle in radians; see [`sin`].
#[inline(always)]
pub fn cos(angle: f32) -> f32 {
    sin_cos(angle).1
}

/// [`sin`] and [`cos`] of one angle, for the price of one.
#[inline(always)]
pub fn sin_cos(angle: f32) -> (f32, f32) {
    // A quarter turn in three parts. The first two have 11 bits, so their products with up to 2^13 quarters are exact.
    const QUARTER_HIGH: f32 = 1.570_312_5;
    const QUARTER_MIDDLE: f32 = 0.000_483_751_3;
    const QUARTER_LOW: f32 = 7.549_79e-8;
    let rounded = angle * (1.0 / FRAC_PI_2) + ROUNDER;
    let quarters = rounded - ROUNDER;
    let rest = ((angle - quarters * QUARTER_HIGH) - quarters * QUARTER_MIDDLE) - quarters * QUARTER_LOW;
    // Does nothing where the reduction worked. Where it could not, it keeps the results bounded.
    let rest = clamp(rest, -1.0, 1.0);
    let square = rest * rest;
    // Fit: 8.3e-9.
    let mut sine = -0.000_195_152_83;
    sine = sine * square + 0.008_332_16;
    sine = sine * square - 0.166_666_55;
    sine = sine * square * rest + rest;
    // Fit: 1.7e-10.
    let mut cosine = 0.000_024_433_157;
    cosine = cosine * square - 0.001_388_731_6;
    cosine = cosine * square + 0.041_666_646;
    cosine = cosine * square - 0.5;
    cosine = cosine * square + 1.0;
    // The low bits of `rounded` count the quarter turns: an odd one swaps the two, and bit 1 of the count is the sign
    // of the sine; the cosine runs one quarter ahead.
    let count = rounded.to_bits();
    let swap = count & 1 != 0;
    let (first, second) = if swap { (cosine, sine) } else { (sine, cosine) };
    let first_sign = (count & 2) << 30;
    let second_sign = (count.wrapping_add(1) & 2) << 30;
    (f32::from_bits(first.to_bits() ^ first_sign), f32::from_bits(second.to_bits() ^ second_sign))
}

/// The angle of the point (x, y) in radians, -pi..=pi; 0 for the origin. Arguments are to be below 1e38; what NaN gives
/// is unspecified, but a number.
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (y_size, x_size) = (y.abs(), x.abs());
    let steep = y_size > x_size;
    let (small, large) = if steep { (x_size, y_size) } else { (y_size, x_size) };
    // The angle lies in 0..45 degrees. Beyond half of that it is counted from 45 degrees on.
    let far = small > large * 0.414_213_57; // tan(pi / 8)
    let (top, bottom) = if far { (small - large, small + large) } else { (small, large) };
    // Zero over a tiny number instead of over zero.
    let tangent = top / if bottom > f32::MIN_POSITIVE { bottom } else { f32::MIN_POSITIVE };
    let square = tangent * tangent;
    // Fit: 2.2e-8.
    let mut angle = 0.080_537_23;
    angle = angle * square - 0.138_776_8;
    angle = angle * square + 0.199_777_1;
    angle = angle * square - 0.333_329_5;
    angle = angle * square * tangent + tangent;
    let angle = if far { angle + FRAC_PI_4 } else { angle };
    let angle = if steep { FRAC_PI_2 - angle } else { angle };
    // The sign bit, so that (-0.0, -1.0) is -pi as in std.
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    angle.copysign(y)
}

/// `value` rounded to a whole number, halves upwards: `floor(value + 0.5)`, what "round" means everywhere in this
/// crate.
#[inline(always)]
pub fn round_half_up(value: f32) -> f32 {
    (value + 0.5).floor()
}

/// `value` within `low..=high`; NaN gives `low`. (`f32::clamp` hands NaN on and panics on crossed bounds.)
#[inline(always)]
pub fn clamp(value: f32, low: f32, high: f32) -> f32 {
    // A comparison with NaN is false. Each line is one instruction on x86.
    let value = if value > low { value } else { low };
    if value < high { value } else { high }
}

/// From `first` (at 0) to `second` (at 1). Two equal numbers give exactly that number.
#[inline(always)]
pub fn mix(first: f32, second: f32, weight: f32) -> f32 {
    first + (second - first) * weight
}

/// 0 up to `low`, 1 from `high` on, a smooth cubic between. A step where the two are equal.
#[inline(always)]
pub fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let x = clamp((value - low) / (high - low), 0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Whether the bits are those of a NaN.
#[inline(always)]
pub fn is_nan(value: f32) -> bool {
    value.to_bits() & 0x7fff_ffff > 0x7f80_0000
}

/// `value` as a finite number: NaN gives 0, the infinities give the largest numbers.
#[inline(always)]
pub fn sanitize(value: f32) -> f32 {
    let value = if is_nan(value) { 0.0 } else { value };
    clamp(value, f32::MIN, f32::MAX)
}

/// Light of an sRGB-encoded value (IEC 61966-2-1). Odd: negative values mirror positive ones, and the curve goes on
/// above 1.
#[inline(always)]
pub fn srgb_to_linear(value: f32) -> f32 {
    let size = value.abs();
    let curved = pow((size + 0.055) * (1.0 / 1.055), 2.4);
    let light = if size > 0.04045 { curved } else { size * (1.0 / 12.92) };
    light.copysign(value)
}

/// sRGB encoding of light (IEC 61966-2-1), the inverse of [`srgb_to_linear`]; also odd.
#[inline(always)]
pub fn linear_to_srgb(light: f32) -> f32 {
    let size = light.abs();
    // 1.055 * power - 0.055, written so that 1 gives exactly 1.
    let power = pow(size, 1.0 / 2.4);
    let curved = power + 0.055 * (power - 1.0);
    let value = if size > 0.003_130_8 { curved } else { size * 12.92 };
    value.copysign(light)
}

/// Weights of red, green and blue in the luma of ITU-R BT.709. Their sum is 1.
pub const REC709: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// Weights of red, green and blue in the luma of ITU-R BT.601. Their sum is 1.
pub const REC601: [f32; 3] = [0.299, 0.587, 0.114];

/// A mean of red, green and blue by weights that sum to 1, as green plus weighted differences: for grey this is the very
/// number that the channels hold, where the plain weighted sum may miss it by a last bit, which thresholds, bins and
/// saturation would make visible.
#[inline(always)]
pub fn weighted_luma(red: f32, green: f32, blue: f32, weights: [f32; 3]) -> f32 {
    green + weights[0] * (red - green) + weights[2] * (blue - green)
}

/// Luma by the weights of ITU-R BT.709.
#[inline(always)]
pub fn luma709(red: f32, green: f32, blue: f32) -> f32 {
    weighted_luma(red, green, blue, REC709)
}

/// Largest, smallest, and hue in turns, 0..1, of a colour. The hue of grey is 0.
#[inline(always)]
fn hue_and_range([red, green, blue]: [f32; 3]) -> (f32, f32, f32) {
    let high = if red > green { red } else { green };
    let high = if blue > high { blue } else { high };
    let low = if red < green { red } else { green };
    let low = if blue < low { blue } else { low };
    let range = high - low;
    // Which channel is the largest says from which sixth to count.
    let (difference, start) = if high == red {
        (green - blue, 0.0)
    } else if high == green {
        (blue - red, 2.0)
    } else {
        (red - green, 4.0)
    };
    let offset = if range > 0.0 { difference / range } else { 0.0 };
    let hue = (start + offset) * (1.0 / 6.0);
    // Between magenta and red the difference is negative. One turn more may round to 1 itself, which is 0 again.
    let hue = if hue < 0.0 { hue + 1.0 } else { hue };
    let hue = if hue < 1.0 { hue } else { 0.0 };
    (high, low, hue)
}

/// Hue (in turns, 0..1), saturation and value of a colour. Grey has hue and saturation 0.
#[inline(always)]
pub fn rgb_to_hsv(color: [f32; 3]) -> [f32; 3] {
    let (high, low, hue) = hue_and_range(color);
    let saturation = if high > 0.0 { (high - low) / high } else { 0.0 };
    [hue, saturation, high]
}

/// The inverse of [`rgb_to_hsv`]. The hue may be any number of turns.
#[inline(always)]
pub fn hsv_to_rgb([hue, saturation, value]: [f32; 3]) -> [f32; 3] {
    // Each channel is a trapezoid over the hue: how far it lies below `value`, in sixths of a turn from its own start.
    let depth = value * saturation;
    let channel = |start: f32| {
        let turns = hue + start;
        let sixths = (turns - turns.floor()) * 6.0;
        let fall = if sixths < 4.0 - sixths { sixths } else { 4.0 - sixths };
        value - depth * clamp(fall, 0.0, 1.0)
    };
    [channel(5.0 / 6.0), channel(3.0 / 6.0), channel(1.0 / 6.0)]
}

/// Hue (in turns, 0..1), saturation and lightness of a colour. Grey has hue and saturation 0.
#[inline(always)]
pub fn rgb_to_hsl(color: [f32; 3]) -> [f32; 3] {
    let (high, low, hue) = hue_and_range(color);
    let sum = high + low;
    // The widest range that this lightness allows. It is 0 for black and white, and negative outside of 0..1.
    let widest = 1.0 - (sum - 1.0).abs();
    let saturation = if widest > 0.0 { (high - low) / widest } else { 0.0 };
    [hue, saturation, sum * 0.5]
}

/// The inverse of [`rgb_to_hsl`]. The hue may be any number of turns.
#[inline(always)]
pub fn hsl_to_rgb([hue, saturation, lightness]: [f32; 3]) -> [f32; 3] {
    let rest = 1.0 - lightness;
    let reach = saturation * if lightness < rest { lightness } else { rest };
    let channel = |start: f32| {
        let turns = hue + start;
        let twelfths = (turns - turns.floor()) * 12.0;
        let (rise, fall) = (twelfths - 3.0, 9.0 - twelfths);
        lightness - reach * clamp(if rise < fall { rise } else { fall }, -1.0, 1.0)
    };
    [channel(0.0), channel(8.0 / 12.0), channel(4.0 / 12.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many numbers from `low` to `high`; evenly spaced in the logarithm where that spans decades.
    fn dense(low: f32, high: f32) -> impl Iterator<Item = f32> {
        let count = 200_000;
        let logarithmic = low > 0.0 && high / low > 1000.0;
        (0..=count).map(move |index| {
            let part = f64::from(index) / f64::from(count);
            let (low, high) = (f64::from(low), f64::from(high));
            if logarithmic { (low * (high / low).powf(part)) as f32 } else { (low + (high - low) * part) as f32 }
        })
    }

    /// Asserts that the relative error stays below `bound`.
    fn assert_exact(range: [f32; 2], bound: f64, function: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) {
        for x in dense(range[0], range[1]) {
            let (found, expected) = (f64::from(function(x)), exact(f64::from(x)));
            let error = (found - expected).abs();
            // Written so that a NaN fails.
            assert!(error <= bound * expected.abs(), "{x:e}: {found:e}, expected {expected:e}, in {range:?}");
        }
    }

    fn assert_near(found: f32, expected: f32, bound: f32) {
        assert!((found - expected).abs() <= bound, "{found}, expected {expected}");
    }

    /// Finite floats of all signs and exponents.
    fn finite_floats(count: usize) -> impl Iterator<Item = f32> {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(state ^ state >> 15)
        });
        let special = [0.0, -0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 0.5, 2.0, 127.9999, 128.0];
        special.into_iter().chain(noise).filter(|value| value.is_finite()).take(count)
    }

    #[test]
    fn exponentials_and_logarithms_are_exact_to_two_units_in_the_last_place() {
        assert_exact([-126.0, 127.999], 2e-7, exp2, f64::exp2);
        assert_exact([-1.0, 1.0], 2e-7, exp2, f64::exp2);
        assert_exact([-87.3, 88.7], 2e-7, exp, f64::exp);
        assert_exact([1.2e-38, 3.4e38], 3e-7, log2, f64::log2);
        assert_exact([0.5, 2.0], 3e-7, log2, f64::log2);
        assert_exact([1.2e-38, 3.4e38], 3e-7, ln, f64::ln);
        assert_exact([0.99, 1.01], 3e-7, ln, f64::ln);
        for exponent in -126..=127 {
            assert_eq!(exp2(exponent as f32), 2.0_f32.powi(exponent));
            assert_eq!(log2(2.0_f32.powi(exponent)), exponent as f32);
        }
    }

    #[test]
    fn powers_are_exact_for_the_exponents_of_curves() {
        for exponent in [0.01_f32, 0.25, 1.0 / 2.4, 1.0 / 2.2, 0.5, 0.9, 1.0, 1.1, 2.0, 2.2, 2.4, 3.0, -0.5, -1.0, -2.0]
        {
            assert_exact([1e-6, 1e6], 3e-7, |x| pow(x, exponent), |x| x.powf(f64::from(exponent)));
            assert_exact([0.001, 1.0], 3e-7, |x| pow(x, exponent), |x| x.powf(f64::from(exponent)));
            assert_eq!(pow(1.0, exponent), 1.0);
        }
        for exponent in [5.0_f32, 7.5, 10.0, -10.0] {
            assert_exact([0.01, 100.0], 1e-6, |x| pow(x, exponent), |x| x.powf(f64::from(exponent)));
        }
        // Here the logarithm of the mantissa, known to 1e-7, is multiplied by 50 or 1000.
        assert_exact([0.5, 2.0], 5e-6, |x| pow(x, 50.0), |x| x.powf(50.0));
        assert_exact([0.95, 1.05], 1e-5, |x| pow(x, 1000.0), |x| x.powf(1000.0));
    }

    #[test]
    fn roots_and_angles_are_exact() {
        assert_exact([1e-36, 3.4e38], 3e-7, cbrt, f64::cbrt);
        assert_exact([-2.0, -0.001], 3e-7, cbrt, f64::cbrt);
        for x in dense(-10_000.0, 10_000.0).chain(dense(-7.0, 7.0)) {
            assert!((f64::from(sin(x)) - f64::from(x).sin()).abs() < 1.5e-7, "sin {x}");
            assert!((f64::from(cos(x)) - f64::from(x).cos()).abs() < 1.5e-7, "cos {x}");
        }
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        for x in [-1.0, -1e-3, 1e-3, 1.0, 1e6] {
            assert_exact([-10.0, -1e-4], 3e-7, |y| atan2(y, x), |y| y.atan2(f64::from(x)));
            assert_exact([1e-4, 1e4], 3e-7, |y| atan2(y, x), |y| y.atan2(f64::from(x)));
        }
        for (y, x) in [(0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (1.0, 1.0)] {
            assert_near(atan2(y, x), f32::atan2(y, x), 1e-7);
        }
    }

    #[test]
    fn where_mathematics_has_no_answer_the_stated_one_is_given() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        for (exponent, expected) in
            [(128.0, f32::MAX), (infinity, f32::MAX), (-127.0, 0.0), (-infinity, 0.0), (nan, 0.0)]
        {
            assert_eq!(exp2(exponent), expected, "exp2({exponent})");
            assert_eq!(exp(exponent), expected, "exp({exponent})");
        }
        for value in [0.0, -0.0, -1.0, f32::MIN, -infinity, nan, 1e-45] {
            assert_eq!(log2(value), -126.0, "log2({value})");
            assert_near(ln(value), -87.336_55, 1e-5);
        }
        assert_eq!(log2(infinity), 128.0);
        for base in [0.0, -0.0, -1.0, f32::MIN, nan] {
            assert_eq!(pow(base, 2.4), 0.0, "{base}");
            assert_eq!(pow(base, 0.0), 1.0, "{base}");
            assert_eq!(pow(base, -0.5), f32::MAX, "{base}");
            assert_eq!(pow(base, nan), 0.0, "{base}");
        }
        assert_eq!(pow(infinity, 2.0), f32::MAX);
        assert_eq!(pow(infinity, -2.0), 0.0);
        assert_eq!(pow(2.0, 200.0), f32::MAX);
        assert_eq!(pow(2.0, -200.0), 0.0);
        assert_eq!(pow(0.5, nan), 0.0);
        assert_eq!([sqrt(-1.0), sqrt(nan), cbrt(nan), cbrt(0.0), cbrt(1e-45)], [0.0; 5]);
        assert_eq!([clamp(nan, -1.0, 1.0), clamp(-2.0, -1.0, 1.0), clamp(2.0, -1.0, 1.0)], [-1.0, -1.0, 1.0]);
        assert_eq!([sanitize(nan), sanitize(-infinity), sanitize(infinity)], [0.0, f32::MIN, f32::MAX]);
        assert_eq!([smoothstep(0.5, 0.5, 0.4), smoothstep(0.5, 0.5, 0.5), smoothstep(0.5, 0.5, 0.6)], [0.0, 0.0, 1.0]);
        assert!(is_nan(nan) && is_nan(-nan) && !is_nan(infinity) && !is_nan(f32::MAX));
    }

    #[test]
    fn finite_arguments_give_finite_results() {
        for (first, second) in finite_floats(200_000).zip(finite_floats(300_000).skip(7)) {
            let results = [
                exp2(first),
                exp(first),
                log2(first),
                ln(first),
                pow(first, second),
                sqrt(first),
                cbrt(first),
                sin(first),
                cos(first),
                round_half_up(first),
            ];
            assert!(results.iter().all(|value| value.is_finite()), "{first:e} {second:e}: {results:?}");
            assert!(sin(first).abs() <= 1.0 && cos(first).abs() <= 1.0, "{first:e}");
            let (first, second) = (clamp(first, -1e37, 1e37), clamp(second, -1e37, 1e37));
            let results = [atan2(first, second), linear_to_srgb(first), smoothstep(first, second, 0.5)];
            assert!(results.iter().all(|value| value.is_finite()), "{first:e} {second:e}: {results:?}");
        }
    }

    #[test]
    fn rounding_takes_halves_upwards() {
        for (value, expected) in
            [(0.5, 1.0), (-0.5, 0.0), (1.5, 2.0), (2.5, 3.0), (-1.5, -1.0), (0.49, 0.0), (-0.51, -1.0)]
        {
            assert_eq!(round_half_up(value), expected, "{value}");
        }
    }

    #[test]
    fn srgb_curves_follow_the_standard() {
        let to_linear = |v: f64| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
        let to_srgb = |v: f64| if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        // Just above the knees, where the f32 and the f64 constant differ, the branches agree to 1e-8.
        // The rounding of the base counts 2.4 times.
        assert_exact([0.0, 4.0], 6e-7, srgb_to_linear, to_linear);
        assert_exact([0.0, 4.0], 5e-7, linear_to_srgb, to_srgb);
        assert_eq!(
            [srgb_to_linear(0.0), srgb_to_linear(1.0), linear_to_srgb(0.0), linear_to_srgb(1.0)],
            [0.0, 1.0, 0.0, 1.0]
        );
        for value in dense(0.0, 4.0) {
            assert_eq!(srgb_to_linear(-value), -srgb_to_linear(value));
            assert_eq!(linear_to_srgb(-value), -linear_to_srgb(value));
            assert_near(linear_to_srgb(srgb_to_linear(value)), value, 1e-6 * value.max(1.0));
        }
    }

    #[test]
    fn luma_weighs_the_channels_and_is_exact_on_grey() {
        for weights in [REC709, REC601, [1.0 / 3.0; 3]] {
            assert_near(weights.iter().sum(), 1.0, 1e-7);
            for (index, weight) in weights.into_iter().enumerate() {
                let mut color = [0.0; 3];
                color[index] = 1.0;
                let [red, green, blue] = color;
                assert_near(weighted_luma(red, green, blue, weights), weight, 1e-7);
            }
            for step in 0..=65535_u32 {
                let value = step as f32 / 65535.0;
                assert_eq!(weighted_luma(value, value, value, weights), value);
            }
        }
        assert_eq!(luma709(0.25, 0.75, 0.5), weighted_luma(0.25, 0.75, 0.5, REC709));
    }

    #[test]
    fn mixing_equal_numbers_gives_that_number() {
        assert_eq!([mix(0.3, 0.3, 0.7), mix(1.0, 3.0, 0.5), mix(1.0, 3.0, 0.0)], [0.3, 2.0, 1.0]);
    }

    #[test]
    fn hues_are_known_and_reversible() {
        let cases = [
            ([1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5]),
            ([1.0, 1.0, 0.0], [1.0 / 6.0, 1.0, 1.0], [1.0 / 6.0, 1.0, 0.5]),
            ([0.0, 1.0, 0.0], [2.0 / 6.0, 1.0, 1.0], [2.0 / 6.0, 1.0, 0.5]),
            ([0.0, 0.0, 0.5], [4.0 / 6.0, 1.0, 0.5], [4.0 / 6.0, 1.0, 0.25]),
            ([1.0, 0.0, 1.0], [5.0 / 6.0, 1.0, 1.0], [5.0 / 6.0, 1.0, 0.5]),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
            ([0.25, 0.25, 0.25], [0.0, 0.0, 0.25], [0.0, 0.0, 0.25]),
            ([1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
            ([1.0, 0.5, 0.5], [0.0, 0.5, 1.0], [0.0, 1.0, 0.75]),
        ];
        let near = |found: [f32; 3], expected: [f32; 3]| {
            for (found, expected) in found.into_iter().zip(expected) {
                assert_near(found, expected, 2e-6);
            }
        };
        for (rgb, hsv, hsl) in cases {
            near(rgb_to_hsv(rgb), hsv);
            near(rgb_to_hsl(rgb), hsl);
        }
        for code in 0..33 * 33 * 33 {
            let rgb = [code % 33, code / 33 % 33, code / 33 / 33].map(|step| step as f32 / 32.0);
            let (hsv, hsl) = (rgb_to_hsv(rgb), rgb_to_hsl(rgb));
            assert!((0.0..1.0).contains(&hsv[0]) && hsv[0] == hsl[0], "{rgb:?}");
            near(hsv_to_rgb(hsv), rgb);
            near(hsl_to_rgb(hsl), rgb);
            near(hsv_to_rgb([hsv[0] - 3.0, hsv[1], hsv[2]]), rgb);
        }
    }
}
