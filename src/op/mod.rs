//! What an operator is: its name, parameters, help, and the function that lowers it to steps the compiler understands.
//!
//! An operator is data plus one `lower` function. It never sees a device, a thread or a file: it turns validated
//! [`Arguments`] and input [`Value`]s into steps of a [`Builder`]. The registry in [`crate::ops`] is the list of them.

mod kernel;
mod parameter;
mod step;

pub use crate::graph::lower::{Builder, Value};
pub(crate) use kernel::of_buffer;
pub use kernel::{
    Choice, Composite, Derive, Field, FieldType, Generate, Kernel, Place, Planes, PlanesMut, Point, Position, Rgba,
    Rows, Shader, Warp, WeightedMean, Window, field, kernel, put_field,
};
pub use parameter::{Argument, Arguments, FileContent, Parameter, ParameterKind};
pub use step::{
    Axis, Channels, EDGE_MODES, Edge, Extent, Interpolation, Reduction, Remap, ResampleWeights, Shape, Step, StepKind,
    Taps, edge_from,
};

use crate::error::Result;

/// One operator of the registry.
pub struct Operator {
    /// Name in text, JSON and on the command line: lower case with hyphens.
    pub name: &'static str,
    /// The heading it stands under in the operator table.
    pub group: Group,
    /// One line: what it does.
    pub summary: &'static str,
    /// Formula, source of the algorithm, which values it assumes (encoded or linear), differences from peers.
    pub details: &'static str,
    /// Pictures it reads, in order. Empty for generators.
    pub inputs: &'static [Input],
    /// Parameters in the order of the text form's positional arguments.
    pub parameters: &'static [Parameter],
    /// Expands the operator into steps. The inputs have been checked for number, the arguments for type and range.
    pub lower: fn(&mut Builder, &Arguments, &[Value]) -> Result<Value>,
}

/// A picture that an operator reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Name in help and error texts.
    pub name: &'static str,
    /// Whether it may be left out.
    pub optional: bool,
}

impl Input {
    /// A picture that must be given.
    pub const fn required(name: &'static str) -> Self {
        Input { name, optional: false }
    }

    /// A picture that may be left out.
    pub const fn optional(name: &'static str) -> Self {
        Input { name, optional: true }
    }
}

/// The one input that most operators have.
pub const IMAGE: &[Input] = &[Input::required("image")];

/// Headings of the operator table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Colour and tone, pixel by pixel.
    Color,
    /// Two or more pictures at the same pixel.
    Blend,
    /// Neighbourhoods: blurs, edges, noise.
    Filter,
    /// Coordinates: resize, crop, rotate.
    Geometry,
    /// Pictures made from coordinates alone.
    Generate,
    /// Measurements of a picture, and operators that use one.
    Measure,
}

impl Group {
    /// Heading as printed.
    pub const fn title(self) -> &'static str {
        match self {
            Group::Color => "Colour and tone",
            Group::Blend => "Blending",
            Group::Filter => "Filters",
            Group::Geometry => "Geometry",
            Group::Generate => "Generators",
            Group::Measure => "Measuring",
        }
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Operator({})", self.name)
    }
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Operator {
    /// The least number of pictures it reads.
    pub fn required_inputs(&self) -> usize {
        self.inputs.iter().filter(|input| !input.optional).count()
    }

    /// The declaration of a parameter, by name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}
