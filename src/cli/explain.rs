//! `explain`: what a chain or a graph becomes, without running it.

use super::output::print;
use super::{Common, Failure, Outcome, files};
use cyanotype::error::nearest;
use cyanotype::{Description, Error, Graph, GraphData, PixelFormat};
use serde_json::{Value, json};
use std::path::Path;

/// How it is told.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub json: bool,
    pub wgsl: bool,
}

pub fn run(common: &Common, chain: &str, sizes: &[String], formats: &[String], style: Style) -> Outcome {
    let data = if is_graph_file(chain) {
        common.with_settings(files::read(Path::new(chain))?)?
    } else {
        common.chain(chain).map_err(|failure| match Path::new(chain).exists() {
            true => Failure::Usage(format!(
                "{chain} is no chain of operators, and a file with a graph ends in .txt or .json"
            )),
            false => failure,
        })?
    };
    let described = describe(&data, sizes, formats)?;
    let inputs: Vec<(&str, Description)> =
        described.iter().map(|(name, description)| (name.as_str(), *description)).collect();
    let program = common.context(1)?.compile_with(&Graph::from_data(data), &inputs, &common.options())?;
    let modules = if style.wgsl { program.wgsl()? } else { Vec::new() };
    if style.json {
        let mut report = serde_json::to_value(program.report())
            .map_err(|error| Failure::Failed(format!("the report cannot be written as JSON: {error}")))?;
        if let (true, Value::Object(report)) = (style.wgsl, &mut report) {
            let modules = modules.iter().map(|(label, text)| json!({ "label": label, "text": text }));
            report.insert("wgsl".into(), modules.collect());
        }
        return print(|out| writeln!(out, "{report:#}"));
    }
    print(|out| {
        write!(out, "{}", program.explain())?;
        for (number, (label, text)) in modules.iter().enumerate() {
            writeln!(out, "\n// pass {}: {label}\n{}", number + 1, text.trim_end())?;
        }
        Ok(())
    })
}

/// A chain that is the name of a file with a graph in it: no operator's name ends so. Whether it is there, reading it says.
fn is_graph_file(chain: &str) -> bool {
    let extension = Path::new(chain).extension();
    extension.is_some_and(|extension| extension == "json" || extension == "txt")
}

/// A description for each input.
fn describe(data: &GraphData, sizes: &[String], formats: &[String]) -> Outcome<Vec<(String, Description)>> {
    let names: Vec<&str> = data.input_names().collect();
    let sizes = by_input("--size", sizes, &names)?;
    let formats = by_input("--format", formats, &names)?;
    let mut described = Vec::with_capacity(names.len());
    for (name, (size, format)) in names.iter().zip(sizes.iter().zip(&formats)) {
        let (width, height) = parse_size(size)?;
        let format: PixelFormat =
            format.parse().map_err(|error: Error| Failure::Usage(format!("--format: {error}")))?;
        described.push((name.to_string(), Description::new(width, height, format)));
    }
    Ok(described)
}

/// The value of an option for each input: `name=value` for one, `value` for all others.
fn by_input(option: &str, given: &[String], names: &[&str]) -> Outcome<Vec<String>> {
    let mut values: Vec<Option<String>> = vec![None; names.len()];
    let mut general: Option<&str> = None;
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            general = Some(text);
            continue;
        };
        match values.iter_mut().zip(names).find(|(_, known)| **known == name) {
            Some((slot, _)) => *slot = Some(value.to_string()),
            None => {
                let suggestion = nearest(name, names.iter().copied());
                let error = Error::UnknownName { what: "input", name: name.into(), suggestion };
                return Err(Failure::Usage(format!("{option} {text}: {error}")));
            }
        }
    }
    let fill = |(value, name): (Option<String>, &&str)| {
        let missing = || Failure::Usage(format!("{option}: nothing is said of input '{name}'"));
        value.or(general.map(str::to_string)).ok_or_else(missing)
    };
    values.into_iter().zip(names).map(fill).collect()
}

fn parse_size(text: &str) -> Outcome<(u32, u32)> {
    let parsed = text
        .split_once(['x', 'X'])
        .and_then(|(width, height)| Some((width.parse::<u32>().ok()?, height.parse::<u32>().ok()?)));
    match parsed {
        Some((0, _) | (_, 0)) => Err(Failure::Usage(format!("--size {text}: a picture has at least one pixel"))),
        Some(size) => Ok(size),
        None => Err(Failure::Usage(format!("--size {text}: written WIDTHxHEIGHT, such as 4000x3000"))),
    }
}
