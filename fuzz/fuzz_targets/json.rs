//! Any JSON gives a graph or an error. What it gives prints, and reads back the same.
#![no_main]

use cyanotype::Graph;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(graph) = Graph::from_json(text) else { return };
    let printed = graph.to_json().unwrap_or_else(|error| panic!("{error}"));
    let again = Graph::from_json(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again.data(), graph.data(), "{printed}");
});
