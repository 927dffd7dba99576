//! Cyanotype for other languages: [`cyanotype_apply`] for anything that can call C, and the same for Kotlin or Java
//! through JNI. Pixels are changed in place; an error comes back as text. Copy this file into a library of your own and
//! change what you need.

use cyanotype::{AlphaMode, Context, Description, Error, Graph, Image, PixelFormat, Program, Result};
use jni::EnvUnowned;
use jni::objects::{JByteBuffer, JClass, JString};
use jni::sys::jint;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// The device, opened on the first call, and the last program: calls in a row mostly apply the same graph.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    context: Context,
    graph: String,
    program: Option<(Description, Program)>,
}

/// Applies a graph in text form to RGBA pixels with premultiplied alpha, as an Android `Bitmap` has them, in place.
///
/// # Errors
/// A mistake in the graph, a graph that changes the size, too few pixels, a device that fails.
pub fn apply(graph: &str, pixels: &mut [u8], width: u32, height: u32) -> Result<()> {
    let description = Description::new(width, height, PixelFormat::Rgba8).with_alpha(AlphaMode::Premultiplied);
    description.check()?;
    let found = pixels.len();
    let Some(pixels) = pixels.get_mut(..description.byte_count()) else {
        return Err(Error::BadImage(format!("{description} is {} bytes, given {found}", description.byte_count())));
    };
    let picture = Image::new(description, pixels.to_vec())?;
    // A panic of an earlier call left at worst a program to compile again.
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let result = match run(&mut kept, graph, &picture) {
        Err(Error::DeviceLost(reason)) => {
            log::warn!("device lost, opening another: {reason}");
            *kept = None;
            run(&mut kept, graph, &picture)
        }
        result => result,
    }?;
    let (found_width, found_height) = (result.width(), result.height());
    if (found_width, found_height) != (width, height) {
        return Err(Error::BadGraph(format!("it makes {found_width}x{found_height} of {width}x{height}")));
    }
    let result = if result.alpha() == AlphaMode::Straight { result.premultiplied() } else { result };
    pixels.copy_from_slice(&result.tight_bytes());
    Ok(())
}

fn run(kept: &mut Option<Kept>, graph: &str, picture: &Image) -> Result<Image> {
    if kept.is_none() {
        let context = Context::new()?;
        log::info!("{}", context.description());
        *kept = Some(Kept { context, graph: String::new(), program: None });
    }
    let Some(kept) = kept else { return Err(Error::NoDevice("none was opened".into())) };
    let description = picture.description();
    let parsed = Graph::parse(graph)?.data();
    let input = parsed.input_names().next().unwrap_or("in").to_string();
    let output = parsed.outputs.first().map_or_else(|| "out".to_string(), |output| output.name.clone());
    if kept.graph != graph || !matches!(&kept.program, Some((known, _)) if *known == description) {
        // RGBA whatever the graph makes of it: a grey result fills the bitmap too.
        let mut data = parsed;
        for output in &mut data.outputs {
            output.format = Some(PixelFormat::Rgba8);
        }
        let program = kept.context.compile(&Graph::from_data(data), &[(input.as_str(), description)])?;
        (kept.graph, kept.program) = (graph.to_string(), Some((description, program)));
    }
    let Some((_, program)) = &kept.program else { return Err(Error::Device("no program".into())) };
    program.run(&[(input.as_str(), picture)])?.image(&output)
}

/// The same, with a panic turned into an error: none may pass into another language.
fn apply_guarded(graph: &str, pixels: &mut [u8], width: u32, height: u32) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| apply(graph, pixels, width, height)))
        .unwrap_or_else(|_| Err(Error::Device("a panic".into())))
}

/// [`apply`] for C:
///
/// ```c
/// // 0, or -1 with the reason, cut to what fits, in `error` (which may be NULL).
/// int cyanotype_apply(const char *graph, uint8_t *pixels, uint32_t width, uint32_t height,
///                     char *error, size_t error_size);
/// ```
///
/// # Safety
/// `graph` is a string that ends with a zero; `pixels` points to `width * height * 4` bytes that nothing else touches
/// meanwhile; `error` is null or points to `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cyanotype_apply(
    graph: *const c_char,
    pixels: *mut u8,
    width: u32,
    height: u32,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let result = if graph.is_null() || pixels.is_null() {
        Err(Error::BadImage("a null pointer".into()))
    } else {
        // SAFETY: the caller promises a string that ends with a zero.
        let graph = unsafe { CStr::from_ptr(graph) }.to_string_lossy();
        let length = Description::new(width, height, PixelFormat::Rgba8).byte_count();
        if isize::try_from(length).is_err() {
            Err(Error::BadImage(format!("{width}x{height} is more than can be addressed")))
        } else {
            // SAFETY: the caller promises so many bytes, exclusively; no more than can be addressed.
            apply_guarded(&graph, unsafe { std::slice::from_raw_parts_mut(pixels, length) }, width, height)
        }
    };
    let Err(reason) = result else { return 0 };
    let text = reason.to_string();
    if !error.is_null() && error_size > 0 {
        let mut length = text.len().min(error_size - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: the caller promises `error_size` bytes; `length` and the closing zero are no more.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), error.cast(), length);
            error.add(length).write(0);
        }
    }
    -1
}

