//! Packed rows to planes of `f32` and back: where pixels enter and leave the CPU backend. What the numbers mean is
//! section 5 of the design: an 8-bit sample is `floor(v * 255 + 0.5)` of a clamped value, NaN becomes 0 and no infinity
//! gets in or out.
//!
//! The loops are the plainest that say so: LLVM turns the strided loads and stores into vector shuffles by itself.
//! Hand-made word shuffles were slower when tried, and a detour over blocks of separated bytes gained a fifth where
//! this takes a hundredth of what the operators take. Samples are in the byte order of the machine.
//!
//! An empty plane is one that nobody needs: it is neither written nor read. Nothing here panics: where a slice is
//! shorter than the others, as many pixels are converted as all of them hold. It must not know operators, plans,
//! strides or threads: a caller hands it one row.

use crate::cpu::simd::{clamp_to_int, vectorize};
use crate::image::{PixelFormat, SampleType};
use crate::maths;

/// Reads pixels `x0..` of a packed row into `planes` (red, green, blue, alpha), as many as the planes hold. Grey goes
/// into red, green and blue; formats without alpha give an alpha of 1. Empty planes are left out.
pub fn unpack_row(format: PixelFormat, bytes: &[u8], x0: usize, planes: [&mut [f32]; 4]) {
    let bytes = bytes.get(x0.saturating_mul(format.bytes_per_pixel())..).unwrap_or_default();
    match (format.sample(), format.channels()) {
        (SampleType::U8, 1) => unpack::<U8, 1, 1>(bytes, planes),
        (SampleType::U8, 3) => unpack::<U8, 1, 3>(bytes, planes),
        (SampleType::U8, _) => unpack::<U8, 1, 4>(bytes, planes),
        (SampleType::U16, 1) => unpack::<U16, 2, 1>(bytes, planes),
        (SampleType::U16, 3) => unpack::<U16, 2, 3>(bytes, planes),
        (SampleType::U16, _) => unpack::<U16, 2, 4>(bytes, planes),
        (SampleType::F16, 1) => unpack::<F16, 2, 1>(bytes, planes),
        (SampleType::F16, 3) => unpack::<F16, 2, 3>(bytes, planes),
        (SampleType::F16, _) => unpack::<F16, 2, 4>(bytes, planes),
        (SampleType::F32, 1) => unpack::<F32, 4, 1>(bytes, planes),
        (SampleType::F32, 3) => unpack::<F32, 4, 3>(bytes, planes),
        (SampleType::F32, _) => unpack::<F32, 4, 4>(bytes, planes),
    }
}

/// Reads the samples of a packed row from pixel `x0` on as they lie, all channels side by side, as many as `out` holds.
pub fn read_samples(format: PixelFormat, bytes: &[u8], x0: usize, out: &mut [f32]) {
    let bytes = bytes.get(x0.saturating_mul(format.bytes_per_pixel())..).unwrap_or_default();
    match format.sample() {
        SampleType::U8 => unpack::<U8, 1, 1>(bytes, [out, &mut [], &mut [], &mut []]),
        SampleType::U16 => unpack::<U16, 2, 1>(bytes, [out, &mut [], &mut [], &mut []]),
        SampleType::F16 => unpack::<F16, 2, 1>(bytes, [out, &mut [], &mut [], &mut []]),
        SampleType::F32 => unpack::<F32, 4, 1>(bytes, [out, &mut [], &mut [], &mut []]),
    }
}

/// One channel of such samples, of pixels that have `channels`.
pub fn separate_channel(samples: &[f32], channels: usize, channel: usize, out: &mut [f32]) {
    match channels {
        1 => separate::<1>(samples, channel, out),
        3 => separate::<3>(samples, channel, out),
        _ => separate::<4>(samples, channel, out),
    }
}

/// Writes `planes` (red, green, blue, alpha) to the packed pixels at the start of `out`. A grey format takes red. An
/// empty green or blue plane stands for red again, an empty alpha plane for 1: a grey picture needs one plane only, and
/// an opaque one three.
pub fn pack_row(format: PixelFormat, planes: [&[f32]; 4], out: &mut [u8]) {
    match (format.sample(), format.channels()) {
        (SampleType::U8, 1) => pack::<U8, 1, 1>(planes, out),
        (SampleType::U8, 3) => pack::<U8, 1, 3>(planes, out),
        (SampleType::U8, _) => pack::<U8, 1, 4>(planes, out),
        (SampleType::U16, 1) => pack::<U16, 2, 1>(planes, out),
        (SampleType::U16, 3) => pack::<U16, 2, 3>(planes, out),
        (SampleType::U16, _) => pack::<U16, 2, 4>(planes, out),
        (SampleType::F16, 1) => pack::<F16, 2, 1>(planes, out),
        (SampleType::F16, 3) => pack::<F16, 2, 3>(planes, out),
        (SampleType::F16, _) => pack::<F16, 2, 4>(planes, out),
        (SampleType::F32, 1) => pack::<F32, 4, 1>(planes, out),
        (SampleType::F32, 3) => pack::<F32, 4, 3>(planes, out),
        (SampleType::F32, _) => pack::<F32, 4, 4>(planes, out),
    }
}

