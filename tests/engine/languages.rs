//! WGSL as others see it: naga and what it translates to, the validators of Khronos, and Tint. Shared by the tests of
//! pictures and of compute kernels; it knows neither. Modules come as text with a label for people.

use crate::common::skip;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Parsed, and within what every device can do.
pub fn validate(what: &str, text: &str) -> (naga::Module, naga::valid::ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{what}: {}\n{text}", error.emit_to_string(text)));
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|error| panic!("{what}: {}\n{text}", error.emit_to_string(text)));
    (module, info)
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
pub fn khronos(texts: &BTreeMap<String, String>) {
    let (spirv, glsl) = (has("spirv-val"), has("glslangValidator"));
    if !spirv && !glsl {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (spirv_arguments, glsl_arguments) = (["--target-env", "vulkan1.0"], ["-S", "comp"]);
    let (mut wrong, mut sources) = (Vec::new(), Vec::new());
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
pub fn tint(texts: &BTreeMap<String, String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
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

/// Into every language that wgpu hands to drivers.
pub fn translate(what: &str, module: &naga::Module, info: &naga::valid::ModuleInfo) {
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