/// [`apply`] for Kotlin, as `com.example.cyanotype.Cyanotype.apply`:
///
/// ```kotlin
/// /** Changes the pixels of a direct buffer in place; null, or what went wrong. */
/// external fun apply(graph: String, pixels: ByteBuffer, width: Int, height: Int): String?
/// ```
#[unsafe(no_mangle)]
pub extern "system" fn Java_com_example_cyanotype_Cyanotype_apply<'caller>(
    mut environment: EnvUnowned<'caller>,
    _: JClass<'caller>,
    graph: JString<'caller>,
    pixels: JByteBuffer<'caller>,
    width: jint,
    height: jint,
) -> JString<'caller> {
    let outcome = environment.with_env(|environment| -> Result<JString<'caller>, jni::errors::Error> {
        let graph = graph.try_to_string(environment)?;
        let address = environment.get_direct_buffer_address(&pixels)?;
        let capacity = environment.get_direct_buffer_capacity(&pixels)?;
        // SAFETY: a direct buffer lives as long as its object, which the caller holds, and has this many bytes. That
        // nobody else writes to it meanwhile is for the Kotlin side to keep.
        let bytes = unsafe { std::slice::from_raw_parts_mut(address, capacity) };
        // Negative sides are none.
        let side = |value: jint| u32::try_from(value).unwrap_or(0);
        match apply_guarded(&graph, bytes, side(width), side(height)) {
            Ok(()) => Ok(JString::null()),
            Err(error) => JString::from_str(environment, error.to_string()),
        }
    });
    // Of JNI's own: for instance a buffer that is not direct.
    outcome.resolve::<jni::errors::ThrowRuntimeExAndDefault>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(graph: Option<&CStr>, pixels: &mut [u8], width: u32, height: u32) -> (i32, String) {
        let mut error = [1 as c_char; 40];
        let graph = graph.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: all of it is alive, and as long as it says.
        let code =
            unsafe { cyanotype_apply(graph, pixels.as_mut_ptr(), width, height, error.as_mut_ptr(), error.len()) };
        // SAFETY: on failure the function writes a zero.
        let text =
            if code == 0 { String::new() } else { unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into() };
        (code, text)
    }

    #[test]
    fn pixels_are_changed_in_place_and_premultiplied() {
        let mut pixels = vec![100, 50, 0, 255, 50, 25, 0, 128];
        assert_eq!(call(Some(c"exposure 1"), &mut pixels, 2, 1), (0, String::new()));
        assert_eq!(pixels, [200, 100, 0, 255, 100, 50, 0, 128]);
        // Another graph and another size on the same device.
        let mut pixels = vec![30, 60, 90, 255];
        assert_eq!(call(Some(c"invert"), &mut pixels, 1, 1), (0, String::new()));
        assert_eq!(pixels, [225, 195, 165, 255]);
        let mut pixels = vec![255, 0, 0, 255];
        assert_eq!(call(Some(c"grayscale"), &mut pixels, 1, 1), (0, String::new()));
        assert_eq!(pixels, [54, 54, 54, 255]); // 0.2126 * 255
    }

    #[test]
    fn mistakes_are_told_and_change_nothing() {
        let before = vec![1, 2, 3, 255];
        let mut pixels = before.clone();
        let (code, text) = call(Some(c"exposre 1"), &mut pixels, 1, 1);
        assert_eq!(code, -1);
        assert!(text.starts_with("line 1, column 1: unknown operator"), "{text}");
        assert_eq!(text.len(), 39, "cut to the buffer, with its zero");
        assert_eq!(call(Some(c"resize 2 2"), &mut pixels, 1, 1).0, -1);
        assert_eq!(call(None, &mut pixels, 1, 1).0, -1);
        assert_eq!(call(Some(c"invert"), &mut pixels, 0, 1).0, -1);
        assert_eq!(call(Some(c"invert"), &mut pixels, u32::MAX, u32::MAX).0, -1);
        assert_eq!(pixels, before);
    }
}
