//! What compute over buffers promises, in one binary so that it links once: on the CPU, and on the GPU that
//! `CYANOTYPE_BACKEND` names.

#[path = "../engine/common.rs"]
mod common;
mod kernels;
#[path = "../engine/languages.rs"]
mod languages;
mod maps;
mod orders;
mod peers;
mod products;
mod reductions;
mod sharing;

use cyanotype::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// None, one, odd, one more than a workgroup's worth for the common shapes, and a million (and a bit).
const SIZES: [usize; 9] = [0, 1, 3, 65, 257, 1025, 4097, 65_537, 1_000_003];

/// Runs a test on the CPU and on the GPU asked for.
fn on_each(mut test: impl FnMut(&Context) -> Result<()>) {
    test(&Context::cpu()).expect("on the CPU");
    on_gpu(test);
}

/// Runs a test on the GPU asked for, if one is, and holds the kernels that it compiled against every shader language.
fn on_gpu(mut test: impl FnMut(&Context) -> Result<()>) {
    if let Some(context) = common::gpu() {
        test(&context).expect("on the GPU");
        in_every_language(&context);
    }
}

/// Each kernel once, whichever test comes to it first.
fn in_every_language(context: &Context) {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = |text: &String| SEEN.lock().expect("nothing panics while it is held").insert(text.clone());
    let texts = context.kernel_texts().into_iter().filter(is_new).map(|text| (text, "kernel".to_string()));
    let texts: BTreeMap<String, String> = texts.collect();
    if texts.is_empty() {
        return;
    }
    for (text, label) in &texts {
        let (module, info) = languages::validate(label, text);
        languages::translate(label, &module, &info);
    }
    languages::khronos(&texts);
    languages::tint(&texts);
}

/// All of the cases, or every third where `CYANOTYPE_THIN` says that shaders compile slowly.
fn some_of<T>(cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if std::env::var_os("CYANOTYPE_THIN").is_some() { 3 } else { 1 })
}

/// The backend that the environment names.
fn common_backend() -> cyanotype::BackendChoice {
    std::env::var("CYANOTYPE_BACKEND").ok().and_then(|name| name.parse().ok()).unwrap_or_default()
}
