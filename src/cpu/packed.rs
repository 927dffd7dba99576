//! Between packed pictures and the planes that a value has; [`super::pack`] knows the pixels themselves.

use super::pack::{pack_row, read_samples, separate_channel, unpack_row};
use super::picture::{ALPHA, Layout};
use super::simd::prefetch;
use crate::image::{ImageView, PixelFormat};
use crate::op::{Planes, PlanesMut};
use std::ops::Range;

/// Announces that these columns of a row will be unpacked soon. There need be no such row.
pub(super) fn announce(source: &ImageView<'_>, columns: Range<u32>, y: u32) {
    let size = source.format().bytes_per_pixel();
    prefetch(source.row(y).get(columns.start as usize * size..columns.end as usize * size).unwrap_or_default());
}

/// Unpacks the pixels of a source from column `x` of row `y` on into those of `planes` that `layout` has.
pub(super) fn unpack(source: &ImageView<'_>, x: u32, y: u32, layout: Layout, planes: PlanesMut<'_>) {
    let PlanesMut { r, g, b, a } = planes;
    let [g, b] = if layout.color { [g, b] } else { [&mut [][..], &mut []] };
    let a = if layout.alpha { a } else { &mut [] };
    unpack_row(source.format(), source.row(y), x as usize, [r, g, b, a]);
}

/// The same into planes that come in the order of the layout's channels.
pub(super) fn unpack_planes<'p>(
    source: &ImageView<'_>,
    x: u32,
    y: u32,
    layout: Layout,
    planes: impl Iterator<Item = &'p mut [f32]>,
) {
    let mut given: [&mut [f32]; 4] = std::array::from_fn(|_| &mut [][..]);
    for (channel, plane) in layout.channels().zip(planes) {
        given[channel] = plane; // a channel is below 4
    }
    unpack_row(source.format(), source.row(y), x as usize, given);
}

/// Reads the samples of a source from pixel `x` of row `y` on as they lie, all channels side by side.
pub(super) fn samples(source: &ImageView<'_>, x: u32, y: u32, out: &mut [f32]) {
    read_samples(source.format(), source.row(y), x as usize, out);
}

/// One channel of samples that lie as those of a source do.
pub(super) fn separate(source: &ImageView<'_>, samples: &[f32], channel: usize, out: &mut [f32]) {
    separate_channel(samples, source.format().channels() as usize, channel, out);
}

/// Packs pixels of a layout.
pub(super) fn pack(planes: Planes<'_>, layout: Layout, format: PixelFormat, bytes: &mut [u8]) {
    let mut given = [planes.r, planes.g, planes.b, planes.a];
    if !layout.alpha {
        given[ALPHA] = &[]; // stands for 1
    }
    pack_row(format, given, bytes);
}
