//! Alpha modes: what mixes pixels works on premultiplied values, what changes colours on straight ones, and colour
//! operators leave alpha alone.

use super::{check, exact, nearly, row};
use cyanotype::AlphaMode::{Opaque, Premultiplied};
use cyanotype::PixelFormat::{Rgb8, Rgba8, Rgba16, Rgba32F};

#[test]
fn color_operators_work_on_straight_colors_and_leave_alpha_alone() {
    let straight = row(Rgba8, &[64.0, 32.0, 0.0, 128.0, 200.0, 100.0, 50.0, 255.0, 9.0, 8.0, 7.0, 0.0]);
    // (255, 128, 0) at alpha 128, stored as 128, 64, 0: straight 1, 0.5, 0.
    let premultiplied = row(Rgba8, &[128.0, 64.0, 0.0, 128.0]).with_alpha(Premultiplied);
    check(&[
        exact(
            "invert",
            &straight,
            row(Rgba8, &[191.0, 223.0, 255.0, 128.0, 55.0, 155.0, 205.0, 255.0, 246.0, 247.0, 248.0, 0.0]),
        ),
        exact(
            "exposure 1",
            &straight,
            row(Rgba8, &[128.0, 64.0, 0.0, 128.0, 255.0, 200.0, 100.0, 255.0, 18.0, 16.0, 14.0, 0.0]),
        ),
        // 1 - (1, 0.5, 0) = (0, 0.5, 1), times 128/255.
        exact("invert", &premultiplied, row(Rgba8, &[0.0, 64.0, 128.0, 128.0]).with_alpha(Premultiplied)),
        // What is promised to be opaque has an alpha of 1, whatever is stored there.
        exact(
            "invert -> out:rgba8",
            &row(Rgba8, &[64.0, 32.0, 0.0, 128.0]).with_alpha(Opaque),
            row(Rgba8, &[191.0, 223.0, 255.0, 255.0]).with_alpha(Opaque),
        ),
        exact("invert", &row(Rgb8, &[64.0, 32.0, 0.0]), row(Rgb8, &[191.0, 223.0, 255.0])),
        // Alpha is no colour: NaN and numbers outside of 0..1 aside, it comes out as it went in.
        exact(
            "gamma 2 | threshold 0.5 | sepia | invert -> out:rgba16",
            &row(Rgba16, &[0.0, 0.0, 0.0, 12345.0]),
            // Black stays black until it is inverted.
            row(Rgba16, &[65535.0, 65535.0, 65535.0, 12345.0]),
        ),
    ]);
}

#[test]
fn transparent_pixels_give_black() {
    let clear = row(Rgba8, &[200.0, 100.0, 50.0, 0.0]);
    let odd = row(Rgba8, &[200.0, 100.0, 50.0, 0.0]).with_alpha(Premultiplied);
    let black = row(Rgba8, &[0.0; 4]);
    check(&[
        exact("premultiply | unpremultiply", &clear, black.clone()),
        exact("box-blur 3", &clear, black.clone()),
        exact("median 3", &clear, black.clone()),
        exact("gaussian-blur 2 mirror", &clear, black.clone()),
        // A colour without alpha, as glows store it, has no straight colour: it counts as 0 for colour operators ...
        exact("exposure 1", &odd, black.clone().with_alpha(Premultiplied)),
        // ... whose result is then multiplied by the alpha of 0.
        exact("invert", &odd, black.clone().with_alpha(Premultiplied)),
        // Moved, not mixed: exact pixels.
        exact("flip", &clear, clear.clone()),
        exact("pad 1 edge-color=#00000000", &clear, row(Rgba8, &[0.0, 0.0, 0.0, 0.0, 200.0, 100.0, 50.0, 0.0])),
    ]);
}

#[test]
fn mixing_works_on_premultiplied_values() {
    let straight = row(Rgba8, &[255.0, 0.0, 0.0, 255.0, 0.0, 255.0, 0.0, 0.0, 255.0, 0.0, 0.0, 255.0]);
    let half = row(Rgba32F, &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.25]);
    check(&[
        // The clear pixel's green counts for nothing: alpha 2/3, and all of what is there is red. At the ends alpha is
        // (1 + 1 + 0) / 3.
        exact("box-blur 3", &straight, row(Rgba8, &[255.0, 0.0, 0.0, 170.0].repeat(3))),
        // 3 pixels to 1: the means 2/3, 0, 0, 2/3.
        exact("resize 1 1 area", &straight, row(Rgba8, &[255.0, 0.0, 0.0, 170.0])),
        // Half a pixel to the right: (0 + 1 red) / 2, (red + clear) / 2, (clear + red) / 2; alpha 127.5 rounds up.
        exact(
            "affine [1 0 0.5 0 1 0] edge-color=#00000000",
            &straight,
            row(Rgba8, &[255.0, 0.0, 0.0, 128.0].repeat(3)),
        ),
        // (red + 0.25 green) / 2: alpha 0.625, red 0.5 / 0.625 = 0.8, green 0.125 / 0.625 = 0.2.
        nearly("resize 1 1 area", &half, row(Rgba32F, &[0.8, 0.2, 0.0, 0.625])),
        nearly(
            "resize 1 1 area",
            &half.clone().with_alpha(Premultiplied),
            row(Rgba32F, &[0.5, 0.5, 0.0, 0.625]).with_alpha(Premultiplied),
        ),
        // A constant edge is given straight: white at alpha 0.5 is stored as 0.5, so at both sides of an opaque black
        // pixel the mean is (0.5 + 0 + 0.5) / 3 = 1/3, alpha (0.5 + 1 + 0.5) / 3 = 2/3, colour 0.5.
        nearly(
            "convolve [1 1 1] width=3 edge=constant edge-color=[1 1 1 0.5]",
            &row(Rgba32F, &[0.0, 0.0, 0.0, 1.0]),
            row(Rgba32F, &[0.5, 0.5, 0.5, 2.0 / 3.0]),
        ),
        // A transparent border makes an opaque picture transparent: alpha 2/3 at a corner of a row of two, colour kept.
        exact(
            "convolve [1 1 1] width=3 edge=constant edge-color=#00000000",
            &row(Rgb8, &[90.0, 60.0, 30.0, 90.0, 60.0, 30.0]),
            row(Rgba8, &[90.0, 60.0, 30.0, 170.0].repeat(2)),
        ),
    ]);
}
