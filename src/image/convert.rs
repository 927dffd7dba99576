//! Conversion of pixels on the host: formats and alpha. This is the plain meaning of section 5 of the design, one pixel
//! after the other: tests compare the fast paths of the backends with it, and files use it on the way out. It must not
//! know files, devices or threads.

use std::borrow::Cow;

use half::f16;

use super::format::{AlphaMode, Description, PixelFormat, SampleType};
use super::picture::{Image, ImageView};
use crate::maths::luma709;

/// One sample: how it becomes a float and how a float becomes it.
trait Sample: bytemuck::Pod + Send + Sync {
    /// What 1.0 is stored as.
    const ONE: Self;
    /// Whether [`Sample::to_word`] and [`Sample::from_word`] mean anything.
    const INTEGER: bool;
    fn to_float(self) -> f32;
    fn from_float(value: f32) -> Self;
    /// The value as 16 bit, exactly. Integer samples only.
    fn to_word(self) -> u16;
    /// The nearest value to one of 16 bit. Integer samples only.
    fn from_word(word: u16) -> Self;
}

impl Sample for u8 {
    const ONE: u8 = u8::MAX;
    const INTEGER: bool = true;
    fn to_float(self) -> f32 {
        f32::from(self) / 255.0
    }
    fn from_float(value: f32) -> u8 {
        // floor(v * 255 + 0.5): `as` rounds towards zero, which is down for what remains after it has saturated, and
        // turns NaN into 0.
        (value * 255.0 + 0.5) as u8
    }
    fn to_word(self) -> u16 {
        u16::from(self) * 257
    }
    fn from_word(word: u16) -> u8 {
        // At most (65535 + 128) / 257 = 255.
        ((u32::from(word) + 128) / 257) as u8
    }
}

impl Sample for u16 {
    const ONE: u16 = u16::MAX;
    const INTEGER: bool = true;
    fn to_float(self) -> f32 {
        f32::from(self) / 65535.0
    }
    fn from_float(value: f32) -> u16 {
        (value * 65535.0 + 0.5) as u16
    }
    fn to_word(self) -> u16 {
        self
    }
    fn from_word(word: u16) -> u16 {
        word
    }
}

impl Sample for f32 {
    const ONE: f32 = 1.0;
    const INTEGER: bool = false;
    fn to_float(self) -> f32 {
        self
    }
    fn from_float(value: f32) -> f32 {
        if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) }
    }
    fn to_word(self) -> u16 {
        u16::from_float(self)
    }
    fn from_word(word: u16) -> f32 {
        word.to_float()
    }
}

impl Sample for f16 {
    const ONE: f16 = f16::ONE;
    const INTEGER: bool = false;
    fn to_float(self) -> f32 {
        self.to_f32()
    }
    fn from_float(value: f32) -> f16 {
        if value.is_nan() { f16::ZERO } else { f16::from_f32(value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32())) }
    }
    fn to_word(self) -> u16 {
        u16::from_float(self.to_f32())
    }
    fn from_word(word: u16) -> f16 {
        f16::from_float(word.to_float())
    }
}

/// Integers of different widths convert among themselves without a float, so the result is exact by construction.
fn cast<From: Sample, To: Sample>(sample: From) -> To {
    if From::INTEGER && To::INTEGER { To::from_word(sample.to_word()) } else { To::from_float(sample.to_float()) }
}

/// The samples of a row of bytes, borrowed where they lie aligned.
fn samples<T: Sample>(bytes: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(bytes).map(Cow::Borrowed).unwrap_or_else(|_| {
        let mut copy = vec![T::zeroed(); bytes.len() / size_of::<T>()];
        let whole = copy.len() * size_of::<T>();
        if let Some(bytes) = bytes.get(..whole) {
            bytemuck::cast_slice_mut(&mut copy).copy_from_slice(bytes);
        }
        Cow::Owned(copy)
    })
}

/// Calls `$call` with the Rust type of a [`SampleType`] as its first generic argument.
macro_rules! with_sample_type {
    ($sample:expr, $function:ident::<_ $(, $rest:ty)?>($($argument:expr),*)) => {
        match $sample {
            SampleType::U8 => $function::<u8 $(, $rest)?>($($argument),*),
            SampleType::U16 => $function::<u16 $(, $rest)?>($($argument),*),
            SampleType::F16 => $function::<f16 $(, $rest)?>($($argument),*),
            SampleType::F32 => $function::<f32 $(, $rest)?>($($argument),*),
        }
    };
}

