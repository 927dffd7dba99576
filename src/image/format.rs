//! What the bytes of a picture mean: sample type, channels, alpha, transfer curve, and [`Description`], which says all
//! of it at once. Programs are compiled for a `Description`, so nothing here knows pixels, files or devices.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, nearest};

/// The type of one sample of one channel. Samples are stored in the byte order of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleType {
    /// Unsigned 8 bit: 0..=255 stands for 0.0..=1.0.
    U8,
    /// Unsigned 16 bit: 0..=65535 stands for 0.0..=1.0.
    U16,
    /// IEEE half float; values outside 0..1 are kept.
    F16,
    /// IEEE single float; values outside 0..1 are kept.
    F32,
}

impl SampleType {
    /// Bytes of one sample: 1, 2, 2 or 4.
    pub const fn bytes(self) -> usize {
        match self {
            SampleType::U8 => 1,
            SampleType::U16 | SampleType::F16 => 2,
            SampleType::F32 => 4,
        }
    }
}

/// How the pixels of a picture are stored: interleaved channels, no padding between pixels.
///
/// ```
/// use cyanotype::image::PixelFormat;
///
/// let format: PixelFormat = "rgba16f".parse()?;
/// assert_eq!(format, PixelFormat::Rgba16F);
/// assert_eq!(format.bytes_per_pixel(), 8);
/// assert_eq!(format.to_string(), "rgba16f");
/// # Ok::<(), cyanotype::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PixelFormat {
    /// Grey (or any one value), 8 bit: 1 byte per pixel.
    R8,
    /// Red, green, blue, 8 bit each: 3 bytes per pixel.
    Rgb8,
    /// Red, green, blue, alpha, 8 bit each: 4 bytes per pixel.
    Rgba8,
    /// Grey, 16 bit: 2 bytes per pixel.
    R16,
    /// Red, green, blue, 16 bit each: 6 bytes per pixel.
    Rgb16,
    /// Red, green, blue, alpha, 16 bit each: 8 bytes per pixel.
    Rgba16,
    /// Grey (or any one value, such as depth), 32-bit float: 4 bytes per pixel.
    R32F,
    /// Red, green, blue, 32-bit float each: 12 bytes per pixel.
    Rgb32F,
    /// Red, green, blue, alpha, 32-bit float each: 16 bytes per pixel.
    Rgba32F,
    /// Red, green, blue, alpha, 16-bit float each: 8 bytes per pixel.
    Rgba16F,
}

impl PixelFormat {
    /// Every format, for loops in tests and listings.
    pub const ALL: [PixelFormat; 10] = [
        PixelFormat::R8,
        PixelFormat::Rgb8,
        PixelFormat::Rgba8,
        PixelFormat::R16,
        PixelFormat::Rgb16,
        PixelFormat::Rgba16,
        PixelFormat::R32F,
        PixelFormat::Rgb32F,
        PixelFormat::Rgba32F,
        PixelFormat::Rgba16F,
    ];

    /// Channels per pixel: 1 (grey), 3 (colour) or 4 (colour and alpha).
    pub const fn channels(self) -> u32 {
        match self {
            PixelFormat::R8 | PixelFormat::R16 | PixelFormat::R32F => 1,
            PixelFormat::Rgb8 | PixelFormat::Rgb16 | PixelFormat::Rgb32F => 3,
            PixelFormat::Rgba8 | PixelFormat::Rgba16 | PixelFormat::Rgba32F | PixelFormat::Rgba16F => 4,
        }
    }

    /// The type of each sample.
    pub const fn sample(self) -> SampleType {
        match self {
            PixelFormat::R8 | PixelFormat::Rgb8 | PixelFormat::Rgba8 => SampleType::U8,
            PixelFormat::R16 | PixelFormat::Rgb16 | PixelFormat::Rgba16 => SampleType::U16,
            PixelFormat::R32F | PixelFormat::Rgb32F | PixelFormat::Rgba32F => SampleType::F32,
            PixelFormat::Rgba16F => SampleType::F16,
        }
    }

