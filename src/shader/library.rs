//! The shared WGSL functions of `wgsl/lib`, handed out one by one: a generated module holds those that it calls.

use super::source::{Declaration, declarations, identifiers};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const TEXTS: &[&str] = &[
    include_str!("../../wgsl/lib/maths.wgsl"),
    include_str!("../../wgsl/lib/half.wgsl"),
    include_str!("../../wgsl/lib/strip.wgsl"),
    include_str!("../../wgsl/lib/edges.wgsl"),
    include_str!("../../wgsl/lib/packing.wgsl"),
];

static DECLARATIONS: LazyLock<Vec<Declaration>> =
    LazyLock::new(|| TEXTS.iter().flat_map(|text| declarations(text)).collect());

/// Names of all library declarations.
pub fn names() -> impl Iterator<Item = &'static str> {
    DECLARATIONS.iter().map(|declaration| declaration.name.as_str())
}

/// The library declarations that `text` refers to, directly or through others, in library order.
pub fn needed_by(text: &str) -> String {
    let texts: Vec<&str> =
        reachable(&DECLARATIONS, text).into_iter().map(|declaration| declaration.text.as_str()).collect();
    texts.join("\n\n")
}

/// Those of `declarations` that `text` refers to, directly or through others, in their order.
pub fn reachable<'a>(declarations: &'a [Declaration], text: &str) -> Vec<&'a Declaration> {
    let by_name: HashMap<&str, &Declaration> =
        declarations.iter().map(|declaration| (declaration.name.as_str(), declaration)).collect();
    let mut wanted: HashSet<&str> = HashSet::new();
    let mut open: Vec<String> = identifiers(text).into_iter().collect();
    while let Some(name) = open.pop() {
        if let Some((name, declaration)) = by_name.get_key_value(name.as_str())
            && wanted.insert(name)
        {
            open.extend(identifiers(&declaration.text));
        }
    }
    declarations.iter().filter(|declaration| wanted.contains(declaration.name.as_str())).collect()
}
