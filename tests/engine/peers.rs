//! Against OpenCV, scikit-image, SciPy and Pillow, on a part of a photograph. `tests/peers/regenerate.py` makes their
//! pictures; here stands which chain means the same, and how far apart they may lie, with the reason. The operators'
//! own texts explain the differences to their users.

use crate::common::{FULL, gpu};
use crate::operators::is_drawn;
use cyanotype::{Context, Description, Graph, Image, ops};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How a result may differ from the peer's.
struct Peer {
    /// The peer's picture, without the `.png`.
    file: &'static str,
    chain: &'static str,
    input: &'static str,
    /// Greatest difference in levels of 8 bits.
    most: f32,
    /// Pixels at each edge that are left out, because the peer reads something else beyond it.
    border: u32,
}

const fn peer(file: &'static str, chain: &'static str, most: f32) -> Peer {
    Peer { file, chain, input: "photo", most, border: 0 }
}

const fn on(input: &'static str, peer: Peer) -> Peer {
    Peer { input, ..peer }
}

/// Whole bytes of exact arithmetic, or pixels that are only moved.
const SAME: f32 = 0.0;
/// Floats, stored with 16 bits by the peer and by the engine: half a step of 1/257 level each, and as much again for the
/// 24 bits of the engine's arithmetic.
const FLOAT: f32 = 0.008;
/// Bytes that the peer rounds otherwise than half up (halves to even, or a truncated fixed-point sum), so that what lies
/// at the edge of rounding falls on the other side.
const ROUNDING: f32 = 1.0;

