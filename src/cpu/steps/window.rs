//! Windows handed to a kernel: medians, gradients, bilateral weights. The kernel's row code wants all four channels.

use crate::cpu::picture::View;
use crate::op::Planes;

/// The rows of `view` with the channels that it implies; `ones` are at least as long as a row.
pub fn rows<'a>(view: &View<'a>, ones: &'a [f32]) -> Vec<Planes<'a>> {
    let alpha = |row| if view.layout.alpha { view.row(3, row) } else { ones.get(..view.width).unwrap_or_default() };
    let row = |row| Planes { r: view.row(0, row), g: view.row(1, row), b: view.row(2, row), a: alpha(row) };
    (0..view.offsets.len()).map(row).collect()
}
