//! The registry: one word for each operator, which is also the name of its file. Command line, text and JSON forms,
//! help, the README's table, fuzz inputs and tests all follow from this list.

use crate::error::{Error, Result, nearest};
use crate::op::Operator;

macro_rules! registry {
    ($($module:ident)*) => {
        $(pub mod $module;)*
        /// Every operator, in the order of the registry.
        pub static ALL: &[&Operator] = &[$(&$module::OPERATOR),*];
    };
}

registry! {
    exposure
    gamma
    grayscale
    gaussian_blur
    premultiply
    unpremultiply
    brightness
    contrast
    levels
    curves
    saturation
    hue_rotate
    invert
    sepia
    threshold
    color_matrix
    lut3d
    lookup
    srgb_to_linear
    linear_to_srgb
    blend
    solid
    checkerboard
    linear_gradient
    radial_gradient
    box_blur
    convolve
    sobel
    unsharp
    bilateral
    median
    resize
    crop
    pad
    flip
    rotate90
    affine
    perspective
    histogram
    mean
    min_max
    auto_levels
    equalize
}

/// The operator of this name.
pub fn find(name: &str) -> Result<&'static Operator> {
    ALL.iter().copied().find(|operator| operator.name == name).ok_or_else(|| Error::UnknownOperator {
        name: name.into(),
        suggestion: nearest(name, ALL.iter().map(|operator| operator.name)),
    })
}
