//! From an [`Image`] to the bytes of a file. The picture is brought to what the format can hold (see [`FileFormat`]),
//! encoded in memory, and only then written.

use std::io::Cursor;
use std::path::Path;

use ::image::codecs::bmp::BmpEncoder;
use ::image::codecs::gif::GifEncoder;
use ::image::codecs::hdr::HdrEncoder;
use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::openexr::OpenExrEncoder;
use ::image::codecs::png::{CompressionType, FilterType, PngEncoder};
use ::image::codecs::pnm::PnmEncoder;
use ::image::codecs::qoi::QoiEncoder;
use ::image::codecs::tiff::TiffEncoder;
use ::image::codecs::webp::WebPEncoder;
use ::image::{ExtendedColorType, ImageEncoder};

use super::codec::{FileFormat, guarded, reason};
use super::format::{AlphaMode, ColorSpace, PixelFormat, SampleType};
use super::picture::Image;
use super::replace::Replacement;
use crate::error::{Error, Result};
use crate::maths::{linear_to_srgb, srgb_to_linear};

/// How a picture is written. The default suits most uses.
///
/// ```
/// use cyanotype::image::EncodeOptions;
///
/// let small = EncodeOptions { jpeg_quality: 75, ..EncodeOptions::default() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeOptions {
    /// 1 (small) to 100 (good); 90 unless said otherwise.
    pub jpeg_quality: u8,
    /// How hard PNG tries to be small; fast unless said otherwise.
    pub png_compression: PngCompression,
    /// Write values as they are, even where the file's convention for linear light or sRGB differs from what the
    /// picture is said to be. Off unless said otherwise.
    pub values_as_stored: bool,
}

impl Default for EncodeOptions {
    fn default() -> EncodeOptions {
        EncodeOptions { jpeg_quality: 90, png_compression: PngCompression::Fast, values_as_stored: false }
    }
}

/// How hard PNG tries to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PngCompression {
    /// Several times faster than `Balanced`, a little larger.
    #[default]
    Fast,
    /// What most programs do.
    Balanced,
    /// As small as it gets, slowly.
    Best,
}

