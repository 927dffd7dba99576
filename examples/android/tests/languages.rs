//! The library as other languages see it: programs in C and in Java that call it, with its header, its names, its calls.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What both programs print for `invert`.
const INVERTED: &str = "255 255 255 255 0 0 0 255 245 235 225 255 0 0 0 0\n";

/// Where cargo puts this test and the library that it is a test of.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn compile(compiler: &mut Command) {
    let output = compiler.output().unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn run(program: &mut Command) -> Output {
    program.env("CYANOTYPE_BACKEND", "cpu").env("LD_LIBRARY_PATH", built()).output().unwrap()
}

/// The exit status, what was printed and what was said of errors.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn c_calls_the_library() {
    let program = built().join("cyanotype-apply-c");
    let warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"];
    let library = [Path::new("-L"), &built(), Path::new("-lcyanotype_android")];
    compile(Command::new("cc").args(warnings).arg(source("c/apply.c")).args(library).arg("-o").arg(&program));
    let apply = |graph: &str| told(&run(Command::new(&program).arg(graph)));
    assert_eq!(apply("invert"), (Some(0), INVERTED.into(), String::new()));
    let (code, _, error) = apply("inwert");
    assert_eq!(code, Some(1));
    assert!(error.contains("did you mean 'invert'"), "{error}");
}

#[test]
fn java_calls_the_library() {
    let classes = built().join("cyanotype-apply-java");
    let package = source("java/com/example/cyanotype");
    let files = ["Cyanotype.java", "Apply.java"].map(|name| package.join(name));
    compile(Command::new("javac").arg("-d").arg(&classes).args(files));
    let apply = |arguments: &[&str]| {
        let mut java = Command::new("java");
        // With JNI's own checks, which abort at a wrong call.
        java.args(["-Xcheck:jni", "-cp"]).arg(&classes);
        java.arg(format!("-Djava.library.path={}", built().display()));
        told(&run(java.arg("com.example.cyanotype.Apply").args(arguments)))
    };
    // Newer Java machines warn of native code on standard error.
    let (code, printed, error) = apply(&["invert"]);
    assert_eq!((code, printed.as_str()), (Some(0), INVERTED), "{error}");
    let (code, _, error) = apply(&["inwert"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("did you mean 'invert'"), "{error}");
    // A buffer that is not direct has no address: an exception, not a crash.
    let (code, _, error) = apply(&["invert", "on the heap"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("RuntimeException"), "{error}");
}
