//! What pictures and their files promise: exact conversions, lossless round trips, nothing that panics or takes memory
//! on the word of a header, and no file half written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cyanotype::error::Error;
use cyanotype::image::SampleType;
use cyanotype::{AlphaMode, ColorSpace, Description, Image, ImageView, PixelFormat};
use half::f16;
use proptest::prelude::*;

/// Remembers the largest allocation that anything in this program asked for. No test here works on pictures of more
/// than a few megabytes, so a large one is memory taken on the word of a hostile header.
struct Watched;

static LARGEST_ALLOCATION: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl std::alloc::GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { std::alloc::System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: std::alloc::Layout) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { std::alloc::System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: std::alloc::Layout, size: usize) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(size, Ordering::Relaxed);
        unsafe { std::alloc::System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: std::alloc::Layout) {
        unsafe { std::alloc::System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}

/// A picture of noise; floats reach outside 0..1 but in alpha.
fn noise(description: Description, seed: u64) -> Image {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let channels = description.format.channels() as usize;
    let count = description.pixel_count() as usize * channels;
    let mut float = |index: usize| {
        let value = numbers.unit();
        if channels == 4 && index % 4 == 3 { value } else { value * 3.0 - 1.0 }
    };
    match description.format.sample() {
        SampleType::F32 => Image::from_sample_vec(description, (0..count).map(&mut float).collect()),
        SampleType::F16 => {
            Image::from_sample_vec(description, (0..count).map(|index| f16::from_f32(float(index))).collect())
        }
        SampleType::U8 | SampleType::U16 => {
            Image::new(description, (0..description.byte_count()).map(|_| numbers.next() as u8).collect())
        }
    }
    .unwrap()
}

fn is_bad_image<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::BadImage(_)))
}

#[test]
fn formats_describe_themselves() {
    for format in PixelFormat::ALL {
        assert_eq!(PixelFormat::from_parts(format.channels(), format.sample()), Some(format));
        assert_eq!(format.bytes_per_pixel(), format.channels() as usize * format.sample().bytes());
        assert_eq!(format.name().parse::<PixelFormat>().unwrap(), format);
        assert_eq!(format.name().to_uppercase().parse::<PixelFormat>().unwrap(), format);
        assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
        assert_eq!(serde_json::from_str::<PixelFormat>(&format!("\"{format}\"")).unwrap(), format);
    }
    assert_eq!(PixelFormat::from_parts(2, SampleType::U8), None);
    assert_eq!(PixelFormat::from_parts(3, SampleType::F16), None);
    let error = "rbg8".parse::<PixelFormat>().unwrap_err();
    assert_eq!(error.to_string(), "no pixel format named 'rbg8'; did you mean 'rgb8'?");
}

#[test]
fn descriptions_print() {
    let description = Description::new(4000, 3000, PixelFormat::Rgb8);
    assert_eq!(description.to_string(), "4000x3000 rgb8 opaque");
    assert_eq!(description.with_format(PixelFormat::Rgba8).alpha, AlphaMode::Opaque);
    let layer = Description::new(1, 2, PixelFormat::Rgba16F).with_color(ColorSpace::LinearSrgb);
    assert_eq!(layer.to_string(), "1x2 rgba16f straight linear");
    assert_eq!(layer.with_format(PixelFormat::R8).alpha, AlphaMode::Opaque);
}

#[test]
fn impossible_pictures_are_refused() {
    let rgb = |width, height| Description::new(width, height, PixelFormat::Rgb8);
    assert!(is_bad_image(Image::new(rgb(0, 5), vec![])));
    assert!(is_bad_image(Image::new(rgb(5, 0), vec![])));
    assert!(is_bad_image(Image::new(rgb(2, 2), vec![0; 11])));
    assert!(is_bad_image(Image::new(rgb(2, 2), vec![0; 13])));
    assert!(is_bad_image(Image::with_stride(rgb(2, 2), 5, vec![0; 100])));
    assert!(is_bad_image(Image::with_stride(rgb(2, 2), 8, vec![0; 13])));
    assert!(Image::with_stride(rgb(2, 2), 8, vec![0; 14]).is_ok());
    assert!(is_bad_image(Image::with_stride(rgb(2, 2), usize::MAX, vec![0; 14])));
    assert!(is_bad_image(Image::new(rgb(u32::MAX, u32::MAX), vec![0; 12])));
    assert!(is_bad_image(Image::new(rgb(u32::MAX, u32::MAX).with_format(PixelFormat::Rgba32F), vec![])));
    assert!(is_bad_image(Image::new(rgb(1, 1).with_alpha(AlphaMode::Straight), vec![0; 3])));
    assert!(is_bad_image(ImageView::new(rgb(0, 0), 0, &[])));
    assert!(is_bad_image(ImageView::new(rgb(2, 2), 6, &[0; 11])));
    assert!(is_bad_image(Image::from_samples(Description::new(2, 1, PixelFormat::R32F), &[0_u16; 4])));
    assert!(is_bad_image(Image::from_samples(Description::new(2, 1, PixelFormat::R16), &[(); 4])));
    assert!(is_bad_image(Image::from_shared(rgb(2, 2), 6, Arc::new(vec![0; 11]))));
    let image = Image::new(rgb(1, 1), vec![0; 3]).unwrap();
    assert!(is_bad_image(image.clone().described_as(rgb(1, 2))));
    assert!(is_bad_image(image.described_as(rgb(1, 1).with_alpha(AlphaMode::Premultiplied))));
}

#[test]
fn access_outside_the_picture_is_empty() {
    let image = noise(Description::new(3, 2, PixelFormat::Rgb8), 1);
    assert!(image.row(2).is_empty());
    assert!(image.row(u32::MAX).is_empty());
    assert_eq!(image.pixel(3, 0), [0.0; 4]);
    assert_eq!(image.pixel(0, 2), [0.0; 4]);
    assert_eq!(image.pixel(u32::MAX, u32::MAX), [0.0; 4]);
}

