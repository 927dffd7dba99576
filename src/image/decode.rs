//! From the bytes of a file to an [`Image`]: the format is told by the content, limits are checked before memory is
//! taken, pixels are decoded straight into the vector that the picture keeps, and the camera's orientation is applied.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use ::image::error::LimitErrorKind;
use ::image::metadata::Orientation;
use ::image::{ColorType, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use super::codec::{FileFormat, guarded, name_of, reason, spread, unknown_format};
use super::format::{AlphaMode, ColorSpace, Description, PixelFormat};
use super::inspect::{check_exr, check_limit, jpeg_is_complete, tiff_is_premultiplied, tiff_profile};
use super::orient::{swaps_sides, turned};
use super::picture::{Image, profile_fits};
use crate::error::{Error, Result};

/// How large a picture may be when it comes from a file. A header of a few bytes can claim any size; these bounds are
/// checked before memory is taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Pixels in a row; 65535 unless said otherwise.
    pub max_width: u32,
    /// Rows; 65535 unless said otherwise.
    pub max_height: u32,
    /// Bytes of all pixels once decoded; 2 GiB unless said otherwise. A decoder may take as much again for its own
    /// work.
    pub max_bytes: u64,
}

impl Default for DecodeLimits {
    fn default() -> DecodeLimits {
        DecodeLimits { max_width: 65535, max_height: 65535, max_bytes: 2 << 30 }
    }
}

impl DecodeLimits {
    /// Memory for the decoder and its result. Some of it does not shrink with the picture: tables, windows, row
    /// buffers.
    fn memory(&self) -> u64 {
        self.max_bytes.saturating_mul(2).saturating_add(16 << 20)
    }

    /// The largest file that can be a picture within the limits: text (PNM) takes up to six characters for a sample of
    /// two bytes, and profiles, thumbnails and comments come on top.
    fn file_bytes(&self) -> u64 {
        self.max_bytes.saturating_mul(6).saturating_add(16 << 20)
    }
}

impl Image {
    /// Reads a picture file within the default [`DecodeLimits`].
    ///
    /// The format is told by the content, and by the extension only where the content does not tell. 16-bit and float
    /// pixels stay what they are; palettes are expanded; grey with alpha becomes RGBA; of an animation or a file of
    /// several pictures the first is read. The orientation that a camera noted (EXIF, TIFF) is applied. An ICC profile
    /// is kept.
    ///
    /// ```no_run
    /// use cyanotype::image::Image;
    ///
    /// let photograph = Image::open("photograph.jpg")?;
    /// println!("{}", photograph.description());
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::UnknownFormat`], [`Error::Decode`] (truncated, damaged, unsupported), [`Error::Limit`],
    /// [`Error::OutOfMemory`].
    pub fn open(path: impl AsRef<Path>) -> Result<Image> {
        Image::open_with(path, &DecodeLimits::default())
    }

    /// Reads a picture file within given limits; see [`Image::open`].
    ///
    /// # Errors
    /// As [`Image::open`].
    pub fn open_with(path: impl AsRef<Path>, limits: &DecodeLimits) -> Result<Image> {
        let path = path.as_ref();
        let bytes = read_file(path, limits.file_bytes())?;
        let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
        decode(&bytes, &path.display().to_string(), extension.as_deref(), limits)
    }

    /// Decodes the bytes of a picture file within the default [`DecodeLimits`]; see [`Image::open`] for what is done.
    ///
    /// ```
    /// use cyanotype::image::{Image, PixelFormat};
    ///
    /// let image = Image::decode(b"P2 2 1 255 0 255")?;
    /// assert_eq!(image.format(), PixelFormat::R8);
    /// assert_eq!(image.bytes(), [0, 255]);
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Image::open`], without [`Error::Io`].
    pub fn decode(bytes: &[u8]) -> Result<Image> {
        Image::decode_with(bytes, &DecodeLimits::default())
    }

    /// Decodes the bytes of a picture file within given limits; see [`Image::decode`].
    ///
    /// ```
    /// use cyanotype::image::{DecodeLimits, Image};
    ///
    /// let limits = DecodeLimits { max_width: 1000, ..DecodeLimits::default() };
    /// let error = Image::decode_with(b"P5 65535 65535 255 ", &limits).unwrap_err();
    /// assert_eq!(error.to_string(), "width of the picture is 65535, over the limit of 1000");
    /// ```
    ///
    /// # Errors
    /// As [`Image::decode`].
    pub fn decode_with(bytes: &[u8], limits: &DecodeLimits) -> Result<Image> {
        decode(bytes, "picture", None, limits)
    }
}

