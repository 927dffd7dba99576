//! `run`: a graph in a file, with a file for each of its inputs and outputs. And the reading of such files.

use super::frame::{Runner, Times};
use super::output::{Target, named_files, protect};
use super::{Common, Encoding, Failure, Measuring, Outcome, at_place};
use cyanotype::error::nearest;
use cyanotype::graph::NodeContent;
use cyanotype::{Error, Graph, GraphData};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a graph's file: the JSON form's own limit.
const GRAPH_LIMIT: u64 = 64 << 20;

pub fn run(
    common: &Common,
    graph: &Path,
    inputs: &[OsString],
    outputs: &[OsString],
    encoding: &Encoding,
    measuring: &Measuring,
) -> Outcome {
    let mut data = common.with_settings(read(graph)?)?;
    let input_names: Vec<String> = data.input_names().map(str::to_string).collect();
    let output_names: Vec<String> = data.outputs.iter().map(|output| output.name.clone()).collect();
    let inputs = pairs("input", inputs, &input_names)?;
    let outputs = pairs("output", outputs, &output_names)?;
    // What nobody wants is not computed, and needs no input.
    data.outputs.retain(|output| outputs.iter().any(|(name, _)| *name == output.name));
    let needed = needed_inputs(&data);
    if let Some(name) = needed.iter().find(|name| !inputs.iter().any(|(given, _)| given == *name)) {
        return Err(Failure::Usage(format!("input '{name}' has no file: give --input {name}=FILE")));
    }
    let targets: Vec<(&str, Target)> =
        outputs.iter().map(|(name, path)| Ok((name.as_str(), Target::new(path)?))).collect::<Outcome<_>>()?;
    let trace = measuring.target(targets.iter().map(|(_, target)| target))?;
    let pictures = inputs.iter().map(|(_, path)| path.as_path());
    let sources: Vec<&Path> = pictures.chain([graph]).chain(named_files(&data)).collect();
    let written: Vec<&Path> = targets.iter().map(|(_, target)| target).chain(&trace).filter_map(Target::path).collect();
    protect(&sources, &written, common.overwrite)?;

    let runner = Runner::new(data, common, measuring, trace, 1)?;
    let mut times = Times::start();
    let inputs: Vec<(&str, &Path)> = inputs
        .iter()
        .filter(|(name, _)| needed.contains(name))
        .map(|(name, path)| (name.as_str(), path.as_path()))
        .collect();
    let outcome =
        runner.run(&inputs, &mut times).and_then(|results| runner.write(&results, &targets, encoding, &mut times));
    if measuring.time && outcome.is_ok() {
        times.say(&graph.display().to_string());
    }
    runner.write_trace(outcome)
}

/// A graph from its file: JSON where the extension or the first character says so, else text.
pub fn read(path: &Path) -> Outcome<GraphData> {
    let failed = |message: String| Failure::Failed(format!("{}: {message}", path.display()));
    // A pipe may hold a graph as well, and a device may have no end, so it is what was read that counts.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(GRAPH_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > GRAPH_LIMIT {
        return Err(failed(format!("a graph has {GRAPH_LIMIT} bytes at most")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed("no text, so no graph".into()))?;
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        || text.trim_start().starts_with('{');
    let graph = if is_json { Graph::from_json(&text) } else { Graph::parse(&text) };
    match graph {
        Ok(graph) => Ok(graph.data()),
        Err(error) => Err(match at_place(&text, error) {
            Failure::Usage(message) => Failure::Usage(format!("{}: {message}", path.display())),
            Failure::Failed(message) => Failure::Failed(format!("{}: {message}", path.display())),
            other => other,
        }),
    }
}

/// The (name, file) pairs of an option, each name known and given once.
fn pairs(what: &'static str, given: &[OsString], known: &[String]) -> Outcome<Vec<(String, PathBuf)>> {
    let mut pairs: Vec<(String, PathBuf)> = Vec::new();
    for text in given {
        let (name, path) = match (split(text), known) {
            (Some(pair), _) => pair,
            (None, [only]) => (only.clone(), PathBuf::from(text)),
            (None, _) => {
                let text = text.to_string_lossy();
                let message = format!("--{what} {text}: written --{what} NAME=FILE, since there are {}", known.len());
                return Err(Failure::Usage(message));
            }
        };
        if !known.contains(&name) {
            let suggestion = nearest(&name, known.iter().map(String::as_str));
            return Err(Error::UnknownName { what, name, suggestion }.into());
        }
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(Failure::Usage(format!("{what} '{name}' is given twice")));
        }
        pairs.push((name, path));
    }
    Ok(pairs)
}

/// Splits at the first `=`. The path need not be valid text.
fn split(text: &OsStr) -> Option<(String, PathBuf)> {
    let bytes = text.as_encoded_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let name = std::str::from_utf8(bytes.get(..at)?).ok()?.to_string();
    #[cfg(unix)]
    let path = {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(OsStr::from_bytes(bytes.get(at + 1..)?))
    };
    #[cfg(not(unix))]
    let path = PathBuf::from(text.to_str()?.get(at + 1..)?);
    Some((name, path))
}

/// Inputs that some output depends on.
fn needed_inputs(data: &GraphData) -> Vec<String> {
    let mut needed = vec![false; data.nodes.len()];
    for output in &data.outputs {
        if let Some(slot) = needed.get_mut(output.node) {
            *slot = true;
        }
    }
    for (index, node) in data.nodes.iter().enumerate().rev() {
        if needed.get(index) == Some(&true) {
            for input in &node.inputs {
                if let Some(slot) = needed.get_mut(*input) {
                    *slot = true;
                }
            }
        }
    }
    data.nodes
        .iter()
        .zip(&needed)
        .filter(|(node, needed)| **needed && node.content == NodeContent::Input)
        .map(|(node, _)| node.name.clone())
        .collect()
}
