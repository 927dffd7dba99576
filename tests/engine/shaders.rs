//! Every operator's module, fused and not, passes naga and goes on to the other shader languages. No device is needed.

use crate::common::{Mood, Random, apply};
use cyanotype::graph::lower::lower;
use cyanotype::graph::simplify::{simplify, without_dead};
use cyanotype::op::Operator;
use cyanotype::plan::plan;
use cyanotype::plan::recording::Command;
use cyanotype::{Description, GraphData, Limits, Options, PixelFormat, ops, shader};
use std::collections::{BTreeMap, BTreeSet};

/// The modules of a graph.
pub fn modules(graph: &GraphData, inputs: &[(&str, Description)], options: &Options) -> Vec<(String, String)> {
    let lowered = lower(graph, inputs).expect("the graph is right");
    let simplified = if options.fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
    let plan = plan(&simplified.graph, options, &Limits::UNLIMITED, Vec::new()).expect("no limits");
    let recording = shader::record(&simplified.graph, &plan, &Limits::UNLIMITED).expect("shader text");
    recording
        .commands
        .into_iter()
        .filter_map(|command| match command {
            Command::Dispatch(dispatch) => Some((dispatch.label, dispatch.wgsl.to_string())),
            Command::Clear { .. } => None,
        })
        .collect()
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

fn translate(what: &str, module: &naga::Module, info: &naga::valid::ModuleInfo) {
    use naga::back::{glsl, hlsl, msl, spv};
    let spirv = spv::write_vec(module, info, &spv::Options::default(), None);
    assert!(!spirv.unwrap_or_else(|error| panic!("{what}, SPIR-V: {error}")).is_empty());
    let mut text = String::new();
    let options = glsl::Options { version: glsl::Version::new_gles(310), ..Default::default() };
    let pipeline =
        glsl::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: "main".into(), multiview: None };
    let policies = naga::proc::BoundsCheckPolicies::default();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write())
        .unwrap_or_else(|error| panic!("{what}, GLSL ES: {error}"));
    assert!(text.contains("void main"));
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
