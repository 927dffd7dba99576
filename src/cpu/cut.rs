//! How a pass is cut into bands and tiles, and what that costs: neighbourhoods make rows above the first of each band, and
//! columns beside each tile, a second time. Follows from the graph alone.

use super::picture::Layout;
use super::steps::resample::{ROW_CELL, sums_source_rows};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, StepNode, Value};
use crate::op::{Axis, Extent, Remap, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of rows that the blocks of a tile may keep. Half of the second-level cache of common cores (512 KiB to 2 MiB):
/// the other half is for what streams through.
const TILE_BYTES: f64 = 256.0 * 1024.0;
/// Narrower tiles would pay more for the start of each row than they gain.
const NARROWEST_TILE: f64 = 128.0;
/// Bands for each core: enough that a core which other programs disturb hands work on, few enough that rows made twice
/// don't count.
const BANDS_PER_CORE: u32 = 4;
/// Work, in cheap operators on a pixel, that is not worth waking another core: about 50 microseconds.
const WORTH_SHARING: f64 = 100_000.0;
/// Rows of a cell, roughly, that a block holds beside those that a window covers.
const CELL_ROWS: f64 = 4.0;

/// How a pass is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    pub band_rows: u32,
    pub tile_columns: u32,
    /// Whether the bands are worth several cores.
    pub shared: bool,
    /// Work that is done a second time, in cheap operators on a pixel of one channel.
    pub repeated: f64,
    /// Bytes of the rows that the blocks of all workers keep, about.
    kept: f64,
}

/// How far a step reads beyond its own pixel, in its input's pixels.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    rows: f64,
    columns: f64,
    /// Rows of its input, beside those that its window covers, that are kept while it moves down: if any are.
    kept: Option<f64>,
}

/// Rows and columns of a value beyond those of the pass, in its own pixels.
#[derive(Debug, Clone, Copy, Default)]
struct Halo {
    rows: f64,
    columns: f64,
}

impl Cut {
    /// The cut of a pass of this extent that evaluates `inline` for the sake of `roots`.
    pub fn new(graph: &Lowered, inline: &BTreeSet<Value>, roots: &[Value], extent: Extent) -> Cut {
        let cores = rayon::current_num_threads() as u32;
        let (mut halos, mut bytes_per_column, mut work) = (BTreeMap::<Value, Halo>::new(), 0.0, 0.0);
        for root in roots {
            halos.insert(*root, Halo::default());
        }
        // Inputs stand before the values that read them, so in reverse order all readers of a value have been seen.
        for value in inline.iter().rev() {
            let node = graph.node(*value);
            let halo = halos.get(value).copied().unwrap_or_default();
            work += cost(node) * node.shape.extent().pixels() as f64;
            for input in &node.inputs {
                let source = graph.node(*input);
                let (own, read) = (node.shape.extent(), source.shape.extent());
                let reach = reach(node);
                let scale = |own: u32, read: u32| f64::from(read) / f64::from(own.max(1));
                let wanted = Halo {
                    rows: halo.rows * scale(own.height, read.height) + reach.rows,
                    columns: halo.columns * scale(own.width, read.width) + reach.columns,
                };
                let known = halos.entry(*input).or_default();
                known.rows = known.rows.max(wanted.rows);
                known.columns = known.columns.max(wanted.columns);
                let evaluated = inline.contains(input) || matches!(source.step, Step::Source { .. });
                if let Some(kept) = reach.kept
                    && evaluated
                    && !sums_source_rows(node, source)
                {
                    let rows = reach.rows + kept * scale(own.height, read.height).max(1.0);
                    let rows = rows.min(f64::from(read.height) + 1.0); // and one of a constant edge
                    bytes_per_column += rows * bytes_per_pixel(source) * scale(extent.width, read.width);
                }
            }
        }
        let widest = |of: fn(&Halo) -> f64, size: fn(Extent) -> u32, own: u32| {
            let scaled = halos.iter().map(|(value, halo)| {
                of(halo) * f64::from(own) / f64::from(size(graph.node(*value).shape.extent()).max(1))
            });
            scaled.fold(0.0, f64::max)
        };
        let columns_around = widest(|halo| halo.columns, |extent| extent.width, extent.width);
        let rows_around = widest(|halo| halo.rows, |extent| extent.height, extent.height);

        let tile_columns = (TILE_BYTES / f64::max(bytes_per_column, 1.0)).max(NARROWEST_TILE).max(4.0 * columns_around);
        // A last tile of a few columns would be as dear as a whole one: all are made about equal.
        let tiles = (f64::from(extent.width) / tile_columns).ceil().max(1.0);
        let tile_columns = (f64::from(extent.width) / tiles).ceil();
        let shared = cores > 1 && work > WORTH_SHARING;
        let bands = if shared { cores * BANDS_PER_CORE } else { 1 };
        let band_rows = f64::from(extent.height.div_ceil(bands));
        let most = f64::from(extent.height.div_ceil(if shared { cores } else { 1 }));
        let band_rows = band_rows.max(most.min(2.0 * rows_around));

        let repeated = inline.iter().map(|value| {
            let (node, halo) = (graph.node(*value), halos.get(value).copied().unwrap_or_default());
            let size = node.shape.extent();
            let rows = halo.rows * f64::from(extent.height) / (f64::from(size.height) * band_rows);
            let columns = halo.columns * f64::from(extent.width) / (f64::from(size.width) * tile_columns);
            let channels = Layout::of(&node.shape).count() as f64;
            cost(node) * size.pixels() as f64 * channels * (rows + columns + rows * columns)
        });
        let workers = if shared { f64::from(cores.min(bands)) } else { 1.0 };
        Cut {
            band_rows: band_rows as u32,
            tile_columns: tile_columns as u32,
            shared,
            repeated: repeated.sum(),
            kept: workers * bytes_per_column * (tile_columns + columns_around).min(extent.width.into()),
        }
    }

