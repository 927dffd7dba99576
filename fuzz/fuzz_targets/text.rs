//! Any text gives a graph or an error. What it gives prints, and reads back the same.
#![no_main]

use cyanotype::Graph;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(graph) = Graph::parse(text) else { return };
    let printed = match graph.to_text() {
        Ok(printed) => printed,
        // A short text can name a node often by a long name.
        Err(cyanotype::Error::Limit { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let again = Graph::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again.data(), graph.data(), "{printed}");
});
