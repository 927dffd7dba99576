//! The graph as a person builds it: named inputs, operators applied to nodes, named outputs. Fluent, text and JSON forms
//! all make the same [`GraphData`]. Knows nothing of how it will run.

mod custom;
mod json;
pub mod lower;
pub mod simplify;
mod text;

pub use custom::{CustomKind, CustomOperator};

use crate::error::{Error, Result, nearest};
use crate::image::PixelFormat;
use crate::op::{Argument, Arguments, Operator};
use parking_lot::Mutex;
use std::sync::Arc;

/// A graph under construction. Cloning gives another handle to the same graph.
///
/// ```
/// use cyanotype::Graph;
/// let graph = Graph::new();
/// let out = graph.input("photo").exposure(0.7).gaussian_blur(2.0).saturation(1.2);
/// graph.output("out", &out);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Graph(Arc<Mutex<GraphData>>);

/// A value in a graph: what an input gives or an operator makes. Cheap to clone; use it as often as needed, it is
/// evaluated once.
#[derive(Debug, Clone)]
pub struct Node {
    graph: Graph,
    id: usize,
}

/// The plain content of a graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphData {
    /// Nodes; the inputs of each stand before it.
    pub nodes: Vec<NodeData>,
    /// What the graph gives.
    pub outputs: Vec<OutputData>,
    /// The first mistake made with the fluent interface, reported by compile.
    pub mistake: Option<String>,
    /// The same as a typed error.
    error: Option<Fault>,
}

