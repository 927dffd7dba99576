//! Finished pixels to an Android window, through its own buffers: no graphics interface is involved, so a surface that
//! goes takes nothing with it, and the CPU backend is shown as a GPU's results are. The only unsafe code here is posting
//! a buffer, which the `ndk` crate does with an assertion that would end the application when the surface has just gone.

use android_activity::ndk::hardware_buffer_format::HardwareBufferFormat;
use android_activity::ndk::native_window::NativeWindow;
use android_activity::ndk_sys;
use cyanotype::op::Extent;
use cyanotype_viewer::canvas::Canvas;

/// A window that pixels can be shown on.
pub struct Surface(NativeWindow);

impl Surface {
    /// Takes a window; its buffers become RGBX with 8 bits each.
    pub fn new(window: NativeWindow) -> Surface {
        if let Err(error) = window.set_buffers_geometry(0, 0, Some(HardwareBufferFormat::R8G8B8X8_UNORM)) {
            log::warn!("the window keeps its own pixel format: {error}");
        }
        Surface(window)
    }

    /// Its present size.
    pub fn size(&self) -> Extent {
        let side = |value: i32| u32::try_from(value).unwrap_or(0).max(1);
        Extent { width: side(self.0.width()), height: side(self.0.height()) }
    }

    /// Shows a canvas. What a buffer of another size (the screen is just turning) has beyond it stays black; the next
    /// event brings a canvas of the new size.
    ///
    /// # Errors
    /// The surface is gone, or its buffers are of a format that was not asked for.
    pub fn show(&self, canvas: &Canvas) -> std::io::Result<()> {
        let mut buffer = self.0.lock(None)?;
        let four_bytes = buffer.format().bytes_per_pixel() == Some(4);
        if four_bytes && let Some(lines) = buffer.lines() {
            for (y, line) in lines.enumerate() {
                let (line, _) = line.as_chunks_mut::<4>();
                let source = canvas.row(y).iter().copied().chain(std::iter::repeat(0));
                for (target, pixel) in line.iter_mut().zip(source) {
                    let [blue, green, red, _] = pixel.to_le_bytes();
                    for (byte, value) in target.iter_mut().zip([red, green, blue, 255]) {
                        byte.write(value);
                    }
                }
            }
        }
        // Posted below, not by the guard.
        std::mem::forget(buffer);
        // SAFETY: the window is alive, and it was locked above.
        let posted = unsafe { ndk_sys::ANativeWindow_unlockAndPost(self.0.ptr().as_ptr()) };
        if posted != 0 {
            return Err(std::io::Error::from_raw_os_error(-posted));
        }
        if !four_bytes {
            return Err(std::io::Error::other("the window's buffers have no 32 bits per pixel"));
        }
        Ok(())
    }
}