/// One sample of `SIZE` bytes. Both functions are branch-free, so that loops over them become vector code.
trait Sample<const SIZE: usize> {
    fn read(bytes: [u8; SIZE]) -> f32;
    fn write(value: f32) -> [u8; SIZE];
}

struct U8;
struct U16;
struct F16;
struct F32;

impl Sample<1> for U8 {
    #[inline(always)]
    fn read([byte]: [u8; 1]) -> f32 {
        // A multiplication because that is what the GPU does, and because it is quicker; 255 gives exactly 1.
        f32::from(byte) * (1.0 / 255.0)
    }

    #[inline(always)]
    fn write(value: f32) -> [u8; 1] {
        [clamp_to_int::<0, 255>(value * 255.0 + 0.5) as u8]
    }
}

impl Sample<2> for U16 {
    #[inline(always)]
    fn read(bytes: [u8; 2]) -> f32 {
        f32::from(u16::from_ne_bytes(bytes)) * (1.0 / 65535.0)
    }

    #[inline(always)]
    fn write(value: f32) -> [u8; 2] {
        (clamp_to_int::<0, 65535>(value * 65535.0 + 0.5) as u16).to_ne_bytes()
    }
}

impl Sample<2> for F16 {
    #[inline(always)]
    fn read(bytes: [u8; 2]) -> f32 {
        half_to_float(u16::from_ne_bytes(bytes))
    }

    #[inline(always)]
    fn write(value: f32) -> [u8; 2] {
        float_to_half(value).to_ne_bytes()
    }
}

impl Sample<4> for F32 {
    #[inline(always)]
    fn read(bytes: [u8; 4]) -> f32 {
        maths::sanitize(f32::from_ne_bytes(bytes))
    }

    #[inline(always)]
    fn write(value: f32) -> [u8; 4] {
        maths::sanitize(value).to_ne_bytes()
    }
}

/// The value of a half float as a finite number: NaN gives 0, the infinities `f32::MIN` and `f32::MAX`.
#[inline(always)]
fn half_to_float(half: u16) -> f32 {
    let bits = u32::from(half);
    let magnitude = bits & 0x7fff;
    // The exponents of the two formats are biased by 15 and 127, the mantissas have 10 and 23 bits.
    let normal = f32::from_bits((magnitude << 13) + ((127 - 15) << 23));
    // Exponent 0: a whole number of 2^-24. Multiplying a shifted mantissa by a power of two would do as well, but some
    // processors are a hundred times slower on subnormal numbers.
    let subnormal = magnitude.cast_signed() as f32 * (1.0 / 16_777_216.0);
    let value = if magnitude < 0x0400 { subnormal } else { normal };
    let value = if magnitude < 0x7c00 { value } else { f32::MAX };
    let signed = f32::from_bits(value.to_bits() | (bits & 0x8000) << 16);
    if magnitude > 0x7c00 { 0.0 } else { signed }
}

/// The nearest half float, halves to even; beyond the range the largest, 65504; NaN gives 0.
#[inline(always)]
fn float_to_half(value: f32) -> u16 {
    let value = if maths::is_nan(value) { 0.0 } else { value };
    let value = maths::clamp(value, -65504.0, 65504.0);
    let sign = value.to_bits() >> 16 & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    // Half of the last place kept, less one, plus the last place itself: only a half with an odd neighbour below
    // carries.
    let odd = magnitude >> 13 & 1;
    let normal = (magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0x0fff + odd)) >> 13;
    // Below 2^-14 a half float counts in 2^-24, which is the last place of 0.5: adding that rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let half = if magnitude < (127 - 14) << 23 { subnormal } else { normal };
    (half | sign) as u16
}

