//! A program in C that is linked with the library, as another language sees it: the header, the names, the calls.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Where cargo puts this test and the library that it is a test of.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn run(graph: &str) -> Output {
    let program = built().join("cyanotype-apply-c");
    Command::new(program).arg(graph).env("CYANOTYPE_BACKEND", "cpu").env("LD_LIBRARY_PATH", built()).output().unwrap()
}

#[test]
fn c_calls_the_library() {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("c/apply.c");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(built().join("cyanotype-apply-c"))
        .arg(source)
        .arg("-L")
        .arg(built())
        .arg("-lcyanotype_android")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));

    let good = run("invert");
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    assert_eq!(String::from_utf8_lossy(&good.stdout), "255 255 255 255 0 0 0 255 245 235 225 255 0 0 0 0\n");

    let bad = run("inwert");
    assert_eq!(bad.status.code(), Some(1));
    let told = String::from_utf8_lossy(&bad.stderr);
    assert!(told.contains("did you mean 'invert'"), "{told}");
}