const PEERS: &[Peer] = &[
    peer("exposure-skimage", "exposure 0.5", FLOAT),
    peer("gamma-skimage", "gamma 2.2", FLOAT),
    peer("brightness-opencv", "brightness 0.15686275", SAME), // 40 / 255
    peer("contrast-opencv", "contrast 1.3", ROUNDING),
    peer("levels-skimage", "levels 0.2 0.7 1 0.1 0.9", FLOAT),
    peer("invert-pillow", "invert", SAME),
    // Its weights are 0.2125, 0.7154, 0.0721 (of the same phosphors, rounded otherwise): 255 * 0.0002 at most.
    peer("grayscale-709-skimage", "grayscale", FLOAT + 0.051),
    peer("grayscale-601-opencv", "grayscale rec601", ROUNDING),
    peer("grayscale-601-pillow", "grayscale rec601", ROUNDING),
    // Level t of OpenCV, which compares with >, is (t + 0.5) / 255.
    on("grey", peer("threshold-opencv", "threshold 0.39411765", SAME)),
    peer("color-matrix-opencv", "color-matrix [0.8 0.3 -0.1 0.05 0.1 0.7 0.2 0 -0.2 0.1 0.9 -0.02]", FLOAT),
    // Through XYZ and back, whose matrix is written with six digits: 1e-6 of the light, at the steep end of the curve 13
    // times as much.
    peer("srgb-to-linear-skimage", "srgb-to-linear", FLOAT),
    peer("linear-to-srgb-skimage", "linear-to-srgb", FLOAT),
    // Pillow's table holds entries of 12 bits and interpolates with 6 bits more.
    peer("lut3d-pillow", "lut3d \"tests/peers/lut3d.cube\" interpolation=trilinear", ROUNDING),
    on("veiled", peer("premultiply-pillow", "premultiply", ROUNDING)),
    // It truncates 255 * c / a.
    on("premultiplied", peer("unpremultiply-pillow", "unpremultiply", ROUNDING)),
    peer("lookup-opencv", "input in, table; lookup @table", SAME),
    on("grey", peer("lookup-colormap-opencv", "input in, table; lookup @table", SAME)),
    peer("blend-normal-pillow", "blend @layer opacity=0.3", ROUNDING),
    on("veiled", peer("blend-over-pillow", "input veiled, layer; blend image=@layer other=@veiled", ROUNDING)),
    peer("blend-multiply-pillow", "blend @layer multiply", ROUNDING),
    peer("blend-screen-pillow", "blend @layer screen", ROUNDING),
    peer("blend-darken-pillow", "blend @layer darken", SAME),
    peer("blend-lighten-pillow", "blend @layer lighten", SAME),
    peer("blend-difference-pillow", "blend @layer difference", SAME),
    // It divides by 127 and 128 where the standard says a half.
    peer("blend-overlay-pillow", "blend @layer overlay", 2.0 * ROUNDING),
    peer("blend-hard-light-pillow", "blend @layer hard-light", 2.0 * ROUNDING),
    peer("gaussian-1.5-opencv", "gaussian-blur 1.5 mirror", FLOAT),
    peer("gaussian-4-scipy", "gaussian-blur 4", FLOAT),
    // Wide ones are composed of Gaussians on a smaller picture: equal within a step of 8 bits.
    peer("gaussian-10-scipy", "gaussian-blur 10", 1.0),
    peer("gaussian-25-scipy", "gaussian-blur 25 mirror", 1.0),
    peer("gaussian-2-skimage-wrap", "gaussian-blur 2 wrap", FLOAT),
    peer("box-blur-7-opencv", "box-blur 7 mirror", FLOAT),
    peer("box-blur-5-pillow", "box-blur 5", ROUNDING),
    peer("median-3-opencv", "median 3", SAME),
    peer("median-5-opencv", "median 5", SAME),
    peer("median-3-scipy", "median 3 mirror", SAME),
    peer("sobel-skimage", "sobel", FLOAT),
    peer("sobel-x-opencv", "sobel x", FLOAT),
    peer("sobel-y-opencv", "sobel y", FLOAT),
    peer("convolve-opencv", "convolve [1 2 0 0 3 -1 2 0 1] divisor=8", FLOAT),
    peer("convolve-flip-scipy", "convolve [1 2 0 0 3 -1 2 0 1] divisor=8 flip=true", FLOAT),
    // Pillow's first row of weights is the lowest, and the outermost pixels stay as they are.
    Peer { border: 1, ..peer("convolve-emboss-pillow", "convolve [0 0 0 0 1 0 -1 0 0] bias=0.5019608", SAME) },
    // Cut at four sigma instead of three, times the amount of 1.5: the weight beyond is 0.0027, and neighbours differ by 255
    // at most, in practice by a fifth of it. Its blur mirrors with the edge pixel repeated.
    Peer { border: 8, ..peer("unsharp-skimage", "unsharp 2 1.5", 0.5) },
    // It interpolates its weights in a table of 4096 entries: 1e-5 of a level; the sum of some thousand weights in f32.
    on("grey", peer("bilateral-opencv", "bilateral 3 0.1 16 mirror", 2.0 * FLOAT)),
    peer("resize-down-bilinear-pillow", "resize 41 23 bilinear", FLOAT),
    peer("resize-down-bicubic-pillow", "resize 41 23 bicubic", FLOAT),
    peer("resize-down-lanczos3-pillow", "resize 41 23 lanczos3", FLOAT),
    peer("resize-up-bilinear-pillow", "resize 110 70 bilinear", FLOAT),
    peer("resize-up-bicubic-pillow", "resize 110 70 bicubic", FLOAT),
    peer("resize-up-lanczos3-pillow", "resize 110 70 lanczos3", FLOAT),
    // Pillow rounds and clamps bytes between the two directions: what overshoots there is lost for the second, 5% of 255
    // by a third of a step at most where light meets dark.
    peer("resize-bytes-lanczos3-pillow", "resize 110 70 lanczos3", 5.0),
    peer("resize-nearest-opencv", "resize 32 128 nearest", SAME),
    peer("resize-nearest-pillow", "resize 160 64 nearest", SAME),
    peer("resize-area-opencv", "resize 41 23 area", FLOAT),
    peer("resize-bilinear-opencv", "resize 110 70 bilinear", FLOAT),
    peer("resize-bilinear-plain-opencv", "resize 41 23 bilinear antialias=false", FLOAT),
    peer("crop-pillow", "crop 7 11 53 29", SAME),
    peer("pad-mirror-opencv", "pad left=5 top=3 right=7 bottom=9 edge=mirror", SAME),
    peer("pad-wrap-opencv", "pad left=5 top=3 right=7 bottom=9 edge=wrap", SAME),
    peer("pad-constant-pillow", "pad left=5 top=3 right=7 bottom=9 edge-color=#ff8800", SAME),
    peer("flip-horizontal-opencv", "flip horizontal", SAME),
    peer("flip-vertical-opencv", "flip vertical", SAME),
    peer("rotate90-numpy", "rotate90 1", SAME),
    peer("affine-bilinear-scipy", AFFINE_CLAMPED, AFFINE),
    // OpenCV rounds coordinates to 1/32 of a pixel, where neighbours may differ by 100 levels.
    peer("affine-bilinear-opencv", AFFINE_CLAMPED, 4.0),
    peer(
        "affine-nearest-opencv",
        "affine [1.12763114494309 0.41042417199080244 -19.259868460974 -0.41042417199080244 1.12763114494309 \
         15.616163617379636] interpolation=nearest",
        SAME,
    ),
    peer("perspective-bilinear-opencv", PERSPECTIVE_CLAMPED, 4.0),
    peer("perspective-bilinear-scipy", PERSPECTIVE_CLAMPED, AFFINE),
    peer("auto-levels-pillow", "auto-levels", ROUNDING),
    peer("auto-levels-cutoff-pillow", "auto-levels 2 2", ROUNDING),
    on("grey", peer("equalize-opencv", "equalize", ROUNDING)),
    peer("equalize-per-channel-opencv", "equalize per-channel=true", SAME),
    // Pillow counts in whole steps of pixels per level, here 24 instead of 24.1, from the half of a step on.
    peer("equalize-per-channel-pillow", "equalize per-channel=true", 5.0),
];

