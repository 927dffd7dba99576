//! Every operator's module, fused and not, passes naga and goes on to the other shader languages. No device is needed.

use crate::common::{Mood, Random, apply};
use crate::languages::{self, translate, validate};
use crate::random_graphs::random_case;
use cyanotype::graph::lower::lower;
use cyanotype::graph::simplify::{simplify, without_dead};
use cyanotype::op::Operator;
use cyanotype::plan::plan;
use cyanotype::plan::recording::{Command as Recorded, Dispatch, PassShape, PassShapes};
use cyanotype::{CustomOperator, Description, Graph, GraphData, Limits, Options, PixelFormat, ops, shader};
use std::collections::{BTreeMap, BTreeSet};

/// The dispatches of a graph: with the blocks that GPUs are given, with large ones, then with several of them and tiles.
fn dispatches(graph: &GraphData, inputs: &[(&str, Description)], options: &Options) -> Vec<Dispatch> {
    let lowered = lower(graph, inputs).expect("the graph is right");
    let simplified = if options.fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
    let commands = [(false, false), (true, false), (true, true)].map(|(large_blocks, tile)| {
        let pass_shapes =
            PassShapes::both(PassShape { large_blocks, tile, items: 1 + u32::from(tile), ..PassShape::DEFAULT });
        let source_textures = large_blocks && !tile;
        let limits = Limits { source_textures, pass_shapes, workgroup_memory: 32 << 10, ..Limits::UNLIMITED };
        let plan = plan(&simplified.graph, options, &limits, Vec::new()).expect("no limits");
        shader::record(&simplified.graph, &plan, &limits).expect("shader text").commands
    });
    let dispatch = |command| match command {
        Recorded::Dispatch(dispatch) => Some(dispatch),
        Recorded::Clear { .. } => None,
    };
    commands.into_iter().flatten().filter_map(dispatch).collect()
}

/// The modules of a graph, under the names of their operators.
pub fn modules(graph: &GraphData, inputs: &[(&str, Description)], options: &Options) -> Vec<(String, String)> {
    let named = |dispatch: Dispatch| (dispatch.label, dispatch.wgsl.to_string());
    dispatches(graph, inputs, options).into_iter().map(named).collect()
}

fn graph_of(random: &mut Random, operator: &'static Operator, fused: bool) -> (GraphData, Vec<&'static str>) {
    let mut graph = GraphData::default();
    let names = ["a", "b", "c"];
    let mut inputs = Vec::new();
    for name in names.iter().take(operator.inputs.len()) {
        let input = graph.input(name);
        inputs.push(if fused {
            graph.apply("gamma", [("gamma".to_string(), 1.5.into())], vec![input]).unwrap()
        } else {
            input
        });
    }
    let used = names[..operator.inputs.len()].to_vec();
    let node = apply(random, &mut graph, operator, inputs, (64, 48), Mood::Moderate).expect("arguments in range");
    let is_numbers = matches!(operator.name, "histogram" | "mean" | "min-max");
    let last = if fused && !is_numbers { graph.apply("invert", [], vec![node]).unwrap() } else { node };
    graph.output("out", last, None).unwrap();
    (graph, used)
}

#[test]
fn every_operator_in_every_language() {
    let mut random = Random(3);
    for operator in ops::ALL {
        for (fused, format) in [(false, PixelFormat::Rgb8), (true, PixelFormat::Rgba16), (true, PixelFormat::R32F)] {
            // Arguments may not fit each other; some draw does.
            let drawn = (0..50).find_map(|_| {
                let (graph, names) = graph_of(&mut random, operator, fused);
                let inputs: Vec<(&str, Description)> =
                    names.into_iter().map(|name| (name, Description::new(64, 48, format))).collect();
                lower(&graph, &inputs).is_ok().then_some((graph, inputs))
            });
            let (graph, inputs) = drawn.unwrap_or_else(|| panic!("{} refuses all arguments", operator.name));
            let options = Options { fuse: fused, ..Options::default() };
            for (label, text) in modules(&graph, &inputs, &options) {
                let what = format!("{} ({label}, {format})", operator.name);
                let (module, info) = validate(&what, &text);
                translate(&what, &module, &info);
            }
        }
    }
}

