//! The JSON form of graphs, for programs. What [`print()`] writes, [`parse`] reads back as the same graph, to the last bit of
//! every number.
//!
//! ```json
//! {
//!   "version": 1,
//!   "inputs": ["photo"],
//!   "nodes": [
//!     {"name": "glow", "operator": "gaussian-blur", "inputs": ["photo"], "parameters": {"sigma": 8.0}}
//!   ],
//!   "outputs": [{"name": "out", "node": "glow", "format": "rgba8"}],
//!   "custom": []
//! }
//! ```
//!
//! - `inputs` names every input. An input that comes after other nodes also stands among them, as
//!   `{"name": "mask", "operator": "input"}`; the others come first, in the order of the list.
//! - Nodes may stand in any order. They are sorted so that each follows what it reads, and otherwise keep their order.
//! - Parameters left out take their defaults. A colour is a list of three or four numbers or `"#rrggbb"`; a file is its path
//!   or `{"path": "film.cube"}`, and is read.
//! - `custom` holds operators of the user's own, which nodes apply by name:
//!   `{"name", "kind": "point" or "area", "radius", "wgsl", "parameters": [{"name", "default", "min", "max"}]}`. Radius is
//!   for areas. A bound that is null is infinite; left out it is the largest float. Their CPU code, if any, is lost.
//! - `inputs`, `custom`, and a node's `inputs` and `parameters` may be left out. Unknown keys are refused.
//!
//! Mistakes in the JSON itself and unknown keys come as [`Error::Parse`] with line and column; mistakes in what it says as
//! [`Error::BadGraph`], which names the node. Knows nothing of how graphs run.

use super::{CustomKind, CustomOperator, GraphData, NodeContent};
use crate::error::{Error, Result, nearest};
use crate::image::PixelFormat;
use crate::op::{Argument, FileContent, Parameter, ParameterKind};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// Most bytes of JSON that are read: a graph of as many nodes as are allowed, each with a list of thousands of numbers.
const JSON_LIMIT: usize = 64 << 20;

/// Most bytes of a name or a string. Looking for the nearest name takes time and memory with length.
const NAME_LIMIT: usize = 4096;

// What the JSON holds.

/// Declares a struct that is read from an object: keys are the names of its fields, `optional` ones have a default. serde's
/// derive would do, but could not suggest the nearest key.
macro_rules! object {
    ($(#[$doc:meta])* $what:literal struct $name:ident { $($required:ident: $kind:ty,)* } optional { $($optional:ident: $optional_kind:ty,)* }) => {
        $(#[$doc])*
        struct $name {
            $($required: $kind,)*
            $($optional: Option<$optional_kind>,)*
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;

                impl<'de> Visitor<'de> for Reader {
                    type Value = $name;

                    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                        write!(formatter, "{}, an object", $what)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        const KEYS: &[&str] = &[$(stringify!($required),)* $(stringify!($optional),)*];
                        $(let mut $required: Option<$kind> = None;)*
                        $(let mut $optional: Option<$optional_kind> = None;)*
                        while let Some(key) = map.next_key::<String>()? {
                            let twice = match key.as_str() {
                                $(stringify!($required) => $required.replace(map.next_value()?).is_some(),)*
                                $(stringify!($optional) => $optional.replace(map.next_value()?).is_some(),)*
                                _ => return Err(unknown_key($what, &key, KEYS)),
                            };
                            if twice {
                                return Err(de::Error::custom(format_args!("{} has the key '{key}' twice", $what)));
                            }
                        }
                        Ok($name {
                            $($required: $required.ok_or_else(|| missing_key($what, stringify!($required)))?,)*
                            $($optional,)*
                        })
                    }
                }

                deserializer.deserialize_map(Reader)
            }
        }
    };
}

fn unknown_key<E: de::Error>(what: &str, key: &str, known: &[&str]) -> E {
    let hint = match near(key, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known are {}", known.join(", ")),
    };
    E::custom(format_args!("{what} has no key '{}'; {hint}", shortened(key)))
}

fn missing_key<E: de::Error>(what: &str, key: &str) -> E {
    E::custom(format_args!("{what} needs the key '{key}'"))
}

object! {
    "the graph" struct Document {
        version: u32,
        nodes: Vec<NodeEntry>,
        outputs: Vec<OutputEntry>,
    } optional {
        inputs: Vec<String>,
        custom: Vec<CustomEntry>,
    }
}