/// Bytes from which a format is told.
const SIGNATURE: u64 = 64;

/// The whole file, unless it is longer than any picture within the limits (or has no end, like a device). Of a file that
/// begins like no picture only the beginning, which is enough to refuse it.
fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::Io { path: path.to_path_buf(), message: error.to_string() };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    check_limit("length of the file in bytes", length, limit)?;
    let mut bytes = Vec::new();
    (&mut file).take(SIGNATURE).read_to_end(&mut bytes).map_err(failed)?;
    if !is_signature(&bytes) {
        return Ok(bytes);
    }
    bytes
        .try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))
        .map_err(|_| Error::OutOfMemory(format!("{}: the file has {length} bytes", path.display())))?;
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    check_limit("length of the file in bytes", bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Whether some format begins so.
fn is_signature(bytes: &[u8]) -> bool {
    // The crate reads TIFF files of 64-bit offsets, but does not tell them by their content.
    let is_big_tiff = bytes.starts_with(b"II+\0") || bytes.starts_with(b"MM\0+");
    is_big_tiff || ::image::guess_format(bytes).is_ok()
}

/// `what` names the source in errors.
fn decode(bytes: &[u8], what: &str, extension: Option<&str>, limits: &DecodeLimits) -> Result<Image> {
    let format = format_of(bytes, extension).ok_or_else(|| unknown_format(what.to_string()))?;
    let what = format!("{what} as {}", name_of(format));
    match format {
        ImageFormat::Jpeg if !jpeg_is_complete(bytes) => {
            let message = "the file is truncated: there is no end-of-image marker".to_string();
            return Err(Error::Decode { what, message });
        }
        ImageFormat::OpenExr => check_exr(bytes, limits)?,
        _ => {}
    }
    guarded(&what, || decode_as(format, bytes, &what, limits))
}

/// The format that the content shows, else the one that the extension names.
fn format_of(bytes: &[u8], extension: Option<&str>) -> Option<ImageFormat> {
    let named = || extension.and_then(FileFormat::from_extension).map(image_format);
    let format = ::image::guess_format(bytes).ok().or_else(named)?;
    // The crate recognises more formats than it was built to read.
    FileFormat::ALL.into_iter().map(image_format).find(|known| *known == format)
}

fn image_format(format: FileFormat) -> ImageFormat {
    match format {
        FileFormat::Png => ImageFormat::Png,
        FileFormat::Jpeg => ImageFormat::Jpeg,
        FileFormat::WebP => ImageFormat::WebP,
        FileFormat::Tiff => ImageFormat::Tiff,
        FileFormat::Bmp => ImageFormat::Bmp,
        FileFormat::Gif => ImageFormat::Gif,
        FileFormat::Qoi => ImageFormat::Qoi,
        FileFormat::Pnm | FileFormat::Pgm | FileFormat::Ppm | FileFormat::Pam => ImageFormat::Pnm,
        FileFormat::OpenExr => ImageFormat::OpenExr,
        FileFormat::Hdr => ImageFormat::Hdr,
    }
}

fn decode_as(format: ImageFormat, bytes: &[u8], what: &str, limits: &DecodeLimits) -> Result<Image> {
    let failed = |error| decode_error(what, limits, &error);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    // Sizes are checked below, where the error can tell them.
    let mut decoder_limits = Limits::no_limits();
    decoder_limits.max_alloc = Some(limits.memory());
    reader.limits(decoder_limits);
    let mut decoder = reader.into_decoder().map_err(failed)?;

    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(Error::Decode { what: what.to_string(), message: format!("{width}x{height} has no pixels") });
    }
    check_limit("width of the picture", width.into(), limits.max_width.into())?;
    check_limit("height of the picture", height.into(), limits.max_height.into())?;
    let color_type = decoder.color_type();
    let bytes_per_pixel = match color_type {
        // These become RGBA.
        ColorType::La8 => 4,
        ColorType::La16 => 8,
        other => other.bytes_per_pixel().into(),
    };
    let pixels = u64::from(width) * u64::from(height);
    check_limit("size of the picture in bytes", pixels.saturating_mul(bytes_per_pixel), limits.max_bytes)?;

    // Damaged metadata is no reason to refuse the pixels.
    let profile = match format {
        ImageFormat::Tiff => tiff_profile(bytes).map(<[u8]>::to_vec),
        _ => decoder.icc_profile().ok().flatten(),
    };
    let orientation = orientation_of(&mut decoder);
    let reading = Reading { decoder, orientation, what, limits };
    let image = match color_type {
        ColorType::L8 => reading.read::<1, u8>(PixelFormat::R8),
        ColorType::La8 => reading.read::<2, u8>(PixelFormat::Rgba8),
        ColorType::Rgb8 => reading.read::<3, u8>(PixelFormat::Rgb8),
        ColorType::Rgba8 => reading.read::<4, u8>(PixelFormat::Rgba8),
        ColorType::L16 => reading.read::<1, u16>(PixelFormat::R16),
        ColorType::La16 => reading.read::<2, u16>(PixelFormat::Rgba16),
        ColorType::Rgb16 => reading.read::<3, u16>(PixelFormat::Rgb16),
        ColorType::Rgba16 => reading.read::<4, u16>(PixelFormat::Rgba16),
        ColorType::Rgb32F => reading.read::<3, f32>(PixelFormat::Rgb32F),
        ColorType::Rgba32F => reading.read::<4, f32>(PixelFormat::Rgba32F),
        other => {
            let message = format!("pixels of the kind {other:?} are not known here");
            return Err(Error::Decode { what: what.to_string(), message });
        }
    }?;

    let mut description = image.description();
    match format {
        ImageFormat::OpenExr | ImageFormat::Hdr => description.color = ColorSpace::LinearSrgb,
        ImageFormat::Tiff if description.format.is_float() => description.color = ColorSpace::Unknown,
        _ => {}
    }
    let premultiplied = match format {
        ImageFormat::OpenExr => true,
        ImageFormat::Tiff => tiff_is_premultiplied(bytes),
        _ => false,
    };
    if premultiplied && description.format.has_alpha() {
        description.alpha = AlphaMode::Premultiplied;
    }
    let image = image.described_as(description)?;
    Ok(match profile.filter(|profile| profile_fits(profile, description.format)) {
        Some(profile) => image.with_icc_profile(profile),
        None => image,
    })
}

