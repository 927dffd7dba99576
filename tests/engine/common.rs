//! What the tests share: a seeded generator, random pictures and graphs over the registry, the contexts under test, and
//! the comparison with its tolerance.
#![allow(dead_code)] // each test binary uses its own part

use cyanotype::op::{Argument, FileContent, Operator, Parameter, ParameterKind};
use cyanotype::{
    AlphaMode, BackendChoice, Context, ContextOptions, Description, Error, Graph, GraphData, Image, Limits, Options,
    PixelFormat, Precision,
};
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// As results are compared: fused, with single floats between passes.
pub const FULL: Options = Options { fuse: true, precision: Precision::Full, pass_shapes: None };

/// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }
}

/// A seed from the clock, or `CYANOTYPE_SEED`; printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let given = std::env::var("CYANOTYPE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64)
    });
    println!("CYANOTYPE_SEED={seed}");
    seed
}

/// Says on standard error, past the harness, what has been running for a minute: a driver that hangs is killed in the
/// end, and nothing else of what a test has printed is seen then.
pub struct Watch(#[allow(dead_code)] Sender<()>); // dropping it ends the watch

impl Watch {
    pub fn over(what: String) -> Watch {
        let (sender, receiver) = channel::<()>();
        std::thread::spawn(move || {
            if receiver.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "running for over 60 seconds: {what}"); // the terminal may be gone
            }
        });
        Watch(sender)
    }
}

/// Says, past the harness, that a part of the running test is left out, and why: `.ci/test` counts these lines.
pub fn skip(reason: impl std::fmt::Display) {
    let thread = std::thread::current();
    let line = format!("skipped in {}: {reason}\n", thread.name().unwrap_or("unnamed"));
    let _ = std::io::stderr().write_all(line.as_bytes()); // the terminal may be gone
}

/// The GPU that the environment asks the tests to use. `None`, with a printed reason, where it asks for the CPU alone;
/// a failure where `CYANOTYPE_REQUIRE` names a driver that is missing.
pub fn gpu() -> Option<Context> {
    let name = std::env::var("CYANOTYPE_BACKEND").unwrap_or_default();
    let required = std::env::var("CYANOTYPE_REQUIRE").unwrap_or_default();
    let backend: BackendChoice = match name.as_str() {
        "" | "auto" | "cpu" => {
            assert!(
                required.is_empty(),
                "CYANOTYPE_REQUIRE={required} but CYANOTYPE_BACKEND={name} names no GPU backend"
            );
            skip(format_args!("CYANOTYPE_BACKEND={name:?} names no GPU backend"));
            return None;
        }
        name => name.parse().expect("CYANOTYPE_BACKEND names a backend"),
    };
    match Context::with(&ContextOptions {
        backend,
        allow_software: true,
        limits: limits(),
        ..ContextOptions::default()
    }) {
        Ok(context) => {
            println!("on {}", context.description());
            Some(context)
        }
        Err(error) if required.is_empty() => {
            skip(error);
            None
        }
        Err(error) => panic!("CYANOTYPE_REQUIRE={required}, but {error}"),
    }
}

/// `CYANOTYPE_LIMITS=downlevel` asks for those of a weak phone, with textures so small that the pictures of the tests are
/// over them.
fn limits() -> Option<Limits> {
    let name = std::env::var("CYANOTYPE_LIMITS").unwrap_or_default();
    match name.as_str() {
        "" => None,
        "downlevel" => Some(Limits { texture_size: 24, texture_layers: 2048, ..Limits::DOWNLEVEL }),
        name => panic!("CYANOTYPE_LIMITS={name} is none that the tests know"),
    }
}

/// A picture of smooth shapes and some noise: both flat areas and edges.
pub fn picture(random: &mut Random, description: Description) -> Image {
    let (width, height) = (description.width, description.height);
    let phase: Vec<f32> = (0..8).map(|_| random.between(0.5, 6.0)).collect();
    let noise = if random.chance(0.5) { 0.1 } else { 0.0 };
    let mut values = Vec::with_capacity((width * height) as usize);
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
            let mut color = [0.0f32; 4];
            for (channel, slot) in color.iter_mut().enumerate() {
                let wave = (u * phase[channel] * 6.3 + v * phase[channel + 4] * 4.1).sin();
                *slot = (0.5 + 0.45 * wave + noise * (random.unit() - 0.5)).clamp(0.0, 1.0);
            }
            if u > 0.6 && v > 0.5 {
                color[0] = 1.0 - color[0];
            }
            // Alpha away from zero but for a transparent corner: dividing by a tiny alpha magnifies every rounding.
            color[3] = if u < 0.2 && v < 0.2 { 0.0 } else { 0.25 + 0.75 * color[3] };
            values.push(color);
        }
    }
    from_rgba(description, &values)
}