object! {
    "a node" struct NodeEntry {
        name: String,
        operator: String,
    } optional {
        inputs: Vec<String>,
        parameters: Pairs,
    }
}

object! {
    "an output" struct OutputEntry {
        name: String,
        node: String,
    } optional {
        format: String,
    }
}

object! {
    "an operator of your own" struct CustomEntry {
        name: String,
        kind: String,
        wgsl: String,
    } optional {
        radius: u32,
        parameters: Vec<CustomParameterEntry>,
    }
}

object! {
    "a parameter of your own operator" struct CustomParameterEntry {
        name: String,
    } optional {
        default: f32,
        min: Bound,
        max: Bound,
    }
}

object! {
    "a file" struct FileEntry {
        path: String,
    } optional {}
}

/// A number, or null for none.
struct Bound(Option<f32>);

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<f32>::deserialize(deserializer).map(Bound)
    }
}

/// An object of parameters, in order, each once.
#[derive(Default)]
struct Pairs(Vec<(String, Scalar)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("parameters, an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs: Vec<(String, Scalar)> = Vec::new();
                let mut seen = BTreeSet::new();
                while let Some((name, value)) = map.next_entry::<String, Scalar>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom(format_args!("parameter '{}' is given twice", shortened(&name))));
                    }
                    pairs.push((name, value));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// A parameter's value before it is known which parameter it is for.