#[test]
fn memory_goes_back_to_its_owner() {
    struct Pooled(Vec<u8>, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Pooled {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Pooled {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let returned = Arc::new(AtomicUsize::new(0));
    let description = Description::new(2, 2, PixelFormat::R8);
    let image =
        Image::from_shared(description, 3, Arc::new(Pooled(vec![1, 2, 0, 3, 4, 0, 9, 9], returned.clone()))).unwrap();
    let clone = image.clone();
    assert_eq!(clone.bytes(), [1, 2, 0, 3, 4]);
    assert_eq!(clone.tight_bytes()[..], [1, 2, 3, 4]);
    assert_eq!(clone, Image::new(description, vec![1, 2, 3, 4]).unwrap());
    drop(image);
    assert_eq!(returned.load(Ordering::Relaxed), 0);
    drop(clone);
    assert_eq!(returned.load(Ordering::Relaxed), 1);
}

#[test]
fn memory_that_changes_under_us_does_no_harm() {
    struct Shrinking(AtomicUsize);
    impl AsRef<[u8]> for Shrinking {
        fn as_ref(&self) -> &[u8] {
            &[7; 64][..64 >> self.0.fetch_add(1, Ordering::Relaxed).min(6)]
        }
    }
    let description = Description::new(4, 4, PixelFormat::Rgba8);
    let image = Image::from_shared(description, 16, Arc::new(Shrinking(AtomicUsize::new(0)))).unwrap();
    for _ in 0..8 {
        assert!(image.row(3).is_empty());
        let _ = (image.pixel(3, 3), image.to_rgba_f32(), image.premultiplied(), image.view().to_image());
        let _ = PixelFormat::ALL.map(|format| image.converted(format).bytes().len());
    }
}

/// The definition of section 5, written once more and in doubles.
fn rounded(value: f32, maximum: f64) -> f64 {
    let value = f64::from(value);
    if value.is_nan() { 0.0 } else { (value.clamp(0.0, 1.0) * maximum + 0.5).floor() }
}

fn one_row<T: bytemuck::Pod + Send + Sync>(format: PixelFormat, samples: &[T]) -> Image {
    let bytes = size_of_val(samples);
    let width = (bytes / format.bytes_per_pixel()) as u32;
    Image::from_samples(Description::new(width, 1, format), samples).unwrap()
}

fn words(image: &Image) -> Vec<u16> {
    image.tight_bytes().chunks_exact(2).map(bytemuck::pod_read_unaligned).collect()
}

fn floats(image: &Image) -> Vec<f32> {
    image.tight_bytes().chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
}

#[test]
fn integer_conversions_are_exact_for_every_value() {
    let bytes: Vec<u8> = (0..=255).collect();
    let all: Vec<u16> = (0..=65535).collect();
    let narrow = one_row(PixelFormat::R8, &bytes);
    let wide = one_row(PixelFormat::R16, &all);

    assert_eq!(
        words(&narrow.converted(PixelFormat::R16)),
        bytes.iter().map(|&b| u16::from(b) * 257).collect::<Vec<_>>()
    );
    assert_eq!(narrow.converted(PixelFormat::R16).converted(PixelFormat::R8), narrow);
    let expected: Vec<u8> = all.iter().map(|&word| ((u32::from(word) + 128) / 257) as u8).collect();
    assert_eq!(wide.converted(PixelFormat::R8).bytes(), expected);

    // Through floats and back nothing is lost, and half floats still tell 256 levels apart.
    assert_eq!(narrow.converted(PixelFormat::R32F).converted(PixelFormat::R8), narrow);
    assert_eq!(wide.converted(PixelFormat::R32F).converted(PixelFormat::R16), wide);
    assert_eq!(narrow.converted(PixelFormat::Rgba16F).converted(PixelFormat::R8), narrow);
    // Grey stays grey when it takes the way through colour.
    assert_eq!(narrow.converted(PixelFormat::Rgb8).converted(PixelFormat::R8), narrow);
    assert_eq!(wide.converted(PixelFormat::Rgba16).converted(PixelFormat::R16), wide);
}

#[test]
fn colour_becomes_grey_by_rec_709() {
    let image = one_row(PixelFormat::Rgb8, &[255_u8, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!(image.converted(PixelFormat::R8).bytes(), [54, 182, 18, 255]);
    assert_eq!(image.converted(PixelFormat::Rgba8).row(0)[..8], [255, 0, 0, 255, 0, 255, 0, 255]);
    assert_eq!(image.converted(PixelFormat::Rgba8).alpha(), AlphaMode::Opaque);
}

#[test]
fn alpha_is_dropped_added_and_multiplied() {
    let straight = one_row(PixelFormat::Rgba8, &[200_u8, 100, 50, 128, 255, 255, 255, 0]);
    let premultiplied = straight.premultiplied();
    assert_eq!(premultiplied.bytes(), [100, 50, 25, 128, 0, 0, 0, 0]);
    assert_eq!(premultiplied.alpha(), AlphaMode::Premultiplied);
    assert_eq!(premultiplied.unpremultiplied().bytes(), [199, 100, 50, 128, 0, 0, 0, 0]);
    assert_eq!(premultiplied.premultiplied(), premultiplied);
    assert_eq!(straight.unpremultiplied(), straight);
    // What remains when alpha goes is the straight colour, whichever way it was stored.
    assert_eq!(straight.converted(PixelFormat::Rgb8).bytes(), [200, 100, 50, 255, 255, 255]);
    assert_eq!(premultiplied.converted(PixelFormat::Rgb8).bytes(), [199, 100, 50, 0, 0, 0]);
    assert_eq!(premultiplied.converted(PixelFormat::Rgba16F).alpha(), AlphaMode::Premultiplied);
}

proptest! {
    #[test]
    fn any_float_packs_as_defined(values in prop::collection::vec(any::<u32>().prop_map(f32::from_bits), 1..40)) {
        let image = one_row(PixelFormat::R32F, &values);
        for (value, &byte) in values.iter().zip(image.converted(PixelFormat::R8).bytes()) {
            // In single precision the sum may round up to the next level within this distance of the edge.
            let near = f64::from(value.clamp(0.0, 1.0)) * 255.0 + 0.5;
            let on_edge = (near - near.round()).abs() < 1e-4;
            prop_assert!(f64::from(byte) == rounded(*value, 255.0) || on_edge, "{value} {byte}");
        }
        for (value, word) in values.iter().zip(words(&image.converted(PixelFormat::R16))) {
            let near = f64::from(value.clamp(0.0, 1.0)) * 65535.0 + 0.5;
            let on_edge = (near - near.round()).abs() < 1e-2;
            prop_assert!(f64::from(word) == rounded(*value, 65535.0) || on_edge, "{value} {word}");
        }
        for (value, half) in values.iter().zip(image.converted(PixelFormat::Rgba16F).to_rgba_f32()) {
            prop_assert!(half.iter().all(|half| half.is_finite()));
            prop_assert!(!value.is_nan() || half == [0.0, 0.0, 0.0, 1.0]);
        }
        for (value, kept) in values.iter().zip(floats(&image.converted(PixelFormat::Rgb32F)).chunks(3)) {
            let expected = if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) };
            prop_assert_eq!(kept, [expected; 3]);
        }
    }

    #[test]
    fn every_conversion_keeps_the_picture(
        from in prop::sample::select(&PixelFormat::ALL[..]), to in prop::sample::select(&PixelFormat::ALL[..]),
        width in 1_u32..20, height in 1_u32..20, padding in 0_usize..9, seed in any::<u64>(),
    ) {
        let tight = noise(Description::new(width, height, from), seed);
        // The same pixels with rows apart, and at an address that suits no sample type.
        let stride = tight.stride() + padding;
        let mut bytes = vec![0xa5; 1 + stride * height as usize];
        for y in 0..height {
            let start = 1 + stride * y as usize;
            bytes[start..start + tight.stride()].copy_from_slice(tight.row(y));
        }
        let end = bytes.len() - padding;
        let view = ImageView::new(tight.description(), stride, &bytes[1..end]).unwrap();
        prop_assert_eq!(&view.to_image(), &tight);
        prop_assert_eq!(view.to_rgba_f32(), tight.to_rgba_f32());
        prop_assert_eq!(&Image::with_stride(tight.description(), stride, bytes[1..].to_vec()).unwrap(), &tight);

        let converted = view.converted(to);
        prop_assert_eq!(&converted, &tight.converted(to));
        prop_assert_eq!(converted.description(), tight.description().with_format(to));
        // What can hold more gives back what went in.
        let more = to.channels() >= from.channels() && (to.sample() == from.sample() || to.sample() == SampleType::F32
            || (from.sample() == SampleType::U8));
        if more {
            let back = converted.converted(from);
            if from.channels() == to.channels() || !from.is_float() {
                prop_assert_eq!(back.bytes(), tight.bytes());
            }
        }
    }
}

#[cfg(feature = "codecs")]
mod files {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use cyanotype::image::{DecodeLimits, EncodeOptions, FileFormat, PngCompression};
    use image::{ExtendedColorType, ImageEncoder};

    use super::*;

    fn asset(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(name)
    }

    fn encode(image: &Image, format: FileFormat) -> Vec<u8> {
        image.encode(format, &EncodeOptions::default()).unwrap()
    }

    /// A picture as a file of this format has it by convention, so that writing it changes no value.
    fn conventional(width: u32, height: u32, pixels: PixelFormat, format: FileFormat, seed: u64) -> Image {
        let mut description = Description::new(width, height, pixels);
        if format.is_linear() {
            description.color = ColorSpace::LinearSrgb;
        }
        if format == FileFormat::OpenExr && pixels.has_alpha() {
            description.alpha = AlphaMode::Premultiplied;
        }
        noise(description, seed)
    }

    #[test]
    fn lossless_files_give_back_every_bit() {
        for format in FileFormat::ALL.into_iter().filter(|format| format.is_lossless()) {
            for pixels in PixelFormat::ALL {
                for (width, height) in [(1, 1), (1, 7), (13, 1), (37, 23)] {
                    let image = conventional(width, height, pixels, format, 7);
                    let stored = image.converted(format.stored_as(pixels));
                    let read = Image::decode(&encode(&image, format)).unwrap();
                    let what = format!("{} in {format} is read as {}", image.description(), read.description());
                    // Some formats have no grey; nothing else may change.
                    let grey_as_color =
                        matches!(format, FileFormat::WebP | FileFormat::Bmp) && stored.format() == PixelFormat::R8;
                    assert_eq!(read.format() == stored.format(), !grey_as_color, "{what}");
                    assert_eq!(read.bytes(), stored.converted(read.format()).bytes(), "{what}");
                    let alpha = match (format, read.format().has_alpha()) {
                        (_, false) => AlphaMode::Opaque,
                        (FileFormat::OpenExr, true) => AlphaMode::Premultiplied,
                        (_, true) => AlphaMode::Straight,
                    };
                    assert_eq!(read.alpha(), alpha, "{what}");
                    let color = match format {
                        FileFormat::OpenExr => ColorSpace::LinearSrgb,
                        FileFormat::Tiff if pixels.is_float() => ColorSpace::Unknown,
                        _ => ColorSpace::Srgb,
                    };
                    assert_eq!(read.description().color, color, "{what}");
                }
            }
        }
    }

    #[test]
    fn padded_rows_are_written_like_tight_ones() {
        for format in FileFormat::ALL {
            let tight = noise(Description::new(5, 4, PixelFormat::Rgb8), 3);
            let mut bytes = Vec::new();
            for row in tight.view().rows() {
                bytes.extend_from_slice(row);
                bytes.extend_from_slice(&[1, 2, 3]);
            }
            let padded = Image::with_stride(tight.description(), 18, bytes).unwrap();
            assert_eq!(encode(&padded, format), encode(&tight, format), "{format}");
        }
    }

    fn mean_difference(one: &Image, other: &Image) -> f64 {
        assert_eq!(one.description(), other.description());
        let (one, other) = (one.tight_bytes(), other.tight_bytes());
        let sum: u64 = one.iter().zip(other.iter()).map(|(&one, &other)| u64::from(one.abs_diff(other))).sum();
        sum as f64 / one.len() as f64
    }

    #[test]
    fn photographs_survive_jpeg() {
        for name in ["astronaut.png", "camera.png", "coffee.png"] {
            let photograph = Image::open(asset(name)).unwrap();
            let mut sizes = Vec::new();
            for (quality, allowed) in [(50, 6.0), (90, 3.0), (100, 1.0)] {
                let options = EncodeOptions { jpeg_quality: quality, ..EncodeOptions::default() };
                let bytes = photograph.encode(FileFormat::Jpeg, &options).unwrap();
                let difference = mean_difference(&Image::decode(&bytes).unwrap(), &photograph);
                assert!(difference < allowed, "{name} at {quality}: {difference}");
                sizes.push(bytes.len());
            }
            assert!(sizes.is_sorted());
        }
        let image = Image::open(asset("rocket.jpg")).unwrap();
        assert_eq!(image.description(), Description::new(640, 427, PixelFormat::Rgb8));
    }

    #[test]
    fn alpha_is_dropped_where_a_file_has_none() {
        for format in [FileFormat::Jpeg, FileFormat::Ppm] {
            let image = noise(Description::new(8, 8, PixelFormat::Rgba8), 5);
            assert_eq!(encode(&image, format), encode(&image.converted(PixelFormat::Rgb8), format));
        }
    }

    #[test]
    fn gif_keeps_up_to_256_colors() {
        let palette = noise(Description::new(16, 16, PixelFormat::Rgb8), 2);
        let read = Image::decode(&encode(&palette, FileFormat::Gif)).unwrap();
        assert_eq!(read.format(), PixelFormat::Rgba8);
        assert_eq!(read.converted(PixelFormat::Rgb8), palette);
    }

    #[test]
    fn radiance_keeps_seven_bits_of_the_largest_channel() {
        let bright = [[0.0, 0.5, 1.0], [1e-6, 3.0, 70000.0], [f32::NAN, f32::INFINITY, -1.0], [1e-39, 0.0, 0.0]];
        let description = Description::new(4, 1, PixelFormat::Rgb32F).with_color(ColorSpace::LinearSrgb);
        let image = Image::from_samples(description, &bright).unwrap();
        let read = Image::decode(&encode(&image, FileFormat::Hdr)).unwrap();
        assert_eq!(read.description(), description);
        for (wanted, found) in bright.iter().zip(floats(&read).as_chunks::<3>().0) {
            let wanted = wanted.map(|value| if value >= 1e-38 { value.min(1e38) } else { 0.0 });
            let largest = wanted.iter().fold(0.0_f32, |one, &other| one.max(other));
            for (wanted, found) in wanted.iter().zip(found) {
                assert!((wanted - found).abs() <= largest / 128.0, "{wanted} {found}");
            }
        }
    }

    #[test]
    fn linear_files_hold_linear_light() {
        // Without its profile, which does not survive OpenEXR.
        let photograph = Image::open(asset("chelsea.png")).unwrap().with_icc_profile(vec![]);
        let linear = Image::decode(&encode(&photograph, FileFormat::OpenExr)).unwrap();
        assert_eq!(linear.description().color, ColorSpace::LinearSrgb);
        let middle = one_row(PixelFormat::R8, &[188_u8]);
        let value = Image::decode(&encode(&middle, FileFormat::OpenExr)).unwrap().pixel(0, 0)[0];
        assert!((value - 0.502_886_5).abs() < 1e-5, "{value}");
        // And back: the same bytes.
        let back = Image::decode(&encode(&linear, FileFormat::Png)).unwrap();
        assert_eq!(back.format(), PixelFormat::Rgb16);
        assert_eq!(back.converted(PixelFormat::Rgb8), photograph);

        let options = EncodeOptions { values_as_stored: true, ..EncodeOptions::default() };
        let stored = Image::decode(&photograph.encode(FileFormat::OpenExr, &options).unwrap()).unwrap();
        assert_eq!(stored.bytes(), photograph.converted(PixelFormat::Rgb32F).bytes());
        // Values of no known meaning are never converted.
        let depth = photograph.clone().described_as(photograph.description().with_color(ColorSpace::Unknown)).unwrap();
        let stored = Image::decode(&encode(&depth, FileFormat::OpenExr)).unwrap();
        assert_eq!(stored.bytes(), photograph.converted(PixelFormat::Rgb32F).bytes());
    }

    #[test]
    fn alpha_is_written_as_the_format_has_it() {
        let straight = noise(Description::new(9, 9, PixelFormat::Rgba32F).with_color(ColorSpace::LinearSrgb), 4);
        let expected = straight.premultiplied();
        let read = Image::decode(&encode(&straight, FileFormat::OpenExr)).unwrap();
        assert_eq!(read, expected);
        // TIFF says which alpha it has; a premultiplied picture comes back straight.
        let read = Image::decode(&encode(&expected, FileFormat::Tiff)).unwrap();
        assert_eq!(read.bytes(), expected.unpremultiplied().bytes());
        let bytes = one_row(PixelFormat::Rgba8, &[100_u8, 50, 25, 128]);
        let premultiplied = bytes
            .described_as(Description::new(1, 1, PixelFormat::Rgba8).with_alpha(AlphaMode::Premultiplied))
            .unwrap();
        for format in
            [FileFormat::Png, FileFormat::WebP, FileFormat::Bmp, FileFormat::Qoi, FileFormat::Pam, FileFormat::Tiff]
        {
            let read = Image::decode(&encode(&premultiplied, format)).unwrap();
            assert_eq!((read.bytes(), read.alpha()), (&[199, 100, 50, 128][..], AlphaMode::Straight), "{format}");
        }
        assert_eq!(
            mean_difference(
                &Image::decode(&encode(&premultiplied, FileFormat::Jpeg)).unwrap(),
                &Image::decode(&encode(&premultiplied.unpremultiplied(), FileFormat::Jpeg)).unwrap()
            ),
            0.0
        );
    }

    /// A little-endian TIFF of one uncompressed strip, with further entries (tag, type 3, value).
    fn tiff(width: u32, height: u32, samples: u16, further: &[(u16, u16)], pixels: &[u8]) -> Vec<u8> {
        let mut entries = vec![
            (256_u16, 4_u16, 1_u32, width),
            (257, 4, 1, height),
            (258, 3, 1, 8),
            (259, 3, 1, 1),
            (262, 3, 1, if samples == 1 { 1 } else { 2 }),
            (273, 4, 1, 8),
            (277, 3, 1, samples.into()),
            (278, 4, 1, height),
            (279, 4, 1, pixels.len() as u32),
        ];
        entries.extend(further.iter().map(|&(tag, value)| (tag, 3, 1, value.into())));
        entries.sort();
        let mut padded = pixels.to_vec();
        padded.resize(pixels.len().next_multiple_of(2), 0);
        // Bits per sample of several samples do not fit in their entry.
        let bits = 8 + padded.len() as u32;
        let directory = bits + 2 * u32::from(samples);
        let mut file = b"II\x2a\0".to_vec();
        file.extend(directory.to_le_bytes());
        file.extend(padded);
        file.extend((0..samples).flat_map(|_| 8_u16.to_le_bytes()));
        file.extend((entries.len() as u16).to_le_bytes());
        for (tag, kind, count, value) in entries {
            let (count, value) = if tag == 258 && samples > 2 { (samples.into(), bits) } else { (count, value) };
            file.extend(tag.to_le_bytes());
            file.extend(kind.to_le_bytes());
            file.extend(count.to_le_bytes());
            file.extend(value.to_le_bytes());
        }
        file.extend([0; 4]);
        file
    }

    #[test]
    fn tiff_alpha_is_read_as_the_file_says() {
        let pixels = [100, 50, 25, 128];
        for (extra, alpha) in [(1, AlphaMode::Premultiplied), (2, AlphaMode::Straight)] {
            let read = Image::decode(&tiff(1, 1, 4, &[(338, extra)], &pixels)).unwrap();
            assert_eq!((read.bytes(), read.alpha()), (&pixels[..], alpha));
        }
        // What we write says "straight" where the encoder itself says nothing.
        let bytes = encode(&one_row(PixelFormat::Rgba8, &pixels), FileFormat::Tiff);
        let entry = [82, 1, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0];
        assert!(cfg!(target_endian = "big") || bytes.windows(12).any(|window| window == entry));
    }

    #[test]
    fn grey_with_alpha_and_palettes_become_color() {
        let mut png = Vec::new();
        image::codecs::png::PngEncoder::new(&mut png)
            .write_image(&[9, 200, 7, 0], 2, 1, ExtendedColorType::La8)
            .unwrap();
        let read = Image::decode(&png).unwrap();
        assert_eq!(read.description(), Description::new(2, 1, PixelFormat::Rgba8));
        assert_eq!(read.bytes(), [9, 9, 9, 200, 7, 7, 7, 0]);

        let mut png = Vec::new();
        let samples = bytemuck::cast_slice(&[9_u16, 2000]).to_vec();
        image::codecs::png::PngEncoder::new(&mut png).write_image(&samples, 1, 1, ExtendedColorType::La16).unwrap();
        let read = Image::decode(&png).unwrap();
        assert_eq!((read.format(), words(&read)), (PixelFormat::Rgba16, vec![9, 9, 9, 2000]));

        let palette = png_chunks(2, 1, 8, 3, &[(b"PLTE", &[1, 2, 3, 250, 251, 252])], &[0, 1, 0]);
        let read = Image::decode(&palette).unwrap();
        assert_eq!((read.format(), read.bytes()), (PixelFormat::Rgb8, &[250, 251, 252, 1, 2, 3][..]));
        let with_alpha = png_chunks(2, 1, 8, 3, &[(b"PLTE", &[1, 2, 3, 250, 251, 252]), (b"tRNS", &[0])], &[0, 1, 0]);
        let read = Image::decode(&with_alpha).unwrap();
        assert_eq!((read.format(), read.bytes()), (PixelFormat::Rgba8, &[250, 251, 252, 255, 1, 2, 3, 0][..]));
        // Fewer bits than a byte: grey of one bit.
        let read = Image::decode(&png_chunks(2, 1, 1, 0, &[], &[0, 0b0100_0000])).unwrap();
        assert_eq!((read.format(), read.bytes()), (PixelFormat::R8, &[0, 255][..]));
    }

    /// A PNG by hand: header, chunks, and `rows` (filter bytes included) in one stored block.
    fn png_chunks(width: u32, height: u32, bits: u8, color: u8, chunks: &[(&[u8; 4], &[u8])], rows: &[u8]) -> Vec<u8> {
        fn checksum(bytes: &[u8]) -> u32 {
            !bytes.iter().fold(!0_u32, |sum, &byte| {
                (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
            })
        }
        fn push(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
            file.extend((data.len() as u32).to_be_bytes());
            let named = [&name[..], data].concat();
            file.extend(&named);
            file.extend(checksum(&named).to_be_bytes());
        }
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, color, 0, 0, 0]].concat();
        push(&mut file, b"IHDR", &header);
        chunks.iter().for_each(|(name, data)| push(&mut file, name, data));
        let (low, high) = rows.iter().fold((1_u32, 0_u32), |(low, high), &byte| {
            let low = (low + u32::from(byte)) % 65521;
            (low, (high + low) % 65521)
        });
        let length = rows.len() as u16;
        let mut data = vec![0x78, 0x01, 1];
        data.extend(length.to_le_bytes());
        data.extend((!length).to_le_bytes());
        data.extend(rows);
        data.extend((high << 16 | low).to_be_bytes());
        push(&mut file, b"IDAT", &data);
        push(&mut file, b"IEND", &[]);
        file
    }

    /// EXIF with nothing but an orientation.
    fn exif(orientation: u16) -> Vec<u8> {
        let mut chunk = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01".to_vec();
        chunk.extend(orientation.to_be_bytes());
        chunk.extend([0; 6]);
        chunk
    }

    fn jpeg_with_exif(jpeg: &[u8], orientation: u16) -> Vec<u8> {
        let payload = [b"Exif\0\0".to_vec(), exif(orientation)].concat();
        let mut file = jpeg[..2].to_vec();
        file.extend([0xff, 0xe1]);
        file.extend((payload.len() as u16 + 2).to_be_bytes());
        file.extend(payload);
        file.extend(&jpeg[2..]);
        file
    }

    /// The picture as it should be seen, from the definition: where row 0 and column 0 of the file lie.
    fn turned(stored: &Image, orientation: u16) -> Image {
        let (width, height) = (stored.width(), stored.height());
        let swapped = orientation >= 5;
        let (seen_width, seen_height) = if swapped { (height, width) } else { (width, height) };
        let size = stored.format().bytes_per_pixel();
        let mut bytes = Vec::new();
        for y in 0..seen_height {
            for x in 0..seen_width {
                let (column, row) = match orientation {
                    1 => (x, y),
                    2 => (width - 1 - x, y),
                    3 => (width - 1 - x, height - 1 - y),
                    4 => (x, height - 1 - y),
                    5 => (y, x),
                    6 => (y, height - 1 - x),
                    7 => (width - 1 - y, height - 1 - x),
                    _ => (width - 1 - y, x),
                };
                let start = column as usize * size;
                bytes.extend_from_slice(&stored.row(row)[start..start + size]);
            }
        }
        Image::new(Description { width: seen_width, height: seen_height, ..stored.description() }, bytes).unwrap()
    }

    #[test]
    fn orientation_is_applied_once() {
        let image = noise(Description::new(19, 11, PixelFormat::Rgb8), 6);
        let jpeg = encode(&image, FileFormat::Jpeg);
        let stored = Image::decode(&jpeg).unwrap();
        for orientation in 1..=8 {
            let expected = turned(&stored, orientation);
            let read = Image::decode(&jpeg_with_exif(&jpeg, orientation)).unwrap();
            assert_eq!(read, expected, "JPEG {orientation}");
            // Written again, nothing is left that would turn it a second time.
            for format in [FileFormat::Png, FileFormat::Tiff, FileFormat::WebP] {
                assert_eq!(Image::decode(&encode(&read, format)).unwrap(), expected, "{format} {orientation}");
            }
            let again = Image::decode(&encode(&read, FileFormat::Jpeg)).unwrap();
            assert_eq!(again.description(), expected.description());

            let expected = turned(&image, orientation);
            for prefix in [&b""[..], b"Exif\0\0"] {
                let chunk = [prefix, &exif(orientation)].concat();
                let mut png = Vec::new();
                let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
                encoder.set_exif_metadata(chunk.clone()).unwrap();
                encoder.write_image(image.bytes(), 19, 11, ExtendedColorType::Rgb8).unwrap();
                assert_eq!(Image::decode(&png).unwrap(), expected, "PNG {orientation}");
                let mut webp = Vec::new();
                let mut encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut webp);
                encoder.set_exif_metadata(chunk).unwrap();
                encoder.write_image(image.bytes(), 19, 11, ExtendedColorType::Rgb8).unwrap();
                assert_eq!(Image::decode(&webp).unwrap(), expected, "WebP {orientation}");
            }
            let read = Image::decode(&tiff(19, 11, 3, &[(274, orientation)], image.bytes())).unwrap();
            assert_eq!(read, expected, "TIFF {orientation}");
        }
        for nonsense in [0, 9, 65535] {
            assert_eq!(Image::decode(&jpeg_with_exif(&jpeg, nonsense)).unwrap(), stored);
        }
    }

    #[test]
    fn orientation_turns_every_kind_of_pixel() {
        // Only PNG has both metadata and the wide kinds.
        for (format, color) in [
            (PixelFormat::R8, ExtendedColorType::L8),
            (PixelFormat::Rgba8, ExtendedColorType::Rgba8),
            (PixelFormat::R16, ExtendedColorType::L16),
            (PixelFormat::Rgb16, ExtendedColorType::Rgb16),
            (PixelFormat::Rgba16, ExtendedColorType::Rgba16),
        ] {
            let image = noise(Description::new(70, 45, format), 6);
            for orientation in 1..=8 {
                let mut png = Vec::new();
                let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
                encoder.set_exif_metadata(exif(orientation)).unwrap();
                encoder.write_image(image.bytes(), 70, 45, color).unwrap();
                assert_eq!(Image::decode(&png).unwrap(), turned(&image, orientation), "{format} {orientation}");
            }
        }
    }

    /// What an ICC profile looks like from outside.
    fn profile(signature: &[u8; 4], length: usize) -> Vec<u8> {
        let mut profile: Vec<u8> = (0..length).map(|index| ((index * index) >> 3) as u8).collect();
        profile[16..20].copy_from_slice(signature);
        profile
    }

    #[test]
    fn profiles_are_kept() {
        for format in FileFormat::ALL {
            for length in [132, 3144, 200_000] {
                let profile = profile(b"RGB ", length);
                let image = noise(Description::new(5, 5, PixelFormat::Rgb8), 1).with_icc_profile(profile.clone());
                let read = Image::decode(&encode(&image, format)).unwrap();
                let holds = matches!(format, FileFormat::Png | FileFormat::Jpeg | FileFormat::Tiff | FileFormat::WebP);
                assert_eq!(read.icc_profile(), Some(&profile[..]).filter(|_| holds), "{format} {length}");
            }
        }
    }

    #[test]
    fn profiles_that_would_lie_are_left_out() {
        let color = noise(Description::new(2, 2, PixelFormat::Rgb8), 1).with_icc_profile(profile(b"RGB ", 132));
        assert!(color.converted(PixelFormat::Rgba16F).icc_profile().is_some());
        assert!(color.converted(PixelFormat::R8).icc_profile().is_none());
        let grey = noise(Description::new(2, 2, PixelFormat::R8), 1).with_icc_profile(profile(b"GRAY", 132));
        assert!(Image::decode(&encode(&grey, FileFormat::Png)).unwrap().icc_profile().is_some());
        assert!(Image::decode(&encode(&grey, FileFormat::WebP)).unwrap().icc_profile().is_none());
        let printed = noise(Description::new(2, 2, PixelFormat::Rgb8), 1).with_icc_profile(profile(b"CMYK", 132));
        assert!(Image::decode(&encode(&printed, FileFormat::Jpeg)).unwrap().icc_profile().is_none());
        assert!(color.with_icc_profile(vec![]).icc_profile().is_none());
    }

    fn is_refused(result: &Result<Image, Error>) -> bool {
        matches!(result, Err(Error::Decode { .. } | Error::Limit { .. } | Error::UnknownFormat { .. }))
    }

    #[test]
    fn a_cut_file_is_an_error_unless_nothing_is_missing() {
        for format in FileFormat::ALL {
            for pixels in [PixelFormat::R8, PixelFormat::Rgb8, PixelFormat::Rgba16, PixelFormat::Rgb32F] {
                let bytes = encode(&conventional(23, 17, pixels, format, 11), format);
                let whole = Image::decode(&bytes).unwrap();
                let step = 1.max(bytes.len() / 400);
                for cut in (0..bytes.len()).rev().step_by(step) {
                    let read = Image::decode(&bytes[..cut]);
                    let fine = is_refused(&read) || read.as_ref().is_ok_and(|read| *read == whole);
                    assert!(fine, "{pixels} in {format}, {cut} of {} bytes: {read:?}", bytes.len());
                }
            }
        }
        // A photograph, in every place where it could be cut late.
        let photograph = fs::read(asset("rocket.jpg")).unwrap();
        for missing in 1..200 {
            assert!(Image::decode(&photograph[..photograph.len() - missing]).is_err(), "{missing}");
        }
        // Something behind the picture is no harm.
        for behind in [&[0; 16][..], b"\r\n", b"another file \xff\xda\xff\xff"] {
            assert!(Image::decode(&[&photograph[..], behind].concat()).is_ok());
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        let mut numbers = Numbers(0x1234_5678_9abc_def1);
        for format in FileFormat::ALL {
            for pixels in [PixelFormat::R8, PixelFormat::Rgba8, PixelFormat::Rgb32F] {
                let bytes = encode(&conventional(15, 9, pixels, format, 12), format);
                for _ in 0..150 {
                    let mut damaged = bytes.clone();
                    for _ in 0..1 + numbers.next() % 4 {
                        // Headers are where the harm is done, so half of the damage goes there.
                        let range =
                            if numbers.next().is_multiple_of(2) { damaged.len() } else { damaged.len().min(128) };
                        let at = (numbers.next() % range as u64) as usize;
                        damaged[at] = if numbers.next().is_multiple_of(3) { 0xff } else { numbers.next() as u8 };
                    }
                    let limits = DecodeLimits { max_bytes: 8 << 20, ..DecodeLimits::default() };
                    let read = Image::decode_with(&damaged, &limits);
                    assert!(read.is_ok() || is_refused(&read), "{pixels} in {format}: {read:?}");
                }
            }
        }
    }

    #[test]
    fn headers_that_lie_get_no_memory() {
        let exr = |width: i32, height: i32| {
            let mut bytes =
                encode(&conventional(4, 4, PixelFormat::Rgb32F, FileFormat::OpenExr, 1), FileFormat::OpenExr);
            for name in [&b"dataWindow\0box2i\0"[..], b"displayWindow\0box2i\0"] {
                let at = bytes.windows(name.len()).position(|window| window == name).unwrap() + name.len() + 4 + 8;
                bytes[at..at + 4].copy_from_slice(&(width - 1).to_le_bytes());
                bytes[at + 4..at + 8].copy_from_slice(&(height - 1).to_le_bytes());
            }
            bytes
        };
        // Only the window of the data is huge, not the picture: the decoder sizes its buffers for a block by it.
        let exr_window = |width: i32, compression: u8| {
            let mut bytes = b"\x76\x2f\x31\x01\x02\0\0\0".to_vec();
            let mut attribute = |name: &str, kind: &str, value: &[u8]| {
                bytes.extend([name.as_bytes(), b"\0", kind.as_bytes(), b"\0"].concat());
                bytes.extend((value.len() as i32).to_le_bytes());
                bytes.extend(value);
            };
            let window = |width: i32| [0, 0, width - 1, 0].into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>();
            let channel = |name: &[u8]| [name, b"\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0"].concat();
            attribute("channels", "chlist", &[channel(b"B"), channel(b"G"), channel(b"R"), vec![0]].concat());
            attribute("compression", "compression", &[compression]);
            attribute("dataWindow", "box2i", &window(width));
            attribute("displayWindow", "box2i", &window(4));
            attribute("lineOrder", "lineOrder", &[0]);
            attribute("pixelAspectRatio", "float", &1_f32.to_le_bytes());
            attribute("screenWindowCenter", "v2f", &[0; 8]);
            attribute("screenWindowWidth", "float", &1_f32.to_le_bytes());
            bytes.push(0);
            let chunk = bytes.len() as u64 + 8;
            bytes.extend(chunk.to_le_bytes());
            bytes.extend([0, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
            bytes
        };
        let bmp = |width: i32, height: i32, bits: u16| {
            let mut bytes = encode(&noise(Description::new(4, 4, PixelFormat::Rgb8), 1), FileFormat::Bmp);
            bytes[18..22].copy_from_slice(&width.to_le_bytes());
            bytes[22..26].copy_from_slice(&height.to_le_bytes());
            bytes[28..30].copy_from_slice(&bits.to_le_bytes());
            bytes
        };
        let jpeg = {
            let mut bytes = encode(&noise(Description::new(8, 8, PixelFormat::Rgb8), 1), FileFormat::Jpeg);
            let at = bytes.windows(2).position(|window| window == [0xff, 0xc0]).unwrap();
            bytes[at + 5..at + 9].fill(0xff);
            bytes
        };
        let webp = {
            let mut bytes = encode(
                &noise(Description::new(8, 8, PixelFormat::Rgb8), 1).with_icc_profile(vec![1; 9]),
                FileFormat::WebP,
            );
            let at = bytes.windows(4).position(|window| window == b"VP8X").unwrap();
            bytes[at + 12..at + 18].fill(0xff);
            bytes
        };
        let mut qoi = encode(&noise(Description::new(4, 4, PixelFormat::Rgb8), 1), FileFormat::Qoi);
        qoi[4..12].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        let mut gif = encode(&noise(Description::new(4, 4, PixelFormat::Rgb8), 1), FileFormat::Gif);
        gif[6..10].fill(0xff);
        let text = |text: &str| text.as_bytes().to_vec();
        let huge = [
            ("PNG", png_chunks(65535, 65535, 8, 2, &[], &[0; 64])),
            ("PNG grey 16", png_chunks(65535, 65535, 16, 0, &[], &[0; 64])),
            ("PNG largest", png_chunks(i32::MAX as u32, i32::MAX as u32, 16, 6, &[], &[0; 64])),
            ("PNG one row", png_chunks(i32::MAX as u32, 1, 16, 6, &[], &[0; 64])),
            ("BMP", bmp(65535, 65535, 24)),
            ("BMP upside down", bmp(65535, -65535, 24)),
            ("BMP largest", bmp(i32::MAX, i32::MAX, 24)),
            ("BMP smallest", bmp(i32::MIN, i32::MIN, 24)),
            ("BMP palette", bmp(65535, 65535, 8)),
            ("TIFF", tiff(65535, 65535, 3, &[], &[0; 64])),
            ("TIFF grey", tiff(65535, 65535, 1, &[], &[0; 64])),
            ("TIFF largest", tiff(u32::MAX, u32::MAX, 4, &[(338, 2)], &[0; 64])),
            ("TIFF one row", tiff(u32::MAX, 1, 4, &[(338, 2)], &[0; 64])),
            ("GIF", gif),
            ("QOI", qoi),
            ("JPEG", jpeg),
            ("WebP", webp),
            ("PGM", text("P5\n65535 65535\n255\nabc")),
            ("PPM text", text("P3\n65535 65535\n65535\n1 2 3")),
            ("PPM largest", text("P6\n4294967295 4294967295\n65535\nabc")),
            ("PBM", text("P4\n65535 65535\nabc")),
            ("PBM text", text("P1\n4294967295 1\n1 0 1")),
            ("PAM", text("P7\nWIDTH 65535\nHEIGHT 65535\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabc")),
            ("PAM deep", text("P7\nWIDTH 2\nHEIGHT 2\nDEPTH 4294967295\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\nabc")),
            ("HDR", text("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 65535 +X 65535\nabcd")),
            ("HDR largest", text("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4294967295 +X 4294967295\nabcd")),
            ("EXR", exr(65535, 65535)),
            ("EXR largest", exr(i32::MAX, i32::MAX)),
            ("EXR inside out", exr(-5, -5)),
            ("EXR window, zip", exr_window(1 << 29, 3)),
            ("EXR window, piz", exr_window(1 << 29, 4)),
            ("EXR window, pxr24", exr_window(1 << 29, 5)),
            ("EXR window, b44", exr_window(1 << 29, 6)),
            ("EXR window inside out", exr_window(i32::MIN + 9, 3)),
        ];
        for (name, bytes) in huge {
            let start = Instant::now();
            let read = Image::decode(&bytes);
            assert!(matches!(read, Err(Error::Limit { .. } | Error::Decode { .. })), "{name}: {read:?}");
            assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
            let largest = LARGEST_ALLOCATION.load(Ordering::Relaxed);
            assert!(largest < 64 << 20, "{name}: somebody asked for {largest} bytes ({read:?})");
        }
    }

    #[test]
    fn limits_are_kept_exactly() {
        let bytes = encode(&noise(Description::new(30, 20, PixelFormat::Rgb8), 1), FileFormat::Png);
        let exact = DecodeLimits { max_width: 30, max_height: 20, max_bytes: 1800 };
        assert!(Image::decode_with(&bytes, &exact).is_ok());
        for limits in [
            DecodeLimits { max_width: 29, ..exact },
            DecodeLimits { max_height: 19, ..exact },
            DecodeLimits { max_bytes: 1799, ..exact },
        ] {
            assert!(matches!(Image::decode_with(&bytes, &limits), Err(Error::Limit { .. })), "{limits:?}");
        }
        // Grey with alpha takes twice the room once it is RGBA.
        let mut png = Vec::new();
        image::codecs::png::PngEncoder::new(&mut png).write_image(&[0; 4], 2, 1, ExtendedColorType::La8).unwrap();
        let limits = DecodeLimits { max_bytes: 7, ..DecodeLimits::default() };
        assert!(matches!(Image::decode_with(&png, &limits), Err(Error::Limit { found: 8, limit: 7, .. })));
    }

    #[test]
    fn pictures_without_pixels_are_refused() {
        for bytes in [
            png_chunks(0, 0, 8, 2, &[], &[]),
            png_chunks(0, 5, 8, 2, &[], &[]),
            tiff(0, 5, 1, &[], &[]),
            tiff(5, 0, 1, &[], &[]),
            b"P5 0 5 255 ".to_vec(),
            b"P6 5 0 255 ".to_vec(),
            b"qoif\0\0\0\0\0\0\0\x05\x03\0\0\0\0\0\0\0\0\x01".to_vec(),
            b"GIF89a\0\0\0\0\0\0\0;".to_vec(),
            b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 0 +X 0\n".to_vec(),
        ] {
            let read = Image::decode(&bytes);
            assert!(matches!(read, Err(Error::Decode { .. })), "{read:?}");
        }
    }

    #[test]
    fn content_decides_before_the_extension() {
        let folder = tempfile::tempdir().unwrap();
        let image = noise(Description::new(3, 3, PixelFormat::Rgb8), 1);
        let path = folder.path().join("really.jpg");
        fs::write(&path, encode(&image, FileFormat::Png)).unwrap();
        assert_eq!(Image::open(&path).unwrap(), image);

        fs::write(&path, b"no picture at all").unwrap();
        let error = Image::open(&path).unwrap_err();
        assert!(matches!(error, Error::Decode { .. }), "{error}");
        let path = folder.path().join("text.txt");
        fs::write(&path, b"no picture at all").unwrap();
        let error = Image::open(&path).unwrap_err();
        assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
        assert!(error.to_string().contains("png, jpg, jpeg"), "{error}");
        assert!(matches!(Image::decode(b""), Err(Error::UnknownFormat { .. })));
        // Recognised, but not one of ours.
        assert!(matches!(Image::decode(b"\0\0\0\x1cftypavif"), Err(Error::UnknownFormat { .. })));
        assert!(matches!(Image::open(folder.path().join("missing.png")), Err(Error::Io { .. })));
        assert!(matches!(Image::open(folder.path()), Err(Error::Io { .. })));
        #[cfg(target_os = "linux")]
        {
            let limits = DecodeLimits { max_bytes: 0, ..DecodeLimits::default() };
            // No picture begins so, and no more is read.
            assert!(matches!(Image::open_with("/dev/zero", &limits), Err(Error::UnknownFormat { .. })));
            // What begins like one is read up to the limit, although a pipe does not tell its length.
            let (reader, mut writer) = std::io::pipe().unwrap();
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
            let endless = std::thread::spawn(move || {
                let mut written = std::io::Write::write_all(&mut writer, b"\x89PNG\r\n\x1a\n");
                while written.is_ok() {
                    written = std::io::Write::write_all(&mut writer, &[0; 4096]);
                }
            });
            assert!(matches!(Image::open_with(path, &limits), Err(Error::Limit { .. })));
            drop(reader);
            endless.join().unwrap();
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_extension_can_be_saved_and_opened() {
        let folder = tempfile::tempdir().unwrap();
        let image = noise(Description::new(12, 10, PixelFormat::Rgb8), 1);
        for format in FileFormat::ALL {
            for extension in format.extensions() {
                let path = folder.path().join(format!("picture.{extension}"));
                image.save(&path).unwrap();
                let read = Image::open(&path).unwrap();
                assert_eq!((read.width(), read.height()), (12, 10));
                fs::remove_file(path).unwrap();
            }
        }
        assert!(names(folder.path()).is_empty());
        let error = image.save(folder.path().join("picture.docx")).unwrap_err();
        assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
        assert!(matches!(image.save(folder.path().join("picture")), Err(Error::UnknownFormat { .. })));
    }

    #[test]
    fn netpbm_extensions_mean_what_they_say() {
        let color = noise(Description::new(2, 2, PixelFormat::Rgba8), 1);
        let magic = |image: &Image, format| encode(image, format)[..2].to_vec();
        assert_eq!(magic(&color, FileFormat::Pgm), b"P5");
        assert_eq!(magic(&color, FileFormat::Ppm), b"P6");
        assert_eq!(magic(&color, FileFormat::Pam), b"P7");
        assert_eq!(magic(&color, FileFormat::Pnm), b"P7");
        assert_eq!(magic(&color.converted(PixelFormat::R16), FileFormat::Pnm), b"P5");
        assert_eq!(magic(&color.converted(PixelFormat::Rgb16), FileFormat::Pnm), b"P6");
    }

    #[test]
    fn a_failed_save_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.jpg");
        let old = noise(Description::new(4, 4, PixelFormat::Rgb8), 1);
        old.save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();

        // JPEG ends at 65535.
        let long = Image::new(Description::new(65536, 1, PixelFormat::R8), vec![0; 65536]).unwrap();
        assert!(matches!(long.save(&path), Err(Error::Encode { .. })));
        let options = EncodeOptions { jpeg_quality: 0, ..EncodeOptions::default() };
        assert!(matches!(old.save_with(&path, &options), Err(Error::BadParameter { .. })));
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(names(folder.path()), ["picture.jpg"]);

        // The temporary can be written, but not renamed: no name may be this long.
        let path = folder.path().join(format!("{}.png", "n".repeat(300)));
        assert!(matches!(old.save(&path), Err(Error::Io { .. })));
        assert_eq!(names(folder.path()), ["picture.jpg"]);
        // A folder in the way, and a folder that is not there.
        fs::create_dir(folder.path().join("folder.png")).unwrap();
        assert!(matches!(old.save(folder.path().join("folder.png")), Err(Error::Io { .. })));
        assert!(matches!(old.save(folder.path().join("nowhere/picture.png")), Err(Error::Io { .. })));
        assert_eq!(names(folder.path()), ["folder.png", "picture.jpg"]);

        let new = noise(Description::new(5, 5, PixelFormat::Rgb8), 2);
        new.save(folder.path().join("picture.jpg")).unwrap();
        assert_eq!(Image::open(folder.path().join("picture.jpg")).unwrap().width(), 5);
        assert_eq!(names(folder.path()), ["folder.png", "picture.jpg"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_outlive_a_save() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let image = noise(Description::new(4, 4, PixelFormat::Rgb8), 1);
        let path = folder.path().join("picture.png");
        image.save(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.png");
        symlink(&path, &link).unwrap();
        image.converted(PixelFormat::R8).save(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(Image::open(&path).unwrap().format(), PixelFormat::R8);
        // A device is written to, not replaced. This one is always full.
        if Path::new("/dev/full").exists() {
            let full = folder.path().join("full.png");
            symlink("/dev/full", &full).unwrap();
            assert!(matches!(image.save(&full), Err(Error::Io { .. })));
            assert!(fs::symlink_metadata(&full).unwrap().is_symlink());
        }
        assert_eq!(names(folder.path()).len(), 3);
    }

    #[test]
    fn formats_name_their_largest_picture() {
        for (format, side) in [(FileFormat::Jpeg, 65536), (FileFormat::Gif, 65536), (FileFormat::WebP, 16384)] {
            for (width, height) in [(side, 1), (1, side)] {
                let image =
                    Image::new(Description::new(width, height, PixelFormat::R8), vec![0; side as usize]).unwrap();
                let error = image.encode(format, &EncodeOptions::default()).unwrap_err();
                assert!(matches!(error, Error::Encode { .. }), "{error}");
                assert!(error.to_string().contains(&(side - 1).to_string()), "{error}");
                let fits =
                    Image::new(Description::new(side - 1, 1, PixelFormat::R8), vec![0; side as usize - 1]).unwrap();
                assert!(Image::decode(&encode(&fits, format)).is_ok(), "{format}");
            }
        }
    }

    #[test]
    fn png_compression_is_a_choice() {
        let photograph = Image::open(asset("camera.png")).unwrap();
        let size = |png_compression| {
            let bytes = photograph
                .encode(FileFormat::Png, &EncodeOptions { png_compression, ..EncodeOptions::default() })
                .unwrap();
            assert_eq!(Image::decode(&bytes).unwrap().bytes(), photograph.bytes());
            bytes.len()
        };
        assert!(size(PngCompression::Best) <= size(PngCompression::Balanced));
        assert!(size(PngCompression::Balanced) <= size(PngCompression::Fast));
    }

    #[test]
    fn the_image_crate_takes_and_gives() {
        for pixels in PixelFormat::ALL {
            for color in [ColorSpace::Srgb, ColorSpace::LinearSrgb, ColorSpace::Unknown] {
                let image = noise(Description::new(6, 4, pixels).with_color(color), 9);
                let back = Image::try_from(image.to_dynamic().unwrap()).unwrap();
                assert_eq!(back, image.converted(FileFormat::Tiff.stored_as(pixels)), "{pixels}");
            }
        }
        let premultiplied = noise(Description::new(6, 4, PixelFormat::Rgba8), 9).premultiplied();
        let back = Image::try_from(premultiplied.to_dynamic().unwrap()).unwrap();
        assert_eq!(back, premultiplied.unpremultiplied());
        let grey = image::DynamicImage::ImageLumaA8(image::ImageBuffer::from_raw(1, 1, vec![5, 9]).unwrap());
        assert_eq!(Image::try_from(grey).unwrap().bytes(), [5, 5, 5, 9]);
        assert!(is_bad_image(Image::try_from(image::DynamicImage::new_rgb8(0, 4))));
    }
}
