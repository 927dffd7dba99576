//! [`Image`], which owns pixels, and [`ImageView`], which borrows them. Both are checked once, when they are made;
//! after that no access can fail or panic. Where the memory came from (a `Vec`, a pooled staging buffer, a mapped file)
//! and what becomes of it is hidden behind an `Arc`; nothing here knows files or devices.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::format::{AlphaMode, Description, PixelFormat};
use crate::error::{Error, Result};

/// Pixels in host memory, cheap to clone: clones share the pixels, and nobody can change them.
///
/// Rows go from top to bottom, pixels from left to right, channels interleaved. Rows may be padded: `stride` bytes lie
/// between the starts of two rows.
///
/// Equality compares description, pixels and profile; the stride does not count.
///
/// ```
/// use cyanotype::image::{Description, Image, PixelFormat};
///
/// let description = Description::new(2, 1, PixelFormat::Rgb8);
/// let image = Image::new(description, vec![255, 0, 0, 0, 0, 255])?;
/// assert_eq!(image.row(0), [255, 0, 0, 0, 0, 255]);
/// assert_eq!(image.pixel(1, 0), [0.0, 0.0, 1.0, 1.0]);
/// # Ok::<(), cyanotype::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Image {
    description: Description,
    stride: usize,
    pixels: Arc<dyn AsRef<[u8]> + Send + Sync>,
    icc_profile: Option<Arc<[u8]>>,
}

/// A vector of samples that lends itself as bytes, so that 16-bit and float pixels keep their alignment and are not
/// copied.
struct Samples<T>(Vec<T>);

impl<T: bytemuck::Pod> AsRef<[u8]> for Samples<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Image {
    /// A picture from tightly packed rows: `bytes` holds exactly `width * height * bytes_per_pixel`. Samples of more
    /// than one byte are in the byte order of the machine.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, or another number of bytes.
    pub fn new(description: Description, bytes: Vec<u8>) -> Result<Image> {
        exact_length(&description, bytes.len())?;
        Image::from_shared(description, description.row_bytes(), Arc::new(bytes))
    }

    /// A picture from rows that start every `stride` bytes. The last row need not be padded, and bytes after it are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, a stride shorter than a row, too few bytes.
    pub fn with_stride(description: Description, stride: usize, bytes: Vec<u8>) -> Result<Image> {
        Image::from_shared(description, stride, Arc::new(bytes))
    }

    /// A picture from tightly packed samples (`u8`, `u16`, `f32`, [`half::f16`], or arrays of them), which are copied.
    ///
    /// ```
    /// use cyanotype::image::{Description, Image, PixelFormat};
    ///
    /// let ramp: Vec<f32> = (0..16).map(|x| x as f32 / 15.0).collect();
    /// let image = Image::from_samples(Description::new(16, 1, PixelFormat::R32F), &ramp)?;
    /// assert_eq!(image.pixel(15, 0), [1.0, 1.0, 1.0, 1.0]);
    /// # Ok::<(), cyanotype::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, another number of samples, or a type that is not made of the format's samples.
    pub fn from_samples<T: bytemuck::Pod + Send + Sync>(description: Description, samples: &[T]) -> Result<Image> {
        Image::from_sample_vec(description, samples.to_vec())
    }

    /// Like [`Image::from_samples`], but takes the vector over instead of copying it.
    ///
    /// # Errors
    /// As [`Image::from_samples`].
    pub fn from_sample_vec<T: bytemuck::Pod + Send + Sync>(description: Description, samples: Vec<T>) -> Result<Image> {
        let sample = description.format.sample().bytes();
        // A type of no size would divide by nothing; one that is no multiple is a mix-up of u16 and f32, say.
        if size_of::<T>() == 0 || !size_of::<T>().is_multiple_of(sample) {
            let type_name = std::any::type_name::<T>();
            return Err(Error::BadImage(format!(
                "{} has samples of {sample} bytes, {type_name} is not made of them",
                description.format
            )));
        }
        exact_length(&description, size_of_val(samples.as_slice()))?;
        Image::from_shared(description, description.row_bytes(), Arc::new(Samples(samples)))
    }