#[derive(Debug)]
enum Scalar {
    Whole(i32),
    Number(f32),
    Switch(bool),
    Text(String),
    List(Vec<f32>),
    File(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Scalar;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a number, true, false, a string, a list of numbers or {\"path\": ...}")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Switch(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(i32::try_from(value).map_or(Scalar::Number(value as f32), Scalar::Whole))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(i32::try_from(value).map_or(Scalar::Number(value as f32), Scalar::Whole))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
                // `print` writes digits that come out right this way, see `exact`.
                Ok(Scalar::Number(value as f32))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Scalar, E> {
                match value.len() <= NAME_LIMIT {
                    true => Ok(Scalar::Text(value.to_string())),
                    false => {
                        Err(E::custom(format_args!("a string of {} bytes; {NAME_LIMIT} are allowed", value.len())))
                    }
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Scalar, A::Error> {
                let mut list = Vec::new();
                while let Some(value) = sequence.next_element::<f64>()? {
                    list.push(value as f32);
                }
                Ok(Scalar::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar, A::Error> {
                FileEntry::deserialize(de::value::MapAccessDeserializer::new(map)).map(|file| Scalar::File(file.path))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl Scalar {
    fn argument(self, parameter: Option<&Parameter>) -> Result<Argument> {
        let kind = parameter.map(|parameter| parameter.kind);
        Ok(match (self, kind) {
            (Scalar::Whole(value), _) => Argument::Integer(value),
            (Scalar::Number(value), _) => Argument::Float(value),
            (Scalar::Switch(value), _) => Argument::Switch(value),
            (Scalar::Text(path), Some(ParameterKind::File { .. })) => Argument::File(FileContent::read(&path)?),
            (Scalar::Text(text), Some(ParameterKind::Color { .. })) => match super::text::parse_value(&text, parameter)
            {
                Ok(color @ Argument::Color(_)) => color,
                _ => Argument::Choice(text),
            },
            (Scalar::Text(text), _) => Argument::Choice(text),
            (Scalar::List(list), _) => Argument::Floats(list),
            (Scalar::File(path), Some(ParameterKind::File { .. })) => Argument::File(FileContent::read(&path)?),
            (Scalar::File(path), _) => Argument::Choice(format!("a file, {path}")),
        })
    }
}

// Reading.

/// Parses the JSON form. Files that it names are read.
///
/// # Errors
/// [`Error::Parse`] for what is no JSON or has the wrong keys; [`Error::BadGraph`] for what it says, naming the node;
/// [`Error::Shader`] for an operator of the user's own; [`Error::Limit`].
pub fn parse(text: &str) -> Result<GraphData> {
    limited("length of the graph's JSON in bytes", text.len(), JSON_LIMIT)?;
    match serde_json::from_str::<Document>(text) {
        Ok(document) => {
            check_version(document.version)?;
            build(document)
        }
        Err(error) => {
            check_version(version_of(text).unwrap_or(VERSION))?;
            Err(parse_error(error))
        }
    }
}

fn parse_error(error: serde_json::Error) -> Error {
    let full = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = full.strip_suffix(&place).unwrap_or(&full).to_string();
    Error::Parse { line: error.line().max(1), column: error.column().max(1), message }
}

fn limited(what: &str, found: usize, limit: usize) -> Result<()> {
    if found <= limit {
        return Ok(());
    }
    Err(Error::Limit { what: what.into(), found: found as u64, limit: limit as u64 })
}

/// The version of a text that is read no further. A later version may have keys that this one does not know; then the
/// version is the mistake to report.
fn version_of(text: &str) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    serde_json::from_str::<Versioned>(text).ok().map(|versioned| versioned.version)
}

fn check_version(version: u32) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    Err(Error::BadGraph(format!("version {version} of the JSON form; this program reads version {VERSION}")))
}

fn build(document: Document) -> Result<GraphData> {
    let inputs = document.inputs.unwrap_or_default();
    limited("number of nodes", document.nodes.len() + inputs.len(), GraphData::NODE_LIMIT)?;
    limited("number of outputs", document.outputs.len(), GraphData::NODE_LIMIT)?;
    let custom = custom_operators(document.custom.unwrap_or_default())?;
    let nodes = with_inputs(inputs, document.nodes)?;
    let indices = indices(&nodes)?;
    let reads = reads(&nodes, &indices)?;
    let order = sorted(&nodes, &reads)?;

    let mut data = GraphData::default();
    // Where each entry went.
    let mut placed = vec![0; nodes.len()];
    let mut entries: Vec<Option<NodeEntry>> = nodes.into_iter().map(Some).collect();
    for index in order {
        let Some(entry) = entries.get_mut(index).and_then(Option::take) else { continue };
        let inputs = reads.get(index).into_iter().flatten().filter_map(|read| placed.get(*read).copied()).collect();
        let name = entry.name.clone();
        let node = apply(&mut data, entry, inputs, &custom).map_err(|error| match error {
            // These name what is wrong already, and a caller may want to tell them apart.
            Error::Limit { .. } | Error::Shader { .. } => error,
            other => Error::BadGraph(format!("node '{name}': {other}")),
        })?;
        if let Some(slot) = placed.get_mut(index) {
            *slot = node;
        }
    }
    for output in document.outputs {
        let lengths = [output.name.len(), output.node.len(), output.format.as_deref().map_or(0, str::len)];
        limited("length of a name in bytes", lengths.into_iter().max().unwrap_or(0), NAME_LIMIT)?;
        let node = indices.get(output.node.as_str()).and_then(|index| placed.get(*index));
        let Some(node) = node else {
            let unknown = unknown_node(&output.node, indices.keys().map(String::as_str));
            return Err(Error::BadGraph(format!("output '{}' gives {unknown}", output.name)));
        };
        let format: Option<PixelFormat> = output
            .format
            .map(|format| format.parse())
            .transpose()
            .map_err(|error| Error::BadGraph(format!("output '{}': {error}", output.name)))?;
        data.output(&output.name, *node, format)?;
    }
    if data.outputs.is_empty() {
        return Err(Error::BadGraph("it has no output".into()));
    }
    Ok(data)
}

fn apply(
    data: &mut GraphData,
    entry: NodeEntry,
    inputs: Vec<usize>,
    custom: &HashMap<String, Arc<CustomOperator>>,
) -> Result<usize> {
    let parameters = entry.parameters.unwrap_or_default().0;
    let node = if let Some(operator) = custom.get(&entry.operator) {
        let mut values = Vec::with_capacity(parameters.len());
        for (name, value) in &parameters {
            let value = match value {
                Scalar::Whole(value) => *value as f32,
                Scalar::Number(value) if value.is_finite() => *value,
                _ => f32::NAN, // no range has it, so it is refused with the range
            };
            values.push((name.as_str(), value));
        }
        data.apply_custom(Arc::clone(operator), &values, inputs)?
    } else if entry.operator == INPUT {
        if !inputs.is_empty() || !parameters.is_empty() {
            let message = "an input reads nothing and has no parameters".to_string();
            return Err(Error::BadInput { operator: INPUT.into(), message });
        }
        return Ok(data.input(&entry.name));
    } else {
        let operator = crate::ops::find(&entry.operator).map_err(|error| match error {
            Error::UnknownOperator { name, .. } => {
                let own = custom.keys().map(String::as_str);
                let known = crate::ops::ALL.iter().map(|operator| operator.name);
                let suggestion = nearest(&name, known.chain(own));
                Error::UnknownOperator { name, suggestion }
            }
            other => other,
        })?;
        let mut arguments = Vec::with_capacity(parameters.len());
        for (name, value) in parameters {
            let argument = value.argument(operator.parameter(&name))?;
            arguments.push((name, argument));
        }
        data.apply(operator.name, arguments, inputs)?
    };
    data.rename(node, &entry.name)?;
    Ok(node)
}

/// The operator's name of nodes that are inputs, as [`NodeContent::operator_name`] has it.
const INPUT: &str = "input";

fn custom_operators(entries: Vec<CustomEntry>) -> Result<HashMap<String, Arc<CustomOperator>>> {
    let mut operators = HashMap::new();
    limited("number of operators of your own", entries.len(), GraphData::NODE_LIMIT)?;
    for entry in entries {
        let name = entry.name;
        limited("length of a name in bytes", name.len(), NAME_LIMIT)?;
        let bad = |message: String| Error::BadGraph(format!("operator '{name}' of your own: {message}"));
        let kind = match (entry.kind.as_str(), entry.radius) {
            ("point", None) => CustomKind::Point,
            ("point", Some(_)) => return Err(bad("a point operator has no radius".into())),
            ("area", Some(radius)) => CustomKind::Area { radius },
            ("area", None) => return Err(bad("an area operator needs a radius".into())),
            (other, _) => return Err(bad(format!("its kind is 'point' or 'area', not '{}'", shortened(other)))),
        };
        if name == INPUT {
            return Err(bad("this name stands for inputs".into()));
        }
        let mut operator = CustomOperator::new(&name, &entry.wgsl, kind)?;
        for parameter in entry.parameters.unwrap_or_default() {
            limited("length of a name in bytes", parameter.name.len(), NAME_LIMIT)?;
            let min = parameter.min.map_or(f32::MIN, |bound| bound.0.unwrap_or(f32::NEG_INFINITY));
            let max = parameter.max.map_or(f32::MAX, |bound| bound.0.unwrap_or(f32::INFINITY));
            let default = parameter.default.unwrap_or(0.0);
            operator = operator.parameter(&parameter.name, default, min..=max)?;
        }
        if operators.insert(name.clone(), Arc::new(operator)).is_some() {
            return Err(bad("the name is given twice".into()));
        }
    }
    Ok(operators)
}

/// The entries with one for each input that has none, in front.
fn with_inputs(inputs: Vec<String>, nodes: Vec<NodeEntry>) -> Result<Vec<NodeEntry>> {
    let placed: BTreeSet<&str> =
        nodes.iter().filter(|node| node.operator == INPUT).map(|node| node.name.as_str()).collect();
    if let Some(name) = placed.iter().find(|name| !inputs.iter().any(|input| input == *name)) {
        let name = shortened(name);
        return Err(Error::BadGraph(format!("node '{name}' is an input, but \"inputs\" does not name it")));
    }
    let mut first = Vec::new();
    let mut seen = BTreeSet::new();
    for name in &inputs {
        if !seen.insert(name.as_str()) {
            return Err(Error::BadGraph(format!("\"inputs\" names '{}' twice", shortened(name))));
        }
        if !placed.contains(name.as_str()) {
            first.push(NodeEntry { name: name.clone(), operator: INPUT.into(), inputs: None, parameters: None });
        }
    }
    first.extend(nodes);
    Ok(first)
}

/// The place of each name.
fn indices(nodes: &[NodeEntry]) -> Result<HashMap<String, usize>> {
    let mut indices = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        limited("length of a name in bytes", node.name.len().max(node.operator.len()), NAME_LIMIT)?;
        for (name, _) in node.parameters.iter().flat_map(|pairs| &pairs.0) {
            limited("length of a name in bytes", name.len(), NAME_LIMIT)?;
        }
        if indices.insert(node.name.clone(), index).is_some() {
            return Err(Error::BadGraph(format!("two nodes are named '{}'", node.name)));
        }
    }
    Ok(indices)
}

/// What each entry reads, as places.
fn reads(nodes: &[NodeEntry], indices: &HashMap<String, usize>) -> Result<Vec<Vec<usize>>> {
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut reads = Vec::new();
        for name in node.inputs.iter().flatten() {
            let Some(index) = indices.get(name) else {
                let unknown = unknown_node(name, indices.keys().map(String::as_str));
                return Err(Error::BadGraph(format!("node '{}' reads {unknown}", node.name)));
            };
            reads.push(*index);
        }
        all.push(reads);
    }
    Ok(all)
}

fn unknown_node<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let suggestion = near(name, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    format!("'{}', which is no node{suggestion}", shortened(name))
}

/// The nearest name, unless this one is too long to be a slip.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    if name.len() <= NAME_LIMIT { nearest(name, known) } else { None }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= 100 { name.to_string() } else { name.chars().take(100).collect::<String>() + " ..." }
}

/// Places in an order in which each follows what it reads; among those that could come next, the first.
fn sorted(nodes: &[NodeEntry], reads: &[Vec<usize>]) -> Result<Vec<usize>> {
    let mut waiting: Vec<usize> = reads.iter().map(Vec::len).collect();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (reader, inputs) in reads.iter().enumerate() {
        for input in inputs {
            if let Some(list) = readers.get_mut(*input) {
                list.push(reader);
            }
        }
    }
    let is_ready = |(index, count): (usize, &usize)| (*count == 0).then_some(index);
    let mut ready: BTreeSet<usize> = waiting.iter().enumerate().filter_map(is_ready).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for reader in readers.get(index).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*reader) {
                *count -= 1; // once for each read, and there were as many
                if *count == 0 {
                    ready.insert(*reader);
                }
            }
        }
    }
    if order.len() == nodes.len() { Ok(order) } else { Err(cycle(nodes, reads, &waiting)) }
}

