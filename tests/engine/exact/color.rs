//! Luma, hue, histograms, and that colour operators work on values as they are stored.

use super::{check, contexts, exact, nearly, picture, row, run};
use crate::operators::is_drawn;
use cyanotype::Options;
use cyanotype::PixelFormat::{R8, R16, R32F, Rgb8, Rgb32F, Rgba8};

#[test]
fn luma_is_rec_709_unless_601_is_named() {
    let primaries = row(Rgb8, &[255.0, 0.0, 0.0, 0.0, 255.0, 0.0, 0.0, 0.0, 255.0, 255.0, 255.0, 255.0]);
    let colors = row(Rgb8, &[10.0, 20.0, 30.0, 200.0, 100.0, 50.0]);
    check(&[
        // 0.2126, 0.7152, 0.0722 of 255: 54.213, 182.376, 18.411.
        exact("grayscale", &primaries, row(R8, &[54.0, 182.0, 18.0, 255.0])),
        // 0.299, 0.587, 0.114 of 255: 76.245, 149.685, 29.07.
        exact("grayscale rec601", &primaries, row(R8, &[76.0, 150.0, 29.0, 255.0])),
        exact("grayscale mean", &primaries, row(R8, &[85.0, 85.0, 85.0, 255.0])),
        // 18.596 and 117.65; 18.15 and 124.2; 20 and 116.67.
        exact("grayscale", &colors, row(R8, &[19.0, 118.0])),
        exact("grayscale rec601", &colors, row(R8, &[18.0, 124.0])),
        exact("grayscale mean", &colors, row(R8, &[20.0, 117.0])),
        // Alpha is left alone.
        exact("grayscale", &row(Rgba8, &[255.0, 0.0, 0.0, 7.0]), row(Rgba8, &[54.0, 54.0, 54.0, 7.0])),
        nearly("grayscale", &row(Rgb32F, &[4.0, -1.0, 0.5]), row(R32F, &[0.8504 - 0.7152 + 0.0361])),
        // With no saturation left, the luma; threshold compares it.
        exact("saturation 0", &primaries, row(Rgb8, &[[54.0; 3], [182.0; 3], [18.0; 3], [255.0; 3]].concat())),
        exact("threshold 0.5", &primaries, row(R8, &[0.0, 255.0, 0.0, 255.0])),
        exact("threshold 0.2126", &primaries, row(R8, &[255.0, 255.0, 0.0, 255.0])),
        exact("threshold 0.2127", &primaries, row(R8, &[0.0, 255.0, 0.0, 255.0])),
    ]);
}

/// Every grey of 16 bits comes out of luma, hue and saturation to the bit, and falls on its own side of a threshold.
#[test]
fn grey_is_exact() {
    let greys: Vec<f64> = (0..=65535_u32).map(|step| f64::from(step as f32 / 65535.0)).collect();
    let input = picture(256, 256, Rgb32F, &greys.iter().flat_map(|grey| [*grey; 3]).collect::<Vec<_>>());
    let same = picture(256, 256, Rgb32F, &input.samples);
    let one = picture(256, 256, R32F, &greys);
    let words: Vec<f64> = (0..=65535).map(f64::from).collect();
    let words = picture(256, 256, R16, &words);
    let mut cases: Vec<_> =
        ["grayscale", "grayscale rec601", "grayscale mean"].map(|chain| exact(chain, &input, one.clone())).into();
    for chain in ["hue-rotate 90", "hue-rotate -33", "hue-rotate 180", "saturation 0", "saturation 3"] {
        cases.push(exact(chain, &input, same.clone()));
    }
    // 8-bit greys are n / 255: each level is white at its own threshold and black at the next float above it.
    for level in [1.0f32, 2.0, 64.0, 100.0, 127.0, 128.0, 200.0, 254.0, 255.0] {
        let value = level / 255.0;
        let words = value * 65535.0;
        let pixels = row(Rgb8, &[f64::from(level); 3]);
        let white = row(R8, &[255.0]);
        cases.push(exact(&format!("threshold {}", value.next_down()), &pixels, white));
        cases.push(exact(
            &format!("threshold {}", ((level + 0.5) / 255.0).min(1.0)),
            &pixels,
            row(R8, &[if level == 255.0 { 255.0 } else { 0.0 }]),
        ));
        assert!((words.round() - words).abs() < 0.01);
    }
    let saturated = picture(256, 256, R16, &words.samples);
    cases.push(exact("hue-rotate 45 | saturation 2", &words, saturated));
    check(&cases);
}

