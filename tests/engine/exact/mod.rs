//! Exact cases of what pixels mean: tables of a chain, a picture, and the very samples that must come out. The expected
//! numbers follow from the definitions (by hand, or by the formula in double precision beside them), never from the
//! engine. Each row runs on the CPU and on the device that `CYANOTYPE_BACKEND` names, fused and unfused.

mod alpha;
mod color;
mod edges;
mod filters;
mod packing;
mod resize;

use crate::common::{FULL, gpu};
use crate::operators::is_drawn;
use cyanotype::image::SampleType;
use cyanotype::{AlphaMode, Context, Description, Error, Graph, Image, Options, PixelFormat, Precision, Results};
use half::f16;

/// A picture as the numbers that are stored: 0..=255 for `u8`, 0..=65535 for `u16`, the values themselves for floats.
#[derive(Debug, Clone)]
pub struct Picture {
    pub description: Description,
    pub samples: Vec<f64>,
}

/// A picture whose alpha is straight where its format has alpha.
pub fn picture(width: u32, height: u32, format: PixelFormat, samples: &[f64]) -> Picture {
    Picture { description: Description::new(width, height, format), samples: samples.to_vec() }
}

/// One row of pixels.
pub fn row(format: PixelFormat, samples: &[f64]) -> Picture {
    picture((samples.len() / format.channels() as usize) as u32, 1, format, samples)
}

/// One column of pixels.
pub fn column(format: PixelFormat, samples: &[f64]) -> Picture {
    picture(1, (samples.len() / format.channels() as usize) as u32, format, samples)
}

impl Picture {
    pub fn with_alpha(self, alpha: AlphaMode) -> Picture {
        Picture { description: self.description.with_alpha(alpha), ..self }
    }

    pub fn image(&self) -> Image {
        let bytes: Vec<u8> = self
            .samples
            .iter()
            .flat_map(|sample| match self.description.format.sample() {
                SampleType::U8 => vec![*sample as u8],
                SampleType::U16 => (*sample as u16).to_ne_bytes().to_vec(),
                SampleType::F16 => f16::from_f64(*sample).to_ne_bytes().to_vec(),
                SampleType::F32 => (*sample as f32).to_ne_bytes().to_vec(),
            })
            .collect();
        Image::new(self.description, bytes).expect("as many samples as pixels")
    }

    pub fn of(image: &Image) -> Picture {
        let bytes = image.tight_bytes();
        let size = image.format().sample().bytes();
        let samples = bytes
            .chunks_exact(size)
            .map(|bytes| match (image.format().sample(), bytes) {
                (SampleType::U8, &[byte]) => f64::from(byte),
                (SampleType::U16, &[a, b]) => f64::from(u16::from_ne_bytes([a, b])),
                (SampleType::F16, &[a, b]) => f16::from_ne_bytes([a, b]).to_f64(),
                (SampleType::F32, &[a, b, c, d]) => f64::from(f32::from_ne_bytes([a, b, c, d])),
                (sample, bytes) => panic!("{sample:?} is not {} bytes", bytes.len()),
            })
            .collect();
        Picture { description: image.description(), samples }
    }
}

/// One row of a table.
#[derive(Debug, Clone)]
pub struct Case {
    pub chain: String,
    pub input: Picture,
    pub expected: Picture,
    /// How far float samples may be off, relative to numbers above 1 and absolute below. Integers must be the very ones.
    pub within: f64,
}

/// A row whose result is exact.
pub fn exact(chain: &str, input: &Picture, expected: Picture) -> Case {
    Case { chain: chain.into(), input: input.clone(), expected, within: 0.0 }
}

/// A row of float results that differ by the rounding of a few `f32` operations: each is off by 2^-24 of its size at most,
/// and none of the tables needs more than thirty operations on numbers of about 1.
pub fn nearly(chain: &str, input: &Picture, expected: Picture) -> Case {
    Case { within: 30.0 / f64::from(1 << 24), ..exact(chain, input, expected) }
}

/// Where the rows run.
pub fn contexts() -> Vec<Context> {
    std::iter::once(Context::cpu()).chain(gpu()).collect()
}

/// Runs a chain on a picture.
pub fn run(context: &Context, chain: &str, input: &Picture, options: &Options) -> Result<Results, Error> {
    let image = input.image();
    let graph = Graph::parse(chain)?;
    // A chain that makes its own picture reads none.
    let reads = graph.data().input_names().any(|name| name == "in");
    let described: &[_] = if reads { &[("in", image.description())] } else { &[] };
    let given: &[_] = if reads { &[("in", &image)] } else { &[] };
    context.compile_with(&graph, described, options)?.run(given)
}

