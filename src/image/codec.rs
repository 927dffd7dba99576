//! The file formats: their names, what pixels each can hold, and the way between [`Image`] and the `image` crate's
//! `DynamicImage`. Reading is in `decode`, writing in `encode`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::image::metadata::CicpTransferCharacteristics;
use ::image::{DynamicImage, ImageBuffer, ImageError, ImageFormat};

use super::format::{ColorSpace, Description, PixelFormat, SampleType};
use super::picture::Image;
use crate::error::{Error, Result};

/// A kind of picture file that can be written. All of them can be read as well; so can `.pbm`.
///
/// A picture whose pixels the format cannot hold is converted to the nearest that it can ([`FileFormat::stored_as`]):
///
/// | file | grey | colour | colour and alpha | samples | lossless |
/// | --- | --- | --- | --- | --- | --- |
/// | PNG | yes | yes | straight | 8, 16 bit; float to 16 bit | yes |
/// | JPEG | yes | yes | alpha is dropped | 8 bit | no |
/// | WebP | as colour | yes | straight | 8 bit | yes |
/// | TIFF | yes; float as colour | yes | straight | 8, 16 bit, float; half to float | yes |
/// | BMP | as colour when read | yes | straight | 8 bit | yes |
/// | GIF | as colour | 256 colours | on or off | 8 bit | no |
/// | QOI | as colour | yes | straight | 8 bit | yes |
/// | PNM, PAM | yes | yes | straight (PAM) | 8, 16 bit; float to 16 bit | yes |
/// | OpenEXR | as colour | yes | premultiplied | float | yes |
/// | Radiance HDR | as colour | yes | alpha is dropped | float, 8 bit mantissa | no |
///
/// Where a format wants straight alpha, premultiplied colours are divided first; where alpha is dropped, what remains
/// are the straight colours. OpenEXR and Radiance HDR hold linear light: sRGB-encoded pictures are linearised on the
/// way into them and linear ones encoded on the way into the others, unless
/// [`EncodeOptions::values_as_stored`](super::EncodeOptions::values_as_stored) says otherwise. An ICC profile is
/// written to PNG, JPEG, WebP and TIFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Portable network graphics.
    Png,
    /// JPEG, baseline, without chroma subsampling.
    Jpeg,
    /// WebP, lossless.
    WebP,
    /// TIFF, uncompressed.
    Tiff,
    /// Windows bitmap.
    Bmp,
    /// GIF, one frame.
    Gif,
    /// The "quite OK" image format.
    Qoi,
    /// The netpbm kind that fits the picture: PGM for grey, PPM for colour, PAM with alpha.
    Pnm,
    /// Netpbm grey, binary (P5).
    Pgm,
    /// Netpbm colour, binary (P6).
    Ppm,
    /// Netpbm with any channels (P7).
    Pam,
    /// OpenEXR, 32-bit float.
    OpenExr,
    /// Radiance RGBE.
    Hdr,
}

impl FileFormat {
    /// Every format that can be written.
    pub const ALL: [FileFormat; 13] = [
        FileFormat::Png,
        FileFormat::Jpeg,
        FileFormat::WebP,
        FileFormat::Tiff,
        FileFormat::Bmp,
        FileFormat::Gif,
        FileFormat::Qoi,
        FileFormat::Pnm,
        FileFormat::Pgm,
        FileFormat::Ppm,
        FileFormat::Pam,
        FileFormat::OpenExr,
        FileFormat::Hdr,
    ];

