//! Edge modes: which pixel is read outside of the picture, also far outside of it, and that fusion does not change it.

use super::{Case, Picture, check, column, exact, picture, row};
use cyanotype::PixelFormat::{R8, Rgb8};

/// Three pixels, and what stands at -7 ..= 9 in each mode. Mirrored without repeating the edge pixel (101).
const PIXELS: [f64; 3] = [10.0, 20.0, 30.0];
const CLAMP: [usize; 17] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2];
const MIRROR: [usize; 17] = [1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1];
const WRAP: [usize; 17] = [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0];
const CONSTANT: f64 = 99.0; // #636363

/// The row from -7 to 9 by a mode's name.
fn continued(mode: &str) -> [f64; 17] {
    match mode {
        "clamp" => CLAMP.map(|index| PIXELS[index]),
        "mirror" => MIRROR.map(|index| PIXELS[index]),
        "wrap" => WRAP.map(|index| PIXELS[index]),
        _ => std::array::from_fn(|index| if (7..10).contains(&index) { PIXELS[index - 7] } else { CONSTANT }),
    }
}

const MODES: [&str; 4] = ["clamp", "mirror", "wrap", "constant"];

/// Every kind of step that reads other pixels, with windows up to five times as large as the picture.
#[test]
fn each_mode_reads_the_right_pixel() {
    let (across, down) = (row(R8, &PIXELS), column(R8, &PIXELS));
    let mut cases: Vec<Case> = Vec::new();
    for mode in MODES {
        let whole = continued(mode);
        let edge = format!("edge={mode} edge-color=#636363");
        cases.push(exact(&format!("pad left=7 right=7 {edge}"), &across, row(R8, &whole)));
        cases.push(exact(&format!("pad top=7 bottom=7 {edge}"), &down, column(R8, &whole)));
        // A weight of 1 at one end of 15: a move by 7.
        let mut first = vec!["0"; 15];
        first[0] = "1";
        let mut last = vec!["0"; 15];
        last[14] = "1";
        for (weights, from) in [(first, 0), (last, 14)] {
            let weights = weights.join(" ");
            let moved = &whole[from..from + 3];
            cases.push(exact(&format!("convolve [{weights}] width=15 {edge}"), &across, row(R8, moved)));
            cases.push(exact(&format!("convolve [{weights}] width=1 {edge}"), &down, column(R8, moved)));
        }
        // Warps, whole pixels: out(x) = in(x - 7) and in(x + 7).
        for interpolation in ["nearest", "bilinear", "bicubic"] {
            for (offset, from) in [(7, 0), (-7, 14)] {
                let moved = &whole[from..from + 3];
                let warp = |matrix: String| format!("affine {matrix} interpolation={interpolation} {edge}");
                cases.push(exact(&warp(format!("[1 0 {offset} 0 1 0]")), &across, row(R8, moved)));
                cases.push(exact(&warp(format!("[1 0 0 0 1 {offset}]")), &down, column(R8, moved)));
                let warp = format!("perspective [1 0 {offset} 0 1 0 0 0 1] interpolation={interpolation} {edge}");
                cases.push(exact(&warp, &across, row(R8, moved)));
            }
        }
        // The mean of 7 about each pixel, by the row above.
        let mean = |center: usize, radius: usize| {
            let sum: f64 = whole[7 + center - radius..=7 + center + radius].iter().sum();
            (sum / (2 * radius + 1) as f64 + 0.5).floor()
        };
        let means = [0, 1, 2].map(|x| mean(x, 3));
        let line = |width: usize| vec!["1"; width].join(" ");
        cases.push(exact(&format!("convolve [{}] width=7 {edge}", line(7)), &across, row(R8, &means)));
        // A square window over a row: constant pixels stand above and below it, else copies of the row.
        let box_mean = |x: usize| {
            let inside: f64 = whole[7 + x - 3..=7 + x + 3].iter().sum();
            let sum = if mode == "constant" { inside + 42.0 * CONSTANT } else { 7.0 * inside };
            (sum / 49.0 + 0.5).floor()
        };
        let boxed = [0, 1, 2].map(box_mean);
        cases.push(exact(&format!("box-blur 7 {edge}"), &across, row(R8, &boxed)));
        cases.push(exact(&format!("box-blur 7 {edge}"), &down, column(R8, &boxed)));
        // The middle of 25: five copies of each of five, or with constants above and below 20 of them and more.
        let middle = |x: usize| {
            let mut values = whole[7 + x - 2..=7 + x + 2].to_vec();
            if mode == "constant" {
                return CONSTANT;
            }
            values.sort_by(f64::total_cmp);
            values[2]
        };
        let middles = [0, 1, 2].map(middle);
        cases.push(exact(&format!("median 5 {edge}"), &across, row(R8, &middles)));
        cases.push(exact(&format!("median 5 {edge}"), &down, column(R8, &middles)));
        // A gradient of copies below each other is 4 (right - left) / 4; at the middle of 0.5 + gradient / 2.
        if mode != "constant" {
            let slope = |x: usize| {
                let gradient = (whole[7 + x + 1] - whole[7 + x - 1]) / 255.0;
                ((0.5 + gradient / 2.0) * 255.0 + 0.5).floor()
            };
            let slopes = [0, 1, 2].map(slope);
            cases.push(exact(&format!("sobel x {edge}"), &across, row(R8, &slopes)));
            cases.push(exact(&format!("sobel y {edge}"), &down, column(R8, &slopes)));
        }
    }
    check(&cases);
}