    /// Bytes of one pixel, 1 to 16.
    pub const fn bytes_per_pixel(self) -> usize {
        self.channels() as usize * self.sample().bytes()
    }

    /// Whether the format has an alpha channel.
    pub const fn has_alpha(self) -> bool {
        self.channels() == 4
    }

    /// Whether samples are floats, which keep values outside 0..1.
    pub const fn is_float(self) -> bool {
        matches!(self.sample(), SampleType::F16 | SampleType::F32)
    }

    /// The format of so many channels of this sample type, or `None` where there is none (two channels; half floats
    /// other than RGBA).
    pub const fn from_parts(channels: u32, sample: SampleType) -> Option<PixelFormat> {
        Some(match (channels, sample) {
            (1, SampleType::U8) => PixelFormat::R8,
            (3, SampleType::U8) => PixelFormat::Rgb8,
            (4, SampleType::U8) => PixelFormat::Rgba8,
            (1, SampleType::U16) => PixelFormat::R16,
            (3, SampleType::U16) => PixelFormat::Rgb16,
            (4, SampleType::U16) => PixelFormat::Rgba16,
            (1, SampleType::F32) => PixelFormat::R32F,
            (3, SampleType::F32) => PixelFormat::Rgb32F,
            (4, SampleType::F32) => PixelFormat::Rgba32F,
            (4, SampleType::F16) => PixelFormat::Rgba16F,
            _ => return None,
        })
    }

    /// The name used in text, JSON and on the command line: `rgb8`, `rgba16f` ...
    pub const fn name(self) -> &'static str {
        match self {
            PixelFormat::R8 => "r8",
            PixelFormat::Rgb8 => "rgb8",
            PixelFormat::Rgba8 => "rgba8",
            PixelFormat::R16 => "r16",
            PixelFormat::Rgb16 => "rgb16",
            PixelFormat::Rgba16 => "rgba16",
            PixelFormat::R32F => "r32f",
            PixelFormat::Rgb32F => "rgb32f",
            PixelFormat::Rgba32F => "rgba32f",
            PixelFormat::Rgba16F => "rgba16f",
        }
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for PixelFormat {
    type Err = Error;

    /// Reads a name as [`PixelFormat::name`] writes it, in any case.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest name.
    fn from_str(text: &str) -> Result<PixelFormat> {
        let wanted = text.to_ascii_lowercase();
        PixelFormat::ALL.into_iter().find(|format| format.name() == wanted).ok_or_else(|| Error::UnknownName {
            what: "pixel format",
            name: text.to_string(),
            suggestion: nearest(&wanted, PixelFormat::ALL.map(PixelFormat::name)),
        })
    }
}

/// What the alpha channel does to the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlphaMode {
    /// There is no alpha channel, or it is 1 everywhere (the maker of the picture promises it; nobody looks).
    Opaque,
    /// Colours are stored as they are; alpha says how much of them is there. PNG and most files.
    Straight,
    /// Colours are already multiplied by alpha. OpenEXR, and what blurs and resizes work on.
    Premultiplied,
}

impl AlphaMode {
    /// The name in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AlphaMode::Opaque => "opaque",
            AlphaMode::Straight => "straight",
            AlphaMode::Premultiplied => "premultiplied",
        }
    }
}

impl fmt::Display for AlphaMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// How values relate to light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorSpace {
    /// Encoded for a display with the sRGB curve. Where a picture carries an ICC profile the profile says it exactly.
    #[default]
    Srgb,
    /// Proportional to light, sRGB primaries, 1.0 is white. OpenEXR and Radiance HDR.
    LinearSrgb,
    /// Nobody said, or the values are no colours (depth, masks). Never converted when a file is written. A TIFF of
    /// floats is read as this, because the format does not say.
    Unknown,
}

