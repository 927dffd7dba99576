//! How a neighbourhood gets the rows that it reads: from where they are stored, or from a block that is filled on demand.

use super::block::{Missing, arrange, is_copy};
use super::edge::Origin;
use super::evaluate::{Cell, Memory, evaluate};
use super::packed;
use super::picture::View;
use super::program::{Action, BlockPlan, Operation, Reader, Stage};
use super::steps::resample;
use std::ops::Range;

/// Gives steps their rows.
pub(super) struct Fetcher<'a, 'r> {
    pub stages: &'a [Stage<'r>],
    /// Of the stages before the present one.
    pub deeper: &'a mut [Memory],
    pub lists: &'a mut Lists,
    /// The columns over which cells are evaluated one after the other.
    pub span: Range<i64>,
}

/// Lists that are filled anew by each request.
#[derive(Debug, Default)]
pub(super) struct Lists {
    rows: Vec<i64>,
    offsets: Vec<usize>,
    missing: Vec<Missing>,
}

impl Fetcher<'_, '_> {
    /// The `rows` of a neighbourhood's input over `columns`, in the order given; any of them may lie outside of the picture.
    /// Where they have to be made, they are made for as many columns as `wide` says that the whole span needs.
    pub fn rows<'v>(
        &'v mut self,
        reader: &Reader<'v>,
        rows: impl IntoIterator<Item = i64>,
        columns: Range<i64>,
        wide: impl FnOnce(Range<i64>) -> Range<i64>,
    ) -> View<'v> {
        let Lists { rows: wanted, offsets, missing } = &mut *self.lists;
        wanted.clear();
        wanted.extend(rows);
        let width = (columns.end - columns.start).max(0) as usize;
        if let Some(picture) = reader.picture
            && picture.layout.covers(reader.layout)
            && columns.start >= 0
            && columns.end <= i64::from(reader.extent.width)
        {
            let (stride, start) = (picture.extent.width as usize, columns.start as usize);
            offsets.clear();
            offsets.extend(wanted.iter().map_while(|row| {
                reader.edge.resolve(*row, reader.extent.height).map(|row| row as usize * stride + start)
            }));
            if offsets.len() == wanted.len() {
                return View { channels: picture.channels(), offsets, width, layout: picture.layout };
            }
        }
        // A stored row is only copied, so there is no gain in more columns than are needed now.
        let wide = if reader.picture.is_some() { columns.clone() } else { wide(self.span.clone()) };
        let nothing = View { channels: [&[]; 4], offsets: &[], width: 0, layout: reader.layout };
        let Some(plan) = self.stages.get(reader.stage).and_then(|stage| stage.block) else { return nothing };
        let Some(memories) = self.deeper.get_mut(..=reader.stage) else { return nothing };
        if let Some(memory) = memories.last_mut() {
            memory.block.request(&plan, wide, wanted, offsets, missing);
        }
        fill(self.stages, memories, reader.stage, &plan, missing);
        let Some(memory) = memories.last() else { return nothing };
        let within = (columns.start - memory.block.start()).max(0) as usize;
        offsets.iter_mut().for_each(|offset| *offset += within);
        let plane = |channel| plan.layout.plane(channel).map_or(&[][..], |plane| memory.block.plane(plane));
        View { channels: std::array::from_fn(plane), offsets, width, layout: plan.layout }
    }
}