/// How the camera was held.
fn orientation_of(decoder: &mut impl ImageDecoder) -> Orientation {
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    if orientation != Orientation::NoTransforms {
        return orientation;
    }
    // Some programs keep the prefix that EXIF has in JPEG when they write it to WebP or PNG, where it does not belong.
    let exif = decoder.exif_metadata().ok().flatten();
    exif.and_then(|exif| Orientation::from_exif_chunk(exif.strip_prefix(b"Exif\0\0")?)).unwrap_or(orientation)
}

/// A decoder that has told all but the pixels.
struct Reading<'a, D> {
    decoder: D,
    orientation: Orientation,
    what: &'a str,
    limits: &'a DecodeLimits,
}

impl<D: ImageDecoder> Reading<'_, D> {
    /// Decodes `N` channels of samples into the vector that the picture keeps, unless it has to be turned.
    fn read<const N: usize, T: bytemuck::Pod + Send + Sync>(self, format: PixelFormat) -> Result<Image> {
        let (width, height) = self.decoder.dimensions();
        let bytes = self.decoder.total_bytes();
        // Zeroed pages cost nothing until they are written, so a header that lies costs address space only. (The
        // feature of `bytemuck` that has this is switched on by the `image` crate.)
        let samples = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| bytemuck::allocation::try_zeroed_vec::<T>(bytes / size_of::<T>()).ok());
        let mut samples =
            samples.ok_or_else(|| Error::OutOfMemory(format!("{}: {bytes} bytes of pixels", self.what)))?;
        self.decoder
            .read_image(bytemuck::cast_slice_mut(&mut samples))
            .map_err(|error| decode_error(self.what, self.limits, &error))?;

        let samples = turned::<N, T>(samples, width as usize, height as usize, self.orientation);
        let (width, height) = if swaps_sides(self.orientation) { (height, width) } else { (width, height) };
        let description = Description::new(width, height, format);
        if N == 2 { spread(description, samples) } else { Image::from_sample_vec(description, samples) }
    }
}

fn decode_error(what: &str, limits: &DecodeLimits, error: &ImageError) -> Error {
    let message = match error {
        ImageError::Limits(limit) if matches!(limit.kind(), LimitErrorKind::InsufficientMemory) => {
            let limit = limits.memory();
            // The codec does not say how much it wanted, only that it was more.
            let what = format!("memory for decoding {what} (bytes, at least)");
            return Error::Limit { what, found: limit.saturating_add(1), limit };
        }
        ImageError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the file is truncated".to_string()
        }
        error => reason(error),
    };
    Error::Decode { what: what.to_string(), message }
}
