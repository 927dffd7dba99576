//! Turning a decoded picture the way the camera was held. Most photographs from phones need it, and pixel by pixel it
//! would take as long as decoding; here flips happen in place, and quarter turns go tile by tile so that both sides
//! stay in cache. Knows nothing of files.

use ::image::metadata::Orientation;

/// Whether width and height change places.
pub(super) fn swaps_sides(orientation: Orientation) -> bool {
    match orientation {
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => false,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH => {
            true
        }
    }
}

/// The samples of a picture of `N` channels as they should be seen. `width` and `height` are those of the file, and
/// there are `width * height * N` samples.
pub(super) fn turned<const N: usize, T: bytemuck::Pod>(
    mut samples: Vec<T>,
    width: usize,
    height: usize,
    orientation: Orientation,
) -> Vec<T> {
    let pixels = samples.as_chunks_mut::<N>().0;
    match orientation {
        Orientation::NoTransforms => {}
        Orientation::Rotate180 => pixels.reverse(),
        Orientation::FlipHorizontal => pixels.chunks_mut(width.max(1)).for_each(|row| row.reverse()),
        Orientation::FlipVertical => {
            let (upper, lower) = pixels.split_at_mut(height / 2 * width);
            let rows = upper.chunks_mut(width.max(1)).zip(lower.chunks_mut(width.max(1)).rev());
            rows.for_each(|(above, below)| above.swap_with_slice(below));
        }
        // Column x of the picture is row x of the file for a mirror at the diagonal (EXIF 5); the others run through
        // the rows, the columns or both from the far end.
        Orientation::Rotate90FlipH => return transposed::<N, T>(pixels, width, height, false, false),
        Orientation::Rotate90 => return transposed::<N, T>(pixels, width, height, true, false),
        Orientation::Rotate270FlipH => return transposed::<N, T>(pixels, width, height, true, true),
        Orientation::Rotate270 => return transposed::<N, T>(pixels, width, height, false, true),
    }
    samples
}

/// `out(x, y) = pixels(column, row)` with row = x and column = y, counted from the end where asked.
fn transposed<const N: usize, T: bytemuck::Pod>(
    pixels: &[[T; N]],
    width: usize,
    height: usize,
    rows_from_end: bool,
    columns_from_end: bool,
) -> Vec<T> {
    // A tile of 16-byte pixels takes 16 KiB on either side, half of the smallest first-level cache.
    const TILE: usize = 32;
    let mut out = vec![T::zeroed(); pixels.len() * N];
    let out_pixels = out.as_chunks_mut::<N>().0;
    for top in (0..width).step_by(TILE) {
        for left in (0..height).step_by(TILE) {
            for y in top..width.min(top + TILE) {
                let column = if columns_from_end { width - 1 - y } else { y };
                let right = height.min(left + TILE);
                // Rows of the result are `height` long; the range lies in it because of the bounds of the loops.
                let Some(line) = out_pixels.get_mut(y * height + left..y * height + right) else { continue };
                for (x, out) in (left..right).zip(line) {
                    let row = if rows_from_end { height - 1 - x } else { x };
                    if let Some(pixel) = pixels.get(row * width + column) {
                        *out = *pixel;
                    }
                }
            }
        }
    }
    out
}