    /// A picture in memory that somebody else provides and gets back when the last clone is dropped: a pooled staging
    /// buffer, a mapped file. `pixels` must give the same bytes each time it is asked; if it does not, rows come out
    /// empty or changed, but nothing panics.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, a stride shorter than a row, too few bytes.
    pub fn from_shared(
        description: Description,
        stride: usize,
        pixels: Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<Image> {
        check_layout(&description, stride, (*pixels).as_ref().len())?;
        Ok(Image { description, stride, pixels, icc_profile: None })
    }

    /// A picture from as many samples as the description, already checked, calls for.
    pub(super) fn from_exact_samples<T: bytemuck::Pod + Send + Sync>(
        description: Description,
        samples: Vec<T>,
    ) -> Image {
        debug_assert_eq!(size_of_val(samples.as_slice()), description.byte_count());
        let stride = description.row_bytes();
        Image { description, stride, pixels: Arc::new(Samples(samples)), icc_profile: None }
    }

    /// Size, format, alpha and colour space.
    pub fn description(&self) -> Description {
        self.description
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.description.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.description.height
    }

    /// How one pixel is stored.
    pub fn format(&self) -> PixelFormat {
        self.description.format
    }

    /// What alpha does to the colours.
    pub fn alpha(&self) -> AlphaMode {
        self.description.alpha
    }

    /// Bytes between the starts of two rows; at least the bytes of a row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The bytes from the first pixel to the last: `stride * (height - 1) + row_bytes` of them, padding between rows
    /// included. [`Image::tight_bytes`] gives them without.
    pub fn bytes(&self) -> &[u8] {
        let all = (*self.pixels).as_ref();
        all.get(..span(&self.description, self.stride)).unwrap_or(all)
    }

    /// The bytes without padding: borrowed where there is none, copied otherwise.
    pub fn tight_bytes(&self) -> Cow<'_, [u8]> {
        self.view().tight_bytes()
    }

    /// The bytes of row `y`, counted from the top, without padding. Empty below the last row.
    pub fn row(&self, y: u32) -> &[u8] {
        self.view().row(y)
    }

    /// The picture, borrowed.
    pub fn view(&self) -> ImageView<'_> {
        ImageView { description: self.description, stride: self.stride, bytes: self.bytes() }
    }

    /// The ICC profile that came with the file, if there was one. It is carried along and written back, never applied.
    pub fn icc_profile(&self) -> Option<&[u8]> {
        self.icc_profile.as_deref()
    }

    /// The same pixels with this ICC profile; an empty one takes the profile away.
    pub fn with_icc_profile(mut self, profile: impl Into<Arc<[u8]>>) -> Image {
        self.icc_profile = Some(profile.into()).filter(|profile| !profile.is_empty());
        self
    }

    /// The same pixels and profile under another description of the same size and format: for saying what the maker of
    /// the pixels knew and the file did not (that alpha is premultiplied, that values are linear). No value changes.
    ///
    /// # Errors
    /// [`Error::BadImage`]: another size or format, or an alpha mode that the format has no channel for.
    pub fn described_as(mut self, description: Description) -> Result<Image> {
        description.check()?;
        let layout = |description: &Description| (description.width, description.height, description.format);
        if layout(&description) != layout(&self.description) {
            return Err(Error::BadImage(format!("{} cannot be described as {description}", self.description)));
        }
        self.description = description;
        Ok(self)
    }

    /// Keeps the profile of `origin` if it still tells the truth about this picture's channels.
    pub(super) fn with_profile_of(mut self, origin: &Image) -> Image {
        self.icc_profile = origin.icc_profile.clone().filter(|profile| profile_fits(profile, self.format()));
        self
    }
}

/// Whether a profile's own colour space (ICC.1 table 17: the signature at byte 16) is that of the format's channels. A
/// grey profile on a colour picture, or a CMYK one on what was decoded to RGB, makes other programs refuse the file.
/// Signatures that are neither are let through: the profile is carried, not judged.
pub(super) fn profile_fits(profile: &[u8], format: PixelFormat) -> bool {
    let wrong: [&[u8]; 2] = if format.channels() == 1 { [b"RGB ", b"CMYK"] } else { [b"GRAY", b"CMYK"] };
    profile.get(16..20).is_none_or(|signature| !wrong.contains(&signature))
}

impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        self.description == other.description
            && self.icc_profile == other.icc_profile
            && self.view().rows().eq(other.view().rows())
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Image({}, stride {}", self.description, self.stride)?;
        if let Some(profile) = &self.icc_profile {
            write!(formatter, ", {} bytes of ICC profile", profile.len())?;
        }
        formatter.write_str(")")
    }
}

/// Pixels that somebody else owns: a camera frame, a window into a larger buffer.
///
/// ```
/// use cyanotype::image::{Description, ImageView, PixelFormat};
///
/// // The right half of a grey 4x2 picture: rows of two pixels, four bytes apart. The last row is not padded.
/// let buffer = [0, 1, 2, 3, 10, 11, 12, 13];
/// let half = ImageView::new(Description::new(2, 2, PixelFormat::R8), 4, &buffer[2..])?;
/// assert_eq!(half.row(1), [12, 13]);
/// assert_eq!(half.to_image().bytes(), [2, 3, 12, 13]);
/// # Ok::<(), cyanotype::error::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ImageView<'a> {
    description: Description,
    stride: usize,
    bytes: &'a [u8],
}

