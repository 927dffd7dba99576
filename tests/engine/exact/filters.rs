//! Windows: what a kernel means, normalisation, sigma 0, and what is refused.

use super::{Case, check, column, exact, nearly, picture, refuses, row};
use cyanotype::PixelFormat::{R8, R16, R32F, Rgb8, Rgba8};
use cyanotype::op::EDGE_MODES;

/// `convolve` is correlation: the first weight belongs to the pixel above and to the left.
#[test]
fn convolve_is_correlation() {
    let impulse = picture(3, 3, R8, &[0.0, 0.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 0.0]);
    let ramp = row(R8, &[10.0, 20.0, 40.0, 80.0]);
    check(&[
        // Each pixel sees the impulse with the weight of where it lies: the kernel, turned by 180 degrees.
        exact(
            "convolve [1 2 3 4 5 6 7 8 9] divisor=9",
            &impulse,
            picture(3, 3, R8, &[90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]),
        ),
        exact(
            "convolve [1 2 3 4 5 6 7 8 9] divisor=9 flip=true",
            &impulse,
            picture(3, 3, R8, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]),
        ),
        // Without a divisor the weights are made to sum to one: (2 left + middle) / 3.
        exact(
            "convolve [2 1 0] width=3",
            &ramp,
            // 10, 40/3, 80/3, 160/3
            row(R8, &[10.0, 13.0, 27.0, 53.0]),
        ),
        // A sum of 0 stays, and the bias lifts it: right - left + 0.5, of 127.5 + 10, 30, 60, 40.
        exact("convolve [-1 0 1] width=3 bias=0.5", &ramp, row(R8, &[138.0, 158.0, 188.0, 168.0])),
        exact("convolve [0 1 0] width=3", &ramp, ramp.clone()),
        exact("convolve [3]", &ramp, ramp.clone()),
        // A divisor of one's own is taken as it is: doubled.
        exact("convolve [1] divisor=0.5", &ramp, row(R8, &[20.0, 40.0, 80.0, 160.0])),
    ]);
}

#[test]
fn even_and_misshapen_kernels_are_refused() {
    let pixels = row(R8, &[1.0, 2.0, 3.0]);
    for chain in [
        "convolve [1 1 1 1]",
        "convolve [1 1]",
        "convolve [1 1 1 1 1 1 1 1] width=4",
        "convolve [1 1 1 1 1 1] width=3",
        "convolve [1 1 1 1] width=3",
        "convolve [1 1 1]",
        "box-blur 2",
        "box-blur 4",
        "box-blur 0",
        "median 4",
        "median 7",
        "gaussian-blur -1",
        "unsharp -0.5",
        "bilateral -1",
        "bilateral 1 -1",
        "gaussian-blur nan",
        "gaussian-blur inf",
        "resize -3",
    ] {
        assert!(refuses(chain, &pixels), "{chain}");
    }
    // The text form may not even read such numbers; the other forms can hold them.
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.001] {
        for (operator, parameter) in [
            ("gaussian-blur", "sigma"),
            ("unsharp", "sigma"),
            ("bilateral", "sigma-space"),
            ("bilateral", "sigma-range"),
        ] {
            let mut graph = cyanotype::GraphData::default();
            let input = graph.input("in");
            let result = graph.apply(operator, [(parameter.to_string(), value.into())], vec![input]);
            assert!(matches!(result, Err(cyanotype::Error::BadParameter { .. })), "{operator} {parameter} {value}");
        }
    }
}