/// An [`Error`] compared by its text, so that graphs can be compared.
#[derive(Debug, Clone)]
struct Fault(Error);

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeData {
    /// Name by which its parameters are set; unique in a graph.
    pub name: String,
    /// What it is.
    pub content: NodeContent,
    /// Indices of the nodes that it reads, each smaller than its own.
    pub inputs: Vec<usize>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeContent {
    /// An input picture, named as the node.
    Input,
    /// A built-in operator.
    Operator { operator: &'static Operator, arguments: Arguments },
    /// An operator of the user's, with a value for each of its parameters.
    Custom { operator: Arc<CustomOperator>, values: Vec<f32> },
}

impl NodeContent {
    /// The operator's name; an input has none of its own.
    pub fn operator_name(&self) -> &str {
        match self {
            NodeContent::Input => "input",
            NodeContent::Operator { operator, .. } => operator.name,
            NodeContent::Custom { operator, .. } => operator.name(),
        }
    }

    /// Whether so many pictures are what it reads.
    fn check_inputs(&self, count: usize) -> Result<()> {
        let (least, most) = match self {
            NodeContent::Input => (0, 0),
            NodeContent::Operator { operator, .. } => (operator.required_inputs(), operator.inputs.len()),
            NodeContent::Custom { .. } => (1, 1),
        };
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let noun = if most == 1 { "picture" } else { "pictures" };
        let message = format!("reads {expected} {noun}, given {count}");
        Err(Error::BadInput { operator: self.operator_name().into(), message })
    }
}

/// A named output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputData {
    pub name: String,
    /// Index of the node.
    pub node: usize,
    /// Format asked for; by default that of the first input, with the channels that the value has.
    pub format: Option<PixelFormat>,
}

/// A parameter of a node of a graph, for [`Program::set`](crate::Program::set).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParameterHandle {
    pub(crate) node: usize,
    pub(crate) parameter: String,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a finished description.
    pub fn from_data(data: GraphData) -> Self {
        Graph(Arc::new(Mutex::new(data)))
    }

    /// A copy of the content.
    pub fn data(&self) -> GraphData {
        self.0.lock().clone()
    }

    /// Parses the text form, see [`text`](crate::graph) in the README: `exposure 0.7 | gaussian-blur 2`.
    pub fn parse(text: &str) -> Result<Self> {
        text::parse(text).map(Self::from_data)
    }

    /// The text form.
    pub fn to_text(&self) -> Result<String> {
        text::print(&self.data())
    }

    /// Parses the JSON form.
    pub fn from_json(json: &str) -> Result<Self> {
        json::parse(json).map(Self::from_data)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<String> {
        json::print(&self.data())
    }

    /// An input picture. The same name gives the same node.
    pub fn input(&self, name: &str) -> Node {
        let id = self.0.lock().input(name);
        Node { graph: self.clone(), id }
    }

    /// Names the value of a node as an output. A buffer (histogram, mean) becomes numbers, a picture an image.
    pub fn output(&self, name: &str, node: &Node) {
        self.put_output(name, node, None);
    }

    /// The same in a pixel format of choice.
    pub fn output_as(&self, name: &str, node: &Node, format: PixelFormat) {
        self.put_output(name, node, Some(format));
    }

    fn put_output(&self, name: &str, node: &Node, format: Option<PixelFormat>) {
        let foreign = !Arc::ptr_eq(&self.0, &node.graph.0);
        let mut data = self.0.lock();
        if foreign {
            data.fail(Error::BadGraph(format!("output '{name}' names a node of another graph")));
        } else if let Err(error) = data.output(name, node.id, format) {
            data.fail(error);
        }
    }

    /// Applies an operator without inputs, such as `solid` or `checkerboard`.
    pub fn generate(&self, operator: &str, arguments: &[(&str, Argument)]) -> Node {
        self.node(operator, arguments, &[])
    }

    fn node(&self, operator: &str, arguments: &[(&str, Argument)], inputs: &[usize]) -> Node {
        let mut data = self.0.lock();
        let arguments = arguments.iter().map(|(name, value)| (name.to_string(), value.clone()));
        let id = match data.apply(operator, arguments, inputs.to_vec()) {
            Ok(id) => id,
            Err(error) => data.fail(error),
        };
        Node { graph: self.clone(), id }
    }
}

impl Node {
    /// Applies an operator by name; parameters left out take their defaults. A mistake is kept and reported by compile.
    pub fn apply(&self, operator: &str, arguments: &[(&str, Argument)]) -> Node {
        self.graph.node(operator, arguments, &[self.id])
    }

    /// Applies an operator that reads further pictures.
    pub fn apply_with(&self, operator: &str, others: &[&Node], arguments: &[(&str, Argument)]) -> Node {
        let mut inputs = vec![self.id];
        for other in others {
            if !Arc::ptr_eq(&other.graph.0, &self.graph.0) {
                let message = "an input is a node of another graph".to_string();
                self.graph.0.lock().fail(Error::BadInput { operator: operator.into(), message });
                return self.clone();
            }
            inputs.push(other.id);
        }
        self.graph.node(operator, arguments, &inputs)
    }

    /// Applies an operator of your own; `values` are (parameter, value) pairs, others take their defaults.
    pub fn custom(&self, operator: &Arc<CustomOperator>, values: &[(&str, f32)]) -> Node {
        let mut data = self.graph.0.lock();
        let id = match data.apply_custom(Arc::clone(operator), values, vec![self.id]) {
            Ok(id) => id,
            Err(error) => data.fail(error),
        };
        Node { graph: self.graph.clone(), id }
    }

    /// Names the node, so that its parameters can be set as "name.parameter".
    pub fn named(self, name: &str) -> Node {
        {
            let mut data = self.graph.0.lock();
            if let Err(error) = data.rename(self.id, name) {
                data.fail(error);
            }
        }
        self
    }

    /// A handle for changing a parameter of a compiled program.
    pub fn parameter(&self, name: &str) -> ParameterHandle {
        ParameterHandle { node: self.id, parameter: name.into() }
    }

    /// The graph that it belongs to.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl GraphData {
    /// Most nodes that a graph may have; a limit against hostile text, far above any real graph.
    pub const NODE_LIMIT: usize = 4096;

    fn fail(&mut self, error: Error) -> usize {
        if self.error.is_none() {
            self.mistake = Some(error.to_string());
            self.error = Some(Fault(error));
        }
        // A stand-in, so that the fluent chain goes on; compile reports the error.
        self.input("error")
    }

    /// The node of an input, made when it is new.
    pub fn input(&mut self, name: &str) -> usize {
        let found = self.nodes.iter().position(|node| node.name == name && node.content == NodeContent::Input);
        found.unwrap_or_else(|| {
            self.nodes.push(NodeData { name: name.into(), content: NodeContent::Input, inputs: Vec::new() });
            self.nodes.len() - 1
        })
    }

    /// Adds a node that applies a registered operator.
    pub fn apply(
        &mut self,
        operator: &str,
        arguments: impl IntoIterator<Item = (String, Argument)>,
        inputs: Vec<usize>,
    ) -> Result<usize> {
        let operator = crate::ops::find(operator)?;
        let arguments = Arguments::new(operator.name, operator.parameters, arguments)?;
        self.push(operator.name, NodeContent::Operator { operator, arguments }, inputs)
    }

    /// Adds a node that applies an operator of the user's.
    pub fn apply_custom(
        &mut self,
        operator: Arc<CustomOperator>,
        values: &[(&str, f32)],
        inputs: Vec<usize>,
    ) -> Result<usize> {
        let mut all = operator.defaults();
        for (name, value) in values {
            let index = operator.parameter_index(name)?;
            operator.check(index, *value)?;
            if let Some(slot) = all.get_mut(index) {
                *slot = *value;
            }
        }
        let name = operator.name().to_string();
        self.push(&name, NodeContent::Custom { operator, values: all }, inputs)
    }

    fn push(&mut self, base: &str, content: NodeContent, inputs: Vec<usize>) -> Result<usize> {
        if self.nodes.len() >= Self::NODE_LIMIT {
            let found = self.nodes.len() as u64 + 1;
            return Err(Error::Limit { what: "number of nodes".into(), found, limit: Self::NODE_LIMIT as u64 });
        }
        if inputs.iter().any(|input| *input >= self.nodes.len()) {
            return Err(Error::BadGraph(format!("{base} reads a node that stands after it")));
        }
        content.check_inputs(inputs.len())?;
        let name = self.unused_name(base);
        self.nodes.push(NodeData { name, content, inputs });
        Ok(self.nodes.len() - 1)
    }

    fn unused_name(&self, base: &str) -> String {
        let used = |name: &str| self.nodes.iter().any(|node| node.name == name);
        if !used(base) {
            return base.into();
        }
        let mut number = self.nodes.iter().filter(|node| node.name.starts_with(base)).count() + 1;
        while used(&format!("{base}-{number}")) {
            number += 1;
        }
        format!("{base}-{number}")
    }

    /// Gives a node another name.
    pub fn rename(&mut self, id: usize, name: &str) -> Result<()> {
        if self.nodes.iter().enumerate().any(|(index, node)| index != id && node.name == name) {
            return Err(Error::BadGraph(format!("two nodes are named '{name}'")));
        }
        if let Some(node) = self.nodes.get_mut(id) {
            node.name = name.into();
        }
        Ok(())
    }

    /// Names an output.
    pub fn output(&mut self, name: &str, node: usize, format: Option<PixelFormat>) -> Result<()> {
        if self.outputs.iter().any(|output| output.name == name) {
            return Err(Error::BadGraph(format!("two outputs are named '{name}'")));
        }
        self.outputs.push(OutputData { name: name.into(), node, format });
        Ok(())
    }

    /// Reports a mistake made with the fluent interface, if any, a graph without an output, and what a graph put together
    /// by hand may have wrong: cycles, nodes that are not there, the wrong number of pictures.
    pub fn check(&self) -> Result<()> {
        if let Some(Fault(error)) = &self.error {
            return Err(error.clone());
        }
        if self.outputs.is_empty() {
            return Err(Error::BadGraph("it has no output".into()));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if node.inputs.iter().any(|input| *input >= self.nodes.len()) {
                return Err(Error::BadGraph(format!("node '{}' reads a node that is not there", node.name)));
            }
            if node.inputs.iter().any(|input| *input >= index) {
                return Err(Error::BadGraph(format!("node '{}' is part of a cycle", node.name)));
            }
            node.content.check_inputs(node.inputs.len())?;
        }
        if self.outputs.iter().any(|output| output.node >= self.nodes.len()) {
            return Err(Error::BadGraph("an output names no node".into()));
        }
        Ok(())
    }

    /// Names of the inputs, in order.
    pub fn input_names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|node| node.content == NodeContent::Input).map(|node| node.name.as_str())
    }

    /// Finds "node.parameter".
    pub fn find_parameter(&self, path: &str) -> Result<ParameterHandle> {
        let names = || self.nodes.iter().map(|node| node.name.as_str());
        let unknown =
            |name: &str| Error::UnknownName { what: "node", name: name.into(), suggestion: nearest(name, names()) };
        let (node, parameter) = path.rsplit_once('.').ok_or_else(|| Error::UnknownName {
            what: "parameter (written node.parameter)",
            name: path.into(),
            suggestion: None,
        })?;
        let node = self.nodes.iter().position(|data| data.name == node).ok_or_else(|| unknown(node))?;
        Ok(ParameterHandle { node, parameter: parameter.into() })
    }

    /// The value of a parameter.
    pub fn get(&self, handle: &ParameterHandle) -> Result<Argument> {
        let unknown = || Error::UnknownName { what: "parameter", name: handle.parameter.clone(), suggestion: None };
        match self.nodes.get(handle.node).map(|node| &node.content) {
            Some(NodeContent::Operator { arguments, .. }) => {
                arguments.get(&handle.parameter).cloned().ok_or_else(unknown)
            }
            Some(NodeContent::Custom { operator, values }) => {
                let index = operator.parameter_index(&handle.parameter)?;
                values.get(index).map(|value| Argument::Float(*value)).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }

    /// Changes one argument after checking it.
    pub fn set(&mut self, handle: &ParameterHandle, argument: Argument) -> Result<()> {
        let unknown = || Error::UnknownName { what: "node", name: handle.parameter.clone(), suggestion: None };
        let node = self.nodes.get_mut(handle.node).ok_or_else(unknown)?;
        match &mut node.content {
            NodeContent::Input => {
                let (operator, name) = (node.name.clone(), handle.parameter.clone());
                Err(Error::UnknownParameter { operator, name, suggestion: None })
            }
            NodeContent::Operator { operator, arguments } => arguments.set(operator.name, &handle.parameter, argument),
            NodeContent::Custom { operator, values } => {
                let index = operator.parameter_index(&handle.parameter)?;
                let value = match argument {
                    Argument::Float(value) => value,
                    Argument::Integer(value) => value as f32,
                    _ => f32::NAN, // refused by the check
                };
                operator.check(index, value)?;
                if let Some(slot) = values.get_mut(index) {
                    *slot = value;
                }
                Ok(())
            }
        }
    }
}