/// The error that names the nodes of a cycle: from any node that still waits, to one that it waits for, until one repeats.
fn cycle(nodes: &[NodeEntry], reads: &[Vec<usize>], waiting: &[usize]) -> Error {
    let waits = |index: &usize| waiting.get(*index).is_some_and(|count| *count > 0);
    let mut path: Vec<usize> = Vec::new();
    let mut next = (0..nodes.len()).find(waits);
    while let Some(index) = next {
        if let Some(start) = path.iter().position(|earlier| *earlier == index) {
            path.drain(..start);
            path.push(index);
            break;
        }
        path.push(index);
        next = reads.get(index).and_then(|inputs| inputs.iter().copied().find(waits));
    }
    let mut names: Vec<String> =
        path.iter().filter_map(|index| nodes.get(*index)).map(|node| format!("'{}'", node.name)).collect();
    if names.len() > CYCLE_SHOWN {
        names.splice(CYCLE_SHOWN - 2..names.len() - 1, ["...".to_string()]);
    }
    Error::BadGraph(format!("nodes read each other in a circle: {}", names.join(" reads ")))
}

/// Most names in the text of a cycle.
const CYCLE_SHOWN: usize = 12;

// Writing.

/// Writes the JSON form, a line for each node.
///
/// # Errors
/// [`Error::BadGraph`] for a graph that could not be compiled either, for two nodes of one name, and for operators of the
/// user's own that cannot be told apart by name.
pub fn print(graph: &GraphData) -> Result<String> {
    graph.check()?;
    let mut custom: Vec<&CustomOperator> = Vec::new();
    let mut names = BTreeSet::new();
    for node in &graph.nodes {
        if !names.insert(node.name.as_str()) {
            return Err(Error::BadGraph(format!("two nodes are named '{}'", node.name)));
        }
        if let NodeContent::Custom { operator, .. } = &node.content
            && !custom.contains(&&**operator)
        {
            let name = operator.name();
            let clash = custom.iter().any(|other| other.name() == name) || name == INPUT;
            let is_built_in = |other: &super::NodeData| matches!(&other.content, NodeContent::Operator { operator, .. } if operator.name == name);
            if clash || graph.nodes.iter().any(is_built_in) {
                return Err(Error::BadGraph(format!("two different operators are named '{name}'; rename your own")));
            }
            custom.push(operator);
        }
    }
    let first_inputs = graph.nodes.iter().take_while(|node| node.content == NodeContent::Input).count();
    let name_of = |index: &usize| graph.nodes.get(*index).map(|node| node.name.as_str()).unwrap_or_default();
    let nodes = graph.nodes.iter().skip(first_inputs).map(|node| {
        let mut entry = Map::new();
        entry.insert("name".into(), json!(node.name));
        entry.insert("operator".into(), json!(node.content.operator_name()));
        if node.content != NodeContent::Input {
            entry.insert("inputs".into(), node.inputs.iter().map(name_of).collect());
            entry.insert("parameters".into(), parameters(&node.content)?);
        }
        Ok(Value::Object(entry))
    });
    let outputs = graph.outputs.iter().map(|output| {
        let mut entry = Map::new();
        entry.insert("name".into(), json!(output.name));
        entry.insert("node".into(), json!(name_of(&output.node)));
        if let Some(format) = output.format {
            entry.insert("format".into(), json!(format.name()));
        }
        Ok(Value::Object(entry))
    });
    let inputs: Value = graph.input_names().collect();
    let mut text = format!("{{\n  \"version\": {VERSION},\n  \"inputs\": {},\n", spaced(&inputs));
    text += &format!("  \"nodes\": {},\n  \"outputs\": {}", lines(nodes)?, lines(outputs)?);
    if !custom.is_empty() {
        text += &format!(",\n  \"custom\": {}", lines(custom.into_iter().map(custom_entry))?);
    }
    Ok(text + "\n}\n")
}

