//! Resizing: half-pixel centres, exact nearest, filters by their definitions, sizes.

use super::{Case, Picture, check, column, exact, nearly, picture, row};
use cyanotype::PixelFormat::{R8, R16, R32F, Rgb8};
use std::f64::consts::PI;

#[test]
fn half_pixel_centres() {
    check(&[
        // Centres of the new pixels lie at 0.25, 0.75, 1.25, 1.75: weights 1 0, 3/4 1/4, 1/4 3/4, 0 1.
        exact("resize 4 1 bilinear", &row(R8, &[0.0, 200.0]), row(R8, &[0.0, 50.0, 150.0, 200.0])),
        exact("resize 1 4 bilinear", &column(R8, &[0.0, 200.0]), column(R8, &[0.0, 50.0, 150.0, 200.0])),
        // A triangle of half width 2 about 1 and 3, cut at the edges: (3, 3, 1) / 7 and (1, 3, 3) / 7.
        exact("resize 2 1 bilinear", &row(R8, &[0.0, 70.0, 140.0, 210.0]), row(R8, &[50.0, 160.0])),
        // Not antialiased: the mean of the two about each centre.
        exact("resize 2 1 bilinear antialias=false", &row(R8, &[0.0, 70.0, 140.0, 210.0]), row(R8, &[35.0, 175.0])),
        // (2 first + second) / 3 and (second + 2 third) / 3.
        exact("resize 2 1 area", &row(R8, &[0.0, 90.0, 210.0]), row(R8, &[30.0, 170.0])),
        exact("resize 1 1 area", &picture(2, 2, R8, &[10.0, 20.0, 30.0, 40.0]), row(R8, &[25.0])),
    ]);
}

/// floor((2 i + 1) old / (2 new)) in integers, against the definition over many sizes.
#[test]
fn nearest_is_exact() {
    let mut cases = vec![
        exact("resize 2 1 nearest", &row(R8, &[0.0, 1.0, 2.0, 3.0, 4.0]), row(R8, &[1.0, 3.0])),
        exact(
            "resize 7 1 nearest",
            &row(R8, &[10.0, 20.0, 30.0]),
            row(R8, &[10.0, 10.0, 20.0, 20.0, 20.0, 30.0, 30.0]),
        ),
        exact("resize 4 1 nearest", &row(R8, &[5.0, 6.0]), row(R8, &[5.0, 5.0, 6.0, 6.0])),
    ];
    for old in [1u32, 2, 3, 7, 10, 29, 31, 100] {
        for new in [1u32, 2, 5, 11, 29, 30, 64, 99, 101, 1000] {
            let pixels: Vec<f64> = (0..old).map(f64::from).collect();
            let expected: Vec<f64> = (0..new).map(|i| pixels[((2 * i + 1) * old / (2 * new)) as usize]).collect();
            if old != new {
                cases.push(exact(&format!("resize {new} 1 nearest"), &row(R8, &pixels), row(R8, &expected)));
                cases.push(exact(&format!("resize 1 {new} nearest"), &column(R8, &pixels), column(R8, &expected)));
            }
        }
    }
    check(&cases);
}

#[test]
fn the_same_size_is_the_identity() {
    let pixels = row(Rgb8, &[255.0, 0.0, 128.0, 1.0, 2.0, 3.0]);
    let mut cases: Vec<Case> = Vec::new();
    for filter in ["nearest", "bilinear", "bicubic", "lanczos3", "area"] {
        for size in ["2 1", "0 0", "2 0", "0 1"] {
            cases.push(exact(&format!("resize {size} {filter}"), &pixels, pixels.clone()));
        }
    }
    check(&cases);
}

/// A side that follows from the other is rounded half up, and is never below 1.
#[test]
fn sizes_round_half_up() {
    let sized = |from: [u32; 2], chain: &str, to: [u32; 2]| {
        let pixels = |[width, height]: [u32; 2]| picture(width, height, R8, &vec![9.0; (width * height) as usize]);
        exact(&format!("resize {chain} nearest"), &pixels(from), pixels(to))
    };
    check(&[
        sized([4, 2], "5 0", [5, 3]),     // 2.5
        sized([4, 2], "3 0", [3, 2]),     // 1.5
        sized([10, 3], "8 0", [8, 2]),    // 2.4
        sized([10, 3], "9 0", [9, 3]),    // 2.7
        sized([2, 4], "0 5", [3, 5]),     // 2.5
        sized([100, 1], "3 0", [3, 1]),   // 0.03
        sized([100, 3], "1 0", [1, 1]),   // 0.03
        sized([3, 100], "0 10", [1, 10]), // 0.3
    ]);
}

fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// Keys, a = -1/2.
fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        1.5 * x * x * x - 2.5 * x * x + 1.0
    } else if x < 2.0 {
        -0.5 * x * x * x + 2.5 * x * x - 4.0 * x + 2.0
    } else {
        0.0
    }
}

fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}

/// The definition along one axis, in f64: every pixel of the picture weighs by its distance from the new centre.
fn resized(pixels: &[f64], new: usize, filter: fn(f64) -> f64, antialias: bool) -> Vec<f64> {
    let ratio = pixels.len() as f64 / new as f64;
    let stretch = if antialias { ratio.max(1.0) } else { 1.0 };
    (0..new)
        .map(|index| {
            let center = (index as f64 + 0.5) * ratio;
            let weight = |pixel: usize| filter((pixel as f64 + 0.5 - center) / stretch);
            let sum: f64 = (0..pixels.len()).map(weight).sum();
            pixels.iter().enumerate().map(|(pixel, value)| value * weight(pixel)).sum::<f64>() / sum
        })
        .collect()
}

#[test]
fn filters_follow_their_definitions() {
    let pixels = [0.0, 1.0, 0.25, 0.5, 0.0, 0.0, 1.0, 1.0, 0.75, 0.125, 0.875];
    let mut cases: Vec<Case> = Vec::new();
    for (name, filter) in [("bilinear", triangle as fn(f64) -> f64), ("bicubic", cubic), ("lanczos3", lanczos)] {
        for new in [1, 2, 3, 4, 5, 7, 10, 12, 16, 22, 33, 50] {
            for antialias in [true, false] {
                let expected = resized(&pixels, new, filter, antialias);
                let chain = format!("resize {new} 1 {name} antialias={antialias}");
                cases.push(nearly(&chain, &row(R32F, &pixels), row(R32F, &expected)));
                let chain = format!("resize 1 {new} {name} antialias={antialias}");
                cases.push(nearly(&chain, &column(R32F, &pixels), column(R32F, &expected)));
            }
        }
    }
    check(&cases);
}

/// Overshoot is cut off once, at the end: what the first axis overshoots is still there for the second.
#[test]
fn results_are_clamped_once_at_the_end() {
    let (low, high) = (1091.0, 62000.0);
    let pixels = [low, low, high, high, low, high, low, low, low, low, high, low, high, low, low, high];
    let square = picture(4, 4, R16, &pixels);
    let values: Vec<f64> = pixels.iter().map(|value| value / 65535.0).collect();
    let mut wide = Vec::new();
    for line in values.chunks(4) {
        wide.push(resized(line, 8, cubic, true));
    }
    let mut result = vec![0.0; 64];
    for x in 0..8 {
        let column: Vec<f64> = wide.iter().map(|line| line[x]).collect();
        for (y, value) in resized(&column, 8, cubic, true).into_iter().enumerate() {
            result[y * 8 + x] = value;
        }
    }
    assert!(result.iter().any(|value| *value > 1.05) && result.iter().any(|value| *value < -0.05), "it overshoots");
    // No value lies at the edge of rounding, where f32 and f64 may fall on either side: twenty operations,
    // each to 2^-24, are 0.078 of 65535.
    let far = |value: &f64| ((value * 65535.0).rem_euclid(1.0) - 0.5).abs() > 0.078;
    assert!(result.iter().filter(|value| (0.0..1.0).contains(*value)).all(far), "{result:?}");
    let stored: Vec<f64> = result.iter().map(|value| (value.clamp(0.0, 1.0) * 65535.0 + 0.5).floor()).collect();
    let floats: Picture = picture(4, 4, R32F, &values);
    check(&[
        exact("resize 8 8 bicubic", &square, picture(8, 8, R16, &stored)),
        nearly("resize 8 8 bicubic", &floats, picture(8, 8, R32F, &result)),
    ]);
}
