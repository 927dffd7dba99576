//! How the engine's kernels are shaped: workgroup size and vectors per invocation, by device class, or as measured on the
//! device.

use super::builtin::{Engine, Text};

/// The shape of a kernel over one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Invocations of a workgroup.
    pub workgroup: u32,
    /// Vectors of four elements for each invocation.
    pub items: u32,
}

impl Shape {
    pub(super) fn text(self) -> Text {
        Text::new().constant("WORKGROUP", self.workgroup).constant("ITEMS", self.items)
    }
}

impl Engine<'_> {
    /// The shape of a kernel on this device.
    pub(super) fn best_product(&self) -> super::Product {
        super::Product::Blocked
    }

    pub(super) fn shape(&self, _kernel: &str) -> Shape {
        Shape { workgroup: 64, items: 4 }
    }
}
