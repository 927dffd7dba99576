//! [`GraphData`] to text that reads back as the same graph: nodes in their order, which is that of the text. A node goes on
//! the chain of the one before it where nobody else reads that; everything else is named and referred to.

use super::TEXT_LIMIT;
use super::token::{STRING_LIMIT, is_word};
use crate::error::{Error, Result};
use crate::graph::{GraphData, NodeContent, NodeData};
use crate::op::{Argument, Arguments, Operator, Parameter, ParameterKind};
use std::collections::HashSet;
use std::fmt::Write;

/// Writes the text form.
///
/// # Errors
/// [`Error::BadGraph`]: an operator of the user's own (which JSON can hold), two nodes of one name, or a graph that could
/// not be compiled either. [`Error::Limit`]: more text than [`TEXT_LIMIT`].
pub fn print(graph: &GraphData) -> Result<String> {
    graph.check()?;
    let mut names = HashSet::new();
    if let Some(node) = graph.nodes.iter().find(|node| !names.insert(node.name.as_str())) {
        return Err(Error::BadGraph(format!("two nodes are named '{}'", node.name)));
    }
    let outputs = graph.outputs.iter().map(|output| output.name.as_str());
    if let Some(name) = names.into_iter().chain(outputs).find(|name| name.is_empty() || name.len() > STRING_LIMIT) {
        return Err(Error::BadGraph(format!("a name has 1 to {STRING_LIMIT} bytes, one has {}", name.len())));
    }
    let mut printer = Printer { graph, readers: readers(graph), next_output: 0, text: String::new() };
    printer.graph()?;
    let text = printer.text;
    if text.len() > TEXT_LIMIT {
        let what = "length of the graph's text in bytes".into();
        return Err(Error::Limit { what, found: text.len() as u64, limit: TEXT_LIMIT as u64 });
    }
    Ok(text)
}

/// How often each node is read by nodes.
fn readers(graph: &GraphData) -> Vec<usize> {
    let mut counts = vec![0; graph.nodes.len()];
    for input in graph.nodes.iter().flat_map(|node| &node.inputs) {
        if let Some(count) = counts.get_mut(*input) {
            *count += 1;
        }
    }
    counts
}

struct Printer<'a> {
    graph: &'a GraphData,
    readers: Vec<usize>,
    /// Outputs are written in their order, so each waits for those before it.
    next_output: usize,
    text: String,
}

impl Printer<'_> {
    fn graph(&mut self) -> Result<()> {
        let mut names = Names::default();
        let implied = self.input_is_implied();
        let mut index = 0;
        if implied {
            names.automatic("in");
            index = 1;
        }
        while index < self.graph.nodes.len() {
            let inputs = self.graph.nodes.iter().skip(index);
            let count = inputs.take_while(|node| node.content == NodeContent::Input).count();
            if count > 0 {
                let inputs = self.graph.nodes.iter().skip(index).take(count);
                let words: Vec<String> = inputs.map(|node| quoted(&node.name)).collect();
                self.statement(&format!("input {}", words.join(", ")));
                (index..index + count).for_each(|input| {
                    names.automatic(&self.name_of(input));
                });
                index += count;
                continue;
            }
            index = self.chain(index, implied, &mut names)?;
        }
        while self.next_output < self.graph.outputs.len() {
            let Some(output) = self.graph.outputs.get(self.next_output) else { break };
            let start = format!("@{}", quoted(&self.name_of(output.node)));
            let outputs = self.outputs_of(output.node);
            self.statement(&format!("{start}{outputs}"));
        }
        Ok(())
    }

    fn name_of(&self, node: usize) -> String {
        self.graph.nodes.get(node).map(|node| node.name.clone()).unwrap_or_default()
    }

    fn statement(&mut self, statement: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(statement);
    }

    /// Whether the only input is `in` and the first operator reads it, so that the text need not mention it there.
    fn input_is_implied(&self) -> bool {
        let mut inputs = self.graph.nodes.iter().filter(|node| node.content == NodeContent::Input);
        let alone = inputs.next().is_some_and(|input| input.name == "in") && inputs.next().is_none();
        let first_reads = self.graph.nodes.get(1).is_some_and(|node| node.inputs.first() == Some(&0));
        let first_is_input = self.graph.nodes.first().is_some_and(|node| node.content == NodeContent::Input);
        alone && first_is_input && first_reads
    }

    /// Writes the statement that starts with this node; returns the node after it.
    fn chain(&mut self, start: usize, implied: bool, names: &mut Names) -> Result<usize> {
        let mut line = String::new();
        let mut index = start;
        let last = loop {
            let Some(node) = self.graph.nodes.get(index) else { break index.saturating_sub(1) };
            if index > start {
                line.push_str(" | ");
            } else if let Some(first) = node.inputs.first()
                && !(implied && *first == 0 && needs_picture(node))
            {
                let _ = write!(line, "@{} | ", quoted(&self.name_of(*first))); // writing to a String cannot fail
            }
            self.operator(&mut line, node)?;
            if names.automatic(node.content.operator_name()) != node.name {
                let _ = write!(line, " as {}", quoted(&node.name));
            }
            names.rename_last(&node.name);
            if !self.goes_on(index) {
                break index;
            }
            index += 1;
        };
        let outputs = self.outputs_of(last);
        let is_last_statement = last + 1 == self.graph.nodes.len() && self.next_output == self.graph.outputs.len();
        let is_only = self.graph.outputs.len() == 1 && outputs == " -> out";
        let needs_name = self.readers.get(last).is_some_and(|count| *count > 0)
            || self.graph.outputs.iter().skip(self.next_output).any(|output| output.node == last)
            || outputs.is_empty();
        let named = self.graph.nodes.get(last).is_some_and(|node| names.was_renamed(node));
        let branch = match needs_name && !named {
            true => format!("{} = ", quoted(&self.name_of(last))),
            false => String::new(),
        };
        let outputs = if is_only && is_last_statement { String::new() } else { outputs };
        self.statement(&format!("{branch}{line}{outputs}"));
        Ok(last + 1)
    }

    /// Whether the next node can stand behind this one: it alone reads it, first and once, and no output does.
    fn goes_on(&self, index: usize) -> bool {
        self.readers.get(index) == Some(&1)
            && self.graph.outputs.iter().all(|output| output.node != index)
            && self.graph.nodes.get(index + 1).is_some_and(|next| next.inputs.first() == Some(&index))
    }

    /// ` -> a, b:rgba8` for the outputs of this node whose turn it is.
    fn outputs_of(&mut self, node: usize) -> String {
        let mut text = String::new();
        while let Some(output) = self.graph.outputs.get(self.next_output)
            && output.node == node
        {
            text.push_str(if text.is_empty() { " -> " } else { ", " });
            text.push_str(&quoted(&output.name));
            if let Some(format) = output.format {
                let _ = write!(text, ":{format}"); // writing to a String cannot fail
            }
            self.next_output += 1;
        }
        text
    }

    fn operator(&self, line: &mut String, node: &NodeData) -> Result<()> {
        let NodeContent::Operator { operator, arguments } = &node.content else {
            let (name, operator) = (&node.name, node.content.operator_name());
            let message =
                format!("node '{name}' applies '{operator}', an operator of your own; write the graph as JSON instead");
            return Err(Error::BadGraph(message));
        };
        line.push_str(operator.name);
        for input in node.inputs.iter().skip(1) {
            let _ = write!(line, " @{}", quoted(&self.name_of(*input))); // writing to a String cannot fail
        }
        print_arguments(line, operator, arguments);
        Ok(())
    }
}