    /// The file extensions of this format in lower case, the usual one first.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            FileFormat::Png => &["png"],
            FileFormat::Jpeg => &["jpg", "jpeg"],
            FileFormat::WebP => &["webp"],
            FileFormat::Tiff => &["tiff", "tif"],
            FileFormat::Bmp => &["bmp"],
            FileFormat::Gif => &["gif"],
            FileFormat::Qoi => &["qoi"],
            FileFormat::Pnm => &["pnm"],
            FileFormat::Pgm => &["pgm"],
            FileFormat::Ppm => &["ppm"],
            FileFormat::Pam => &["pam"],
            FileFormat::OpenExr => &["exr"],
            FileFormat::Hdr => &["hdr"],
        }
    }

    /// The format of an extension without its dot, in any case.
    ///
    /// ```
    /// use cyanotype::image::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_extension("JPG"), Some(FileFormat::Jpeg));
    /// assert_eq!(FileFormat::from_extension("docx"), None);
    /// ```
    pub fn from_extension(extension: &str) -> Option<FileFormat> {
        let wanted = extension.to_ascii_lowercase();
        FileFormat::ALL.into_iter().find(|format| format.extensions().contains(&wanted.as_str()))
    }

    /// The format that a path's extension names.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], which lists the known extensions.
    pub fn from_path(path: impl AsRef<Path>) -> Result<FileFormat> {
        let path = path.as_ref();
        path.extension()
            .and_then(|extension| FileFormat::from_extension(&extension.to_string_lossy()))
            .ok_or_else(|| unknown_format(path.display().to_string()))
    }

    /// The pixel format that a picture of `format` takes in a file of this kind: the same where the file can hold it,
    /// else the nearest. A file that is read again may name grey as colour (see the table above).
    ///
    /// ```
    /// use cyanotype::image::{FileFormat, PixelFormat};
    ///
    /// assert_eq!(FileFormat::Png.stored_as(PixelFormat::Rgb32F), PixelFormat::Rgb16);
    /// assert_eq!(FileFormat::Jpeg.stored_as(PixelFormat::Rgba16F), PixelFormat::Rgb8);
    /// ```
    pub fn stored_as(self, format: PixelFormat) -> PixelFormat {
        let (channels, sample) = (format.channels(), format.sample());
        let integer = if sample == SampleType::U8 { SampleType::U8 } else { SampleType::U16 };
        let stored = match self {
            FileFormat::Png | FileFormat::Pnm | FileFormat::Pam => PixelFormat::from_parts(channels, integer),
            FileFormat::Pgm => PixelFormat::from_parts(1, integer),
            FileFormat::Ppm => PixelFormat::from_parts(3, integer),
            FileFormat::Jpeg => PixelFormat::from_parts(channels.min(3), SampleType::U8),
            FileFormat::WebP | FileFormat::Bmp => PixelFormat::from_parts(channels, SampleType::U8),
            FileFormat::Gif | FileFormat::Qoi => PixelFormat::from_parts(channels.max(3), SampleType::U8),
            FileFormat::Tiff if format.is_float() => PixelFormat::from_parts(channels.max(3), SampleType::F32),
            FileFormat::Tiff => Some(format),
            FileFormat::OpenExr => PixelFormat::from_parts(channels.max(3), SampleType::F32),
            FileFormat::Hdr => Some(PixelFormat::Rgb32F),
        };
        // Each arm asks for 1, 3 or 4 channels of a type that has all three, so there always is a format.
        stored.unwrap_or(format)
    }

    /// Whether a file of this kind gives the pixels back exactly as [`FileFormat::stored_as`] says they are stored.
    pub const fn is_lossless(self) -> bool {
        !matches!(self, FileFormat::Jpeg | FileFormat::Gif | FileFormat::Hdr)
    }

    /// Whether the format holds linear light rather than encoded values.
    pub const fn is_linear(self) -> bool {
        matches!(self, FileFormat::OpenExr | FileFormat::Hdr)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            FileFormat::Png => "PNG",
            FileFormat::Jpeg => "JPEG",
            FileFormat::WebP => "WebP",
            FileFormat::Tiff => "TIFF",
            FileFormat::Bmp => "BMP",
            FileFormat::Gif => "GIF",
            FileFormat::Qoi => "QOI",
            FileFormat::Pnm => "PNM",
            FileFormat::Pgm => "PGM",
            FileFormat::Ppm => "PPM",
            FileFormat::Pam => "PAM",
            FileFormat::OpenExr => "OpenEXR",
            FileFormat::Hdr => "Radiance HDR",
        })
    }
}

/// The error for something that is no picture file we know.
pub(super) fn unknown_format(what: String) -> Error {
    let known: Vec<&str> = FileFormat::ALL.iter().flat_map(|format| format.extensions()).copied().collect();
    Error::UnknownFormat { what, known: known.join(", ") }
}

/// Runs a codec. Codecs are other people's code on hostile input: should one panic, that is an error like any other.
/// (Where panics abort, they abort.)
pub(super) fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing that `run` has touched is used again after a panic, so it cannot be seen half changed.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::Decode { what: what.to_string(), message: "the codec panicked, which is a fault in it".to_string() })
    })
}

/// What the `image` crate calls a file format, as a name for people.
pub(super) fn name_of(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::WebP => "WebP",
        ImageFormat::Tiff => "TIFF",
        ImageFormat::Bmp => "BMP",
        ImageFormat::Gif => "GIF",
        ImageFormat::Qoi => "QOI",
        ImageFormat::Pnm => "PNM",
        ImageFormat::OpenExr => "OpenEXR",
        ImageFormat::Hdr => "Radiance HDR",
        _ => "a picture format that is not supported",
    }
}

/// The reason in a codec's error, without the wrapping that repeats the format's name.
pub(super) fn reason(error: &ImageError) -> String {
    use std::error::Error as _;
    error.source().map(ToString::to_string).filter(|text| !text.is_empty()).unwrap_or_else(|| error.to_string())
}

impl TryFrom<DynamicImage> for Image {
    type Error = Error;