/// Two dimensions at once: corners of a picture of 2x2, far outside.
#[test]
fn corners() {
    let square = picture(2, 2, R8, &[1.0, 2.0, 3.0, 4.0]);
    let corner = |mode: &str, expected: &[f64]| {
        exact(&format!("pad 2 2 1 1 edge={mode} edge-color=#090909"), &square, picture(5, 5, R8, expected))
    };
    check(&[
        corner(
            "clamp",
            &[
                1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0,
                3.0, 3.0, 3.0, 4.0, 4.0,
            ],
        ),
        // -2 is 0 again, -1 is 1, 2 is 0.
        corner(
            "mirror",
            &[
                1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 4.0, 3.0, 4.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 4.0, 3.0, 4.0, 3.0,
                1.0, 2.0, 1.0, 2.0, 1.0,
            ],
        ),
        corner(
            "wrap",
            &[
                1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 4.0, 3.0, 4.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 4.0, 3.0, 4.0, 3.0,
                1.0, 2.0, 1.0, 2.0, 1.0,
            ],
        ),
        corner(
            "constant",
            &[
                9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 2.0, 9.0, 9.0, 9.0, 3.0, 4.0, 9.0,
                9.0, 9.0, 9.0, 9.0, 9.0,
            ],
        ),
        // A 3x3 window that is no product of a column and a row: half of the upper left, half of the lower right pixel.
        exact(
            "convolve [0.5 0 0 0 0 0 0 0 0.5] edge=constant edge-color=#090909",
            &square,
            // (9 + 4) / 2 = 6.5, (9 + 9) / 2, (9 + 9) / 2, (1 + 9) / 2
            picture(2, 2, R8, &[7.0, 9.0, 9.0, 5.0]),
        ),
    ]);
}

/// One pixel is its own neighbour in all modes but the constant one.
#[test]
fn a_single_pixel() {
    let pixel = row(Rgb8, &[50.0, 100.0, 150.0]);
    let mut cases = Vec::new();
    for mode in ["clamp", "mirror", "wrap"] {
        for operator in ["box-blur 511", "gaussian-blur 6", "gaussian-blur 300", "median 5", "bilateral 3 0.1 16"] {
            cases.push(exact(&format!("{operator} edge={mode}"), &pixel, pixel.clone()));
        }
        cases.push(exact(&format!("sobel edge={mode}"), &pixel, row(Rgb8, &[0.0; 3])));
        cases.push(exact(&format!("pad 2 edge={mode}"), &pixel, row(Rgb8, &[50.0, 100.0, 150.0].repeat(3))));
        cases.push(exact(&format!("affine [1 0 40 0 1 -70] edge={mode}"), &pixel, pixel.clone()));
    }
    check(&cases);
}

/// Point operators before a window run inside of it; the window still sees the edge of their *result*.
#[test]
fn fusion_does_not_change_what_an_edge_sees() {
    let pixels = row(R8, &[64.0, 100.0]);
    let left = |edge: &str| format!("invert | convolve [1 0 0] width=3 {edge}");
    let expected = |values: [f64; 2]| row(R8, &values);
    let wide: Picture = row(R8, &[0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
    check(&[
        // The constant is not inverted; 255 - 64 = 191 is.
        exact(&left("edge=constant edge-color=#0a0a0a"), &pixels, expected([10.0, 191.0])),
        exact(&left("edge=clamp"), &pixels, expected([191.0, 191.0])),
        exact(&left("edge=mirror"), &pixels, expected([155.0, 191.0])),
        exact(&left("edge=wrap"), &pixels, expected([155.0, 191.0])),
        // Operators on write act on the constant as on every other pixel of the result.
        exact("convolve [1 0 0] width=3 edge=constant edge-color=#0a0a0a | invert", &pixels, expected([245.0, 191.0])),
        exact("exposure 1 | pad 1 edge-color=#0a0a0a", &row(R8, &[64.0]), expected([10.0, 128.0])),
        exact("exposure 1 | affine [1 0 1 0 1 0] edge-color=#0a0a0a", &pixels, expected([10.0, 128.0])),
        exact("exposure 1 | perspective [1 0 1 0 1 0 0 0 1] edge-color=#0a0a0a", &pixels, expected([10.0, 128.0])),
        exact("invert | median 3 edge=constant edge-color=#0a0a0a", &pixels, expected([10.0, 10.0])),
        // Two windows in a row: the second sees the edge of the first's result. Each moves by one: 10 10 64 -> 10, 10, 64.
        exact(
            "convolve [1 0 0] width=3 edge=constant edge-color=#0a0a0a | convolve [1 0 0] width=3 edge=constant \
             edge-color=#141414",
            &wide,
            row(R8, &[20.0, 10.0, 0.0, 50.0, 100.0, 150.0]),
        ),
        // What is made from coordinates is made at the coordinate that is read: squares of two pixels, moved by one.
        exact(
            "checkerboard 2 #ffffff #000000 6 1 | convolve [1 0 0] width=3 edge=wrap",
            &wide,
            row(R8, &[255.0, 255.0, 255.0, 0.0, 0.0, 255.0]),
        ),
        exact(
            "checkerboard 2 #ffffff #000000 6 1 | convolve [0 0 1] width=3 edge=clamp",
            &wide,
            row(R8, &[255.0, 0.0, 0.0, 255.0, 255.0, 255.0]),
        ),
        // With its own extent: the gradient of ten pixels runs from 0.05 to 0.95, whatever is cut out of it.
        exact(
            "linear-gradient width=10 height=1 | crop 8 0 2 1 | flip",
            &wide,
            // 0.95 * 255 = 242.25, 0.85 * 255 = 216.75
            row(R8, &[242.0, 217.0]),
        ),
    ]);
}
