//! The example application for Android, and a function of Cyanotype for other languages to call.
//!
//! - `activity` (Android only): the [application](cyanotype_viewer) in a `NativeActivity`.
//! - `surface` (Android only): finished pixels to the window.
//! - [`bridge`]: one function for C, and the same for Kotlin through JNI: how an app of your own calls the library.
//!
//! `docs/android.md` says how to build and run it.

#[cfg(target_os = "android")]
mod activity;
pub mod bridge;
#[cfg(target_os = "android")]
mod surface;
// Panics unwind through it where the NDK's unwinder is not linked in, see `build`.
#[cfg(feature = "unwinding")]
extern crate unwinding as _;