/// Whether an operator at the start of a chain reads the default input.
fn needs_picture(node: &NodeData) -> bool {
    matches!(&node.content, NodeContent::Operator { operator, .. } if operator.required_inputs() > 0)
}

/// Names as the parser gives them: what [`GraphData::apply`] would call the next node, were the graph built in this order.
#[derive(Default)]
struct Names {
    graph: GraphData,
    renamed: HashSet<String>,
}

impl Names {
    /// Adds a node and tells the name that it got.
    fn automatic(&mut self, base: &str) -> String {
        let name = self.graph.unused_name(base);
        self.graph.nodes.push(NodeData { name: name.clone(), content: NodeContent::Input, inputs: Vec::new() });
        name
    }

    fn rename_last(&mut self, name: &str) {
        if let Some(last) = self.graph.nodes.last_mut()
            && last.name != name
        {
            last.name = name.to_string();
            self.renamed.insert(name.to_string());
        }
    }

    /// Whether the text says `as` with this name, so that `@name` finds it.
    fn was_renamed(&self, node: &NodeData) -> bool {
        self.renamed.contains(&node.name)
    }
}

/// Arguments that differ from the default: without their names as long as none before them is left out and the meaning is
/// plain (numbers, and whatever comes first).
fn print_arguments(line: &mut String, operator: &Operator, arguments: &Arguments) {
    let differs: Vec<bool> = arguments
        .iter()
        .map(|(parameter, value)| parameter.default().is_none_or(|default| !identical(value, &default)))
        .collect();
    let plain = |(index, parameter): (usize, &Parameter)| {
        let number = matches!(parameter.kind, ParameterKind::Float { .. } | ParameterKind::Integer { .. });
        index == 0 || (number && operator.parameters.iter().take(index).all(is_number))
    };
    let plain_count = operator.parameters.iter().enumerate().take_while(|pair| plain(*pair)).count();
    // Defaults are written where a later one is wanted without its name.
    let positional = differs.iter().take(plain_count).rposition(|differs| *differs).map_or(0, |last| last + 1);
    for (index, ((parameter, value), differs)) in arguments.iter().zip(&differs).enumerate() {
        if index < positional {
            let _ = write!(line, " {}", print_value(value)); // writing to a String cannot fail
        } else if *differs {
            let _ = write!(line, " {}={}", parameter.name, print_value(value));
        }
    }
}

fn is_number(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Float { .. } | ParameterKind::Integer { .. })
}

/// Equal to the last bit: 0.0 and -0.0 are told apart, as text does.
fn identical(one: &Argument, other: &Argument) -> bool {
    one == other && one.to_string() == other.to_string()
}

fn print_value(value: &Argument) -> String {
    match value {
        Argument::Choice(word) => quoted(word),
        Argument::File(file) => quoted_string(&file.path),
        Argument::Color(color) => hexadecimal(*color).unwrap_or_else(|| value.to_string()),
        other => other.to_string(),
    }
}

/// `#rrggbb` where that says it exactly.
fn hexadecimal(color: [f32; 4]) -> Option<String> {
    let mut levels = [0u8; 4];
    for (level, value) in levels.iter_mut().zip(color) {
        *level = (value * 255.0).round() as u8; // saturates; what was rounded or cut is found next
        if (f32::from(*level) / 255.0).to_bits() != value.to_bits() {
            return None;
        }
    }
    let [r, g, b, a] = levels;
    Some(if a == 255 { format!("#{r:02x}{g:02x}{b:02x}") } else { format!("#{r:02x}{g:02x}{b:02x}{a:02x}") })
}

/// A name, in quotes where it is no word.
fn quoted(name: &str) -> String {
    if is_word(name) { name.to_string() } else { quoted_string(name) }
}

fn quoted_string(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if letter.is_control() || letter == '\u{feff}' => {
                let _ = write!(quoted, "\\u{{{:x}}}", u32::from(letter)); // writing to a String cannot fail
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
