//! Between packed rows and planes, for the planes that a value has: see [`super::pack`] for the pixels themselves.

use super::pack::{pack_row, unpack_row};
use super::picture::Layout;
use crate::image::{ImageView, PixelFormat};
use crate::op::{Planes, PlanesMut};

/// Unpacks the pixels of a source from column `x` of row `y` on, as many as the planes are long.
pub(super) fn unpack(source: &ImageView<'_>, x: u32, y: u32, planes: PlanesMut<'_>) {
    let size = source.format().bytes_per_pixel();
    let start = x as usize * size;
    if let Some(bytes) = source.row(y).get(start..start + planes.len() * size) {
        unpack_row(source.format(), bytes, 0, [planes.r, planes.g, planes.b, planes.a]);
    }
}

/// Unpacks the pixels of a source from column `x` of row `y` on into the planes of `layout`, as many as these are long.
/// What the source has beyond them goes to `spare`, which is short, so that it stays in the cache.
pub(super) fn unpack_planes<'p>(
    source: &ImageView<'_>,
    x: u32,
    y: u32,
    layout: Layout,
    planes: impl Iterator<Item = &'p mut [f32]>,
    spare: &mut [f32],
) {
    let mut given: [Option<&mut [f32]>; 4] = [const { None }; 4];
    let mut length = usize::MAX;
    for (channel, plane) in layout.channels().zip(planes) {
        length = length.min(plane.len());
        given[channel] = Some(plane); // a channel is below 4
    }
    let most = (spare.len() / 4).max(1);
    let mut spare = spare.chunks_exact_mut(most);
    let mut spares: [&mut [f32]; 4] = std::array::from_fn(|_| spare.next().unwrap_or_default());
    for start in (0..length).step_by(most) {
        let part = most.min(length - start);
        let mut parts = given.iter_mut().zip(&mut spares).map(|(plane, spare)| match plane {
            Some(plane) => plane.get_mut(start..start + part).unwrap_or_default(),
            None => spare.get_mut(..part).unwrap_or_default(),
        });
        let mut next = || parts.next().unwrap_or_default();
        let (r, g, b, a) = (next(), next(), next(), next());
        unpack(source, x + start as u32, y, PlanesMut { r, g, b, a });
    }
}

/// Packs pixels.
pub(super) fn pack(planes: Planes<'_>, format: PixelFormat, bytes: &mut [u8]) {
    pack_row(format, [planes.r, planes.g, planes.b, planes.a], bytes);
}