    /// Whether there may be memory for the rows that are kept. Asking first turns a hopeless request into an error: a window
    /// as large as a huge picture keeps all of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn afford(&self) -> Result<()> {
        let bytes = self.kept as usize; // saturates
        let none = |_| Error::OutOfMemory(format!("{bytes} bytes for rows that windows keep"));
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(none)
    }

    /// The same with whole cells in each band.
    pub fn in_cells(self, cell: Extent) -> Cut {
        Cut { band_rows: self.band_rows.max(1).next_multiple_of(cell.height.max(1)), ..self }
    }

    /// The same with bands of a fixed height, so that sums over bands are the same on any number of cores.
    pub fn with_fixed_bands(self, extent: Extent) -> Cut {
        let pixels_each = 1 << 18;
        Cut { band_rows: (pixels_each / extent.width.max(1)).max(1), ..self }
    }
}

fn bytes_per_pixel(node: &StepNode) -> f64 {
    (Layout::of(&node.shape).count() * size_of::<f32>()) as f64
}

fn reach(node: &StepNode) -> Reach {
    let window = |columns: u32, rows: u32| Reach { rows: rows.into(), columns: columns.into(), kept: Some(CELL_ROWS) };
    match &node.step {
        Step::Correlate { taps, .. } => window(taps.width.saturating_sub(1), taps.height.saturating_sub(1)),
        Step::Window { radius, .. } | Step::WeightedMean { radius, .. } => window(2 * radius, 2 * radius),
        Step::Resample { axis: Axis::Vertical, weights, .. } => window(0, weights.taps),
        // Its cells are as high as those of the vertical one that as a rule makes its input.
        Step::Resample { axis: Axis::Horizontal, weights, .. } => {
            Reach { kept: Some(ROW_CELL.height.into()), ..window(weights.taps, 0) }
        }
        Step::Remap { remap: Remap::Nearest { .. }, .. } => window(0, 0),
        _ => Reach::default(),
    }
}

/// Estimate of what a step costs for each pixel and channel, in cheap operators.
fn cost(node: &StepNode) -> f64 {
    match &node.step {
        Step::Correlate { taps, .. } => 1.0 + taps.weights.len() as f64 * 0.2,
        Step::Window { kernel, .. } => f64::from(kernel.cost).max(1.0),
        Step::WeightedMean { kernel, radius, .. } => f64::from((2 * radius + 1).pow(2)) * f64::from(kernel.cost),
        Step::Resample { weights, .. } => 2.0 + f64::from(weights.taps) * 0.2,
        Step::Warp { kernel, .. } => 8.0 + f64::from(kernel.cost),
        Step::Point(kernel) | Step::Composite(kernel) | Step::Generate(kernel) => f64::from(kernel.cost),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_can_hold_is_an_error() {
        let cut = Cut { band_rows: 1, tile_columns: 1, shared: false, repeated: 0.0, kept: 1e6 };
        assert!(cut.afford().is_ok());
        for kept in [1e17, 1e30, f64::INFINITY] {
            assert!(matches!(Cut { kept, ..cut }.afford(), Err(Error::OutOfMemory(_))), "{kept}");
        }
    }
}
