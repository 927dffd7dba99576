//! rotate90: quarter turns.

use crate::error::Result;
use crate::graph::Node;
use crate::op::{Arguments, Builder, Edge, Extent, Group, IMAGE, Operator, Parameter, Remap, Value};

/// Quarter turns.
pub static OPERATOR: Operator = Operator {
    name: "rotate90",
    group: Group::Geometry,
    summary: "Turns by quarters, clockwise",
    details: "Exact pixels. One turn swaps width and height. NumPy's rot90 turns the other way.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("turns", -3, 3, 1, "").help("Quarter turns clockwise; negative ones turn anticlockwise")
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let source = builder.extent(inputs[0]);
    let Some((remap, extent)) = quarter_turns(source, arguments.integer("turns")) else { return Ok(inputs[0]) };
    builder.remap(inputs[0], remap, extent, Edge::Clamp)
}

/// The coordinate map and the new size, or nothing for whole turns.
fn quarter_turns(source: Extent, turns: i32) -> Option<(Remap, Extent)> {
    let (right, bottom) = (source.width as i32 - 1, source.height as i32 - 1);
    let turned = Extent { width: source.height, height: source.width };
    let (matrix, offset, extent) = match turns.rem_euclid(4) {
        // The lower left pixel comes to the upper left.
        1 => ([[0, 1], [-1, 0]], [0, bottom], turned),
        2 => ([[-1, 0], [0, -1]], [right, bottom], source),
        // The upper right pixel comes to the upper left.
        3 => ([[0, -1], [1, 0]], [right, 0], turned),
        _ => return None,
    };
    Some((Remap::Affine { matrix, offset }, extent))
}

impl Node {
    /// Turns clockwise by `turns` quarters, -3 to 3.
    pub fn rotate90(&self, turns: i32) -> Node {
        self.apply("rotate90", &[("turns", turns.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_go_where_they_belong() {
        let source = Extent { width: 3, height: 2 };
        let corner = |turns| {
            let (remap, extent) = quarter_turns(source, turns).unwrap();
            (remap.source(0, 0), remap.source(i64::from(extent.width) - 1, 0), extent.width)
        };
        // What comes to the upper left and the upper right, and the new width.
        assert_eq!(corner(1), ((0, 1), (0, 0), 2));
        assert_eq!(corner(2), ((2, 1), (0, 1), 3));
        assert_eq!(corner(3), ((2, 0), (2, 1), 2));
        assert_eq!(corner(-1), corner(3));
        assert_eq!(quarter_turns(source, 0), None);
    }
}