impl Image {
    /// Writes the picture to a file whose format the extension names, with the default [`EncodeOptions`].
    ///
    /// A file that was there is replaced only when the new one is complete: it is written under a temporary name in the
    /// same folder and renamed. After a failure the old file is as it was and no temporary is left.
    ///
    /// See [`FileFormat`] for what is converted on the way.
    ///
    /// ```no_run
    /// # let image = cyanotype::image::Image::open("photograph.jpg")?;
    /// image.save("copy.png")?;
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], [`Error::Encode`], [`Error::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, &EncodeOptions::default())
    }

    /// Writes the picture with given options; see [`Image::save`].
    ///
    /// # Errors
    /// As [`Image::save`], and [`Error::BadParameter`] for options out of range.
    pub fn save_with(&self, path: impl AsRef<Path>, options: &EncodeOptions) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.encode(FileFormat::from_path(path)?, options)?;
        Replacement::prepare(path, &bytes)?.commit()
    }

    /// The bytes of a file of this format; see [`FileFormat`] for what is converted on the way.
    ///
    /// ```
    /// use cyanotype::image::{Description, EncodeOptions, FileFormat, Image, PixelFormat};
    ///
    /// let image = Image::new(Description::new(2, 1, PixelFormat::R8), vec![0, 255])?;
    /// let png = image.encode(FileFormat::Png, &EncodeOptions::default())?;
    /// assert_eq!(Image::decode(&png)?, image);
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`] where the format cannot hold so large a picture; [`Error::BadParameter`] for options out of
    /// range.
    pub fn encode(&self, format: FileFormat, options: &EncodeOptions) -> Result<Vec<u8>> {
        if !(1..=100).contains(&options.jpeg_quality) {
            return Err(Error::BadParameter {
                operator: "encode".to_string(),
                parameter: "jpeg_quality".to_string(),
                expected: "1 to 100".to_string(),
                found: options.jpeg_quality.to_string(),
            });
        }
        let what = format!("{} as {format}", self.description());
        check_size(self, format, &what)?;
        let image = prepared(self, format, options);
        guarded(&what, || write(&image, format, options, &what)).map_err(|error| match error {
            // Only a panic comes out of there as a failure to decode.
            Error::Decode { what, message } => Error::Encode { what, message },
            other => other,
        })
    }
}

/// Largest sides that the formats can express, so that the error can say so; the codecs do not always.
fn check_size(image: &Image, format: FileFormat, what: &str) -> Result<()> {
    let largest = match format {
        FileFormat::Jpeg | FileFormat::Gif => 65535,
        // The format has room for 16384, but decoders (ours too) wrap that to 0, and libwebp stops here.
        FileFormat::WebP => 16383,
        FileFormat::Bmp | FileFormat::OpenExr => i32::MAX as u32,
        _ => u32::MAX,
    };
    if image.width().max(image.height()) > largest {
        let message = format!("the format ends at {largest} pixels a side");
        return Err(Error::Encode { what: what.to_string(), message });
    }
    Ok(())
}

/// The picture as the format holds it: channels, sample type, alpha, linear light or not.
fn prepared(image: &Image, format: FileFormat, options: &EncodeOptions) -> Image {
    let target = format.stored_as(image.format());
    let curve: Option<fn(f32) -> f32> = match image.description().color {
        _ if options.values_as_stored => None,
        ColorSpace::Srgb if format.is_linear() => Some(srgb_to_linear),
        // Nothing says whether floats in a TIFF are linear, so they may stay so.
        ColorSpace::LinearSrgb if !(format.is_linear() || format == FileFormat::Tiff && target.is_float()) => {
            Some(linear_to_srgb)
        }
        _ => None,
    };
    let premultiply = format == FileFormat::OpenExr;
    let change_alpha = match image.alpha() {
        AlphaMode::Opaque => false,
        AlphaMode::Straight => premultiply,
        AlphaMode::Premultiplied => !premultiply || curve.is_some(),
    };
    if curve.is_none() && !change_alpha {
        return image.converted(target);
    }
    // In floats, so that a value is rounded once, at the end.
    let float = PixelFormat::from_parts(image.format().channels(), SampleType::F32).unwrap_or(PixelFormat::Rgba32F);
    let straight = image.converted(float).unpremultiplied();
    let encoded = match curve {
        Some(curve) => straight.map_pixels(straight.description(), |[red, green, blue, alpha]| {
            let [red, green, blue] = [red, green, blue].map(curve);
            [red, green, blue, alpha]
        }),
        None => straight,
    };
    let associated = if premultiply { encoded.premultiplied() } else { encoded };
    associated.converted(target)
}

fn write(image: &Image, format: FileFormat, options: &EncodeOptions, what: &str) -> Result<Vec<u8>> {
    // GIF's quantiser takes minutes for a photograph at its best (1); this is what its own documentation recommends.
    const GIF_SPEED: i32 = 10;
    let (width, height) = (image.width(), image.height());
    let pixels = image.tight_bytes();
    let mut file = Cursor::new(Vec::new());
    let color = extended_color_type(image.format());
    let profile = image.icc_profile().unwrap_or_default();
    let result = match format {
        FileFormat::Png => {
            let compression = match options.png_compression {
                PngCompression::Fast => CompressionType::Fast,
                PngCompression::Balanced => CompressionType::Default,
                PngCompression::Best => CompressionType::Best,
            };
            let encoder = PngEncoder::new_with_quality(&mut file, compression, FilterType::Adaptive);
            with_profile(encoder, profile).write_image(&pixels, width, height, color)
        }
        FileFormat::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut file, options.jpeg_quality);
            with_profile(encoder, profile).write_image(&pixels, width, height, color)
        }
        FileFormat::WebP => {
            with_profile(WebPEncoder::new_lossless(&mut file), profile).write_image(&pixels, width, height, color)
        }
        FileFormat::Tiff => {
            with_profile(TiffEncoder::new(&mut file), profile).write_image(&pixels, width, height, color)
        }
        FileFormat::Bmp => BmpEncoder::new(&mut file).write_image(&pixels, width, height, color),
        FileFormat::Gif => GifEncoder::new_with_speed(&mut file, GIF_SPEED).write_image(&pixels, width, height, color),
        FileFormat::Qoi => QoiEncoder::new(&mut file).write_image(&pixels, width, height, color),
        FileFormat::Pnm | FileFormat::Pgm | FileFormat::Ppm if !image.format().has_alpha() => {
            file.get_mut().extend(netpbm(image, &pixels));
            Ok(())
        }
        FileFormat::Pnm | FileFormat::Pgm | FileFormat::Ppm | FileFormat::Pam => {
            PnmEncoder::new(&mut file).write_image(&pixels, width, height, color)
        }
        FileFormat::OpenExr => OpenExrEncoder::new(&mut file).write_image(&pixels, width, height, color),
        FileFormat::Hdr => HdrEncoder::new(&mut file).write_image(&radiance(&pixels), width, height, color),
    };
    result.map_err(|error| Error::Encode { what: what.to_string(), message: reason(&error) })?;
    let mut bytes = file.into_inner();
    if format == FileFormat::Tiff && image.format().has_alpha() {
        declare_alpha(&mut bytes);
    }
    Ok(bytes)
}

fn with_profile<E: ImageEncoder>(mut encoder: E, profile: &[u8]) -> E {
    if !profile.is_empty() {
        // The four formats that come here take profiles; should one refuse, the pixels are worth writing without.
        let _ = encoder.set_icc_profile(profile.to_vec());
    }
    encoder
}

fn extended_color_type(format: PixelFormat) -> ExtendedColorType {
    match format {
        PixelFormat::R8 => ExtendedColorType::L8,
        PixelFormat::Rgb8 => ExtendedColorType::Rgb8,
        PixelFormat::Rgba8 => ExtendedColorType::Rgba8,
        PixelFormat::R16 => ExtendedColorType::L16,
        PixelFormat::Rgb16 => ExtendedColorType::Rgb16,
        PixelFormat::Rgba16 => ExtendedColorType::Rgba16,
        PixelFormat::Rgb32F => ExtendedColorType::Rgb32F,
        // No file holds half floats or grey floats (`FileFormat::stored_as`), so the last two are never asked for.
        PixelFormat::Rgba32F | PixelFormat::Rgba16F | PixelFormat::R32F => ExtendedColorType::Rgba32F,
    }
}

/// Grey (P5) or colour (P6), which the `image` crate writes in 8 bit only. Samples of 16 bit are big-endian.
fn netpbm(image: &Image, pixels: &[u8]) -> Vec<u8> {
    let magic = if image.format().channels() == 1 { "P5" } else { "P6" };
    let wide = image.format().sample() == SampleType::U16;
    let maximum = if wide { 65535 } else { 255 };
    let mut file = format!("{magic}\n{} {}\n{maximum}\n", image.width(), image.height()).into_bytes();
    if wide {
        file.extend(pixels.as_chunks().0.iter().flat_map(|&sample| u16::from_ne_bytes(sample).to_be_bytes()));
    } else {
        file.extend_from_slice(pixels);
    }
    file
}

/// Floats that the RGBE encoder can take: its exponent has eight bits and wraps where they do not suffice, and infinity
/// overflows it. Negative light is black, which is all that the format can say.
fn radiance(pixels: &[u8]) -> Vec<u8> {
    const LARGEST: f32 = 1.0e38;
    const SMALLEST: f32 = 1.0e-38;
    let sample = |bytes: &[u8; 4]| {
        let value = f32::from_ne_bytes(*bytes);
        let value = if value >= SMALLEST { value.min(LARGEST) } else { 0.0 };
        value.to_ne_bytes()
    };
    pixels.as_chunks::<4>().0.iter().flat_map(sample).collect()
}

/// Adds the ExtraSamples tag, which says that alpha is straight. The encoder leaves it out, and libtiff then takes
/// alpha for premultiplied. The encoder writes a classic little- or big-endian file as the machine is, with its one
/// directory last; a copy with one entry more is put behind it.
fn declare_alpha(file: &mut Vec<u8>) {
    if let Some((offset, directory)) = directory_with_alpha(file) {
        // Directories begin at even offsets.
        file.resize(offset, 0);
        file.extend_from_slice(&directory);
        if let (Some(pointer), Ok(offset)) = (file.get_mut(4..8), u32::try_from(offset)) {
            pointer.copy_from_slice(&offset.to_ne_bytes());
        }
    }
}

/// Where the new directory goes and what it holds. `None` leaves the file as it is, which is valid too: a file too
/// large for 32-bit offsets, or an encoder that has learnt to write the tag or another layout.
fn directory_with_alpha(file: &[u8]) -> Option<(usize, Vec<u8>)> {
    const EXTRA_SAMPLES: u16 = 338;
    const SHORT: u16 = 3;
    const UNASSOCIATED_ALPHA: u16 = 2;
    let word = |at: usize| Some(u16::from_ne_bytes(file.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let own_order = if cfg!(target_endian = "little") { b"II" } else { b"MM" };
    if !file.starts_with(own_order) || word(2)? != 42 {
        return None;
    }
    let start = u32::from_ne_bytes(file.get(4..8)?.try_into().ok()?) as usize;
    let count = word(start)?;
    let entries = file.get(start + 2..start + 2 + usize::from(count) * 12)?;
    let tags = || entries.chunks_exact(12).filter_map(|entry| Some(u16::from_ne_bytes(*entry.first_chunk()?)));
    if tags().any(|tag| tag == EXTRA_SAMPLES) {
        return None;
    }
    let offset = file.len().next_multiple_of(2);
    u32::try_from(offset.checked_add(entries.len() + 64)?).ok()?;

    let mut extra = Vec::new();
    extra.extend_from_slice(&EXTRA_SAMPLES.to_ne_bytes());
    extra.extend_from_slice(&SHORT.to_ne_bytes());
    extra.extend_from_slice(&1_u32.to_ne_bytes());
    extra.extend_from_slice(&UNASSOCIATED_ALPHA.to_ne_bytes());
    extra.extend_from_slice(&[0, 0]);
    // Entries are sorted by tag.
    let (before, after) = entries.split_at_checked(tags().filter(|tag| *tag < EXTRA_SAMPLES).count() * 12)?;
    let mut directory = Vec::new();
    directory.extend_from_slice(&count.checked_add(1)?.to_ne_bytes());
    directory.extend_from_slice(before);
    directory.extend_from_slice(&extra);
    directory.extend_from_slice(after);
    // There is no next directory.
    directory.extend_from_slice(&[0; 4]);
    Some((offset, directory))
}