/// Packs straight RGBA floats as a description says.
pub fn from_rgba(description: Description, values: &[[f32; 4]]) -> Image {
    let wide = Description { format: PixelFormat::Rgba32F, alpha: AlphaMode::Straight, ..description };
    let flat: Vec<f32> = values.iter().flatten().copied().collect();
    let straight = Image::from_samples(wide, &flat).expect("as many samples as pixels");
    let image = if description.alpha == AlphaMode::Premultiplied { straight.premultiplied() } else { straight };
    let packed = image.converted(description.format);
    let bytes = packed.tight_bytes().into_owned();
    Image::new(description, bytes).expect("converted to the format asked for")
}

/// How wild random arguments are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mood {
    Default,
    Least,
    Greatest,
    Moderate,
}

/// An argument for a parameter.
pub fn argument(random: &mut Random, parameter: &Parameter, mood: Mood) -> Option<Argument> {
    Some(match (parameter.kind, mood) {
        (ParameterKind::File { .. }, _) => Argument::File(cube()),
        (_, Mood::Default) => parameter.default()?,
        (ParameterKind::Float { min, .. }, Mood::Least) => Argument::Float(min),
        (ParameterKind::Float { max, .. }, Mood::Greatest) => Argument::Float(max),
        (ParameterKind::Float { min, max, default }, Mood::Moderate) => {
            let reach = 1.5 * default.abs().max(0.5);
            Argument::Float(random.between(min.max(default - reach), max.min(default + reach)))
        }
        (ParameterKind::Integer { min, .. }, Mood::Least) => Argument::Integer(min),
        (ParameterKind::Integer { max, .. }, Mood::Greatest) => Argument::Integer(max),
        (ParameterKind::Integer { min, max, default }, Mood::Moderate) => {
            let (low, high) = (min.max(default - 4), max.min(default + 6));
            Argument::Integer(low + random.below((high - low + 1) as usize) as i32)
        }
        (ParameterKind::Switch { .. }, _) => Argument::Switch(random.chance(0.5)),
        (ParameterKind::Choice { options, .. }, _) => Argument::Choice(random.pick(options).to_string()),
        (ParameterKind::Color { .. }, _) => {
            Argument::Color([random.unit(), random.unit(), random.unit(), random.unit()])
        }
        (ParameterKind::Floats { default, .. }, _) => {
            let scale = if mood == Mood::Moderate { random.between(0.8, 1.2) } else { 1.0 };
            Argument::Floats(default.iter().map(|value| value * scale).collect())
        }
    })
}

/// A small colour cube that swaps nothing and warms a little.
pub fn cube() -> FileContent {
    let mut text = String::from("TITLE \"warm\"\nLUT_3D_SIZE 3\n");
    for index in 0..27 {
        let (r, g, b) = (index % 3, index / 3 % 3, index / 9);
        let at = |value: i32| value as f32 / 2.0;
        text += &format!("{} {} {}\n", at(r).powf(0.9), at(g), at(b).powf(1.1));
    }
    FileContent { path: "warm.cube".into(), bytes: text.into_bytes().into() }
}