/// What the tools of others are given: the modules of every operator, fused and not, and of random fused graphs.
fn sample_of_modules() -> BTreeMap<String, String> {
    let mut random = Random(5);
    let mut texts = BTreeMap::new();
    let mut add = |graph: &GraphData, inputs: &[(&str, Description)], fuse: bool| {
        for (label, text) in modules(graph, inputs, &Options { fuse, ..Options::default() }) {
            texts.entry(text).or_insert(label);
        }
    };
    for operator in ops::ALL {
        for (fused, format) in [(false, PixelFormat::Rgb8), (true, PixelFormat::Rgba16F)] {
            // Arguments may not fit each other; some draw does.
            let drawn = (0..50).find_map(|_| {
                let (graph, names) = graph_of(&mut random, operator, fused);
                let inputs: Vec<(&str, Description)> =
                    names.into_iter().map(|name| (name, Description::new(64, 48, format))).collect();
                lower(&graph, &inputs).is_ok().then_some((graph, inputs))
            });
            let (graph, inputs) = drawn.unwrap_or_else(|| panic!("{} refuses all arguments", operator.name));
            add(&graph, &inputs, fused);
        }
    }
    for _ in 0..40 {
        let case = random_case(&mut random);
        let inputs: Vec<(&str, Description)> =
            case.inputs.iter().map(|(name, image)| (*name, image.description())).collect();
        add(&case.graph, &inputs, true);
    }
    texts
}

#[test]
fn khronos_tools_accept_every_module() {
    languages::khronos(&sample_of_modules());
}

#[test]
fn tint_accepts_every_module() {
    languages::tint(&sample_of_modules());
}

/// Loops of the engine's own text end; whether those of a user's do, nobody knows.
#[test]
fn only_modules_without_foreign_text_are_trusted() {
    let half = "fn half(color: vec4f) -> vec4f { return color * 0.5; }";
    let half = std::sync::Arc::new(CustomOperator::point("half", half).expect("it is an operator"));
    let graph = Graph::new();
    let out = graph.input("in").gaussian_blur(2.0).custom(&half, &[]);
    graph.output("out", &out);
    let inputs = [("in", Description::new(20, 10, PixelFormat::Rgb8))];
    let made = dispatches(&graph.data(), &inputs, &Options::default());
    let trusted: Vec<bool> = made.iter().map(|dispatch| dispatch.trusted).collect();
    // The rows of the blur, then its columns with the user's operator; for each of the shapes.
    assert_eq!(trusted, [true, false].repeat(3));
}

/// A pass reads beyond an edge dozens of times, and SwiftShader takes time by two to the number of branches in a loop.
#[test]
fn edges_are_read_without_branches() {
    let mut seen = BTreeSet::new();
    for (operator, edge) in ["clamp", "wrap", "mirror", "constant"]
        .into_iter()
        .flat_map(|edge| [("median 3", edge), ("affine [1, 0.1, 0, 0.2, 1, 0]", edge)])
    {
        let graph = Graph::parse(&format!("@in | median 3 | {operator} edge={edge} -> out")).expect("a graph").data();
        let inputs = [("in", Description::new(20, 10, PixelFormat::Rgb8))];
        let options = Options { fuse: false, ..Options::default() };
        for (label, text) in modules(&graph, &inputs, &options) {
            let (module, info) = validate(&label, &text);
            for (handle, function) in module.functions.iter() {
                let name = function.name.as_deref().unwrap_or_default();
                let is_strip = name.starts_with("edge_strip") || name.starts_with("edge_run");
                if is_strip || !(name.starts_with("edge_") || name.ends_with("_coordinate") || name == "color_select") {
                    continue;
                }
                let branches = function.body.iter().any(|statement| matches!(statement, naga::Statement::If { .. }));
                let chooses = function.expressions.iter().any(|(_, expression)| match expression {
                    naga::Expression::Select { condition, .. } => {
                        matches!(info[handle][*condition].ty.inner_with(&module.types), naga::TypeInner::Scalar(_))
                    }
                    _ => false,
                });
                assert!(!branches && !chooses, "{operator} {edge}: {name} branches\n{text}");
                seen.insert(name.to_string());
            }
        }
    }
    for name in ["wrap_coordinate", "mirror_coordinate", "warp_coordinate", "color_select"] {
        assert!(seen.contains(name), "{name} was not looked at");
    }
}

/// Choices by one truth that a loop makes in a round, where the calls are written out; the most of all loops.
struct Choices<'m> {
    module: &'m naga::Module,
    info: &'m naga::valid::ModuleInfo,
    most: usize,
}

