//! Lowering: each operator expands into steps. Here alpha conversions are inserted, and shapes follow from kinds.
//! A plain function from [`GraphData`] and input descriptions to [`Lowered`].

use super::{GraphData, NodeContent};
use crate::error::{Error, Result};
use crate::image::{AlphaMode, ColorSpace, Description, PixelFormat, SampleType};
use crate::op::{
    Axis, Channels, Composite, Derive, Edge, Extent, Generate, Interpolation, Kernel, Point, Reduction, Remap, Shape,
    Step, Taps, Warp, WeightedMean, Window,
};
use crate::ops::grayscale::Grayscale;
use crate::ops::premultiply::Premultiply;
use crate::ops::unpremultiply::Unpremultiply;
use std::collections::HashMap;
use std::sync::Arc;

/// Greatest width or height of any value.
pub const EXTENT_LIMIT: u32 = 65535;

/// A value while lowering: the result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub usize);

/// A graph in steps.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// Steps; the inputs of each stand before it.
    pub nodes: Vec<StepNode>,
    /// Inputs by name, with what they were compiled for.
    pub inputs: Vec<(String, Description)>,
    /// What the graph gives.
    pub outputs: Vec<Output>,
}

/// A step with its inputs and the shape of its value.
#[derive(Debug, Clone)]
pub struct StepNode {
    pub step: Step,
    pub inputs: Vec<Value>,
    pub shape: Shape,
    /// Name of the graph node that it comes from, as plans print it.
    pub label: String,
    /// Stands for the same step when the graph is lowered again with other parameters.
    pub key: StepKey,
}

/// Which step of which graph node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepKey {
    pub node: usize,
    pub step: usize,
}

/// A lowered output.
#[derive(Debug, Clone)]
pub struct Output {
    pub name: String,
    pub value: Value,
    pub kind: OutputKind,
}

/// How an output leaves the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputKind {
    /// Packed pixels.
    Picture(Description),
    /// A buffer of vec4u entries, by what made it.
    Buffer { length: u32 },
}

/// Collects the steps of one graph.
#[derive(Debug)]
pub struct Builder {
    nodes: Vec<StepNode>,
    label: String,
    node: usize,
    first_extent: Option<Extent>,
    converted: HashMap<(Value, AlphaMode), Value>,
}

/// Expands all operators of a graph.
pub fn lower(graph: &GraphData, inputs: &[(&str, Description)]) -> Result<Lowered> {
    graph.check()?;
    for (name, _) in inputs {
        if !graph.input_names().any(|known| known == *name) {
            let suggestion = crate::error::nearest(name, graph.input_names());
            return Err(Error::UnknownName { what: "input", name: name.to_string(), suggestion });
        }
    }
    let mut used = vec![false; graph.nodes.len()];
    for output in &graph.outputs {
        if let Some(slot) = used.get_mut(output.node) {
            *slot = true;
        }
    }
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        if used.get(index) == Some(&true) {
            for input in &node.inputs {
                if let Some(slot) = used.get_mut(*input) {
                    *slot = true;
                }
            }
        }
    }

    let mut builder = Builder {
        nodes: Vec::new(),
        label: String::new(),
        node: 0,
        first_extent: inputs.first().map(|(_, description)| extent_of(description)),
        converted: HashMap::new(),
    };
    let mut described = Vec::new();
    let mut values: Vec<Option<Value>> = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        // A node that no output needs is not expanded, so an input that only it reads may stay unconnected.
        if used.get(index) != Some(&true) {
            values.push(None);
            continue;
        }
        builder.label = node.name.clone();
        builder.node = index;
        let read: Vec<Value> = node.inputs.iter().filter_map(|input| values.get(*input).copied().flatten()).collect();
        let value = match &node.content {
            NodeContent::Input => {
                let description = inputs
                    .iter()
                    .find(|(name, _)| *name == node.name)
                    .map(|(_, description)| *description)
                    .ok_or_else(|| Error::BadGraph(format!("input '{}' is not connected", node.name)))?;
                description.check()?;
                builder.check_extent(extent_of(&description))?;
                described.push((node.name.clone(), description));
                builder.source(described.len() - 1, &description)
            }
            NodeContent::Operator { operator, arguments } => {
                for value in &read {
                    if builder.shape(*value).is_buffer() {
                        let message = "reads a picture, given numbers (histogram, mean, min-max)".to_string();
                        return Err(Error::BadInput { operator: operator.name.into(), message });
                    }
                }
                (operator.lower)(&mut builder, arguments, &read)?
            }
            NodeContent::Custom { operator, values } => operator.lower(&mut builder, values, &read)?,
        };
        values.push(Some(value));
    }

    let mut outputs = Vec::new();
    for (index, output) in graph.outputs.iter().enumerate() {
        let Some(value) = values.get(output.node).copied().flatten() else {
            return Err(Error::BadGraph(format!("output '{}' has no value", output.name)));
        };
        builder.label = format!("output {}", output.name);
        builder.node = graph.nodes.len() + index;
        outputs.push(builder.output(&output.name, value, output.format, &described)?);
    }
    Ok(Lowered { nodes: builder.nodes, inputs: described, outputs })
}

