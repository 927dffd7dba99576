//! Random graphs over the registry, for tests and fuzz targets: every operator, every kind of parameter, shared values,
//! dead nodes, odd names. They are well-formed, but need not make sense (sizes may not fit, numbers may go where pictures
//! belong), so compiling one may give an error, and must give nothing else.

use cyanotype::graph::GraphData;
use cyanotype::op::{Argument, FileContent, Parameter, ParameterKind};
use cyanotype::{PixelFormat, ops};

/// Where the choices come from: a number below the bound.
pub trait Choices {
    fn below(&mut self, bound: u32) -> u32;

    fn chance(&mut self, in_hundred: u32) -> bool {
        self.below(100) < in_hundred
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let index = self.below(u32::try_from(list.len()).expect("lists here are short"));
        &list[index as usize]
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): good enough to choose with, and a seed is one number to print.
pub struct Seed(pub u64);

impl Choices for Seed {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (((mixed >> 32) * u64::from(bound.max(1))) >> 32) as u32
    }
}

/// Bytes of a fuzzer; zeros when they run out, so that every input ends.
#[allow(dead_code)] // by the tests, which use seeds
pub struct Bytes<'a>(pub &'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        let mut value = 0u32;
        for _ in 0..if bound > 256 { 4 } else { 1 } {
            let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
            value = value << 8 | u32::from(*first);
            self.0 = rest;
        }
        value % bound.max(1)
    }
}

/// Names that need quotes, that look like something else, that clash with automatic ones.
const NAMES: &[&str] = &[
    "boost",
    "in",
    "out",
    "input",
    "as",
    "linear",
    "true",
    "exposure",
    "exposure-2",
    "my photo",
    "3x3",
    "7",
    "-1",
    "a.b",
    "größe",
    "a\"b\\c",
    "tab\there",
    "line\nbreak",
    "#ff0000",
    "->",
    "@x",
    "'",
    "\u{1}",
    "gamma-3",
];

/// A graph of about `size` operators. Operators that need a file get `file`, or are left out where there is none.
pub fn random_graph(choices: &mut impl Choices, size: u32, file: Option<&FileContent>) -> GraphData {
    let operators: Vec<_> = ops::ALL
        .iter()
        .filter(|operator| {
            let needs_file =
                operator.parameters.iter().any(|parameter| matches!(parameter.kind, ParameterKind::File { .. }));
            file.is_some() || !needs_file
        })
        .collect();
    let mut data = GraphData::default();
    add_input(choices, &mut data);
    for _ in 0..size {
        if choices.chance(8) {
            add_input(choices, &mut data);
        }
        let operator = choices.pick(&operators);
        let arguments: Vec<(String, Argument)> = operator
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name.to_string(), random_argument(choices, parameter, file)?)))
            .collect();
        let most = operator.inputs.len();
        let count = operator.required_inputs() + usize::from(operator.required_inputs() < most && choices.chance(50));
        let inputs: Vec<usize> = (0..count).map(|slot| random_node(choices, &data, slot == 0)).collect();
        let node = data
            .apply(operator.name, arguments, inputs)
            .unwrap_or_else(|error| panic!("{} with checked arguments: {error}", operator.name));
        if choices.chance(25) {
            let name = *choices.pick(NAMES);
            // A name that is taken is refused, and the node keeps its own.
            let _ = data.rename(node, name);
        }
    }
    for number in 0..1 + choices.below(3) {
        let node = random_node(choices, &data, true);
        let name = if number == 0 && choices.chance(60) { "out" } else { *choices.pick(NAMES) };
        let format = choices.chance(30).then(|| *choices.pick(&PixelFormat::ALL));
        // A name that is taken is refused; there is one output at least.
        let _ = data.output(name, node, format);
    }
    data
}

fn add_input(choices: &mut impl Choices, data: &mut GraphData) {
    let name = *choices.pick(&["in", "in", "photo", "my photo", "mask", "input"]);
    if data.nodes.iter().all(|node| node.name != name) {
        data.input(name);
    }
}

/// A node that is there, most often the last, so that chains come about.
fn random_node(choices: &mut impl Choices, data: &GraphData, first: bool) -> usize {
    let last = data.nodes.len() - 1;
    if first && choices.chance(70) { last } else { choices.below(last as u32 + 1) as usize }
}

/// A value within the parameter's range, or none for the default.
fn random_argument(choices: &mut impl Choices, parameter: &Parameter, file: Option<&FileContent>) -> Option<Argument> {
    let needed = parameter.default().is_none();
    if !needed && choices.chance(30) {
        return None;
    }
    Some(match parameter.kind {
        ParameterKind::Float { min, max, .. } => Argument::Float(random_float(choices, min, max)),
        ParameterKind::Integer { min, max, .. } => {
            let span = u32::try_from(i64::from(max) - i64::from(min)).unwrap_or(u32::MAX);
            let offset = match choices.below(4) {
                0 => 0,
                1 => span,
                2 => choices.below(span.min(64).saturating_add(1)),
                _ => choices.below(span.saturating_add(1)),
            };
            Argument::Integer((i64::from(min) + i64::from(offset)) as i32) // between min and max, so it fits
        }
        ParameterKind::Switch { .. } => Argument::Switch(choices.chance(50)),
        ParameterKind::Choice { options, .. } => Argument::Choice(choices.pick(options).to_string()),
        ParameterKind::Color { .. } => Argument::Color(match choices.chance(50) {
            true => [0; 4].map(|_| choices.below(256) as f32 / 255.0),
            false => [0; 4].map(|_| random_float(choices, -8.0, 8.0)),
        }),
        ParameterKind::Floats { min_length, max_length, .. } => {
            let longest = max_length.min(min_length + 30);
            let length = min_length + choices.below((longest - min_length) as u32 + 1) as usize;
            Argument::Floats((0..length).map(|_| random_float(choices, f32::MIN, f32::MAX)).collect())
        }
        ParameterKind::File { .. } => Argument::File(file?.clone()),
    })
}

fn random_float(choices: &mut impl Choices, min: f32, max: f32) -> f32 {
    let value = match choices.below(8) {
        0 => min,
        1 => max,
        2 => -0.0,
        3 => choices.below(200) as f32 / 100.0 - 1.0,
        4 => choices.below(2000) as f32 - 1000.0,
        // Any float at all: these have the long digits.
        _ => f32::from_bits(choices.below(u32::MAX)),
    };
    if value.is_finite() { value.clamp(min, max) } else { min }
}
