//! crop: a rectangle of the picture.

use crate::error::{Error, Result};
use crate::graph::Node;
use crate::op::{Arguments, Builder, Edge, Extent, Group, IMAGE, Operator, Parameter, Remap, Value};

/// A rectangle of the picture.
pub static OPERATOR: Operator = Operator {
    name: "crop",
    group: Group::Geometry,
    summary: "Keeps a rectangle",
    details: "Exact pixels. A rectangle that does not lie within the picture is an error; see pad for making it larger.",
    inputs: IMAGE,
    parameters: &[
        Parameter::integer("x", 0, 65535, 0, "px").help("Left edge of the rectangle"),
        Parameter::integer("y", 0, 65535, 0, "px").help("Upper edge of the rectangle"),
        Parameter::integer("width", 0, 65535, 0, "px").help("Width; 0 reaches to the right edge"),
        Parameter::integer("height", 0, 65535, 0, "px").help("Height; 0 reaches to the lower edge"),
    ],
    lower,
};

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let picture = builder.extent(inputs[0]);
    let number = |name: &str| arguments.integer(name) as u32;
    let [x, y] = [number("x"), number("y")];
    let extent = rectangle(picture, [x, y], number("width"), number("height"))?;
    if extent == picture {
        return Ok(inputs[0]);
    }
    let remap = Remap::Affine { matrix: [[1, 0], [0, 1]], offset: [x as i32, y as i32] };
    builder.remap(inputs[0], remap, extent, Edge::Clamp)
}

/// Size of the rectangle, once it is known to lie within the picture.
fn rectangle(picture: Extent, [x, y]: [u32; 2], width: u32, height: u32) -> Result<Extent> {
    let rest = |wanted: u32, side: u32, start: u32| if wanted == 0 { side.saturating_sub(start) } else { wanted };
    let extent = Extent { width: rest(width, picture.width, x), height: rest(height, picture.height, y) };
    // At most 65535 each, so the sums hold.
    if x >= picture.width
        || y >= picture.height
        || x + extent.width > picture.width
        || y + extent.height > picture.height
    {
        let message = format!("the rectangle {extent} at ({x}, {y}) does not lie within the picture of {picture}");
        return Err(Error::BadInput { operator: OPERATOR.name.into(), message });
    }
    Ok(extent)
}

impl Node {
    /// Keeps the rectangle of the given size whose upper left pixel is (x, y).
    pub fn crop(&self, x: u32, y: u32, width: u32, height: u32) -> Node {
        let arguments = [("x", x.into()), ("y", y.into()), ("width", width.into()), ("height", height.into())];
        self.apply("crop", &arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_lie_within_the_picture() {
        let picture = Extent { width: 10, height: 6 };
        assert_eq!(rectangle(picture, [0, 0], 0, 0).unwrap(), picture);
        assert_eq!(rectangle(picture, [4, 1], 6, 0).unwrap(), Extent { width: 6, height: 5 });
        for (at, width, height) in [([10, 0], 0, 0), ([0, 6], 1, 1), ([4, 0], 7, 1), ([0, 5], 1, 2)] {
            let error = rectangle(picture, at, width, height).unwrap_err().to_string();
            assert!(error.contains("picture of 10x6"), "{error}");
        }
    }
}