/// A list with a line for each entry.
fn lines(entries: impl Iterator<Item = Result<Value>>) -> Result<String> {
    let lines: Vec<String> =
        entries.map(|entry| entry.map(|entry| format!("    {}", spaced(&entry)))).collect::<Result<_>>()?;
    Ok(if lines.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", lines.join(",\n")) })
}

/// JSON on one line, with a space after each colon and comma.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn parameters(content: &NodeContent) -> Result<Value> {
    let mut object = Map::new();
    match content {
        NodeContent::Input => {}
        NodeContent::Operator { arguments, .. } => {
            for (parameter, argument) in arguments.iter() {
                object.insert(parameter.name.into(), argument_value(argument)?);
            }
        }
        NodeContent::Custom { operator, values } => {
            for ((name, ..), value) in operator.parameters().zip(values) {
                object.insert(name.into(), exact(*value)?);
            }
        }
    }
    Ok(Value::Object(object))
}

fn argument_value(argument: &Argument) -> Result<Value> {
    Ok(match argument {
        Argument::Float(value) => exact(*value)?,
        Argument::Integer(value) => json!(value),
        Argument::Switch(value) => json!(value),
        Argument::Choice(value) => json!(value),
        Argument::Color(color) => exact_list(color)?,
        Argument::Floats(list) => exact_list(list)?,
        Argument::File(file) => json!({ "path": file.path }),
    })
}