    /// Takes the pixels over without a copy; only grey with alpha, which there is no format for, becomes RGBA. Alpha is
    /// straight, as the `image` crate has it.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, or a kind of pixel that is newer than this code.
    fn try_from(dynamic: DynamicImage) -> Result<Image> {
        let (width, height) = (dynamic.width(), dynamic.height());
        let color = match dynamic.color_space().transfer {
            CicpTransferCharacteristics::Linear => ColorSpace::LinearSrgb,
            CicpTransferCharacteristics::Unspecified => ColorSpace::Unknown,
            _ => ColorSpace::Srgb,
        };
        let describe = |format| Description::new(width, height, format).with_color(color);
        match dynamic {
            DynamicImage::ImageLuma8(buffer) => Image::from_sample_vec(describe(PixelFormat::R8), buffer.into_raw()),
            DynamicImage::ImageLumaA8(buffer) => spread(describe(PixelFormat::Rgba8), buffer.into_raw()),
            DynamicImage::ImageRgb8(buffer) => Image::from_sample_vec(describe(PixelFormat::Rgb8), buffer.into_raw()),
            DynamicImage::ImageRgba8(buffer) => Image::from_sample_vec(describe(PixelFormat::Rgba8), buffer.into_raw()),
            DynamicImage::ImageLuma16(buffer) => Image::from_sample_vec(describe(PixelFormat::R16), buffer.into_raw()),
            DynamicImage::ImageLumaA16(buffer) => spread(describe(PixelFormat::Rgba16), buffer.into_raw()),
            DynamicImage::ImageRgb16(buffer) => Image::from_sample_vec(describe(PixelFormat::Rgb16), buffer.into_raw()),
            DynamicImage::ImageRgba16(buffer) => {
                Image::from_sample_vec(describe(PixelFormat::Rgba16), buffer.into_raw())
            }
            DynamicImage::ImageRgb32F(buffer) => {
                Image::from_sample_vec(describe(PixelFormat::Rgb32F), buffer.into_raw())
            }
            DynamicImage::ImageRgba32F(buffer) => {
                Image::from_sample_vec(describe(PixelFormat::Rgba32F), buffer.into_raw())
            }
            other => Err(Error::BadImage(format!("pixels of the kind {:?} are not known here", other.color()))),
        }
    }
}

/// Grey and alpha to red, green, blue and alpha.
pub(super) fn spread<T: bytemuck::Pod + Send + Sync>(description: Description, samples: Vec<T>) -> Result<Image> {
    let pixels: Vec<[T; 4]> = samples.as_chunks().0.iter().map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect();
    Image::from_sample_vec(description, pixels)
}

impl Image {
    /// A copy of the pixels as the `image` crate holds them: straight alpha (premultiplied colours are divided), half
    /// floats as `Rgba32F`, grey floats as `Rgb32F`, everything else as it is. The ICC profile does not fit in there.
    ///
    /// ```
    /// use cyanotype::image::{Description, Image, PixelFormat};
    ///
    /// let image = Image::new(Description::new(1, 1, PixelFormat::Rgb8), vec![1, 2, 3])?;
    /// let dynamic = image.to_dynamic()?;
    /// assert_eq!(Image::try_from(dynamic)?, image);
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadImage`] if the picture's memory changed since it was checked ([`Image::from_shared`]).
    pub fn to_dynamic(&self) -> Result<DynamicImage> {
        // A TIFF file has the very kinds of pixel that a `DynamicImage` has.
        let image = self.unpremultiplied().converted(FileFormat::Tiff.stored_as(self.format()));
        let bytes = image.tight_bytes();
        let (width, height) = (image.width(), image.height());
        let dynamic = match image.format() {
            PixelFormat::R8 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageLuma8),
            PixelFormat::Rgb8 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgb8),
            PixelFormat::Rgba8 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgba8),
            PixelFormat::R16 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageLuma16),
            PixelFormat::Rgb16 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgb16),
            PixelFormat::Rgba16 => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgba16),
            PixelFormat::Rgb32F => ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgb32F),
            PixelFormat::Rgba32F => {
                ImageBuffer::from_raw(width, height, collect(&bytes)).map(DynamicImage::ImageRgba32F)
            }
            // The conversion above leaves no half floats and no grey floats.
            PixelFormat::R32F | PixelFormat::Rgba16F => None,
        };
        let mut dynamic = dynamic.ok_or_else(|| {
            Error::BadImage(format!("{}: the pixels changed while they were read", self.description()))
        })?;
        match self.description().color {
            ColorSpace::Srgb => {}
            ColorSpace::LinearSrgb => dynamic.set_transfer_function(CicpTransferCharacteristics::Linear),
            ColorSpace::Unknown => dynamic.set_transfer_function(CicpTransferCharacteristics::Unspecified),
        }
        Ok(dynamic)
    }
}

/// Bytes as a vector of samples. Bytes that are no whole sample are left out.
fn collect<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}