/// Adds one operator with arguments of a mood to a graph. Operators whose arguments depend on the picture's size or on
/// each other get fitting ones. `Err` is the operator's own refusal.
pub fn apply(
    random: &mut Random,
    graph: &mut GraphData,
    operator: &'static Operator,
    inputs: Vec<usize>,
    extent: (u32, u32),
    mood: Mood,
) -> Result<usize, Error> {
    let mut arguments: Vec<(String, Argument)> = Vec::new();
    for parameter in operator.parameters {
        let mut value = argument(random, parameter, mood).expect("every parameter kind has a value");
        let (width, height) = (extent.0 as i32, extent.1 as i32);
        match (operator.name, parameter.name) {
            ("crop", "x") => value = Argument::Integer(random.below(extent.0 as usize / 3 + 1) as i32),
            ("crop", "y") => value = Argument::Integer(random.below(extent.1 as usize / 3 + 1) as i32),
            ("crop", "width") => value = Argument::Integer((width * 2 / 3).max(1) - width / 3 + width / 3),
            ("crop", "height") => value = Argument::Integer((height * 2 / 3).max(1)),
            ("median", "size") => value = Argument::Integer(*random.pick(&[3, 5])),
            // It has to fit the number of weights.
            ("convolve", "width") => value = parameter.default().expect("it has one"),
            // The greatest extents make pictures of gigabytes, which is no matter of the operator.
            ("affine" | "perspective" | "resize", "width") => {
                value = Argument::Integer(1 + random.below(2 * extent.0 as usize) as i32)
            }
            ("affine" | "perspective" | "resize", "height") => {
                value = Argument::Integer(1 + random.below(2 * extent.1 as usize) as i32)
            }
            ("box-blur", "size") if mood == Mood::Moderate => value = Argument::Integer(1 + 2 * random.below(5) as i32),
            ("solid" | "checkerboard" | "linear-gradient" | "radial-gradient", "width") => {
                value = Argument::Integer(width);
            }
            ("solid" | "checkerboard" | "linear-gradient" | "radial-gradient", "height") => {
                value = Argument::Integer(height);
            }
            _ => {}
        }
        arguments.push((parameter.name.into(), value));
    }
    graph.apply(operator.name, arguments, inputs)
}

/// The greatest difference of two pictures and where it is; infinite where they do not even have the same shape.
pub fn difference(a: &Image, b: &Image) -> (f32, (u32, u32)) {
    if a.description() != b.description() {
        return (f32::INFINITY, (0, 0));
    }
    let mut worst = (0.0f32, (0, 0));
    for y in 0..a.height() {
        for x in 0..a.width() {
            let (p, q) = (a.pixel(x, y), b.pixel(x, y));
            for (p, q) in p.iter().zip(q) {
                let distance = (p - q).abs();
                let distance = if distance.is_nan() { f32::INFINITY } else { distance };
                if distance > worst.0 {
                    worst = (distance, (x, y));
                }
            }
        }
    }
    worst
}

/// Keeps the right picture, the one that was found and their difference (the greatest is white) in a folder that is named,
/// for whoever looks into a failure. Nothing where the files cannot be written: the failure itself is what counts.
pub fn keep(what: &str, right: &Image, found: &Image) -> Option<String> {
    let name: String = what.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong").join(name);
    std::fs::create_dir_all(&folder).ok()?;
    let pairs = right.to_rgba_f32().into_iter().zip(found.to_rgba_f32());
    let distances: Vec<[f32; 4]> =
        pairs.map(|(p, q)| [0, 1, 2, 3].map(|channel| (p[channel] - q[channel]).abs())).collect();
    let greatest = distances.iter().flatten().copied().fold(f32::MIN_POSITIVE, f32::max);
    let difference: Vec<[f32; 4]> = distances
        .iter()
        .map(|[r, g, b, a]| [r.max(*a), g.max(*a), b.max(*a), greatest].map(|d| d / greatest))
        .collect();
    let plain = Description::new(right.width(), right.height(), PixelFormat::Rgb8);
    right.save(folder.join("right.png")).ok()?;
    found.save(folder.join("found.png")).ok()?;
    if difference.len() == (plain.width * plain.height) as usize {
        from_rgba(plain, &difference).save(folder.join("difference.png")).ok()?;
    }
    Some(folder.display().to_string())
}

/// Compiles and runs on a context.
pub fn render(
    context: &Context,
    graph: &GraphData,
    inputs: &[(&str, Image)],
    options: &cyanotype::Options,
) -> Result<cyanotype::Results, Error> {
    let descriptions: Vec<(&str, Description)> =
        inputs.iter().map(|(name, image)| (*name, image.description())).collect();
    let program = context.compile_with(&Graph::from_data(graph.clone()), &descriptions, options)?;
    let given: Vec<(&str, &Image)> = inputs.iter().map(|(name, image)| (*name, image)).collect();
    program.run(&given)
}
