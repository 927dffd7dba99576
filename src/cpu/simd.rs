//! Run-time choice of the instruction set, so that one binary is fast on any x86-64 and arm64.
//!
//! The CPU backend writes plain loops over planes of `f32` and lets LLVM vectorise them. LLVM can only use what the
//! enclosing function may use, and a distributed binary may assume no more than SSE2. [`vectorize`] therefore compiles
//! the loop it is given once per [`Level`], each copy inside a function that enables that level's instructions, and calls
//! the best copy that this processor can run.
//!
//! How to write a loop that really is vectorised (seen in the disassembly; a test in this file times it):
//! - Mark the closure, `vectorize(#[inline(always)] || ...)`, and everything that it calls per pixel, `#[inline(always)]`.
//!   A function that LLVM leaves out of line is compiled for SSE2, and its loop is scalar. This is silent.
//! - No `dyn` call inside the loop: call through a generic parameter, and put the `dyn` outside of `vectorize`.
//! - Let LLVM see that the planes do not overlap. References captured by a closure lose that knowledge, and LLVM tests at
//!   most eight pairs of pointers at run time: four planes changed in place are fine, four in and four out are not, and
//!   the loop silently stays scalar. `&mut [[f32; N]; 4]` (one allocation, planes at constant distances) needs no test at
//!   all and no bounds checks; it is the form to prefer. Slices passed on to a `fn` as parameters also do.
//! - No `as i32` on floats: it saturates, which costs five instructions. [`clamp_to_int`] costs three.
//! - No `f32::mul_add`: see [`crate::maths`].
//!
//! Every level computes the same bits: Rust neither reassociates nor contracts float arithmetic, so a sum of products is
//! rounded twice with and without FMA. The CPU backend is thereby reproducible from one machine to the next.
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
/// belongs around a loop over a few hundred pixels. Mark the closure `#[inline(always)]`; the head of this file says why.
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

/// `value` clamped to `LOW..=HIGH` and cut to its whole part (towards zero); NaN gives `LOW`. Exact bounds are checked at
/// compile time. This is `value as i32` without the tests for NaN and overflow that `as` puts into every lane.
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
