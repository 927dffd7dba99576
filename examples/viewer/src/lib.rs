//! The application behind the desktop window and the Android example: a photograph through a graph, live.
//!
//! ```text
//! touches -> gesture -\                        /-> Draw, Save, Open ... -> engine -\
//! lifecycle ----------> App: Event -> [Effect] --> Present -> screen -> canvas      |
//! answers ------------/        ^                                                    |
//!                              \---------------------- Answer ----------------------/
//! ```
//!
//! - [`app`]: everything that is decided, as a plain state machine: events in, effects out. No thread, no clock, no
//!   device, so that pausing, rotation, lost surfaces and lost devices are tested on any machine.
//! - [`document`]: graphs in text form and what can be changed in them; the looks of the Android application.
//! - [`engine`]: carries out what concerns the device, on a thread of its own. The only part that runs Cyanotype.
//! - [`gesture`]: fingers to taps, drags, long presses.
//! - [`canvas`], [`screen`], [`panel`]: pixels, and what is drawn with them.
//!
//! Results come back as images and are shown as finished pixels: by the window's own buffers on Android, by `softbuffer`
//! on the desktop. Computing never needs a surface, so that losing one loses nothing, and the CPU backend is shown in the
//! same way as a GPU. The price is one copy of a picture of the screen's size per frame.

pub mod app;
pub mod canvas;
pub mod document;
pub mod engine;
pub mod gesture;
pub mod panel;
pub mod screen;

/// What the pages in docs/ tell a reader to write is compiled, and run where it says so.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/android.md")]
    struct Android;
    #[doc = include_str!("../../../docs/ci.md")]
    struct Ci;
}