fn unpack<S: Sample<SIZE>, const SIZE: usize, const CHANNELS: usize>(bytes: &[u8], planes: [&mut [f32]; 4]) {
    let (samples, _) = bytes.as_chunks::<SIZE>();
    let (pixels, _) = samples.as_chunks::<CHANNELS>();
    let [r, g, b, a] = planes;
    vectorize(
        #[inline(always)]
        || {
            // One plane at a time reads the bytes again, from the nearest cache. All planes in one loop is no quicker,
            // and a plane that is left out then needs no loop of its own.
            unpack_plane::<S, SIZE, CHANNELS>(pixels, 0, r);
            unpack_plane::<S, SIZE, CHANNELS>(pixels, 1, g);
            unpack_plane::<S, SIZE, CHANNELS>(pixels, 2, b);
            if CHANNELS == 4 {
                unpack_plane::<S, SIZE, CHANNELS>(pixels, 3, a);
            } else {
                a.fill(1.0);
            }
        },
    );
}

/// One channel of the pixels; the last one there is where they have fewer.
#[inline(always)]
fn unpack_plane<S: Sample<SIZE>, const SIZE: usize, const CHANNELS: usize>(
    pixels: &[[[u8; SIZE]; CHANNELS]],
    channel: usize,
    plane: &mut [f32],
) {
    let channel = channel.min(CHANNELS - 1);
    for (pixel, value) in pixels.iter().zip(plane) {
        *value = S::read(pixel[channel]); // below CHANNELS by the line above
    }
}

fn separate<const CHANNELS: usize>(samples: &[f32], channel: usize, out: &mut [f32]) {
    let (pixels, _) = samples.as_chunks::<CHANNELS>();
    vectorize(
        #[inline(always)]
        || match channel.min(CHANNELS - 1) {
            // A number in the code is what lets the loop become vector code.
            0 => separate_one(pixels, 0, out),
            1 => separate_one(pixels, 1, out),
            2 => separate_one(pixels, 2, out),
            _ => separate_one(pixels, 3, out),
        },
    );
}

/// One channel, the last one there is where pixels have fewer.
#[inline(always)]
fn separate_one<const CHANNELS: usize>(pixels: &[[f32; CHANNELS]], channel: usize, out: &mut [f32]) {
    let channel = channel.min(CHANNELS - 1);
    for (pixel, value) in pixels.iter().zip(out) {
        *value = pixel[channel]; // below CHANNELS by the line above
    }
}

fn pack<S: Sample<SIZE>, const SIZE: usize, const CHANNELS: usize>(planes: [&[f32]; 4], out: &mut [u8]) {
    let [r, g, b, a] = planes;
    let g = if g.is_empty() { r } else { g };
    let b = if b.is_empty() { r } else { b };
    let (samples, _) = out.as_chunks_mut::<SIZE>();
    let (pixels, _) = samples.as_chunks_mut::<CHANNELS>();
    vectorize(
        #[inline(always)]
        || {
            if CHANNELS == 4 && !a.is_empty() {
                pack_pixels::<S, SIZE, CHANNELS>([r, g, b, a], pixels, S::write);
            } else {
                let opaque = S::write(1.0);
                pack_pixels::<S, SIZE, CHANNELS>(
                    [r, g, b, r],
                    pixels,
                    #[inline(always)]
                    |_| opaque,
                );
            }
        },
    );
}