/// How a row is run: fused and not. Between passes floats keep all their bits; pictures of 8 bits must come out right in
/// half floats, too. Drivers take long to compile, so a GPU is spared the unfused way of what is a single operator.
fn ways(case: &Case, context: &Context) -> Vec<Options> {
    let byte = |picture: &Picture| picture.description.format.sample() == SampleType::U8;
    let mut ways = vec![FULL];
    if !context.is_gpu() || case.chain.contains('|') {
        ways.push(Options { fuse: false, ..FULL });
    }
    if byte(&case.input) && byte(&case.expected) {
        ways.push(Options { fuse: false, precision: Precision::Half, ..FULL });
    }
    ways
}

/// Checks all rows and reports all that fail.
#[track_caller]
pub fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for context in contexts() {
        for case in cases {
            if context.is_gpu() && !is_drawn() {
                continue;
            }
            for options in ways(case, &context) {
                let result = run(&context, &case.chain, &case.input, &options)
                    .and_then(|results| results.image("out"))
                    .map_err(|error| error.to_string())
                    .and_then(|image| compare(&case.expected, &Picture::of(&image), case.within));
                if let Err(message) = result {
                    wrong.push(format!("{context:?}, {options:?}\n  {}\n  {message}", case.chain));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether a picture is the expected one, else the first difference in words.
pub fn compare(expected: &Picture, found: &Picture, within: f64) -> Result<(), String> {
    if found.description != expected.description {
        return Err(format!("{} instead of {}", found.description, expected.description));
    }
    if found.samples.len() != expected.samples.len() {
        return Err(format!("{} samples instead of {}", found.samples.len(), expected.samples.len()));
    }
    let slack = if expected.description.format.is_float() { within } else { 0.0 };
    for (index, (found_sample, wanted)) in found.samples.iter().zip(&expected.samples).enumerate() {
        // Written so that a NaN fails.
        if !((found_sample - wanted).abs() <= slack * wanted.abs().max(1.0)) {
            let all = if found.samples.len() <= 64 {
                format!("\n  found    {:?}\n  expected {:?}", found.samples, expected.samples)
            } else {
                String::new()
            };
            return Err(format!("sample {index} is {found_sample} instead of {wanted}{all}"));
        }
    }
    Ok(())
}

/// Whether a chain is refused because of a parameter.
pub fn refuses(chain: &str, input: &Picture) -> bool {
    let result = run(&Context::cpu(), chain, input, &Options::default());
    matches!(result, Err(Error::BadParameter { .. } | Error::Parse { .. }))
}

/// The checker is itself checked: one wrong sample, a NaN, another format and another alpha mode are found.
#[test]
fn wrong_pictures_are_found() {
    let floats = row(PixelFormat::R32F, &[0.25, 0.5, 1.0]);
    assert!(compare(&floats, &floats.clone(), 0.0).is_ok());
    for wrong in [
        row(PixelFormat::R32F, &[0.25, 0.5, 1.0 + 1e-6]),
        row(PixelFormat::R32F, &[0.25, f64::NAN, 1.0]),
        row(PixelFormat::R32F, &[0.25, 0.5]),
        column(PixelFormat::R32F, &[0.25, 0.5, 1.0]),
        row(PixelFormat::R8, &[0.25, 0.5, 1.0]),
    ] {
        assert!(compare(&floats, &wrong, 1e-7).is_err(), "{wrong:?}");
    }
    let bytes = row(PixelFormat::R8, &[7.0, 8.0]);
    assert!(compare(&bytes, &row(PixelFormat::R8, &[7.0, 9.0]), 1.0).is_err(), "integers have no tolerance");
    let alpha = row(PixelFormat::Rgba8, &[1.0, 2.0, 3.0, 4.0]);
    assert!(compare(&alpha, &alpha.clone().with_alpha(AlphaMode::Premultiplied), 0.0).is_err());
    // And so is a whole table with a wrong row in it.
    let table = [exact("invert", &bytes, row(PixelFormat::R8, &[248.0, 246.0]))];
    let outcome = std::panic::catch_unwind(|| check(&table));
    assert!(outcome.is_err(), "a table with a wrong row passed");
}