/// The hue of grey is 0: the blend modes that take a hue from a grey have none to take, and give grey.
#[test]
fn grey_has_no_hue() {
    let grey = row(Rgb8, &[90.0, 90.0, 90.0]);
    check(&[
        exact("hue-rotate 77", &grey, grey.clone()),
        exact("blend (solid #ff0000) hue", &grey, grey.clone()),
        exact("blend (solid #ff0000) saturation", &grey, grey.clone()),
        // A third of a turn takes red towards green by the W3C matrix: luma stays 0.2126.
        nearly("hue-rotate 120 | grayscale", &row(Rgb32F, &[1.0, 0.0, 0.0]), row(R32F, &[0.2126])),
    ]);
}

/// Colour operators take values as they are stored; linear light is asked for by name.
#[test]
fn values_are_as_stored() {
    let decoded = |stored: f64| {
        let value = stored / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let encoded = |light: f64| {
        let value = if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
        (value.clamp(0.0, 1.0) * 255.0 + 0.5).floor()
    };
    let levels: Vec<f64> = (0..=255).map(f64::from).collect();
    let input = row(R8, &levels);
    let doubled: Vec<f64> = levels.iter().map(|level| (level * 2.0).min(255.0)).collect();
    let brighter: Vec<f64> = levels.iter().map(|level| encoded(decoded(*level) * 2.0)).collect();
    check(&[
        exact("exposure 1", &input, row(R8, &doubled)),
        exact("linear(exposure 1)", &input, row(R8, &brighter)),
        exact("linear(exposure 0)", &input, input.clone()),
        exact("srgb-to-linear | linear-to-srgb", &input, input.clone()),
    ]);
}

/// Every pixel counts once, at floor(255 v + 0.5), whatever the size of the picture.
#[test]
fn histograms_count_every_pixel_once() {
    for context in contexts() {
        for (width, height) in
            [(1, 1), (2, 1), (1, 9), (5, 3), (13, 1), (64, 16), (65, 17), (67, 41), (256, 1), (300, 7)]
        {
            if context.is_gpu() && !is_drawn() {
                continue;
            }
            let count = width * height;
            let pixels: Vec<f64> =
                (0..count).flat_map(|index| [index, index * 3, index * 7].map(|v| f64::from(v % 256))).collect();
            let input = picture(width, height, Rgb8, &pixels);
            let mut expected = vec![[0u32; 4]; 256];
            for pixel in pixels.chunks(3) {
                let luma = pixel[0] * 0.2126 + pixel[1] * 0.7152 + pixel[2] * 0.0722;
                for (channel, value) in [pixel[0], pixel[1], pixel[2], luma].into_iter().enumerate() {
                    expected[(value + 0.5).floor() as usize][channel] += 1;
                }
            }
            for fuse in [true, false] {
                let options = Options { fuse, ..Options::default() };
                let counts = run(&context, "histogram", &input, &options).unwrap().numbers("out").unwrap();
                assert_eq!(&counts[..], &expected[..], "{context:?} {width}x{height}");
                // Behind a point operator in the same pass: the mirrored histogram.
                let counts = run(&context, "invert | histogram", &input, &options).unwrap().numbers("out").unwrap();
                for channel in 0..4 {
                    let total: u32 = counts.iter().map(|entry| entry[channel]).sum();
                    assert_eq!(total, count, "{context:?} {width}x{height}");
                }
                for channel in 0..3 {
                    let turned = (0..256).all(|bin| counts[255 - bin][channel] == expected[bin][channel]);
                    assert!(turned, "{context:?} {width}x{height} channel {channel}");
                }
            }
        }
    }
}

/// Finer values fall into the bins of 8 bits by rounding; what is no number or lies outside falls into the first and last.
#[test]
fn histograms_round_and_clamp() {
    let odd = [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 0.5, 1.0, 2.0, f64::INFINITY];
    let input = row(R32F, &odd);
    let words = row(R16, &[0.0, 128.0, 129.0, 65535.0, 65406.0]);
    for context in contexts() {
        let options = Options::default();
        let counts = run(&context, "histogram", &input, &options).unwrap().numbers("out").unwrap();
        assert_eq!((counts[0][0], counts[128][0], counts[255][0]), (4, 1, 3), "{context:?}");
        // 128 / 257 is below a half, 129 / 257 above; 65406 / 257 is 254.498.
        let counts = run(&context, "histogram", &words, &options).unwrap().numbers("out").unwrap();
        assert_eq!((counts[0][0], counts[1][0], counts[254][0], counts[255][0]), (2, 1, 1, 1), "{context:?}");
    }
}

/// Of n entries, entry i belongs to i / (n - 1); between them it is linear, beyond them flat. The picture is its own table.
#[test]
fn lookup_is_linear_between_entries() {
    let three = row(R8, &[0.0, 51.0, 255.0]);
    let floats = row(R32F, &[-1.0, 0.25, 2.0]);
    let colors = row(Rgba8, &[0.0, 255.0, 51.0, 7.0, 255.0, 0.0, 51.0, 0.0]);
    check(&[
        // Entries 0, 0.2, 1. The value 0.2 lies at 0.4 of the way to the second: 0.08, 20.4 in bytes; half of it 35.7.
        exact("lookup @in", &three, row(R8, &[0.0, 20.0, 255.0])),
        exact("lookup @in 0.5", &three, row(R8, &[0.0, 36.0, 255.0])),
        exact("lookup @in 0", &three, three.clone()),
        // By columns and rows alike.
        exact("lookup (@in | rotate90 1)", &three, row(R8, &[0.0, 20.0, 255.0])),
        // Entries -1, 0.25, 2: half way from the first to the second at 0.25.
        nearly("lookup @in", &floats, row(R32F, &[-1.0, -0.375, 2.0])),
        // One entry stands for all values.
        exact("lookup (@in | crop 1 0 1 1)", &three, row(R8, &[51.0, 51.0, 51.0])),
        // Each channel by its own, alpha by none and left alone.
        exact("lookup @in", &colors, row(Rgba8, &[0.0, 0.0, 51.0, 7.0, 255.0, 255.0, 51.0, 0.0])),
    ]);
}

/// Means and extrema over straight colours, exactly where the numbers are exact.
#[test]
fn statistics() {
    let input = picture(
        2,
        2,
        Rgba8,
        &[0.0, 51.0, 255.0, 255.0, 255.0, 51.0, 0.0, 255.0, 0.0, 51.0, 255.0, 0.0, 255.0, 51.0, 0.0, 0.0],
    );
    for context in contexts() {
        let options = Options::default();
        let floats = |chain: &str| -> Vec<[f32; 4]> {
            let numbers = run(&context, chain, &input, &options).unwrap().numbers("out").unwrap();
            numbers.iter().map(|entry| entry.map(f32::from_bits)).collect()
        };
        let near = |found: &[f32; 4], expected: [f32; 4]| {
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 1e-6)
        };
        let mean = floats("mean");
        assert!(near(&mean[0], [0.5, 0.2, 0.5, 0.5]), "{context:?}: {mean:?}");
        let ends = floats("min-max");
        assert!(near(&ends[0], [0.0, 0.2, 0.0, 0.0]) && near(&ends[1], [1.0, 0.2, 1.0, 1.0]), "{context:?}: {ends:?}");
    }
}
