//! solid: one colour everywhere. What all generators share, extent and kind of their result, stands here as well.

use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::image::AlphaMode;
use crate::op::{
    Arguments, Builder, Channels, Extent, Generate, Group, Operator, Parameter, Position, Rgba, Value, kernel,
};

/// One colour everywhere.
pub static OPERATOR: Operator = Operator {
    name: "solid",
    group: Group::Generate,
    summary: "Makes a picture of one colour",
    details: "The colour is straight, and as stored. Without width or height the picture has those of the graph's first \
              input. Opaque and grey where the colour is.",
    inputs: &[],
    parameters: &[Parameter::color("color", [0.0, 0.0, 0.0, 1.0]).help("The colour"), WIDTH, HEIGHT],
    lower: |builder: &mut Builder, arguments: &Arguments, _: &[Value]| {
        let color = arguments.color("color");
        let extent = extent(builder, arguments, "solid")?;
        let (channels, alpha) = kind(&[color], AlphaMode::Straight);
        builder.generate(extent, channels, alpha, Solid { color })
    },
};

/// Width of a generator's result.
pub const WIDTH: Parameter =
    Parameter::integer("width", 0, 65535, 0, "px").help("0 takes the width of the graph's first input");

/// Height of a generator's result.
pub const HEIGHT: Parameter =
    Parameter::integer("height", 0, 65535, 0, "px").help("0 takes the height of the graph's first input");

kernel! { "solid", cost: 0.1, pub struct Solid { color: [f32; 4] } }

/// The extent that the parameters ask for, taken from the graph's first input where they are 0.
pub fn extent(builder: &Builder, arguments: &Arguments, operator: &str) -> Result<Extent> {
    let side = |name: &str, of_first: fn(Extent) -> u32| match arguments.integer(name) {
        0 => builder.default_extent().map(of_first).ok_or_else(|| Error::BadInput {
            operator: operator.into(),
            message: format!("needs a {name}, since the graph has no input to take it from"),
        }),
        given => Ok(given.unsigned_abs()), // never negative: the parameter's range starts at 0
    };
    Ok(Extent { width: side("width", |extent| extent.width)?, height: side("height", |extent| extent.height)? })
}

/// Grey if all colours are, opaque if all are, else of the alpha mode `transparent`.
pub fn kind(colors: &[[f32; 4]], transparent: AlphaMode) -> (Channels, AlphaMode) {
    let gray = colors.iter().all(|[r, g, b, _]| r == g && g == b);
    let opaque = colors.iter().all(|[.., a]| *a == 1.0);
    (if gray { Channels::Gray } else { Channels::Color }, if opaque { AlphaMode::Opaque } else { transparent })
}

impl Generate for Solid {
    #[inline(always)]
    fn pixel(&self, _: Position) -> Rgba {
        self.color
    }
}

impl Graph {
    /// A picture of one straight colour; a width or height of 0 is that of the graph's first input.
    pub fn solid(&self, color: [f32; 4], width: u32, height: u32) -> Node {
        self.generate("solid", &[("color", color.into()), ("width", width.into()), ("height", height.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::AT;

    #[test]
    fn is_its_colour() {
        let color = [0.1, 0.2, 0.3, 0.4];
        assert_eq!(Solid { color }.pixel(AT), color);
    }

    #[test]
    fn kind_follows_the_colours() {
        let (gray, red, glass) = ([0.5, 0.5, 0.5, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.5]);
        let straight = AlphaMode::Straight;
        assert_eq!(kind(&[gray], straight), (Channels::Gray, AlphaMode::Opaque));
        assert_eq!(kind(&[gray, red], straight), (Channels::Color, AlphaMode::Opaque));
        assert_eq!(kind(&[gray, glass], straight), (Channels::Gray, straight));
    }
}