impl ColorSpace {
    /// The name in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            ColorSpace::Srgb => "srgb",
            ColorSpace::LinearSrgb => "linearsrgb",
            ColorSpace::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ColorSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// Everything about a picture but its pixels.
///
/// ```
/// use cyanotype::image::{AlphaMode, Description, PixelFormat};
///
/// let description = Description::new(4000, 3000, PixelFormat::Rgb8);
/// assert_eq!(description.to_string(), "4000x3000 rgb8 opaque");
/// assert_eq!(description.byte_count(), 36_000_000);
///
/// let layer = Description::new(64, 64, PixelFormat::Rgba8).with_alpha(AlphaMode::Premultiplied);
/// assert_eq!(layer.to_string(), "64x64 rgba8 premultiplied");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Description {
    /// Pixels in a row, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
    /// How one pixel is stored.
    pub format: PixelFormat,
    /// What alpha does to the colours; `Opaque` where the format has no alpha.
    pub alpha: AlphaMode,
    /// How values relate to light.
    pub color: ColorSpace,
}

impl Description {
    /// A description with the usual meaning: straight alpha where the format has alpha, else opaque; sRGB-encoded.
    /// Nothing is checked here; [`Description::check`] is called by whatever takes pixels.
    pub const fn new(width: u32, height: u32, format: PixelFormat) -> Description {
        let alpha = if format.has_alpha() { AlphaMode::Straight } else { AlphaMode::Opaque };
        Description { width, height, format, alpha, color: ColorSpace::Srgb }
    }

    /// The same with another alpha mode.
    pub const fn with_alpha(self, alpha: AlphaMode) -> Description {
        Description { alpha, ..self }
    }

    /// The same with another colour space.
    pub const fn with_color(self, color: ColorSpace) -> Description {
        Description { color, ..self }
    }

    /// The same with another pixel format. Alpha becomes opaque where the new format has none, and stays what it was
    /// otherwise: opaque pixels remain opaque when a channel of ones is added.
    pub const fn with_format(self, format: PixelFormat) -> Description {
        let alpha = if format.has_alpha() { self.alpha } else { AlphaMode::Opaque };
        Description { format, alpha, ..self }
    }

    /// Bytes of one row without padding. Saturates at `usize::MAX`, which [`Description::check`] refuses.
    pub const fn row_bytes(&self) -> usize {
        (self.width as usize).saturating_mul(self.format.bytes_per_pixel())
    }

    /// Bytes of all rows without padding. Saturates at `usize::MAX`, which [`Description::check`] refuses.
    pub const fn byte_count(&self) -> usize {
        self.row_bytes().saturating_mul(self.height as usize)
    }

    /// Number of pixels.
    pub const fn pixel_count(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Whether a picture like this can exist.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, more bytes than can be addressed, or an alpha mode that the format has no
    /// channel for.
    pub fn check(&self) -> Result<()> {
        if self.width == 0 || self.height == 0 {
            return Err(Error::BadImage(format!("{self} has no pixels")));
        }
        // No allocation may exceed isize::MAX, so a picture that does cannot be in memory.
        if self.byte_count() > isize::MAX as usize {
            return Err(Error::BadImage(format!("{self} has more bytes than this machine can address")));
        }
        if self.alpha != AlphaMode::Opaque && !self.format.has_alpha() {
            return Err(Error::BadImage(format!("{self}: {} has no alpha channel", self.format)));
        }
        Ok(())
    }
}

impl fmt::Display for Description {
    /// `4000x3000 rgb8 opaque`; the colour space follows where it is not sRGB.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}x{} {} {}", self.width, self.height, self.format, self.alpha)?;
        match self.color {
            ColorSpace::Srgb => Ok(()),
            ColorSpace::LinearSrgb => formatter.write_str(" linear"),
            ColorSpace::Unknown => formatter.write_str(" unknown color"),
        }
    }
}