/// `change` applied to each pixel of a row: `N` samples in, `M` out.
fn each_pixel<const N: usize, const M: usize, From: Copy, To: Copy>(
    row: &[From],
    out: &mut [To],
    change: impl Fn([From; N]) -> [To; M],
) {
    row.as_chunks().0.iter().zip(out.as_chunks_mut().0).for_each(|(pixel, out)| *out = change(*pixel));
}

/// One row as floats, alpha 1 where there is none.
fn decode_row<T: Sample>(channels: u32, bytes: &[u8], out: &mut [[f32; 4]]) {
    let row = samples::<T>(bytes);
    match channels {
        1 => each_pixel(&row, out, |[grey]| [[grey.to_float(), grey.to_float(), grey.to_float(), 1.0]]),
        3 => each_pixel(&row, out, |[red, green, blue]| [[red.to_float(), green.to_float(), blue.to_float(), 1.0]]),
        _ => each_pixel(&row, out, |pixel: [T; 4]| [pixel.map(T::to_float)]),
    }
}

/// Float pixels of the picture's own meaning (straight or premultiplied, encoded or linear) to bytes of a format.
fn encode_pixels<T: Sample>(pixels: &[[f32; 4]], target: Description) -> Image {
    let mut out = vec![T::zeroed(); target.byte_count() / size_of::<T>()];
    match target.format.channels() {
        1 => each_pixel(pixels, &mut out, |[[red, green, blue, _]]| [T::from_float(luma709(red, green, blue))]),
        3 => each_pixel(pixels, &mut out, |[[red, green, blue, _]]| [red, green, blue].map(T::from_float)),
        _ => each_pixel(pixels, &mut out, |[pixel]| pixel.map(T::from_float)),
    }
    Image::from_exact_samples(target, out)
}

fn convert<From: Sample, To: Sample>(view: ImageView<'_>, target: Description) -> Image {
    let channels = (view.format().channels(), target.format.channels());
    // Colours under a dropped alpha are the straight ones, whichever way they were stored.
    let divide = view.alpha() == AlphaMode::Premultiplied;
    let mut out = vec![To::zeroed(); target.byte_count() / size_of::<To>()];
    // A checked picture has a pixel in each row, so the chunks are not empty, which would panic.
    for (bytes, out) in view.rows().zip(out.chunks_exact_mut(target.row_bytes() / size_of::<To>())) {
        let row = samples::<From>(bytes);
        match channels {
            (1, 1) | (3, 3) | (4, 4) => each_pixel(&row, out, |[sample]| [cast(sample)]),
            (1, 3) => each_pixel(&row, out, |[grey]| [cast(grey); 3]),
            (1, _) => each_pixel(&row, out, |[grey]| [cast(grey), cast(grey), cast(grey), To::ONE]),
            (3, 1) => each_pixel(&row, out, |pixel| [to_grey(pixel)]),
            (3, _) => each_pixel(&row, out, |[red, green, blue]| [cast(red), cast(green), cast(blue), To::ONE]),
            (_, 1) if divide => each_pixel(&row, out, |pixel| [to_grey(to_straight(pixel))]),
            (_, 1) => each_pixel(&row, out, |[red, green, blue, _]| [to_grey([red, green, blue])]),
            (_, _) if divide => each_pixel(&row, out, |pixel| to_straight(pixel).map(To::from_float)),
            (_, _) => each_pixel(&row, out, |[red, green, blue, _]| [cast(red), cast(green), cast(blue)]),
        }
    }
    Image::from_exact_samples(target, out)
}

fn to_grey<From: Sample, To: Sample>(pixel: [From; 3]) -> To {
    let [red, green, blue] = pixel.map(From::to_float);
    To::from_float(luma709(red, green, blue))
}

fn to_straight<From: Sample>(pixel: [From; 4]) -> [f32; 3] {
    let [red, green, blue, _] = straight(pixel.map(From::to_float));
    [red, green, blue]
}

/// Premultiplied to straight; fully transparent pixels become black.
fn straight([red, green, blue, alpha]: [f32; 4]) -> [f32; 4] {
    if alpha == 0.0 { [0.0; 4] } else { [red / alpha, green / alpha, blue / alpha, alpha] }
}

/// Straight to premultiplied.
fn premultiplied([red, green, blue, alpha]: [f32; 4]) -> [f32; 4] {
    [red * alpha, green * alpha, blue * alpha, alpha]
}

