//! Every operator by itself: extremes of its parameters, odd sizes, every format and alpha mode; GPU against CPU.

use crate::common::{FULL, Mood, Random, apply, gpu, picture, render};
use crate::random_graphs::{Case, Tolerances};
use std::sync::atomic::{AtomicUsize, Ordering};

use cyanotype::{AlphaMode, Context, Description, Error, GraphData, Image, Options, PixelFormat, Precision, ops};

/// On drivers that compile slowly `CYANOTYPE_THIN=n` runs every n-th case on the GPU; the CPU runs all.
pub fn is_drawn() -> bool {
    static CASES: AtomicUsize = AtomicUsize::new(0);
    let every: usize = std::env::var("CYANOTYPE_THIN").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    CASES.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
}

fn check(case: &Case, gpu: Option<&Context>, what: &str) {
    let cpu = Context::cpu();
    let reference = match render(&cpu, &case.graph, &case.inputs, &FULL) {
        Ok(reference) => reference,
        // An operator may refuse what does not fit a picture, in words; it may not panic.
        Err(Error::BadInput { .. } | Error::BadParameter { .. } | Error::Limit { .. }) => return,
        Err(error) => panic!("{what}: {error}"),
    };
    for name in reference.names().filter(|name| reference.is_picture(name)) {
        let image = reference.image(name).unwrap();
        assert!(
            image.to_rgba_f32().iter().flatten().all(|value| value.is_finite()),
            "{what}: a pixel of the CPU's result is not finite"
        );
    }
    let Some(gpu) = gpu.filter(|_| is_drawn()) else { return };
    let mut tolerances = Tolerances::measure(case, &reference, Precision::Full, 5);
    let result = render(gpu, &case.graph, &case.inputs, &FULL).unwrap_or_else(|error| panic!("{what}: {error}"));
    tolerances.require(what, &result).unwrap_or_else(|message| panic!("{message}"));
}

fn single(
    random: &mut Random,
    operator: &'static cyanotype::op::Operator,
    description: Description,
    mood: Mood,
) -> Result<Case, Error> {
    let mut graph = GraphData::default();
    let mut inputs: Vec<(&'static str, Image)> = Vec::new();
    let mut nodes = Vec::new();
    let names = ["a", "b", "c"];
    for name in names.iter().take(operator.inputs.len().max(1)) {
        inputs.push((*name, picture(random, description)));
        let node = graph.input(name);
        if nodes.len() < operator.inputs.len() {
            nodes.push(node);
        }
    }
    let extent = (description.width, description.height);
    let node = apply(random, &mut graph, operator, nodes, extent, mood)?;
    graph.output("out", node, None)?;
    Ok(Case { graph, inputs })
}

/// Sizes and moods. The greatest parameters of some operators are dear on large pictures, so pictures are small.
#[test]
fn parameters_and_sizes() {
    let gpu = gpu();
    let mut random = Random(11);
    for operator in ops::ALL {
        for mood in [Mood::Default, Mood::Least, Mood::Greatest, Mood::Moderate] {
            for (width, height) in [(1, 1), (1, 9), (13, 1), (17, 11), (65, 9)] {
                let description = Description::new(width, height, PixelFormat::Rgb8);
                let what = format!("{} {mood:?} {width}x{height}", operator.name);
                if mood == Mood::Greatest && is_dear(operator.name) && width > 17 {
                    continue; // covered by the smaller sizes
                }
                match single(&mut random, operator, description, mood) {
                    Ok(case) => check(&case, gpu.as_ref(), &what),
                    Err(Error::BadParameter { .. } | Error::BadInput { .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
}

fn is_dear(name: &str) -> bool {
    matches!(name, "resize" | "pad" | "gaussian-blur" | "unsharp" | "bilateral" | "affine" | "perspective")
}

#[test]
fn formats_and_alpha_modes() {
    let gpu = gpu();
    let mut random = Random(12);
    for operator in ops::ALL {
        for format in PixelFormat::ALL {
            let modes: &[AlphaMode] = match format.has_alpha() {
                true => &[AlphaMode::Opaque, AlphaMode::Straight, AlphaMode::Premultiplied],
                false => &[AlphaMode::Opaque],
            };
            for alpha in modes {
                let description = Description { alpha: *alpha, ..Description::new(19, 7, format) };
                let what = format!("{} {format} {alpha:?}", operator.name);
                let case = single(&mut random, operator, description, Mood::Default).expect("defaults are in range");
                check(&case, gpu.as_ref(), &what);
            }
        }
    }
}

#[test]
fn numbers_that_are_none() {
    let gpu = gpu();
    let mut random = Random(13);
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, -3.0, 2.5];
    for operator in ops::ALL {
        let description = Description::new(9, 5, PixelFormat::Rgba32F);
        let mut case = single(&mut random, operator, description, Mood::Default).expect("defaults are in range");
        for (_, image) in &mut case.inputs {
            let mut values: Vec<f32> = image.to_rgba_f32().into_iter().flatten().collect();
            for index in 0..values.len() {
                if index % 7 == 0 {
                    values[index] = odd[index / 7 % odd.len()];
                }
            }
            *image = Image::from_samples(description, &values).expect("as many samples");
        }
        // Infinite pixels make differences of any size, so only the contract is checked: results without NaN or infinity.
        for context in [Some(&Context::cpu()), gpu.as_ref()].into_iter().flatten() {
            let results = render(context, &case.graph, &case.inputs, &Options::default())
                .unwrap_or_else(|error| panic!("{}: {error}", operator.name));
            if results.is_picture("out") {
                let pixels = results.image("out").unwrap().to_rgba_f32();
                assert!(pixels.iter().flatten().all(|value| value.is_finite()), "{} on {context:?}", operator.name);
            }
        }
    }
}