fn extent_of(description: &Description) -> Extent {
    Extent { width: description.width, height: description.height }
}

impl Lowered {
    /// The node of a value.
    pub fn node(&self, value: Value) -> &StepNode {
        &self.nodes[value.0] // values are made by pushing the node they name, and simplification renumbers both
    }
}

impl Builder {
    /// Shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.nodes[value.0].shape // values are made by `push` alone
    }

    /// Extent of a picture.
    pub fn extent(&self, value: Value) -> Extent {
        self.shape(value).extent()
    }

    /// The extent of the graph's first input, for generators without one of their own.
    pub fn default_extent(&self) -> Option<Extent> {
        self.first_extent
    }

    fn push(&mut self, step: Step, inputs: Vec<Value>, shape: Shape) -> Value {
        let step_number = self.nodes.iter().rev().take_while(|node| node.key.node == self.node).count();
        let key = StepKey { node: self.node, step: step_number };
        self.nodes.push(StepNode { step, inputs, shape, label: self.label.clone(), key });
        Value(self.nodes.len() - 1)
    }

    fn source(&mut self, input: usize, description: &Description) -> Value {
        let channels = if description.format.channels() == 1 { Channels::Gray } else { Channels::Color };
        let shape = Shape::Picture { extent: extent_of(description), channels, alpha: description.alpha };
        self.push(Step::Source { input }, Vec::new(), shape)
    }

    fn with_alpha(&mut self, value: Value, wanted: AlphaMode) -> Value {
        let shape = self.shape(value);
        let Shape::Picture { extent, channels, alpha } = shape else { return value };
        if alpha == wanted || alpha == AlphaMode::Opaque || wanted == AlphaMode::Opaque {
            return value;
        }
        if let Some(converted) = self.converted.get(&(value, wanted)) {
            return *converted;
        }
        let kernel = match wanted {
            AlphaMode::Premultiplied => Kernel::point(Premultiply {}),
            _ => Kernel::point(Unpremultiply {}),
        };
        let converted = self.push(Step::Point(kernel), vec![value], Shape::Picture { extent, channels, alpha: wanted });
        self.converted.insert((value, wanted), converted);
        converted
    }

    /// The value with colours multiplied by alpha; the value itself where it is opaque.
    pub fn premultiplied(&mut self, value: Value) -> Value {
        self.with_alpha(value, AlphaMode::Premultiplied)
    }

    /// The value with colours not multiplied by alpha.
    pub fn straight(&mut self, value: Value) -> Value {
        self.with_alpha(value, AlphaMode::Straight)
    }

    /// A colour operator: straight in, straight out, grey stays grey.
    pub fn point<K: Point>(&mut self, input: Value, kernel: K) -> Value {
        let channels = self.shape(input).channels();
        self.point_to(input, Kernel::point(kernel), channels)
    }

    /// The same, but the result is colour, or grey, whatever the input is.
    pub fn point_to(&mut self, input: Value, kernel: Kernel, channels: Channels) -> Value {
        let input = self.straight(input);
        let shape = self.shape(input);
        let shape = Shape::Picture { extent: shape.extent(), channels, alpha: shape.alpha() };
        self.push(Step::Point(kernel), vec![input], shape)
    }

    /// A colour operator that makes its own alpha: its result is straight even where the input is opaque.
    pub fn point_with_alpha<K: Point>(&mut self, input: Value, kernel: K) -> Value {
        let input = self.straight(input);
        let shape = self.shape(input);
        let shape = Shape::Picture { extent: shape.extent(), channels: shape.channels(), alpha: AlphaMode::Straight };
        self.push(Step::Point(Kernel::point(kernel)), vec![input], shape)
    }

    /// A colour operator that reads a buffer, see [`Kernel::point_with_buffer`].
    pub fn point_with_buffer(&mut self, input: Value, buffer: Value, kernel: Kernel) -> Value {
        let channels = self.shape(input).channels();
        self.point_with_buffer_to(input, buffer, kernel, channels)
    }

    /// The same, but the result is colour, or grey, whatever the input is.
    pub fn point_with_buffer_to(&mut self, input: Value, buffer: Value, kernel: Kernel, channels: Channels) -> Value {
        let input = self.straight(input);
        let shape = self.shape(input);
        let shape = Shape::Picture { extent: shape.extent(), channels, alpha: shape.alpha() };
        self.push(Step::Point(kernel), vec![input, buffer], shape)
    }

    /// Several pictures of one extent, premultiplied. The result is opaque when the first input is and `keeps_opaque`.
    pub fn composite<const N: usize, K: Composite<N>>(
        &mut self,
        inputs: [Value; N],
        keeps_opaque: bool,
        kernel: K,
    ) -> Result<Value> {
        let inputs: Vec<Value> = inputs.into_iter().map(|input| self.premultiplied(input)).collect();
        let shapes: Vec<Shape> = inputs.iter().map(|input| self.shape(*input)).collect();
        let Some(first) = shapes.first() else {
            return Err(Error::BadInput { operator: K::NAME.into(), message: "reads no picture".into() });
        };
        if let Some(other) = shapes.iter().find(|shape| shape.extent() != first.extent()) {
            let message = format!("pictures of different sizes, {} and {}", first.extent(), other.extent());
            return Err(Error::BadInput { operator: self.label.clone(), message });
        }
        let channels = match shapes.iter().all(|shape| shape.channels() == Channels::Gray) {
            true => Channels::Gray,
            false => Channels::Color,
        };
        let opaque = keeps_opaque && first.alpha() == AlphaMode::Opaque;
        let alpha = if opaque { AlphaMode::Opaque } else { AlphaMode::Premultiplied };
        let shape = Shape::Picture { extent: first.extent(), channels, alpha };
        Ok(self.push(Step::Composite(Kernel::composite(kernel)), inputs, shape))
    }

    /// A picture from coordinates, with straight or no alpha.
    pub fn generate<K: Generate>(
        &mut self,
        extent: Extent,
        channels: Channels,
        alpha: AlphaMode,
        kernel: K,
    ) -> Result<Value> {
        self.check_extent(extent)?;
        Ok(self.push(Step::Generate(Kernel::generate(kernel)), Vec::new(), Shape::Picture { extent, channels, alpha }))
    }

    /// Refuses extents of zero and over [`EXTENT_LIMIT`].
    pub fn check_extent(&self, extent: Extent) -> Result<()> {
        for side in [extent.width, extent.height] {
            if side == 0 {
                let message = format!("the result would be empty ({extent})");
                return Err(Error::BadInput { operator: self.label.clone(), message });
            }
            if side > EXTENT_LIMIT {
                let what = format!("{}: width or height in pixels", self.label);
                return Err(Error::Limit { what, found: side.into(), limit: EXTENT_LIMIT.into() });
            }
        }
        Ok(())
    }

    /// The edge constant as the value stores its colours: premultiplied, and grey where the value is.
    fn edge_for(&mut self, input: Value, edge: Edge) -> (Value, Edge) {
        let input = self.premultiplied(input);
        let Edge::Constant([r, g, b, a]) = edge else { return (input, edge) };
        (input, Edge::Constant([r * a, g * a, b * a, a]))
    }

    /// Shape of an area's result: that of its premultiplied input. A constant edge keeps an opaque picture opaque only
    /// when it is opaque itself, and a grey one grey only when it is grey.
    fn area_shape(&self, input: Value, edge: Edge, extent: Extent) -> Shape {
        let shape = self.shape(input);
        let (mut channels, mut alpha) = (shape.channels(), shape.alpha());
        if let Edge::Constant([r, g, b, a]) = edge {
            if a != 1.0 {
                alpha = AlphaMode::Premultiplied;
            }
            if r != g || g != b {
                channels = Channels::Color;
            }
        }
        Shape::Picture { extent, channels, alpha }
    }

    /// Weighted sum over a window.
    pub fn correlate(&mut self, input: Value, taps: Taps, edge: Edge) -> Value {
        let (input, edge) = self.edge_for(input, edge);
        let shape = self.area_shape(input, edge, self.extent(input));
        self.push(Step::Correlate { taps, edge }, vec![input], shape)
    }

    /// A small square window handed whole to a kernel.
    pub fn window<const SIDE: usize, const N: usize, K: Window<N>>(
        &mut self,
        input: Value,
        edge: Edge,
        kernel: K,
    ) -> Value {
        self.window_step(input, (SIDE / 2) as u32, edge, Kernel::window::<SIDE, N, K>(kernel))
    }

    /// The same with a kernel already erased.
    pub fn window_step(&mut self, input: Value, radius: u32, edge: Edge, kernel: Kernel) -> Value {
        let (input, edge) = self.edge_for(input, edge);
        let shape = self.area_shape(input, edge, self.extent(input));
        self.push(Step::Window { kernel, radius, edge }, vec![input], shape)
    }

    /// A mean with weights that depend on the pixels.
    pub fn weighted_mean<K: WeightedMean>(&mut self, input: Value, radius: u32, edge: Edge, kernel: K) -> Value {
        let (input, edge) = self.edge_for(input, edge);
        let shape = self.area_shape(input, edge, self.extent(input));
        self.push(
            Step::WeightedMean { kernel: Kernel::weighted_mean(kernel, radius), radius, edge },
            vec![input],
            shape,
        )
    }

    /// Exact integer coordinates.
    pub fn remap(&mut self, input: Value, remap: Remap, extent: Extent, edge: Edge) -> Result<Value> {
        self.check_extent(extent)?;
        // No pixel is mixed with another, so alpha can stay as it is; only a constant must be written in its mode.
        let edge = match (edge, self.shape(input).alpha()) {
            (Edge::Constant([r, g, b, a]), AlphaMode::Premultiplied) => Edge::Constant([r * a, g * a, b * a, a]),
            (edge, _) => edge,
        };
        let mut shape = self.area_shape(input, edge, extent);
        if let Shape::Picture { alpha, .. } = &mut shape
            && *alpha != AlphaMode::Opaque
        {
            *alpha = match self.shape(input).alpha() {
                AlphaMode::Opaque => AlphaMode::Straight,
                kept => kept,
            };
        }
        Ok(self.push(Step::Remap { remap, edge }, vec![input], shape))
    }

    /// Interpolated reads at coordinates that a kernel gives.
    pub fn warp<K: Warp>(
        &mut self,
        input: Value,
        extent: Extent,
        interpolation: Interpolation,
        edge: Edge,
        kernel: K,
    ) -> Result<Value> {
        self.warp_step(input, extent, interpolation, edge, Kernel::warp(kernel))
    }

    /// The same with a kernel already erased.
    pub fn warp_step(
        &mut self,
        input: Value,
        extent: Extent,
        interpolation: Interpolation,
        edge: Edge,
        kernel: Kernel,
    ) -> Result<Value> {
        self.check_extent(extent)?;
        let (input, edge) = self.edge_for(input, edge);
        let shape = self.area_shape(input, edge, extent);
        Ok(self.push(Step::Warp { kernel, interpolation, edge }, vec![input], shape))
    }

    /// Change of size along one axis.
    pub fn resample(
        &mut self,
        input: Value,
        axis: Axis,
        weights: crate::op::ResampleWeights,
        edge: Edge,
    ) -> Result<Value> {
        let (input, edge) = self.edge_for(input, edge);
        let mut extent = self.extent(input);
        match axis {
            Axis::Horizontal => extent.width = weights.output,
            Axis::Vertical => extent.height = weights.output,
        }
        self.check_extent(extent)?;
        let shape = self.area_shape(input, edge, extent);
        Ok(self.push(Step::Resample { axis, weights: Arc::new(weights), edge }, vec![input], shape))
    }

    /// A picture to a small buffer; colours are straight.
    pub fn reduce(&mut self, input: Value, reduction: Reduction) -> Value {
        let input = self.straight(input);
        self.push(Step::Reduce(reduction), vec![input], Shape::Buffer { length: reduction.length() })
    }

    /// A buffer to another of `length` entries.
    pub fn derive<K: Derive>(&mut self, buffer: Value, length: u32, kernel: K) -> Value {
        self.push(Step::Derive(Kernel::derive(kernel)), vec![buffer], Shape::Buffer { length })
    }

    fn output(
        &mut self,
        name: &str,
        value: Value,
        format: Option<PixelFormat>,
        inputs: &[(String, Description)],
    ) -> Result<Output> {
        let shape = self.shape(value);
        let Shape::Picture { extent, channels, alpha } = shape else {
            let Shape::Buffer { length } = shape else { return Err(Error::BadGraph(name.into())) };
            if format.is_some() {
                return Err(Error::BadGraph(format!("output '{name}' is numbers and has no pixel format")));
            }
            return Ok(Output { name: name.into(), value, kind: OutputKind::Buffer { length } });
        };
        let first = inputs.first().map(|(_, description)| *description);
        let sample = first.map_or(SampleType::U8, |description| description.format.sample());
        let wanted_channels = match (channels, alpha) {
            (Channels::Gray, AlphaMode::Opaque) => 1,
            (Channels::Color, AlphaMode::Opaque) => 3,
            _ => 4,
        };
        let format = format
            .or_else(|| PixelFormat::from_parts(wanted_channels, sample))
            .or_else(|| PixelFormat::from_parts(4, sample))
            .unwrap_or(PixelFormat::Rgba8);
        let out_alpha = match (format.has_alpha(), alpha, first.map(|description| description.alpha)) {
            (false, ..) | (true, AlphaMode::Opaque, _) => AlphaMode::Opaque,
            (true, _, Some(AlphaMode::Premultiplied)) => AlphaMode::Premultiplied,
            (true, ..) => AlphaMode::Straight,
        };
        // Without an alpha channel the straight colours are kept and alpha is dropped.
        let mut value = match out_alpha {
            AlphaMode::Premultiplied => self.premultiplied(value),
            _ => self.straight(value),
        };
        if format.channels() == 1 && channels == Channels::Color {
            value = self.point_to(value, Kernel::point(Grayscale::rec709()), Channels::Gray);
        }
        let color = first.map_or(ColorSpace::Srgb, |description| description.color);
        let description = Description { width: extent.width, height: extent.height, format, alpha: out_alpha, color };
        Ok(Output { name: name.into(), value, kind: OutputKind::Picture(description) })
    }
}