/// Makes the missing rows of the last memory's block, which belongs to stage `index`.
fn fill(stages: &[Stage<'_>], memories: &mut [Memory], index: usize, plan: &BlockPlan, missing: &[Missing]) {
    let Some(stage) = stages.get(index) else { return };
    let most = (stage.cell.height as usize).max(1);
    let mut rest = missing;
    while let Some(first) = rest.first() {
        let neighbours = rest.iter().zip(first.row..).take_while(|(row, number)| row.row == *number).count();
        let (group, others) = rest.split_at(neighbours.min(most)); // at least one, at most all
        rest = others;
        fill_rows(stage, stages, memories, index, plan, group);
    }
}

/// Makes neighbouring rows, no more than a cell has.
fn fill_rows(
    stage: &Stage<'_>,
    stages: &[Stage<'_>],
    memories: &mut [Memory],
    index: usize,
    plan: &BlockPlan,
    rows: &[Missing],
) {
    let runs = memories.last().map_or(0, |memory| memory.block.runs().len());
    for number in 0..runs {
        let Some(block) = memories.last().map(|memory| &memory.block) else { return };
        let (Some(first), Some(run)) = (block.runs().first().copied(), block.runs().get(number).copied()) else {
            return;
        };
        if run.origin == Origin::Constant || (number > 0 && is_copy(&first, &run)) {
            continue;
        }
        let source = run.source();
        match (stage.operations.as_slice(), memories.last_mut()) {
            ([Operation { action: Action::Source(picture), layout, .. }], Some(memory)) if *layout == plan.layout => {
                // Straight to where it is wanted, without the way through a slot.
                for row in rows {
                    packed::announce(picture, source.clone(), row.row + 1);
                    let planes = memory.block.rows_mut(row.slot);
                    let planes = planes.filter_map(|plane| plane.get_mut(run.at..run.at + source.len()));
                    packed::unpack_planes(picture, source.start, row.row, *layout, planes);
                }
            }
            ([Operation { action: Action::SourceRows { source: picture, table }, layout, .. }], Some(memory))
                if *layout == plan.layout =>
            {
                // The same for sums of its rows: there are as many as rows, and the run lies within the row.
                let Memory { block, scratch, .. } = memory;
                for cell in cells(stage, rows, &source) {
                    let columns = run.at + (cell.x - source.start) as usize..;
                    resample::source_rows(picture, table, cell, scratch, |row, samples| {
                        for (channel, plane) in layout.channels().zip(block.rows_mut(rows[row].slot)) {
                            packed::separate(picture, samples, channel, &mut plane[columns.clone()]);
                        }
                    });
                }
            }
            _ => evaluate_columns(stage, stages, memories, index, plan, rows, source, run.at),
        }
        if let (Origin::Backward(_) | Origin::Repeat(_), Some(memory)) = (run.origin, memories.last_mut()) {
            rows.iter().for_each(|row| memory.block.rows_mut(row.slot).for_each(|plane| arrange(plane, &run)));
        }
    }
    if let Some(memory) = memories.last_mut() {
        rows.iter().for_each(|row| memory.block.complete(plan, row.slot));
    }
}

/// Evaluates the pixels `columns` of neighbouring rows into the block, from its column `at` on.
#[allow(clippy::too_many_arguments)]
fn evaluate_columns(
    stage: &Stage<'_>,
    stages: &[Stage<'_>],
    memories: &mut [Memory],
    index: usize,
    plan: &BlockPlan,
    rows: &[Missing],
    columns: Range<u32>,
    at: usize,
) {
    let Some(result) = stage.results.first() else { return };
    for cell in cells(stage, rows, &columns) {
        evaluate(stages, memories, index, cell, columns.clone());
        let Some(Memory { slots, block, .. }) = memories.last_mut() else { return };
        let (to, width) = (at + (cell.x - columns.start) as usize, cell.width as usize);
        for (number, row) in rows.iter().enumerate() {
            let planes = slots.planes(result.slot, result.layout, number * width, width);
            let channels = [planes.r, planes.g, planes.b, planes.a];
            for (channel, plane) in plan.layout.channels().zip(block.rows_mut(row.slot)) {
                // The run lies within the row, and a channel is below 4.
                plane[to..to + width].copy_from_slice(channels[channel]);
            }
        }
    }
}

/// The cells that cover these columns of neighbouring rows.
fn cells(stage: &Stage<'_>, rows: &[Missing], columns: &Range<u32>) -> impl Iterator<Item = Cell> {
    let (y, height, end, most) =
        (rows.first().map_or(0, |row| row.row), rows.len() as u32, columns.end, stage.cell.width.max(1));
    columns.clone().step_by(most as usize).map(move |x| Cell { x, y, width: (end - x).min(most), height })
}
