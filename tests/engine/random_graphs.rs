//! Fused = unfused = CPU, on random graphs over the whole registry.
//!
//! # Tolerance
//! Operators magnify small differences (a steep curve) or jump (threshold, nearest neighbour, bins), so no single number
//! is right for all graphs. What a graph does to rounding is measured on the graph itself: the CPU runs it again with every
//! intermediate value disturbed by a little more than one rounding of the format between passes, each time otherwise, and
//! cut off at the largest number of that format. The tolerance of a pixel is what its value moved by, with a factor for
//! what a few disturbances can miss, plus one step of rounding of the output.

use crate::common::{FULL, Mood, Random, Watch, apply, difference, gpu, keep, picture, render, seed};
use cyanotype::graph::NodeContent;
use cyanotype::op::Argument;
use cyanotype::{
    AlphaMode, Context, CustomOperator, Description, Error, GraphData, Image, Options, PassShape, PassShapes,
    PixelFormat, Precision, ops,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A random graph and its inputs.
pub struct Case {
    pub graph: GraphData,
    pub inputs: Vec<(&'static str, Image)>,
}

/// Operators left out, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[];

pub fn random_case(random: &mut Random) -> Case {
    let (width, height) = (1 + random.below(41) as u32, 1 + random.below(29) as u32);
    let mut graph = GraphData::default();
    let mut inputs = Vec::new();
    // (node, extent)
    let mut pictures: Vec<(usize, (u32, u32))> = Vec::new();
    for name in ["a", "b"].iter().take(1 + random.below(2)) {
        let format = *random.pick(&PixelFormat::ALL);
        let mut description = Description::new(width, height, format);
        if format.has_alpha() {
            description.alpha = *random.pick(&[AlphaMode::Opaque, AlphaMode::Straight, AlphaMode::Premultiplied]);
        }
        inputs.push((*name, picture(random, description)));
        pictures.push((graph.input(name), (width, height)));
    }
    let wanted = 1 + random.below(6);
    let mut made = 0;
    let mut numbers = Vec::new();
    for _ in 0..200 {
        if made == wanted {
            break;
        }
        let operator = *random.pick(ops::ALL);
        if LEFT_OUT.iter().any(|(name, _)| *name == operator.name) {
            continue;
        }
        let (first, extent) = if random.chance(0.7) { *pictures.last().unwrap() } else { *random.pick(&pictures) };
        let mut chosen = Vec::new();
        let count = operator.required_inputs() + random.below(operator.inputs.len() - operator.required_inputs() + 1);
        for index in 0..count {
            let fitting: Vec<usize> =
                pictures.iter().filter(|(_, other)| *other == extent).map(|(node, _)| *node).collect();
            chosen.push(if index == 0 { first } else { *random.pick(&fitting) });
        }
        match apply(random, &mut graph, operator, chosen, extent, Mood::Moderate) {
            Ok(node) => {
                // Shapes follow from lowering alone.
                let mut probe = graph.clone();
                probe.output("probe", node, None).expect("a new name");
                let descriptions: Vec<(&str, Description)> =
                    inputs.iter().map(|(name, image)| (*name, image.description())).collect();
                match cyanotype::graph::lower::lower(&probe, &descriptions) {
                    Ok(lowered) => {
                        let shape = lowered.node(lowered.outputs[0].value).shape;
                        if shape.is_buffer() {
                            numbers.push(node);
                        } else if shape.extent().width <= 96 && shape.extent().height <= 96 {
                            pictures.push((node, (shape.extent().width, shape.extent().height)));
                        } else {
                            graph.nodes.pop();
                            continue;
                        }
                        made += 1;
                    }
                    Err(_) => {
                        // The operator refuses this picture (a crop outside of it, say): not part of the graph.
                        graph.nodes.pop();
                    }
                }
            }
            Err(error) => panic!("{}: arguments within their ranges were refused: {error}", operator.name),
        }
    }
    let last = pictures.last().unwrap().0;
    let format = if random.chance(0.3) { Some(*random.pick(&PixelFormat::ALL)) } else { None };
    graph.output("out", last, format).expect("a new name");
    if pictures.len() > 3 && random.chance(0.4) {
        let other = pictures[pictures.len() - 2].0;
        graph.output("other", other, None).expect("a new name");
    }
    if let Some(node) = numbers.first() {
        graph.output("numbers", *node, None).expect("a new name");
    }
    Case { graph, inputs }
}

/// How the values of a disturbed graph differ from what they are.
#[derive(Clone, Copy)]
enum Pattern {
    /// All are too large.
    Above,
    /// All are too small.
    Below,
    /// Each node's are one or the other.
    ByNode,
    /// Each pixel's and channel's are, as by rounding. A kernel that takes neighbours from each other magnifies this most.
    ByPixel,
}

/// The same graph with a disturbance after each node.
fn disturbed(graph: &GraphData, random: &mut Random, disturbance: Disturbance, pattern: Pattern) -> GraphData {
    let mut out = GraphData::default();
    let mut map = Vec::new();
    for node in &graph.nodes {
        let inputs = node.inputs.iter().map(|input| map[*input]).collect();
        let id = match &node.content {
            NodeContent::Input => out.input(&node.name),
            NodeContent::Operator { operator, arguments } => {
                let given: Vec<(String, Argument)> =
                    arguments.iter().map(|(parameter, value)| (parameter.name.to_string(), value.clone())).collect();
                out.apply(operator.name, given, inputs).expect("as before")
            }
            NodeContent::Custom { .. } => unreachable!("random graphs hold registered operators"),
        };
        let is_numbers = matches!(node.content.operator_name(), "histogram" | "mean" | "min-max");
        if is_numbers {
            map.push(id);
            continue;
        }
        let disturbance = disturbance_operator(random, disturbance, pattern);
        map.push(out.apply_custom(Arc::new(disturbance), &[], vec![id]).expect("it has no parameters"));
    }
    for output in &graph.outputs {
        out.output(&output.name, map[output.node], output.format).expect("as before");
    }
    out
}

fn disturbance_operator(random: &mut Random, disturbance: Disturbance, pattern: Pattern) -> CustomOperator {
    let seed = random.next();
    let Disturbance { size, largest, .. } = disturbance;
    let by_node = if random.chance(0.5) { size } else { -size };
    // A fused graph keeps some values in registers, which cut nothing off, and others in textures.
    let is_kept = matches!(pattern, Pattern::ByNode) && random.chance(0.5);
    let largest = if is_kept { f32::MAX } else { largest };
    let disturb = move |value: f32, channel: u64, alpha: f32| {
        let change = match pattern {
            Pattern::Above => size,
            Pattern::Below => -size,
            Pattern::ByNode => by_node,
            Pattern::ByPixel => match Random(seed ^ u64::from(value.to_bits()) << 2 ^ channel).chance(0.5) {
                true => size,
                false => -size,
            },
        };
        let thin = disturbance.of_thin(alpha).copysign(change) * value.abs().max(1.0);
        (value + change * (value + 0.25) + thin).clamp(-largest, largest)
    };
    let text = "fn disturbance(color: vec4f) -> vec4f { return color; }";
    let operator = CustomOperator::point("disturbance", text).expect("its text is well-formed");
    operator.on_cpu(move |[r, g, b, a], _| [disturb(r, 0, a), disturb(g, 1, a), disturb(b, 2, a), a])
}

/// What a pass may do to a value.
#[derive(Clone, Copy)]
struct Disturbance {
    /// One rounding of what is stored, relative to the value; and arithmetic of a handful of operations.
    size: f32,
    /// The largest number that can be stored.
    largest: f32,
    /// The step of the smallest numbers that can be stored: what premultiplied colours, and the straight ones made of them,
    /// are off by where alpha is hardly more.
    finest: f32,
}

impl Disturbance {
    fn of(precision: Precision) -> Disturbance {
        match precision {
            // Half a step of an 11-bit significand, and as much again for the operations of the pass.
            Precision::Half => Disturbance { size: 1.0e-3, largest: 65504.0, finest: 2.0_f32.powi(-24) },
            // WGSL allows exp2 and log2 (hence pow) an error of 3 to 4 ULP at magnitudes of up to 2^4, which is 2e-6 of the
            // result, and division 2.5 ULP; a node is a few of these.
            _ => Disturbance { size: 8.0e-6, largest: f32::MAX, finest: 0.0 },
        }
    }

    /// What straight colours of a pixel of this alpha are off by, relative to the value: as much as they are at most.
    fn of_thin(self, alpha: f32) -> f32 {
        if alpha > 0.0 { self.finest / alpha.max(self.finest) } else { 0.0 }
    }
}

/// One step of rounding of an output.
fn step(format: PixelFormat) -> f32 {
    use cyanotype::image::SampleType;
    match format.sample() {
        SampleType::U8 => 1.0 / 255.0,
        SampleType::U16 => 1.0 / 65535.0,
        SampleType::F16 => 1.0 / 1024.0,
        SampleType::F32 => 1.0e-5,
    }
}

/// For each picture output, a number for each channel of each pixel.
type PerPixel = BTreeMap<String, Vec<[f32; 4]>>;

/// Tolerances of each picture output, from disturbed runs on the CPU.
pub struct Tolerances<'a> {
    case: &'a Case,
    reference: &'a cyanotype::Results,
    disturbance: Disturbance,
    random: Random,
    floors: PerPixel,
    allowed: PerPixel,
}

/// How often all disturbances are tried before a pixel counts as wrong. A jump that one pixel's rounding decides (a bin of
/// an equalized histogram) is found by few of them, so a first round that does not find it says little; a wrong pixel is
/// not found by any number of them.
const ROUNDS_OF_DOUBT: usize = 40;

impl<'a> Tolerances<'a> {
    pub fn measure(case: &'a Case, reference: &'a cyanotype::Results, precision: Precision, seed: u64) -> Self {
        let disturbance = Disturbance::of(precision);
        let nodes = case.graph.nodes.len() as f32;
        // A disturbance leaves alpha alone, so what each node may round it by is added for all channels.
        let rounding = nodes * disturbance.size;
        // Half floats count in 2^-24 below 2^-14, and some drivers cut off instead of rounding. Straight colours of all but
        // transparent pixels come from premultiplied ones of that size, whether the output's format holds the alpha, rounds
        // it away or has none. So the alpha is that of the same outputs in full.
        let mut in_full = case.graph.clone();
        for output in in_full.outputs.iter_mut().filter(|output| reference.is_picture(&output.name)) {
            output.format = Some(PixelFormat::Rgba32F);
        }
        let in_full = render(&Context::cpu(), &in_full, &case.inputs, &FULL).expect("it runs with other outputs");
        let mut floors = BTreeMap::new();
        for name in reference.names().filter(|name| reference.is_picture(name)) {
            let (image, behind) =
                (reference.image(name).expect("a picture"), in_full.image(name).expect("the same in full"));
            let is_straight = behind.description().alpha == AlphaMode::Straight;
            let floor = |color: [f32; 4], [.., alpha]: [f32; 4]| {
                let thin = if is_straight { nodes * disturbance.of_thin(alpha) } else { 0.0 };
                color.map(|value| (step(image.format()) * 1.01 + rounding + thin) * value.abs().max(1.0))
            };
            let pairs = image.to_rgba_f32().into_iter().zip(behind.to_rgba_f32());
            floors.insert(name.to_string(), pairs.map(|(color, behind)| floor(color, behind)).collect::<Vec<_>>());
        }
        let random = Random(seed);
        let mut tolerances = Tolerances { case, reference, disturbance, random, allowed: floors.clone(), floors };
        tolerances.disturb();
        tolerances
    }

    /// Runs the graph with every kind of disturbance; what a pixel moves by, it may differ by.
    fn disturb(&mut self) {
        // Jumps lie at one place only, so smaller disturbances find other pixels than larger ones.
        let sizes = [1.0, 0.5, 0.25].map(|part| Disturbance { size: part * self.disturbance.size, ..self.disturbance });
        let patterns = [Pattern::Above, Pattern::Below, Pattern::ByNode, Pattern::ByPixel];
        for (size, pattern) in sizes.into_iter().flat_map(|size| patterns.map(|pattern| (size, pattern))) {
            let graph = disturbed(&self.case.graph, &mut self.random, size, pattern);
            let moved = render(&Context::cpu(), &graph, &self.case.inputs, &FULL).expect("the graph runs undisturbed");
            for (name, allowed) in &mut self.allowed {
                let (still, moved) =
                    (self.reference.image(name).expect("a picture"), moved.image(name).expect("the same"));
                let pixels = still.to_rgba_f32().into_iter().zip(moved.to_rgba_f32());
                for ((slot, floor), (p, q)) in allowed.iter_mut().zip(&self.floors[name]).zip(pixels) {
                    for channel in 0..4 {
                        // Factor 3: the disturbances add up otherwise in each run, and the worst is rarely hit.
                        let distance = 3.0 * (p[channel] - q[channel]).abs() + floor[channel];
                        slot[channel] = slot[channel].max(distance);
                    }
                }
            }
        }
    }

    /// As [`Self::check`], with more disturbances in doubt; pictures that are wrong are kept as files.
    pub fn require(&mut self, what: &str, found: &cyanotype::Results) -> Result<(), String> {
        for _ in 0..ROUNDS_OF_DOUBT {
            if self.check(what, found).is_ok() {
                return Ok(());
            }
            self.disturb();
        }
        self.check(what, found).map_err(|message| {
            let pictures = self.allowed.keys().map(|name| (name, self.reference.image(name), found.image(name)));
            let kept =
                pictures.filter_map(|(name, right, found)| keep(&format!("{what} {name}"), &right.ok()?, &found.ok()?));
            format!("{message}{}", kept.map(|folder| format!("\n  kept in {folder}")).collect::<String>())
        })
    }

    /// The first pixel outside of its tolerance, in words.
    pub fn check(&self, what: &str, other: &cyanotype::Results) -> Result<(), String> {
        for (name, tolerance) in &self.allowed {
            let (p, q) = (self.reference.image(name).expect("a picture"), other.image(name).expect("a picture"));
            if p.description() != q.description() {
                return Err(format!("{what}, output {name}: {} against {}", p.description(), q.description()));
            }
            let (p, q) = (p.to_rgba_f32(), q.to_rgba_f32());
            for (index, ((p, q), allowed)) in p.iter().zip(&q).zip(tolerance).enumerate() {
                for channel in 0..4 {
                    let distance = (p[channel] - q[channel]).abs();
                    if !(distance <= allowed[channel]) {
                        return Err(format!(
                            "{what}, output {name}, pixel {index}, channel {channel}: {p:?} against {q:?}, allowed {}",
                            allowed[channel]
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

fn describe(case: &Case) -> String {
    let inputs: Vec<String> =
        case.inputs.iter().map(|(name, image)| format!("{name}: {}", image.description())).collect();
    let mut text = format!("{}\n", inputs.join(", "));
    for (index, node) in case.graph.nodes.iter().enumerate() {
        let arguments = match &node.content {
            NodeContent::Operator { arguments, .. } => arguments
                .iter()
                .map(|(parameter, value)| format!("{}={value}", parameter.name))
                .collect::<Vec<_>>()
                .join(" "),
            _ => String::new(),
        };
        text += &format!("  {index}: {} {:?} {arguments}\n", node.content.operator_name(), node.inputs);
    }
    for output in &case.graph.outputs {
        text += &format!("  output {} = {} {:?}\n", output.name, output.node, output.format);
    }
    text
}

/// Runs one case on the CPU, fused and not, and on the GPU; with `all`, also unfused and in half precision there.
fn check_case(case: &Case, gpu: Option<&Context>, seed: u64, all: bool) -> Result<(), String> {
    let cpu = Context::cpu();
    let unfused = Options { fuse: false, ..FULL };
    // Every other graph goes through tiles there.
    let shape = PassShape { tile: true, items: 1 + (seed % 4 / 2) as u32, ..PassShape::DEFAULT };
    let pass_shapes = (seed % 2 == 1).then_some(PassShapes::both(shape));
    let [gpu_unfused, half] =
        [unfused, Options { precision: Precision::Half, ..FULL }].map(|options| Options { pass_shapes, ..options });
    let run = |what: &str, context: &Context, options: &Options| {
        render(context, &case.graph, &case.inputs, options).map_err(|error: Error| format!("{what}: {error}"))
    };
    let what = |how: &str| format!("case {seed}, {how}");
    let reference = run("CPU", &cpu, &FULL)?;
    let mut exact = Tolerances::measure(case, &reference, Precision::Full, seed);
    exact.require(&what("CPU unfused"), &run("CPU unfused", &cpu, &unfused)?)?;
    let Some(gpu) = gpu else { return Ok(()) };
    exact.require(&what("GPU fused"), &run("GPU fused", gpu, &FULL)?)?;
    if all {
        exact.require(&what("GPU unfused"), &run("GPU unfused", gpu, &gpu_unfused)?)?;
        let mut coarse = Tolerances::measure(case, &reference, Precision::Half, seed);
        coarse.require(&what("GPU in half precision"), &run("GPU half", gpu, &half)?)?;
    }
    Ok(())
}

/// Compiling shaders takes nearly all of the time on software drivers, so two contexts work side by side, and only
/// every fourth graph runs in all ways on the GPU.
#[test]
fn fused_unfused_and_cpu_agree() {
    let seed = seed();
    let count: usize = std::env::var("CYANOTYPE_GRAPHS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let used: Mutex<BTreeMap<&str, usize>> = Mutex::default();
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (used, failures) = (&used, &failures);
            scope.spawn(move || {
                let gpu = gpu();
                let mut random = Random(seed ^ half);
                for index in 0..count.div_ceil(2) {
                    let case_seed = random.next();
                    let case = random_case(&mut Random(case_seed));
                    for node in &case.graph.nodes {
                        if let NodeContent::Operator { operator, .. } = &node.content {
                            *used.lock().unwrap().entry(operator.name).or_default() += 1;
                        }
                    }
                    let _watch = Watch::over(format!("graph of case seed {case_seed}:\n{}", describe(&case)));
                    if let Err(message) = check_case(&case, gpu.as_ref(), case_seed, index % 4 == 0) {
                        println!("graph of case seed {case_seed}: {message}\n{}", describe(&case));
                        failures.lock().unwrap().push(message);
                    }
                }
            });
        }
    });
    for (name, reason) in LEFT_OUT {
        println!("left out: {name}: {reason}");
    }
    let (used, failures) = (used.into_inner().unwrap(), failures.into_inner().unwrap());
    println!("{count} graphs, none skipped; operators used: {used:?}");
    assert!(failures.is_empty(), "{} of {count} graphs differ, the first: {}", failures.len(), failures[0]);
}

/// One graph again, by the case seed that a failure printed in `CYANOTYPE_CASE`.
#[test]
fn one_case_again() {
    let Some(seed) = std::env::var("CYANOTYPE_CASE").ok().and_then(|text| text.parse().ok()) else { return };
    let case = random_case(&mut Random(seed));
    println!("{}", describe(&case));
    check_case(&case, gpu().as_ref(), seed, true).unwrap_or_else(|message| panic!("{message}"));
}

/// The checker itself: a wrong picture must not pass.
#[test]
fn a_wrong_picture_is_found() {
    let case = random_case(&mut Random(7));
    let cpu = Context::cpu();
    let reference = render(&cpu, &case.graph, &case.inputs, &FULL).expect("it runs");
    let mut tolerances = Tolerances::measure(&case, &reference, Precision::Full, 7);
    assert!(tolerances.check("itself", &reference).is_ok());
    let mut wrong = case.graph.clone();
    let last = wrong.outputs[0].node;
    let inverted = wrong.apply("invert", [], vec![last]).expect("a picture");
    wrong.outputs[0].node = inverted;
    let other = render(&cpu, &wrong, &case.inputs, &FULL).expect("it runs");
    assert!(difference(&reference.image("out").unwrap(), &other.image("out").unwrap()).0 > 0.01);
    assert!(tolerances.require("inverted", &other).is_err());
}
