//! The comparisons that other tests rest on: fed with a wrong picture each must fail. (Those of the exact cases and of
//! the peers have theirs beside them.)

use crate::common::{FULL, difference, from_rgba, keep, render};
use crate::random_graphs::{Case, Tolerances};
use cyanotype::{AlphaMode, Context, Description, GraphData, Image, PixelFormat, Precision};

fn grey(values: &[f32]) -> Image {
    Image::from_samples(Description::new(values.len() as u32, 1, PixelFormat::R32F), values).expect("as many samples")
}

#[test]
fn a_difference_is_found_wherever_it_is() {
    let right = grey(&[0.1, 0.2, 0.3]);
    assert_eq!(difference(&right, &right.clone()).0, 0.0);
    let (size, place) = difference(&right, &grey(&[0.1, 0.2, 0.3001]));
    assert!((size - 1e-4).abs() < 1e-6 && place == (2, 0), "{size} at {place:?}");
    for wrong in [grey(&[0.1, f32::NAN, 0.3]), grey(&[0.1, 0.2]), right.converted(PixelFormat::Rgb32F)] {
        assert_eq!(difference(&right, &wrong).0, f32::INFINITY, "{}", wrong.description());
    }
    // Alpha counts, and so does what it means.
    let description = Description::new(1, 1, PixelFormat::Rgba8);
    let color = from_rgba(description, &[[0.2, 0.4, 0.6, 1.0]]);
    assert!(difference(&color, &from_rgba(description, &[[0.2, 0.4, 0.6, 0.98]])).0 > 0.01);
    let bytes = color.tight_bytes().into_owned();
    let other = Image::new(description.with_alpha(AlphaMode::Premultiplied), bytes).expect("as many bytes");
    assert_eq!(difference(&color, &other).0, f32::INFINITY);
}

/// What is kept of a failure: both pictures, and a difference whose greatest is white.
#[test]
fn wrong_pictures_are_kept() {
    let (right, found) = (grey(&[0.1, 0.2, 0.3]), grey(&[0.1, 0.25, 0.4]));
    let folder = keep("checker: \"a/b\"", &right.converted(PixelFormat::R8), &found.converted(PixelFormat::R8));
    let folder = std::path::PathBuf::from(folder.expect("the folder of the tests can be written"));
    let value = |name: &str, x: u32| Image::open(folder.join(name)).expect("it was kept").pixel(x, 0)[0];
    assert!((value("right.png", 2) - 0.3).abs() < 3e-3 && (value("found.png", 2) - 0.4).abs() < 3e-3);
    assert_eq!([value("difference.png", 0), value("difference.png", 2)], [0.0, 1.0]);
    assert!((value("difference.png", 1) - 0.5).abs() < 0.03);
    std::fs::remove_dir_all(folder).expect("it was made here");
}

/// One channel of one pixel, off by little more than a step of its format.
#[test]
fn tolerances_are_no_wider_than_they_say() {
    let cpu = Context::cpu();
    for format in [PixelFormat::Rgb8, PixelFormat::Rgb16, PixelFormat::Rgb32F] {
        let mut graph = GraphData::default();
        let input = graph.input("a");
        let node = graph.apply("exposure", [("stops".to_string(), 0.5.into())], vec![input]).expect("in range");
        graph.output("out", node, None).expect("a new name");
        let description = Description::new(5, 4, format);
        let values: Vec<[f32; 4]> = (0..20).map(|index| [index as f32 / 40.0, 0.3, 0.5, 1.0]).collect();
        let case = Case { graph, inputs: vec![("a", from_rgba(description, &values))] };
        let reference = render(&cpu, &case.graph, &case.inputs, &FULL).expect("it runs");
        let tolerances = Tolerances::measure(&case, &reference, Precision::Full, 1);
        assert_eq!(tolerances.check("itself", &reference), Ok(()));
        // The same graph on a picture that differs in one sample by four steps of 8 bits, three of 2^-10.
        let mut wrong = values.clone();
        wrong[13][1] += match format {
            PixelFormat::Rgb32F => 3.0 / 1024.0,
            _ => 4.0 / 255.0,
        };
        let inputs = vec![("a", from_rgba(description, &wrong))];
        let other = render(&cpu, &case.graph, &inputs, &FULL).expect("it runs");
        let message = tolerances.check("wrong", &other).expect_err("a wrong sample passed");
        assert!(message.contains("pixel 13, channel 1"), "{message}");
        // A result that is no number.
        let mut wrong = reference.image("out").expect("a picture").to_rgba_f32();
        wrong[7][2] = f32::NAN;
        let nan = wrong.iter().flat_map(|color| [color[0], color[1], color[2]]).collect::<Vec<f32>>();
        if format == PixelFormat::Rgb32F {
            let nan = Image::from_samples(description, &nan).expect("as many samples");
            assert!(difference(&reference.image("out").expect("a picture"), &nan).0.is_infinite());
        }
    }
}
