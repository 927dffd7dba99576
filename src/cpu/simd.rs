//! Run-time choice of the instruction set, so that one binary is fast on any x86-64 and arm64.
//!
//! The CPU backend writes plain loops over planes of `f32` and lets LLVM vectorise them. LLVM can only use what the
//! enclosing function may use, and a distributed binary may assume no more than SSE2. [`vectorize`] therefore compiles
//! the loop it is given once per [`Level`], each copy inside a function that enables that level's instructions, and
//! calls the best copy that this processor can run.
//!
//! How to write a loop that really is vectorised (each line seen in the disassembly of rustc 1.95):
//! - Mark the closure, `vectorize(#[inline(always)] || ...)`, and everything that it calls per pixel,
//!   `#[inline(always)]`. A function that LLVM leaves out of line is compiled for SSE2, and its loop is scalar. This is
//!   silent.
//! - No `dyn` call inside the loop: call through a generic parameter, and put the `dyn` outside of `vectorize`.
//! - Before the loop, cut all slices to one length and copy references out of structs and arrays into locals. Slices of
//!   `f32`, one per channel, work: a kernel of five inputs and one output, 24 slices, is vectorised, after a test that
//!   they do not overlap. Slices handed on as parameters of an `#[inline(always)]` function need no such test.
//! - What did not work: an array of references to arrays, `&[&[[f32; N]; 4]]`, indexed in the loop; a loop over a
//!   run-time length into a local array; and a window of 25 pixels as `[[f32; 4]; 25]`, which is stored to memory for
//!   each pixel and is a hundred times slower (nine pixels are fine).
//! - No `as i32` on floats: it saturates, which costs five instructions. [`clamp_to_int`] costs three.
//! - No `f32::mul_add`: see [`crate::maths`].
//!
//! Every level computes the same bits: Rust neither reassociates nor contracts float arithmetic, so a sum of products
//! is rounded twice with and without FMA. The CPU backend is thereby reproducible from one machine to the next.
//!
//! All `unsafe` of the CPU backend stands in this file. It knows nothing of pictures, operators or threads.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// A set of instructions, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What the compile target guarantees: SSE2 on x86-64, NEON on arm64.
    Baseline,
    /// SSE4.1 (x86-64-v2): rounding, blending and byte shuffles. Small Intel cores sold until 2021 stop here.
    Sse41,
    /// AVX2 (x86-64-v3): eight floats at a time.
    Avx2,
    /// AVX-512 (x86-64-v4): sixteen floats at a time, masks.
    Avx512,
}

