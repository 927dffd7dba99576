//! Packing and rounding: what every stored number means, and which number a value is stored as, between all ten formats.

use super::{Case, Picture, check, contexts, exact, picture, row, run};
use crate::common::FULL;
use crate::operators::is_drawn;
use cyanotype::PixelFormat;
use cyanotype::image::SampleType;
use half::f16;

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;
const MAX: f64 = f32::MAX as f64;

/// The definition of reading: NaN is 0, infinities are the largest numbers.
fn value_of(sample: SampleType, stored: f64) -> f64 {
    match sample {
        SampleType::U8 => stored / 255.0,
        SampleType::U16 => stored / 65535.0,
        _ if stored.is_nan() => 0.0,
        _ => stored.clamp(-MAX, MAX),
    }
}

/// Whether `found` is how `value` is stored: for integers floor(v max + 0.5) after clamping. The product is a number of
/// `f32`, off by 2^-24 of itself at most, as is the value where it came through `f32`; so a value that lies within twice
/// that of the rounding edge may fall on either side. Half floats likewise, at the middle of two of them; single ones may
/// be off by one unit from reading and one from multiplying.
fn is_stored(sample: SampleType, value: f64, found: f64) -> bool {
    let slack = 2.0f64.powi(-23);
    match sample {
        SampleType::U8 | SampleType::U16 => {
            let most = if sample == SampleType::U8 { 255.0 } else { 65535.0 };
            let scaled = value.clamp(0.0, 1.0) * most;
            found.fract() == 0.0 && (found - scaled).abs() <= 0.5 + most * slack
        }
        SampleType::F16 => {
            let around = [1.0 - slack, 1.0, 1.0 + slack].map(|factor| (value * factor).clamp(-65504.0, 65504.0));
            around.iter().any(|value| f16::from_f64(*value).to_f64() == found)
        }
        SampleType::F32 => (found - value).abs() <= value.abs() * slack,
    }
}

/// Every stored number of 8 and 16 bits and of half floats; floats of all kinds.
fn all_samples(sample: SampleType) -> Vec<f64> {
    match sample {
        SampleType::U8 => (0..=255).map(f64::from).collect(),
        SampleType::U16 => (0..=65535).map(f64::from).collect(),
        SampleType::F16 => (0..=65535).map(|bits| f16::from_bits(bits).to_f64()).collect(),
        SampleType::F32 => {
            let mut values = vec![NAN, -NAN, INFINITY, -INFINITY, MAX, -MAX, -0.0, 1e-30, 65504.0, 65520.0, 1e6, -2.5];
            values.extend((0..=1024).map(|step| f64::from(step - 256) / 512.0));
            values.extend((0..=255).map(|step| f64::from(step as f32 / 255.0)));
            values
        }
    }
}

/// Grey pixels, so that nothing but packing happens on the way to one channel; alpha runs through the same numbers.
fn grey(format: PixelFormat) -> Picture {
    let samples = all_samples(format.sample());
    let width = 97;
    let height = samples.len().div_ceil(width);
    let count = width * height;
    let mut stored = Vec::new();
    for index in 0..count {
        let sample = samples[index % samples.len()];
        let alpha = samples[(index * 7 + 3) % samples.len()];
        match format.channels() {
            1 => stored.push(sample),
            3 => stored.extend([sample; 3]),
            _ => stored.extend([sample, sample, sample, alpha]),
        }
    }
    picture(width as u32, height as u32, format, &stored)
}

#[test]
fn every_number_between_all_formats() {
    for context in contexts() {
        for from in PixelFormat::ALL {
            let input = grey(from);
            for to in PixelFormat::ALL {
                if context.is_gpu() && !is_drawn() {
                    continue;
                }
                let chain = format!("@in -> out:{to}");
                let image = run(&context, &chain, &input, &FULL).and_then(|results| results.image("out")).unwrap();
                assert_eq!(image.format(), to);
                let found = Picture::of(&image);
                let (read, written) = (from.channels() as usize, to.channels() as usize);
                for (index, found) in found.samples.chunks(written).enumerate() {
                    let stored = &input.samples[index * read..][..read];
                    let color = value_of(from.sample(), stored[0]);
                    let alpha = stored.get(3).map_or(1.0, |alpha| value_of(from.sample(), *alpha));
                    for (channel, found) in found.iter().enumerate() {
                        let value = if channel == 3 { alpha } else { color };
                        let right = is_stored(to.sample(), value, *found);
                        assert!(right, "{context:?}: {from} {stored:?} to {to}, channel {channel}: {found}");
                    }
                }
            }
        }
    }
}

/// The integer formulas of the design, without any tolerance.
#[test]
fn integers_to_integers() {
    let bytes: Vec<f64> = (0..=255).map(f64::from).collect();
    let words: Vec<f64> = (0..=65535).map(f64::from).collect();
    check(&[
        exact(
            "@in -> out:r16",
            &row(PixelFormat::R8, &bytes),
            row(PixelFormat::R16, &bytes.iter().map(|v| v * 257.0).collect::<Vec<_>>()),
        ),
        exact(
            "@in -> out:r8",
            &picture(256, 256, PixelFormat::R16, &words),
            picture(
                256,
                256,
                PixelFormat::R8,
                &(0..=65535_u32).map(|v| f64::from((v + 128) / 257)).collect::<Vec<_>>(),
            ),
        ),
        exact("@in", &picture(256, 256, PixelFormat::R16, &words), picture(256, 256, PixelFormat::R16, &words)),
    ]);
}