/// Interleaves the planes; `alpha` makes the last sample of a pixel.
#[inline(always)]
fn pack_pixels<S: Sample<SIZE>, const SIZE: usize, const CHANNELS: usize>(
    [r, g, b, a]: [&[f32]; 4],
    pixels: &mut [[[u8; SIZE]; CHANNELS]],
    alpha: impl Fn(f32) -> [u8; SIZE],
) {
    const { assert!(CHANNELS <= 4) };
    // Equal lengths, cut once, let the compiler drop the bounds checks of the loop.
    let count = pixels.len().min(r.len()).min(g.len()).min(b.len()).min(a.len());
    let (r, g, b, a) = (&r[..count], &g[..count], &b[..count], &a[..count]);
    for (index, pixel) in pixels[..count].iter_mut().enumerate() {
        let samples = [S::write(r[index]), S::write(g[index]), S::write(b[index]), alpha(a[index])];
        *pixel = std::array::from_fn(
            #[inline(always)]
            |channel| samples[channel], // below CHANNELS, which is at most 4
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stored sample means, in the plainest words; `half` stands for the format's definition.
    fn read_reference(sample: SampleType, bytes: &[u8]) -> f32 {
        let finite = |value: f32| if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) };
        match (sample, bytes) {
            (SampleType::U8, &[byte]) => byte as f32 * (1.0 / 255.0),
            (SampleType::U16, &[first, second]) => u16::from_ne_bytes([first, second]) as f32 * (1.0 / 65535.0),
            (SampleType::F16, &[first, second]) => finite(half::f16::from_ne_bytes([first, second]).to_f32_const()),
            (SampleType::F32, &[a, b, c, d]) => finite(f32::from_ne_bytes([a, b, c, d])),
            _ => panic!("{sample:?} has another size than {bytes:?}"),
        }
    }

    fn write_reference(sample: SampleType, value: f32) -> Vec<u8> {
        let value = if value.is_nan() { 0.0 } else { value };
        match sample {
            SampleType::U8 => vec![(value.clamp(0.0, 1.0) * 255.0 + 0.5).floor() as u8],
            SampleType::U16 => ((value.clamp(0.0, 1.0) * 65535.0 + 0.5).floor() as u16).to_ne_bytes().to_vec(),
            SampleType::F16 => half::f16::from_f32_const(value.clamp(-65504.0, 65504.0)).to_ne_bytes().to_vec(),
            SampleType::F32 => value.clamp(f32::MIN, f32::MAX).to_ne_bytes().to_vec(),
        }
    }

    /// Floats of every kind: each exponent, the neighbours of each rounding edge, the special ones, and noise.
    fn floats() -> Vec<f32> {
        let mut floats =
            vec![0.0, -0.0, 1.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN];
        floats.extend([1, 0x8000_0001, 0x7f80_0001, 0xff80_0001, 0x007f_ffff].map(f32::from_bits));
        let mut around = |value: f32| floats.extend([value.next_down(), value, value.next_up(), -value]);
        for exponent in 0..255 {
            around(f32::from_bits(exponent << 23));
        }
        for step in 0..=255 {
            around((step as f32 + 0.5) / 255.0);
        }
        for step in 0..=65535_u16 {
            around((step as f32 + 0.5) / 65535.0);
            let half = half::f16::from_bits(step & 0x7fff);
            let next = half::f16::from_bits((step & 0x7fff) + 1);
            if next.is_finite() {
                around((half.to_f32_const() + next.to_f32_const()) * 0.5);
            }
        }
        around(65520.0); // where a half float would become infinite
        let mut state = 1_u32;
        floats.extend((0..100_000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(state)
        }));
        floats
    }

    fn unpacked(format: PixelFormat, bytes: &[u8], x0: usize, count: usize) -> [Vec<f32>; 4] {
        let mut planes = std::array::from_fn(|_| vec![f32::NAN; count]);
        unpack_row(format, bytes, x0, planes.each_mut().map(Vec::as_mut_slice));
        planes
    }

    /// Bits, so that NaN and the sign of zero count.
    fn bits(planes: &[Vec<f32>; 4]) -> Vec<Vec<u32>> {
        planes.iter().map(|plane| plane.iter().map(|value| value.to_bits()).collect()).collect()
    }

    #[test]
    fn every_sample_value_is_read_and_written_as_the_reference_says() {
        for format in PixelFormat::ALL {
            let size = format.sample().bytes();
            let channels = format.channels() as usize;
            // All samples of 8 and 16 bits in every channel; floats of every kind.
            let samples: Vec<Vec<u8>> = match format.sample() {
                SampleType::U8 => (0..=255_u8).map(|byte| vec![byte]).collect(),
                SampleType::U16 | SampleType::F16 => (0..=65535_u16).map(|word| word.to_ne_bytes().to_vec()).collect(),
                SampleType::F32 => floats().into_iter().map(|value| value.to_ne_bytes().to_vec()).collect(),
            };
            // Each channel runs through the list from another start.
            let sample = |x: usize, channel: usize| &samples[(x + channel * 97) % samples.len()];
            let bytes: Vec<u8> =
                (0..samples.len()).flat_map(|x| (0..channels).flat_map(move |c| sample(x, c).clone())).collect();
            let expected: [Vec<f32>; 4] = std::array::from_fn(|plane| {
                let value = |x| match (plane, channels) {
                    (3, 1 | 3) => 1.0,
                    (_, 1) => read_reference(format.sample(), sample(x, 0)),
                    _ => read_reference(format.sample(), sample(x, plane)),
                };
                (0..samples.len()).map(value).collect()
            });
            let planes = unpacked(format, &bytes, 0, samples.len());
            for (found, expected) in bits(&planes).into_iter().zip(bits(&expected)) {
                let wrong = (0..found.len()).find(|&x| found[x] != expected[x]);
                assert_eq!(wrong.map(|x| (x, found[x], expected[x])), None, "{format}");
            }

            // Unpacked values are packed to the same bytes, unless they are floats that had to be made finite.
            let mut packed = vec![0xaa; bytes.len()];
            pack_row(format, planes.each_ref().map(Vec::as_slice), &mut packed);
            for ((x, before), after) in bytes.chunks(size).enumerate().zip(packed.chunks(size)) {
                let value = read_reference(format.sample(), before);
                let expected = write_reference(format.sample(), value);
                assert_eq!(after, expected, "{format}, sample {x}, {value:e}");
                assert!(format.is_float() || after == before, "{format}, sample {x}");
            }
        }
    }

    #[test]
    fn every_kind_of_float_is_written_as_the_reference_says() {
        let floats = floats();
        let turned = |by: usize| -> Vec<f32> { floats.iter().cycle().skip(by).take(floats.len()).copied().collect() };
        let planes = [turned(0), turned(11), turned(222), turned(3333)];
        for format in PixelFormat::ALL {
            let size = format.sample().bytes();
            let channels = format.channels() as usize;
            let mut packed = vec![0xaa; floats.len() * format.bytes_per_pixel()];
            pack_row(format, planes.each_ref().map(Vec::as_slice), &mut packed);
            for (index, found) in packed.chunks(size).enumerate() {
                let value = planes[index % channels][index / channels];
                assert_eq!(found, write_reference(format.sample(), value), "{format}: {value:e}");
            }
        }
    }

    #[test]
    fn every_length_and_start_is_handled() {
        let bytes: Vec<u8> = (0..200 * 16).map(|index| (index * 37 % 60) as u8).collect();
        for format in PixelFormat::ALL {
            let whole = unpacked(format, &bytes, 0, 200);
            for count in 0..70 {
                for x0 in [0, 1, 7, 130] {
                    let part = unpacked(format, &bytes, x0, count);
                    let expected = whole.each_ref().map(|plane| plane[x0..x0 + count].to_vec());
                    assert_eq!(bits(&part), bits(&expected), "{format} {x0} {count}");
                    // One pixel more in `out`, which must stay as it is.
                    let bytes_per_pixel = format.bytes_per_pixel();
                    let mut packed = vec![0xaa; (count + 1) * bytes_per_pixel];
                    pack_row(format, part.each_ref().map(Vec::as_slice), &mut packed);
                    let (written, rest) = packed.split_at(count * bytes_per_pixel);
                    assert_eq!(written, &bytes[x0 * bytes_per_pixel..(x0 + count) * bytes_per_pixel], "{format}");
                    assert!(rest.iter().all(|&byte| byte == 0xaa), "{format}");
                }
            }
        }
    }

    #[test]
    fn empty_planes_are_left_out() {
        for format in PixelFormat::ALL {
            let bytes: Vec<u8> = (0..40 * format.bytes_per_pixel()).map(|index| (index % 50) as u8).collect();
            let whole = unpacked(format, &bytes, 0, 40);
            for wanted in 0..16 {
                let mut planes: [Vec<f32>; 4] =
                    std::array::from_fn(|plane| vec![f32::NAN; if wanted >> plane & 1 == 1 { 40 } else { 0 }]);
                unpack_row(format, &bytes, 0, planes.each_mut().map(Vec::as_mut_slice));
                for (plane, full) in planes.iter().zip(&whole) {
                    assert!(plane.is_empty() || plane == full, "{format} {wanted:b}");
                }
            }
            let [r, g, b, a] = whole.each_ref().map(Vec::as_slice);
            let packed = |planes| {
                let mut out = vec![0; bytes.len()];
                pack_row(format, planes, &mut out);
                out
            };
            let ones = [1.0; 40];
            assert_eq!(packed([r, &[], &[], a]), packed([r, r, r, a]), "{format}");
            assert_eq!(packed([r, g, b, &[]]), packed([r, g, b, &ones]), "{format}");
        }
    }

    #[test]
    fn slices_that_do_not_fit_are_no_panic() {
        for format in PixelFormat::ALL {
            for length in 0..40 {
                let bytes = vec![1; length];
                unpacked(format, &bytes, 0, 20);
                unpacked(format, &bytes, 3, 20);
                unpacked(format, &bytes, usize::MAX, 20);
                let (long, short) = ([0.5; 20], [0.5; 3]);
                pack_row(format, [&long, &short, &long, &short], &mut bytes.clone());
                pack_row(format, [&[], &short, &long, &short], &mut bytes.clone());
            }
        }
    }
}