/// The best level this processor can run, found once per process.
#[inline]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    // Each list names every feature that the function of its level enables: that is the proof the calls below rest on.
    // The macro also asks the operating system whether it saves the wide registers.
    let sse41 = is_x86_feature_detected!("sse3")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("sse4.1")
        && is_x86_feature_detected!("sse4.2")
        && is_x86_feature_detected!("popcnt");
    let avx2 = sse41
        && is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (sse41, avx2, avx512) {
        (_, _, true) => Level::Avx512,
        (_, true, _) => Level::Avx2,
        (true, _, _) => Level::Sse41,
        _ => Level::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// Runs `body`, compiled for the best instruction set of this processor. The call costs a load and a branch, so it
/// belongs around a loop over a few hundred pixels. Mark the closure `#[inline(always)]`; the head of this file says
/// why.
#[inline]
pub fn vectorize<R>(body: impl FnOnce() -> R) -> R {
    vectorize_at(Level::Avx512, body)
}

/// As [`vectorize`], with no more than the instructions of `limit`: for tests and timings that compare the levels.
#[inline]
pub fn vectorize_at<R>(limit: Level, body: impl FnOnce() -> R) -> R {
    match level().min(limit) {
        // SAFETY (all three): calling a function that enables target features is undefined only on a processor without
        // them. `level()` answers a level only after `detect` has found each feature of its list, and the minimum with
        // `limit` can only lower it, to a level whose list is a part of the one found.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { with_avx512(body) },
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { with_avx2(body) },
        #[cfg(target_arch = "x86_64")]
        Level::Sse41 => unsafe { with_sse41(body) },
        _ => body(),
    }
}

// The lists are those of `detect`: keep them the same.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse3,ssse3,sse4.1,sse4.2,popcnt")]
fn with_sse41<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,fma,f16c,bmi1,bmi2,lzcnt")]
fn with_avx2<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,fma,f16c,bmi1,bmi2,lzcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn with_avx512<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Asks the processor to bring these bytes into its cache, because they will be read soon. Where rows of a picture are read
/// piece by piece, the processor cannot foresee the next one, which begins on another page.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which every x86-64 has. It is a hint and reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// `value` clamped to `LOW..=HIGH` and cut to its whole part (towards zero); NaN gives `LOW`. That the bounds are exact
/// as floats is checked at compile time. This is `value as i32` without the tests for NaN and overflow that `as` puts
/// into every lane.
#[inline(always)]
pub fn clamp_to_int<const LOW: i32, const HIGH: i32>(value: f32) -> i32 {
    // Every whole number of at most 24 bits is an exact f32, so the float bounds are the integer bounds.
    const { assert!(LOW <= HIGH && LOW >= -(1 << 24) && HIGH <= 1 << 24) };
    let (low, high) = (LOW as f32, HIGH as f32);
    // A comparison with NaN is false, so NaN takes the low end.
    let value = if value > low { value } else { low };
    let value = if value < high { value } else { high };
    // SAFETY: the two lines above leave a number, not NaN, between two values that an i32 holds.
    unsafe { value.to_int_unchecked() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths;

    const LEVELS: [Level; 4] = [Level::Baseline, Level::Sse41, Level::Avx2, Level::Avx512];

    /// The bits of every function of `maths` over `values`, with no more than the instructions of `limit`.
    fn all_functions(limit: Level, values: &[f32]) -> Vec<u32> {
        let mut out = Vec::new();
        map(limit, values, &mut out, maths::exp2);
        map(limit, values, &mut out, maths::log2);
        map(limit, values, &mut out, maths::exp);
        map(limit, values, &mut out, |x| maths::pow(x, 2.2));
        map(limit, values, &mut out, |x| maths::pow(0.3, x));
        map(limit, values, &mut out, maths::cbrt);
        map(limit, values, &mut out, maths::sin);
        map(limit, values, &mut out, maths::cos);
        map(limit, values, &mut out, |x| maths::atan2(x, 0.5 - x));
        map(limit, values, &mut out, maths::round_half_up);
        map(limit, values, &mut out, maths::srgb_to_linear);
        map(limit, values, &mut out, maths::linear_to_srgb);
        map(limit, values, &mut out, |x| clamp_to_int::<-9, 999>(x) as f32);
        out.into_iter().map(f32::to_bits).collect()
    }

    #[inline(always)]
    fn map(limit: Level, values: &[f32], out: &mut Vec<f32>, function: impl Fn(f32) -> f32) {
        let start = out.len();
        out.resize(start + values.len(), 0.0);
        let out = &mut out[start..];
        vectorize_at(
            limit,
            #[inline(always)]
            || {
                for (result, &value) in out.iter_mut().zip(values) {
                    *result = function(value);
                }
            },
        );
    }

    #[test]
    fn every_level_computes_the_same_bits() {
        let mut values: Vec<f32> = (-50_000..50_000).map(|step| step as f32 * 0.000_77).collect();
        values.extend([0.0, -0.0, 1e-45, -1e-40, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
        values.extend((0..255).map(|exponent| f32::from_bits(exponent << 23 | 0x0035_0000)));
        let baseline = all_functions(Level::Baseline, &values);
        for limit in LEVELS {
            if limit > level() {
                eprintln!("skipped {limit:?}: this processor has {:?}", level());
                continue;
            }
            let found = all_functions(limit, &values);
            let differing = baseline.iter().zip(&found).position(|(first, second)| first != second);
            let place = differing.map(|index| (index / values.len(), values[index % values.len()]));
            assert_eq!(place, None, "(function, argument) differ at {limit:?}");
        }
    }

    #[test]
    fn the_body_runs_once_and_its_result_comes_back() {
        for limit in LEVELS {
            let mut runs = 0;
            let text = vectorize_at(limit, || {
                runs += 1;
                String::from("result")
            });
            assert_eq!((runs, text.as_str()), (1, "result"));
        }
        assert_eq!(vectorize(|| 7), 7);
    }

    #[test]
    fn levels_rise() {
        assert!(LEVELS.is_sorted());
        assert_eq!(level(), level());
    }

    #[test]
    fn clamping_to_int_is_total() {
        let cases = [
            (0.0, 0),
            (-0.0, 0),
            (254.999, 254),
            (255.0, 255),
            (255.5, 255),
            (1e38, 255),
            (f32::INFINITY, 255),
            (-0.999, 0),
            (-1e38, 0),
            (f32::NEG_INFINITY, 0),
            (f32::NAN, 0),
            (-f32::NAN, 0),
        ];
        for (value, expected) in cases {
            assert_eq!(clamp_to_int::<0, 255>(value), expected, "{value}");
        }
        assert_eq!(clamp_to_int::<-16_777_216, 16_777_216>(-1e9), -16_777_216);
        assert_eq!(clamp_to_int::<-5, 5>(-2.7), -2);
        assert_eq!(clamp_to_int::<-5, 5>(f32::NAN), -5);
    }
}