/// floor(v max + 0.5) where v max is a half exactly, and the floats next to it.
#[test]
fn halves_round_up() {
    let below = f64::from(0.5f32.next_down());
    let above = f64::from(0.5f32.next_up());
    let halves = row(PixelFormat::R32F, &[0.5, below, above, 0.25, 0.75, -0.5]);
    check(&[
        // 127.5 goes up; 63.75 and 191.25 are no halves.
        exact("@in -> out:r8", &halves, row(PixelFormat::R8, &[128.0, 127.0, 128.0, 64.0, 191.0, 0.0])),
        // 32767.5 goes up; 0.5 - 2^-25 is 32767.498, 16383.75 and 49151.25.
        exact("@in -> out:r16", &halves, row(PixelFormat::R16, &[32768.0, 32767.0, 32768.0, 16384.0, 49151.0, 0.0])),
    ]);
}

/// NaN is 0 at every pack, infinities clamp, floats keep what lies outside of 0..1, in each channel of each format.
#[test]
fn what_is_no_number_or_out_of_range() {
    let odd = [NAN, INFINITY, -INFINITY, -0.25, 1.5, 70000.0, -MAX, 0.5];
    let expected = |format: PixelFormat| -> Vec<f64> {
        match format.sample() {
            SampleType::U8 => vec![0.0, 255.0, 0.0, 0.0, 255.0, 255.0, 0.0, 128.0],
            SampleType::U16 => vec![0.0, 65535.0, 0.0, 0.0, 65535.0, 65535.0, 0.0, 32768.0],
            SampleType::F16 => vec![0.0, 65504.0, -65504.0, -0.25, 1.5, 65504.0, -65504.0, 0.5],
            SampleType::F32 => vec![0.0, MAX, -MAX, -0.25, 1.5, 70000.0, -MAX, 0.5],
        }
    };
    let mut cases: Vec<Case> = Vec::new();
    for format in PixelFormat::ALL {
        // Channel by channel another of the numbers, so that each number meets each channel.
        let spread = |numbers: &[f64], channels: usize| -> Vec<f64> {
            (0..8).flat_map(|x| (0..channels).map(move |channel| numbers[(x + 3 * channel) % 8])).collect()
        };
        let (wide, channels) = match format.channels() {
            1 => (PixelFormat::R32F, 1),
            3 => (PixelFormat::Rgb32F, 3),
            _ => (PixelFormat::Rgba32F, 4),
        };
        let chain = format!("@in -> out:{format}");
        cases.push(exact(
            &chain,
            &row(wide, &spread(&odd, channels)),
            row(format, &spread(&expected(format), channels)),
        ));
    }
    // The same numbers in half floats: 70000 and -MAX are infinities there.
    let halves = row(PixelFormat::Rgba16F, &[NAN, INFINITY, -INFINITY, 1.0, -0.25, 1.5, f64::from(65504.0f32), 1.0]);
    cases.push(exact(
        "@in -> out:rgba8",
        &halves,
        row(PixelFormat::Rgba8, &[0.0, 255.0, 0.0, 255.0, 0.0, 255.0, 255.0, 255.0]),
    ));
    cases.push(exact(
        "@in -> out:rgba32f",
        &halves,
        row(PixelFormat::Rgba32F, &[0.0, MAX, -MAX, 1.0, -0.25, 1.5, 65504.0, 1.0]),
    ));
    cases.push(exact(
        "@in",
        &halves,
        row(PixelFormat::Rgba16F, &[0.0, 65504.0, -65504.0, 1.0, -0.25, 1.5, 65504.0, 1.0]),
    ));
    // Operators neither clamp on the way nor at the end: 0.75 * 2 and 0.25 - 1 (an inversion of 1.25).
    let floats = row(PixelFormat::R32F, &[0.75, 1.25, -0.5]);
    cases.push(exact("exposure 1", &floats, row(PixelFormat::R32F, &[1.5, 2.5, -1.0])));
    cases.push(exact("exposure 1 | invert", &floats, row(PixelFormat::R32F, &[-0.5, -1.5, 2.0])));
    cases.push(exact("exposure 1 | exposure -1 -> out:r8", &floats, row(PixelFormat::R8, &[191.0, 255.0, 0.0])));
    check(&cases);
}

/// Colour to one channel is luma, one channel to colour is grey, and alpha that is dropped is not multiplied in.
#[test]
fn channels_come_and_go() {
    let rgba = row(PixelFormat::Rgba8, &[10.0, 20.0, 30.0, 0.0, 200.0, 100.0, 50.0, 128.0]);
    check(&[
        exact("@in -> out:rgb8", &rgba, row(PixelFormat::Rgb8, &[10.0, 20.0, 30.0, 200.0, 100.0, 50.0])),
        // 2.126 + 14.304 + 2.166 = 18.596 and 42.52 + 71.52 + 3.61 = 117.65
        exact("@in -> out:r8", &rgba, row(PixelFormat::R8, &[19.0, 118.0])),
        exact("@in -> out:rgb8", &row(PixelFormat::R8, &[7.0]), row(PixelFormat::Rgb8, &[7.0; 3])),
    ]);
}