impl ImageView<'_> {
    /// The pixel at column `x`, row `y` as red, green, blue, alpha: integers divided by their maximum, grey repeated,
    /// alpha 1 where there is none, and nothing else changed (a premultiplied picture gives premultiplied values).
    /// Zeros outside the picture. Plain and slow: for tests and inspection.
    pub fn pixel(&self, x: u32, y: u32) -> [f32; 4] {
        let size = self.format().bytes_per_pixel();
        let start = size.saturating_mul(x as usize);
        let mut pixel = [[0.0; 4]];
        if let Some(bytes) = self.row(y).get(start..start.saturating_add(size)) {
            with_sample_type!(self.format().sample(), decode_row::<_>(self.format().channels(), bytes, &mut pixel));
        }
        let [pixel] = pixel;
        pixel
    }

    /// All pixels, row after row, each as [`ImageView::pixel`] gives it.
    pub fn to_rgba_f32(&self) -> Vec<[f32; 4]> {
        let width = self.width() as usize;
        let mut pixels = vec![[0.0; 4]; width.saturating_mul(self.height() as usize)];
        // A checked picture has a pixel in each row, so the chunks are not empty, which would panic.
        for (row, out) in self.rows().zip(pixels.chunks_exact_mut(width)) {
            with_sample_type!(self.format().sample(), decode_row::<_>(self.format().channels(), row, out));
        }
        pixels
    }

    /// The same picture in another pixel format, tightly packed:
    ///
    /// - 16 to 8 bit is `(v + 128) / 257`, 8 to 16 bit `v * 257`;
    /// - floats are clamped to 0..1 and rounded to the nearest, `floor(v * 255 + 0.5)`; between float formats values
    ///   outside 0..1 stay;
    /// - NaN becomes 0, infinities the largest finite value;
    /// - colour becomes grey by Rec. 709 luma of the stored values, grey is repeated;
    /// - alpha is dropped (colours become straight first) or added as 1.
    ///
    /// The alpha mode stays where both formats have alpha, and is opaque otherwise. The colour space stays.
    pub fn converted(&self, format: PixelFormat) -> Image {
        let target = self.description().with_format(format);
        let (from, to) = (self.format().sample(), format.sample());
        match to {
            SampleType::U8 => with_sample_type!(from, convert::<_, u8>(*self, target)),
            SampleType::U16 => with_sample_type!(from, convert::<_, u16>(*self, target)),
            SampleType::F16 => with_sample_type!(from, convert::<_, f16>(*self, target)),
            SampleType::F32 => with_sample_type!(from, convert::<_, f32>(*self, target)),
        }
    }
}

impl Image {
    /// The pixel at column `x`, row `y`; see [`ImageView::pixel`].
    pub fn pixel(&self, x: u32, y: u32) -> [f32; 4] {
        self.view().pixel(x, y)
    }

    /// All pixels, row after row, as red, green, blue, alpha; see [`ImageView::to_rgba_f32`].
    pub fn to_rgba_f32(&self) -> Vec<[f32; 4]> {
        self.view().to_rgba_f32()
    }

    /// The same picture in another pixel format; see [`ImageView::converted`] for the rules. The same format gives a
    /// clone that shares the pixels. The ICC profile stays unless colour became grey or grey colour.
    ///
    /// ```
    /// use cyanotype::image::{Description, Image, PixelFormat};
    ///
    /// let grey = Image::new(Description::new(1, 1, PixelFormat::R8), vec![128])?;
    /// assert_eq!(grey.converted(PixelFormat::Rgba8).bytes(), [128, 128, 128, 255]);
    /// assert_eq!(grey.converted(PixelFormat::R16).pixel(0, 0), grey.pixel(0, 0));
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    pub fn converted(&self, format: PixelFormat) -> Image {
        if format == self.format() { self.clone() } else { self.view().converted(format).with_profile_of(self) }
    }

    /// The same picture with colours multiplied by alpha, in the same format. Pictures that are not straight are
    /// returned as they are.
    pub fn premultiplied(&self) -> Image {
        if self.alpha() != AlphaMode::Straight {
            return self.clone();
        }
        self.map_pixels(self.description().with_alpha(AlphaMode::Premultiplied), premultiplied)
    }

    /// The same picture with colours divided by alpha, in the same format; fully transparent pixels become black.
    /// Pictures that are not premultiplied are returned as they are. Integer formats lose precision where alpha is
    /// small.
    pub fn unpremultiplied(&self) -> Image {
        if self.alpha() != AlphaMode::Premultiplied {
            return self.clone();
        }
        self.map_pixels(self.description().with_alpha(AlphaMode::Straight), straight)
    }

    /// Each pixel through `change`, the result under `target`, which has the size of this picture.
    pub(super) fn map_pixels(&self, target: Description, change: impl Fn([f32; 4]) -> [f32; 4]) -> Image {
        let mut pixels = self.to_rgba_f32();
        pixels.iter_mut().for_each(|pixel| *pixel = change(*pixel));
        with_sample_type!(target.format.sample(), encode_pixels::<_>(&pixels, target)).with_profile_of(self)
    }
}