#[test]
fn sigma_zero_changes_nothing() {
    let pixels = row(Rgba8, &[200.0, 100.0, 50.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    let chains = ["gaussian-blur 0", "unsharp 0", "unsharp 2 0", "bilateral 0", "bilateral 3 0", "box-blur 1"];
    check(&chains.map(|chain| exact(chain, &pixels, pixels.clone())));
}

/// The definition of the Gaussian: sampled, cut at ceil(3 sigma), renormalised.
fn gaussian(sigma: f64) -> Vec<f64> {
    let radius = (3.0 * sigma).ceil() as i32;
    let raw: Vec<f64> = (-radius..=radius).map(|x| (-f64::from(x * x) / (2.0 * sigma * sigma)).exp()).collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / sum).collect()
}

#[test]
fn the_gaussian_is_sampled_cut_and_renormalised() {
    let mut cases = Vec::new();
    for sigma in [0.5, 1.0, 2.0, 3.3] {
        let kernel = gaussian(sigma);
        let mut impulse = vec![0.0; kernel.len()];
        impulse[kernel.len() / 2] = 1.0;
        let chain = format!("gaussian-blur {sigma} edge=constant edge-color=#000000");
        // In one direction the weights themselves, in the other the middle weight of the rows of nothing.
        let middle = kernel[kernel.len() / 2];
        let expected: Vec<f64> = kernel.iter().map(|weight| weight * middle).collect();
        cases.push(nearly(&chain, &row(R32F, &impulse), row(R32F, &expected)));
        cases.push(nearly(&chain, &column(R32F, &impulse), column(R32F, &expected)));
        cases.push(nearly(&format!("gaussian-blur {sigma}"), &row(R32F, &impulse), row(R32F, &kernel)));
    }
    // sigma 1: 0.00443305, 0.05400558, 0.24203623, 0.39905028 of 255.
    let mut impulse = [0.0; 7];
    impulse[3] = 255.0;
    cases.push(exact("gaussian-blur 1", &row(R8, &impulse), row(R8, &[1.0, 14.0, 62.0, 102.0, 62.0, 14.0, 1.0])));
    check(&cases);
}

/// A constant picture stays constant under every filter whose weights sum to one, up to the edge.
#[test]
fn constant_pictures_stay_constant() {
    let filters = [
        "gaussian-blur 0.7",
        "gaussian-blur 3",
        "gaussian-blur 6",
        "gaussian-blur 7",
        "gaussian-blur 40",
        "gaussian-blur 1000",
        "box-blur 3",
        "box-blur 31",
        "box-blur 255",
        "median 3",
        "median 5",
        "bilateral 3 0.1",
        "bilateral 8 2 16",
        "convolve [1 2 1 2 4 2 1 2 1]",
        "convolve [1 0 2 0 0 1 0 3 5 7 0 2 0 1 1 1 0 0 4 2 1 1 3 1 1]",
    ];
    let mut cases: Vec<Case> = Vec::new();
    for filter in filters {
        // A window wider than the picture reads beyond it in every mode; the others are spared the compiling.
        let modes = if ["gaussian-blur 3", "gaussian-blur 40", "box-blur 31", "median 5", "bilateral 3 0.1"]
            .contains(&filter)
        {
            EDGE_MODES
        } else {
            &["mirror"]
        };
        for mode in modes {
            let chain = format!("{filter} edge={mode} edge-color=#1d1d1d"); // 29
            cases.push(exact(&chain, &picture(13, 7, R8, &[29.0; 91]), picture(13, 7, R8, &[29.0; 91])));
        }
        // Without an edge colour, which has 8 bits here; 54321 / 65535 has all of its own.
        cases.push(exact(filter, &picture(5, 3, R16, &[54321.0; 15]), picture(5, 3, R16, &[54321.0; 15])));
        let color = [29.0, 130.0, 251.0, 77.0].repeat(15);
        cases.push(exact(filter, &picture(5, 3, Rgba8, &color), picture(5, 3, Rgba8, &color)));
        cases.push(nearly(filter, &picture(5, 3, R32F, &[0.3; 15]), picture(5, 3, R32F, &[f64::from(0.3f32); 15])));
    }
    for filter in ["nearest", "bilinear", "bicubic", "lanczos3", "area"] {
        for (width, height) in [(1, 1), (2, 3), (13, 14), (40, 20)] {
            let chain = format!("resize {width} {height} {filter}");
            let expected = vec![200.0; width * height];
            let expected = picture(width as u32, height as u32, R8, &expected);
            cases.push(exact(&chain, &picture(13, 7, R8, &[200.0; 91]), expected));
        }
    }
    for interpolation in ["nearest", "bilinear", "bicubic"] {
        let chain = format!("affine [0.9 0.3 1.7 -0.2 1.1 0.4] interpolation={interpolation} edge=clamp");
        cases.push(exact(&chain, &picture(13, 7, R8, &[200.0; 91]), picture(13, 7, R8, &[200.0; 91])));
    }
    cases.push(exact("unsharp 2 5", &picture(9, 9, R8, &[200.0; 81]), picture(9, 9, R8, &[200.0; 81])));
    cases.push(exact("sobel", &picture(9, 9, R8, &[200.0; 81]), picture(9, 9, R8, &[0.0; 81])));
    check(&cases);
}

/// Small windows by hand.
#[test]
fn means_and_middles() {
    let square = picture(3, 3, R8, &[1.0, 2.0, 3.0, 4.0, 50.0, 6.0, 7.0, 8.0, 9.0]);
    let step = picture(3, 1, R8, &[0.0, 0.0, 255.0]);
    check(&[
        // Clamped. At the corner 1 1 2, 1 1 2, 4 4 50: in order 1 1 1 1 2 2 4 4 50.
        // At the top 1 2 3, 1 2 3, 4 50 6: 1 1 2 2 3 3 4 6 50.
        // Right top 2 3 3, 2 3 3, 50 6 6: 2 2 3 3 3 3 6 6 50.
        // Left 1 1 2, 4 4 50, 7 7 8: 1 1 2 4 4 7 7 8 50. Middle 1 2 3 4 6 7 8 9 50.
        // Right 2 3 3, 50 6 6, 8 9 9: 2 3 3 6 6 8 9 9 50.
        // Left bottom 4 4 50, 7 7 8, 7 7 8: 4 4 7 7 7 7 8 8 50. Bottom 4 50 6, 7 8 9, 7 8 9: 4 6 7 7 8 8 9 9 50.
        // Right bottom 50 6 6, 8 9 9, 8 9 9: 6 6 8 8 9 9 9 9 50.
        exact("median 3", &square, picture(3, 3, R8, &[2.0, 3.0, 3.0, 4.0, 6.0, 6.0, 7.0, 8.0, 9.0])),
        // The sum of all is 90.
        exact("box-blur 3 | crop 1 1 1 1", &square, row(R8, &[10.0])),
        // Sums of nine: the corner 1+1+2+1+1+2+4+4+50 = 66, wrapped 90 everywhere.
        exact("box-blur 3 | crop 0 0 1 1", &square, row(R8, &[7.0])),
        exact("box-blur 3 wrap", &square, picture(3, 3, R8, &[10.0; 9])),
        // A vertical step of height 1 has a gradient of 1 on both sides; further away nothing.
        exact("sobel", &step, row(R8, &[0.0, 255.0, 255.0])),
        exact("sobel x", &step, row(R8, &[128.0, 255.0, 255.0])),
        exact("sobel y", &step, row(R8, &[128.0, 128.0, 128.0])),
        // image + amount (image - blurred), blurred by hand: sigma 0.5 has weights 0.10645, 0.78699 and two of 0.00026.
        // 0, 255 * 0.10671 below 0, 255 + 255 * 0.10671 above 255.
        exact(
            "unsharp 0.5",
            &row(Rgb8, &[0.0, 0.0, 0.0, 255.0, 255.0, 255.0]),
            row(Rgb8, &[0.0, 0.0, 0.0, 255.0, 255.0, 255.0]),
        ),
    ]);
}