impl Choices<'_> {
    fn of_function(&mut self, function: &naga::Function, info: &naga::valid::FunctionInfo) -> usize {
        self.of_block(&function.body, function, info)
    }

    fn of_block(&mut self, block: &naga::Block, function: &naga::Function, info: &naga::valid::FunctionInfo) -> usize {
        use naga::{BinaryOperator, Expression, Statement};
        let is_choice = |handle: &naga::Handle<Expression>| match function.expressions[*handle] {
            Expression::Select { condition, .. } => {
                matches!(info[condition].ty.inner_with(&self.module.types), naga::TypeInner::Scalar(_))
            }
            Expression::Binary { op: BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr, .. } => true,
            _ => false,
        };
        let mut sum = 0;
        for statement in block {
            sum += match statement {
                Statement::Emit(range) => range.clone().filter(is_choice).count(),
                Statement::Block(block) => self.of_block(block, function, info),
                Statement::If { accept, reject, .. } => {
                    self.of_block(accept, function, info) + self.of_block(reject, function, info)
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().map(|case| self.of_block(&case.body, function, info)).max().unwrap_or(0)
                }
                Statement::Loop { body, continuing, .. } => {
                    let round = self.of_block(body, function, info) + self.of_block(continuing, function, info);
                    self.most = self.most.max(round);
                    round
                }
                Statement::Call { function, .. } => {
                    self.of_function(&self.module.functions[*function], &self.info[*function])
                }
                _ => 0,
            };
        }
        sum
    }
}

/// OpenGL ES makes a branch of each, and SwiftShader takes time by two to their number in a loop: 2^22 are seconds.
#[test]
fn loops_make_few_choices_by_one_truth() {
    let mut random = Random(crate::common::seed());
    for _ in 0..200 {
        let case = random_case(&mut random);
        let inputs: Vec<(&str, Description)> =
            case.inputs.iter().map(|(name, image)| (*name, image.description())).collect();
        for fuse in [true, false] {
            for (label, text) in modules(&case.graph, &inputs, &Options { fuse, ..Options::default() }) {
                let (module, info) = validate(&label, &text);
                let mut choices = Choices { module: &module, info: &info, most: 0 };
                choices.of_function(&module.entry_points[0].function, info.get_entry_point(0));
                assert!(choices.most <= 12, "{label}: {} in a round of a loop\n{text}", choices.most);
            }
        }
    }
}

/// A choice stands in the shader as a number, so that what is not chosen is no code on the device.
#[test]
fn choices_are_numbers_in_the_text() {
    let graph =
        |mode: &str| Graph::parse(&format!("@in | invert | blend @in {mode} 0.5 -> out")).expect("a graph").data();
    let inputs = [("in", Description::new(20, 10, PixelFormat::Rgb8))];
    let text = |mode: &str| modules(&graph(mode), &inputs, &Options::default()).remove(0).1;
    let (multiply, screen) = (text("multiply"), text("screen"));
    assert!(multiply.contains("Blend(1u, uniforms.") && screen.contains("Blend(2u, uniforms."), "{multiply}");
    assert_eq!(multiply.replace("Blend(1u", "Blend(2u"), screen);
}

#[test]
fn files_and_registry_name_the_same_set() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let stems = |folder: &str, extension: &str| -> BTreeSet<String> {
        std::fs::read_dir(root.join(folder))
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .map(|path| path.file_stem().unwrap().to_string_lossy().to_string())
            .collect()
    };
    let mut files = stems("src/ops", "rs");
    files.remove("mod");
    let registered: BTreeSet<String> = ops::ALL.iter().map(|operator| operator.name.replace('-', "_")).collect();
    assert_eq!(files, registered, "files of src/ops against the registry");
    let names: BTreeSet<&str> = ops::ALL.iter().map(|operator| operator.name).collect();
    assert_eq!(names.len(), ops::ALL.len(), "two operators of one name");
    // Each WGSL file belongs to the operator whose name it begins with, and declares the function that it is named as.
    let mut declared: BTreeMap<String, String> = BTreeMap::new();
    for stem in stems("wgsl/ops", "wgsl") {
        assert!(
            names.iter().any(|name| stem == *name || stem.starts_with(&format!("{name}-"))),
            "wgsl/ops/{stem}.wgsl belongs to no operator"
        );
        let text = std::fs::read_to_string(root.join("wgsl/ops").join(format!("{stem}.wgsl"))).unwrap();
        let declarations = shader::source::declarations(&text);
        assert!(
            declarations.iter().any(|declaration| declaration.name == stem.replace('-', "_")),
            "wgsl/ops/{stem}.wgsl does not declare its function"
        );
        for declaration in declarations {
            if let Some(other) = declared.insert(declaration.name.clone(), stem.clone()) {
                panic!("{} is declared by {stem}.wgsl and {other}.wgsl", declaration.name);
            }
            assert!(
                shader::library::names().all(|name| name != declaration.name),
                "{} of {stem}.wgsl is also in the library",
                declaration.name
            );
        }
    }
}

#[test]
fn help_is_complete() {
    for operator in ops::ALL {
        assert!(!operator.summary.is_empty() && !operator.details.is_empty(), "{}", operator.name);
        assert!(operator.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        for parameter in operator.parameters {
            assert!(!parameter.help.is_empty(), "{}.{}", operator.name, parameter.name);
            if let Some(default) = parameter.default() {
                parameter.check(operator.name, default).expect("a default lies in its range");
            }
        }
    }
}