fn exact_list(list: &[f32]) -> Result<Value> {
    list.iter().map(|value| exact(*value)).collect()
}

/// A JSON number that reads back as this float: the shortest digits that name the float, unless reading them in double
/// precision first rounds the wrong way.
fn exact(value: f32) -> Result<Value> {
    let short: f64 = value.to_string().parse().unwrap_or(f64::NAN); // what a float prints as is a number
    let chosen = if (short as f32).to_bits() == value.to_bits() { short } else { f64::from(value) };
    let number = serde_json::Number::from_f64(chosen);
    number.map(Value::Number).ok_or_else(|| Error::BadGraph(format!("JSON has no number for {value}")))
}

fn custom_entry(operator: &CustomOperator) -> Result<Value> {
    let mut entry = Map::new();
    entry.insert("name".into(), json!(operator.name()));
    match operator.kind() {
        CustomKind::Point => entry.insert("kind".into(), json!("point")),
        CustomKind::Area { radius } => {
            entry.insert("kind".into(), json!("area"));
            entry.insert("radius".into(), json!(radius))
        }
    };
    entry.insert("wgsl".into(), json!(operator.wgsl()));
    let bound = |value: f32| if value.is_infinite() { Ok(Value::Null) } else { exact(value) };
    let mut list = Vec::new();
    for (name, default, min, max) in operator.parameters() {
        list.push(json!({ "name": name, "default": exact(default)?, "min": bound(min)?, "max": bound(max)? }));
    }
    entry.insert("parameters".into(), Value::Array(list));
    Ok(Value::Object(entry))
}
