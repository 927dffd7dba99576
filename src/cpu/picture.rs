//! Planes: which channels of a value are kept ([`Layout`]), whole pictures of them ([`Picture`]), and rows of them as a
//! neighbourhood reads them ([`View`]).

use super::pool::Buffer;
use crate::error::Result;
use crate::image::AlphaMode;
use crate::op::{Channels, Edge, Extent, Shape};

/// Red, green, blue, alpha: the indices of the channels.
pub(super) const ALPHA: usize = 3;

/// Which channels of a value have a plane. Green and blue of grey are its red, and alpha of an opaque value is 1; neither
/// is stored or computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub color: bool,
    pub alpha: bool,
}

impl Layout {
    /// What a value of this shape needs.
    pub fn of(shape: &Shape) -> Layout {
        Layout { color: shape.channels() == Channels::Color, alpha: shape.alpha() != AlphaMode::Opaque }
    }

    /// What is needed where this edge may be read in place of a pixel.
    pub fn with_edge(self, edge: Edge) -> Layout {
        match edge {
            Edge::Constant([r, g, b, a]) => {
                Layout { color: self.color || r != g || g != b, alpha: self.alpha || a != 1.0 }
            }
            _ => self,
        }
    }

    /// The planes of both.
    pub fn union(self, other: Layout) -> Layout {
        Layout { color: self.color || other.color, alpha: self.alpha || other.alpha }
    }

    /// The channels that have a plane, in order.
    pub fn channels(self) -> impl Iterator<Item = usize> {
        let color = if self.color { 3 } else { 1 };
        (0..color).chain(self.alpha.then_some(ALPHA))
    }

    /// The number of planes.
    pub fn count(self) -> usize {
        self.channels().count()
    }

    /// Which of the planes holds a channel; `None` for the alpha of an opaque value.
    pub fn plane(self, channel: usize) -> Option<usize> {
        match (channel, self.color) {
            (ALPHA, color) => self.alpha.then_some(if color { 3 } else { 1 }),
            (channel, true) => Some(channel),
            (_, false) => Some(0),
        }
    }

    /// Whether all planes of `other` are here.
    pub fn covers(self, other: Layout) -> bool {
        (self.color || !other.color) && (self.alpha || !other.alpha)
    }
}

/// A picture between passes: one plane per stored channel, rows without padding.
#[derive(Debug)]
pub(super) struct Picture {
    pub extent: Extent,
    pub layout: Layout,
    pub planes: Vec<Buffer>,
}

impl Picture {
    /// A picture of unspecified content.
    pub fn new(extent: Extent, layout: Layout) -> Result<Picture> {
        let length = extent.width as usize * extent.height as usize;
        let planes = layout.channels().map(|_| Buffer::new(length)).collect::<Result<_>>()?;
        Ok(Picture { extent, layout, planes })
    }

    /// The plane of each channel; that of an implied alpha is empty.
    pub fn channels(&self) -> [&[f32]; 4] {
        std::array::from_fn(|channel| {
            self.layout.plane(channel).and_then(|plane| self.planes.get(plane)).map_or(&[][..], |plane| plane)
        })
    }
}

/// Rows of a value, wherever they lie. Row `j` of a channel is `width` floats from `offsets[j]` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    /// One slice per channel; green and blue of grey are the red one; an implied alpha is empty.
    pub channels: [&'a [f32]; 4],
    pub offsets: &'a [usize],
    pub width: usize,
    pub layout: Layout,
}

impl<'a> View<'a> {
    /// A row of a channel that has a plane.
    #[inline(always)]
    pub fn row(&self, channel: usize, row: usize) -> &'a [f32] {
        let start = self.offsets[row]; // callers ask for the rows that they requested
        &self.channels[channel][start..start + self.width] // offsets and width were made for these planes
    }
}