impl<'a> ImageView<'a> {
    /// A view of rows that start every `stride` bytes. The last row need not be padded, and bytes after it are ignored.
    ///
    /// # Errors
    /// [`Error::BadImage`]: no pixels, a stride shorter than a row, too few bytes.
    pub fn new(description: Description, stride: usize, bytes: &'a [u8]) -> Result<ImageView<'a>> {
        check_layout(&description, stride, bytes.len())?;
        let bytes = bytes.get(..span(&description, stride)).unwrap_or(bytes);
        Ok(ImageView { description, stride, bytes })
    }

    /// Size, format, alpha and colour space.
    pub fn description(&self) -> Description {
        self.description
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.description.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.description.height
    }

    /// How one pixel is stored.
    pub fn format(&self) -> PixelFormat {
        self.description.format
    }

    /// What alpha does to the colours.
    pub fn alpha(&self) -> AlphaMode {
        self.description.alpha
    }

    /// Bytes between the starts of two rows; at least the bytes of a row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The bytes from the first pixel to the last, padding between rows included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes without padding: borrowed where there is none, copied otherwise.
    pub fn tight_bytes(&self) -> Cow<'a, [u8]> {
        if self.stride == self.description.row_bytes() || self.description.height == 1 {
            return Cow::Borrowed(self.bytes);
        }
        let mut tight = Vec::with_capacity(self.description.byte_count());
        self.rows().for_each(|row| tight.extend_from_slice(row));
        Cow::Owned(tight)
    }

    /// The bytes of row `y`, counted from the top, without padding. Empty below the last row.
    pub fn row(&self, y: u32) -> &'a [u8] {
        let start = self.stride.saturating_mul(y as usize);
        self.bytes.get(start..start.saturating_add(self.description.row_bytes())).unwrap_or_default()
    }

    /// All rows from top to bottom, without padding.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let view = *self;
        (0..view.description.height).map(move |y| view.row(y))
    }

    /// A copy that owns its pixels, tightly packed.
    pub fn to_image(&self) -> Image {
        self.owned(self.tight_bytes().into_owned())
    }

    /// As [`ImageView::to_image`], but memory that is not there is an error.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_to_image(&self) -> Result<Image> {
        let bytes = self.description.byte_count();
        let mut tight = Vec::new();
        tight
            .try_reserve_exact(bytes)
            .map_err(|_| Error::OutOfMemory(format!("{bytes} bytes for a copy of {}", self.description)))?;
        self.rows().for_each(|row| tight.extend_from_slice(row));
        Ok(self.owned(tight))
    }

    /// Itself with tightly packed bytes of its own.
    fn owned(&self, tight: Vec<u8>) -> Image {
        Image {
            description: self.description,
            stride: self.description.row_bytes(),
            pixels: Arc::new(tight),
            icc_profile: None,
        }
    }
}

impl<'a> From<&'a Image> for ImageView<'a> {
    fn from(image: &'a Image) -> ImageView<'a> {
        image.view()
    }
}

impl fmt::Debug for ImageView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ImageView({}, stride {})", self.description, self.stride)
    }
}

/// Bytes from the first pixel to the last. Saturates, so that an impossible layout is always "too few bytes".
fn span(description: &Description, stride: usize) -> usize {
    let last_row = (description.height as usize).saturating_sub(1);
    stride.saturating_mul(last_row).saturating_add(description.row_bytes())
}

fn check_layout(description: &Description, stride: usize, found: usize) -> Result<()> {
    description.check()?;
    let row = description.row_bytes();
    if stride < row {
        return Err(Error::BadImage(format!("{description}: a row has {row} bytes, the stride is {stride}")));
    }
    let needed = span(description, stride);
    if found < needed {
        return Err(Error::BadImage(format!("{description}, stride {stride}: needs {needed} bytes, found {found}")));
    }
    Ok(())
}

/// Tightly packed pixels must fit exactly: too many bytes mean that size or format is not what the caller believes.
fn exact_length(description: &Description, found: usize) -> Result<()> {
    description.check()?;
    let needed = description.byte_count();
    if found != needed {
        return Err(Error::BadImage(format!("{description}: needs {needed} bytes, found {found}")));
    }
    Ok(())
}
