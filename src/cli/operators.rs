//! `ops`: the operators, as the registry has them: a list, all about one, JSON, or the tables of the README.

use super::Outcome;
use super::frame::number;
use super::output::{print, wrapped};
use cyanotype::op::{Argument, Operator, Parameter, ParameterKind};
use cyanotype::ops;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub fn run(name: Option<&str>, as_json: bool, markdown: bool) -> Outcome {
    let chosen: Vec<&Operator> = match name {
        Some(name) => vec![ops::find(name)?],
        None => ops::ALL.to_vec(),
    };
    let text = match name {
        _ if as_json && name.is_some() => {
            format!("{:#}\n", chosen.iter().map(|one| describe(one)).next().unwrap_or_default())
        }
        _ if as_json => format!("{:#}\n", Value::Array(chosen.iter().map(|one| describe(one)).collect())),
        _ if markdown => tables(&chosen),
        Some(_) => chosen.iter().map(|operator| help(operator)).collect(),
        None => list(&chosen),
    };
    print(|out| out.write_all(text.as_bytes()))
}

/// Operators under the headings of their groups, in the order of the registry.
fn grouped<'a>(operators: &[&'a Operator]) -> Vec<(&'static str, Vec<&'a Operator>)> {
    let mut groups: Vec<_> = operators.iter().map(|operator| operator.group).collect();
    groups.sort();
    groups.dedup();
    groups
        .into_iter()
        .map(|group| (group.title(), operators.iter().filter(|one| one.group == group).copied().collect()))
        .collect()
}

fn list(operators: &[&Operator]) -> String {
    let width = operators.iter().map(|operator| operator.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, operators) in grouped(operators) {
        let _ = writeln!(text, "{title}"); // writing to a String cannot fail
        for operator in operators {
            let _ = writeln!(text, "  {:width$}  {}", operator.name, operator.summary);
        }
        text.push('\n');
    }
    text + "`cyanotype ops NAME` says all about one.\n"
}

fn help(operator: &Operator) -> String {
    let mut text = format!("{}: {}\n\n{}\n", operator.name, operator.summary, wrapped(operator.details, 0));
    let _ = writeln!(text, "\nWritten: {}", synopsis(operator)); // writing to a String cannot fail
    let inputs = match operator.inputs {
        [] => "no picture: it starts a chain".to_string(),
        inputs => inputs.iter().map(input_name).collect::<Vec<_>>().join(", "),
    };
    let _ = writeln!(text, "Reads: {inputs}");
    if !operator.parameters.is_empty() {
        text += "Parameters:\n";
    }
    let width = operator.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    for parameter in operator.parameters {
        let indent = width + 4;
        let _ = writeln!(text, "  {:width$}  {}", parameter.name, wrapped(&range(parameter), indent).trim_start());
        if !parameter.help.is_empty() {
            let _ = writeln!(text, "{}", wrapped(parameter.help, indent));
        }
    }
    text
}

/// "mask (optional)".
fn input_name(input: &cyanotype::op::Input) -> String {
    format!("{}{}", input.name, if input.optional { " (optional)" } else { "" })
}

/// How it is written in a chain: what flows in is not mentioned.
fn synopsis(operator: &Operator) -> String {
    let mut text = operator.name.to_string();
    for input in operator.inputs.iter().skip(1) {
        let _ = match input.optional {
            true => write!(text, " [@{}]", input.name),
            false => write!(text, " @{}", input.name),
        };
    }
    for parameter in operator.parameters {
        let _ = match parameter.default() {
            Some(_) => write!(text, " [{}]", parameter.name),
            None => write!(text, " {}", parameter.name),
        };
    }
    text
}

/// Type, range, unit and default of a parameter.
fn range(parameter: &Parameter) -> String {
    let unit = match parameter.unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    match parameter.default() {
        Some(default) => format!("{}{unit}; default {}", parameter.expected(), short(&default)),
        None => format!("{}{unit}; must be given", parameter.expected()),
    }
}

/// A default as help shows it: long lists are cut.
fn short(value: &Argument) -> String {
    match value {
        Argument::Floats(list) if list.len() > 12 => format!("a list of {} numbers", list.len()),
        other => other.to_string(),
    }
}

fn tables(operators: &[&Operator]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = String::new();
    for (title, operators) in grouped(operators) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "### {title}\n\n| operator | what it does | parameters |\n| --- | --- | --- |");
        for operator in operators {
            let mut notes: Vec<String> =
                operator.inputs.iter().skip(1).map(|input| format!("picture `{}`", input.name)).collect();
            notes.extend(operator.parameters.iter().map(|parameter| {
                let default = match parameter.default() {
                    Some(Argument::Floats(list)) if list.len() > 4 => String::new(),
                    Some(default) => format!(" = {default}"),
                    None => String::new(),
                };
                let unit = if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
                format!("`{}`{default}{unit}", parameter.name)
            }));
            let notes = notes.join(", ");
            let _ = writeln!(text, "| `{}` | {} | {} |", operator.name, cell(operator.summary), cell(&notes));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn describe(operator: &Operator) -> Value {
    let inputs: Vec<Value> =
        operator.inputs.iter().map(|input| json!({ "name": input.name, "optional": input.optional })).collect();
    let parameters: Vec<Value> = operator.parameters.iter().map(describe_parameter).collect();
    json!({
        "name": operator.name,
        "group": operator.group.title(),
        "summary": operator.summary,
        "details": operator.details,
        "inputs": inputs,
        "parameters": parameters,
    })
}

fn describe_parameter(parameter: &Parameter) -> Value {
    let floats = |list: &[f32]| list.iter().map(|value| number(*value)).collect::<Value>();
    let mut object = match parameter.kind {
        ParameterKind::Float { min, max, default } => {
            json!({ "type": "number", "min": number(min), "max": number(max), "default": number(default) })
        }
        ParameterKind::Integer { min, max, default } => {
            json!({ "type": "integer", "min": min, "max": max, "default": default })
        }
        ParameterKind::Switch { default } => json!({ "type": "switch", "default": default }),
        ParameterKind::Choice { options, default } => {
            json!({ "type": "choice", "options": options, "default": options.get(default) })
        }
        ParameterKind::Color { default } => json!({ "type": "color", "default": floats(&default) }),
        ParameterKind::Floats { min_length, max_length, default } => json!({
            "type": "numbers", "min_length": min_length, "max_length": max_length, "default": floats(default)
        }),
        ParameterKind::File { extension } => json!({ "type": "file", "extension": extension }),
    };
    let texts = [("name", parameter.name), ("unit", parameter.unit), ("help", parameter.help)];
    if let Value::Object(object) = &mut object {
        for (index, (key, text)) in texts.into_iter().enumerate() {
            // The name comes first, the rest behind the type.
            let at = if index == 0 { 0 } else { object.len() };
            object.shift_insert(at, key.into(), json!(text));
        }
    }
    object
}
