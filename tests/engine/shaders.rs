//! Every operator's module, fused and not, passes naga and goes on to the other shader languages. No device is needed.

use crate::common::{Mood, Random, apply, skip};
use crate::random_graphs::random_case;
use cyanotype::graph::lower::lower;
use cyanotype::graph::simplify::{simplify, without_dead};
use cyanotype::op::Operator;
use cyanotype::plan::plan;
use cyanotype::plan::recording::{Command as Recorded, Dispatch};
use cyanotype::{CustomOperator, Description, Graph, GraphData, Limits, Options, PixelFormat, ops, shader};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// The dispatches of a graph: with the blocks that GPUs are given, then with large ones.
fn dispatches(graph: &GraphData, inputs: &[(&str, Description)], options: &Options) -> Vec<Dispatch> {
    let lowered = lower(graph, inputs).expect("the graph is right");
    let simplified = if options.fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
    let commands = [false, true].map(|large_blocks| {
        let limits = Limits { large_blocks, ..Limits::UNLIMITED };
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

fn validate(what: &str, text: &str) -> (naga::Module, naga::valid::ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{what}: {}\n{text}", error.emit_to_string(text)));
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|error| panic!("{what}: {}\n{text}", error.emit_to_string(text)));
    (module, info)
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

/// What the validators of Khronos are given: the modules of every operator, fused and not, and of random fused graphs.
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

/// Whether a tool is there; a failure where `CYANOTYPE_REQUIRE` asks for a complete machine.
fn has(tool: &str) -> bool {
    is_there(tool, Command::new(tool).arg("--version").output().is_ok())
}

fn is_there(tool: &str, found: bool) -> bool {
    let required = std::env::var("CYANOTYPE_REQUIRE").is_ok_and(|value| !value.is_empty());
    assert!(found || !required, "CYANOTYPE_REQUIRE is set, but {tool} is not installed (.ci/drivers installs it)");
    if !found {
        skip(format_args!("{tool} is not installed"));
    }
    found
}

/// The complaint of a tool about its files, if it has one.
fn complaint(tool: &str, arguments: &[&str], files: &[PathBuf]) -> Option<String> {
    let output = Command::new(tool).args(arguments).args(files).output().expect("it was there a moment ago");
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    (!output.status.success()).then_some(text)
}

/// SPIR-V of Vulkan 1.0 by `spirv-val`, GLSL ES 3.10 by `glslangValidator`: what drivers will be handed is what others
/// also hold to be right. Each tool is seen to refuse what is wrong.
#[test]
fn khronos_tools_accept_every_module() {
    let (spirv, glsl) = (has("spirv-val"), has("glslangValidator"));
    if !spirv && !glsl {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (spirv_arguments, glsl_arguments) = (["--target-env", "vulkan1.0"], ["-S", "comp"]);
    let (mut wrong, mut sources) = (Vec::new(), Vec::new());
    let texts = sample_of_modules();
    for (number, (text, label)) in texts.iter().enumerate() {
        let (module, info) = validate(label, text);
        if spirv {
            let words = naga::back::spv::write_vec(&module, &info, &naga::back::spv::Options::default(), None);
            let words = words.unwrap_or_else(|error| panic!("{label}, SPIR-V: {error}"));
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            // It takes one file at a time.
            let file = [folder.path().join("module.spv")];
            std::fs::write(&file[0], &bytes).expect("it can be written");
            wrong.extend(complaint("spirv-val", &spirv_arguments, &file).map(|text| format!("{label}: {text}")));
            if number == 0 {
                let middle = bytes.len() / 2 / 4 * 4;
                bytes[middle..middle + 8].fill(0xff);
                std::fs::write(&file[0], bytes).expect("it can be written");
                assert!(complaint("spirv-val", &spirv_arguments, &file).is_some(), "spirv-val accepts anything");
            }
        }
        let file =
            folder.path().join(format!("{number}-{}.comp", label.replace(|c: char| !c.is_ascii_alphanumeric(), "-")));
        std::fs::write(&file, glsl_of(label, &module, &info)).expect("it can be written");
        sources.push(file);
    }
    if glsl {
        // All at once; the complaint names the files.
        wrong.extend(complaint("glslangValidator", &glsl_arguments, &sources));
        let text = std::fs::read_to_string(&sources[0]).expect("it was written");
        std::fs::write(&sources[0], text.replacen("void main() {", "void main() { undeclared = 1.0;", 1))
            .expect("written");
        assert!(
            complaint("glslangValidator", &glsl_arguments, &sources).is_some(),
            "glslangValidator accepts anything"
        );
    }
    println!("{} modules", texts.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// WGSL by the other compiler of it: browsers use that one, and it refuses what naga lets pass (numbers a little too large
/// for their type, barriers that not all reach).
#[test]
fn tint_accepts_every_module() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    if !is_there("Tint", root.join(".drivers/dawn/dawn.node").exists() && has("node")) {
        return;
    }
    let script = root.join(".ci/tint.mjs").display().to_string();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = |number: usize, text: &str| {
        let path = folder.path().join(format!("{number}.wgsl"));
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let texts = sample_of_modules();
    let files: Vec<PathBuf> = texts.keys().enumerate().map(|(number, text)| file(number, text)).collect();
    if let Some(complaint) = complaint("node", &[&script], &files) {
        panic!("{complaint}");
    }
    let wrong = [file(files.len(), "@compute @workgroup_size(1) fn main() { let largest = 3.4028235e38f; }")];
    let complaint = complaint("node", &[&script], &wrong).expect("Tint accepts anything");
    assert!(complaint.contains("cannot be represented as 'f32'"), "{complaint}");
    println!("{} modules", texts.len());
}

/// GLSL ES 3.10, as a driver of OpenGL ES is given it.
fn glsl_of(what: &str, module: &naga::Module, info: &naga::valid::ModuleInfo) -> String {
    use naga::back::glsl;
    let mut text = String::new();
    let options = glsl::Options { version: glsl::Version::new_gles(310), ..Default::default() };
    let pipeline =
        glsl::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: "main".into(), multiview: None };
    let policies = naga::proc::BoundsCheckPolicies::default();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write())
        .unwrap_or_else(|error| panic!("{what}, GLSL ES: {error}"));
    text
}

fn translate(what: &str, module: &naga::Module, info: &naga::valid::ModuleInfo) {
    use naga::back::{hlsl, msl, spv};
    let spirv = spv::write_vec(module, info, &spv::Options::default(), None);
    assert!(!spirv.unwrap_or_else(|error| panic!("{what}, SPIR-V: {error}")).is_empty());
    assert!(glsl_of(what, module, info).contains("void main"));
    msl::write_string(
        module,
        info,
        &msl::Options { fake_missing_bindings: true, ..Default::default() },
        &msl::PipelineOptions::default(),
    )
    .unwrap_or_else(|error| panic!("{what}, MSL: {error}"));
    let mut text = String::new();
    let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
    let pipeline = hlsl::PipelineOptions::default();
    hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .unwrap_or_else(|error| panic!("{what}, HLSL: {error}"));
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
    // The rows of the blur, then its columns with the user's operator; for blocks of either size.
    assert_eq!(trusted, [true, false, true, false]);
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