const AFFINE_CLAMPED: &str = "affine [1.12763114494309 0.41042417199080244 -19.259868460974 -0.41042417199080244 \
                              1.12763114494309 15.616163617379636] edge=clamp";

const PERSPECTIVE_CLAMPED: &str =
    "perspective [1.1005 0.101 -4.10075 -0.0495 1.201 2.92425 0.001 0.002 0.9985] edge=clamp";

/// Coordinates of `f32` are exact to 2^-17 pixels at 100; neighbours differ by 255 levels at most.
const AFFINE: f32 = FLOAT + 0.002;

/// Operators that no peer has in the same sense, with the reason.
const WITHOUT_PEER: &[(&str, &str)] = &[
    ("curves", "SciPy's PCHIP takes other slopes at the points, splines of editors overshoot"),
    ("saturation", "Pillow's Color enhancer measures from Rec. 601 luma; exact cases cover it"),
    ("hue-rotate", "recipes turn the H of HSV, which changes luma: see hue_is_not_that_of_hsv"),
    ("sepia", "a W3C filter effect; its matrix is what color-matrix is compared with"),
    ("solid", "nothing to compute"),
    ("checkerboard", "nothing to compute"),
    ("linear-gradient", "peers count from pixel edges or to the last pixel; exact cases cover it"),
    ("radial-gradient", "as linear-gradient"),
    ("histogram", "see numbers_are_those_of_opencv"),
    ("mean", "see numbers_are_those_of_opencv"),
    ("min-max", "see numbers_are_those_of_opencv"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

fn open(name: &str) -> Image {
    Image::open(folder().join(format!("{name}.png"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn contexts() -> Vec<Context> {
    std::iter::once(Context::cpu()).chain(gpu()).collect()
}

/// The greatest difference in levels, and where; `None` for pictures of different shapes.
fn levels_apart(a: &Image, b: &Image, border: u32) -> Option<(f32, (u32, u32))> {
    if (a.width(), a.height(), a.format()) != (b.width(), b.height(), b.format()) {
        return None;
    }
    let mut worst = (0.0, (0, 0));
    for y in border..a.height() - border {
        for x in border..a.width() - border {
            for (p, q) in a.pixel(x, y).into_iter().zip(b.pixel(x, y)) {
                let distance = (p - q).abs() * 255.0;
                // Written so that a NaN counts.
                if !(distance <= worst.0) {
                    worst = (distance, (x, y));
                }
            }
        }
    }
    Some(worst)
}

fn run(context: &Context, chain: &str, input: &str, like: &Image) -> Result<Image, cyanotype::Error> {
    let mut data = Graph::parse(chain)?.data();
    data.outputs[0].format = Some(like.format());
    let names: Vec<String> = data.input_names().map(str::to_string).collect();
    let images: Vec<Image> =
        names.iter().map(|name| open(&format!("input-{}", if name == "in" { input } else { name }))).collect();
    let described: Vec<(&str, Description)> =
        names.iter().map(String::as_str).zip(images.iter().map(Image::description)).collect();
    let given: Vec<(&str, &Image)> = names.iter().map(String::as_str).zip(&images).collect();
    context.compile_with(&Graph::from_data(data), &described, &FULL)?.run(&given)?.image("out")
}

#[test]
fn pictures_are_those_of_the_peers() {
    let mut wrong = Vec::new();
    for context in contexts() {
        for peer in PEERS {
            if context.is_gpu() && !is_drawn() {
                continue;
            }
            let expected = open(peer.file);
            let chain = peer.chain.replace("tests/peers/", &format!("{}/", folder().display()));
            // One name for the second picture, wherever a chain reads it.
            let chain = if chain.contains("@layer") && !chain.contains("input ") {
                format!("input in, layer; {chain}")
            } else {
                chain
            };
            match run(&context, &chain, peer.input, &expected) {
                Err(error) => wrong.push(format!("{} on {context:?}: {error}", peer.file)),
                Ok(found) => match levels_apart(&expected, &found, peer.border) {
                    // An exact byte is a multiple of 1/255, known to a millionth.
                    Some((worst, at)) if worst <= peer.most + 1e-4 => println!("{}: {worst} at {at:?}", peer.file),
                    worst => wrong.push(format!(
                        "{} on {context:?}: {worst:?}, allowed {}; {} against {}",
                        peer.file,
                        peer.most,
                        expected.description(),
                        found.description()
                    )),
                },
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The comparison finds what is off by little more than allowed, in one channel of one pixel.
#[test]
fn a_wrong_picture_is_found() {
    let photo = open("input-photo");
    let mut bytes = photo.tight_bytes().into_owned();
    let index = (20 * photo.width() as usize + 30) * 3 + 1;
    bytes[index] ^= 2;
    let wrong = Image::new(photo.description(), bytes).expect("as many bytes");
    let (worst, at) = levels_apart(&photo, &wrong, 0).expect("the same shape");
    assert!((worst - 2.0).abs() < 1e-3 && at == (30, 20), "{worst} at {at:?}");
    assert_eq!(levels_apart(&photo, &photo, 0).map(|(worst, _)| worst), Some(0.0));
    assert!(levels_apart(&photo, &open("input-grey"), 0).is_none());
    // Another chain than the peer's is far off.
    let expected = open("median-3-opencv");
    let found = run(&Context::cpu(), "median 5", "photo", &expected).expect("it runs");
    assert!(levels_apart(&expected, &found, 0).expect("the same shape").0 > ROUNDING);
}

/// OpenCV counts, averages and finds the ends of bytes exactly.
#[test]
fn numbers_are_those_of_opencv() {
    let text = std::fs::read_to_string(folder().join("numbers.json")).expect("the file");
    let expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let photo = open("input-photo");
    for context in contexts() {
        let numbers = |chain: &str| {
            let program = context.compile(&Graph::parse(chain).unwrap(), &[("in", photo.description())]).unwrap();
            program.run(&[("in", &photo)]).unwrap().numbers("out").unwrap()
        };
        let (histogram, mean, ends) = (numbers("histogram"), numbers("mean"), numbers("min-max"));
        for channel in 0..3 {
            for (bin, counts) in histogram.iter().enumerate() {
                assert_eq!(Some(u64::from(counts[channel])), expected["histogram"][channel][bin].as_u64());
            }
            let near = |bits: u32, key: &str| {
                let wanted = expected[key][channel].as_f64().expect("a number");
                // A mean of 6144 numbers, each and the sum known to 2^-24 of itself.
                let found = f64::from(f32::from_bits(bits)) * 255.0;
                assert!((found - wanted).abs() < 1e-3, "{key} {channel}: {found} against {wanted}");
            };
            near(mean[0][channel], "mean");
            near(ends[0][channel], "min");
            near(ends[1][channel], "max");
        }
    }
}

/// What the operator's text says: turning the H of HSV, as recipes do, is another operation.
#[test]
fn hue_is_not_that_of_hsv() {
    let expected = open("hue-hsv-skimage");
    let found = run(&Context::cpu(), "hue-rotate 120", "photo", &expected).expect("it runs");
    assert!(levels_apart(&expected, &found, 0).expect("the same shape").0 > 10.0);
    // Luma is kept by the one ...
    let grey = run(&Context::cpu(), "hue-rotate 120 -> out:rgb32f", "photo", &expected).expect("it runs");
    let before = open("input-photo");
    let luma = |image: &Image, x, y| {
        let [r, g, b, _] = image.pixel(x, y);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let inside = |image: &Image, x, y| image.pixel(x, y).iter().all(|value| (0.01..=0.99).contains(value));
    let pixels = || (0..before.height()).flat_map(|y| (0..before.width()).map(move |x| (x, y)));
    let kept = pixels()
        .filter(|(x, y)| inside(&grey, *x, *y))
        .all(|(x, y)| (luma(&before, x, y) - luma(&grey, x, y)).abs() < 1e-4);
    // ... and changed by the other.
    let changed = pixels().any(|(x, y)| (luma(&before, x, y) - luma(&expected, x, y)).abs() > 0.05);
    assert!(kept && changed);
}

/// Every picture of the peers is compared, and reasons for having none are given by operators that have none. An operator
/// that nobody has compared yet is named, not refused: a new one shall not need more than its own files.
#[test]
fn every_picture_of_the_peers_is_compared() {
    for operator in ops::ALL {
        let compared = PEERS.iter().any(|peer| peer.chain.split([' ', ';', '|']).any(|word| word == operator.name));
        let excused = WITHOUT_PEER.iter().any(|(name, _)| *name == operator.name);
        assert!(!(compared && excused), "{} has a peer after all", operator.name);
        if !compared && !excused {
            eprintln!("{} is compared with no peer, and no reason is given", operator.name);
        }
    }
    for (name, _) in WITHOUT_PEER {
        assert!(ops::ALL.iter().any(|operator| operator.name == *name), "{name} is no operator");
    }
    let files: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("the folder")
        .filter_map(|entry| {
            entry.expect("an entry").file_name().into_string().ok()?.strip_suffix(".png").map(str::to_string)
        })
        .filter(|name| !name.starts_with("input-") && name != "hue-hsv-skimage")
        .collect();
    let compared: BTreeSet<String> = PEERS.iter().map(|peer| peer.file.to_string()).collect();
    assert_eq!(files, compared);
}
