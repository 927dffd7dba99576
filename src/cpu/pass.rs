//! One pass after the other: what each reads, and where its results lie until nobody needs them.

use super::cut::Cut;
use super::picture::{Layout, Picture};
use super::pool::Bytes;
use super::program::{Frame, Stage, compile, misplaced};
use super::reduce::{self, Tally};
use super::schedule::Job;
use super::steps::warp;
use super::tile::{Destination, drive, writers};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::image::ImageView;
use crate::op::{Extent, Reduction, Rows, Step};
use crate::plan::{Storage, Target};
use std::collections::{BTreeMap, BTreeSet};

/// What exists between passes.
pub(super) struct State<'r> {
    graph: &'r Lowered,
    sources: &'r [ImageView<'r>],
    /// Pictures between passes by their values.
    pictures: BTreeMap<Value, Picture>,
    /// The content of buffers by their values.
    pub buffers: BTreeMap<Value, Vec<[u32; 4]>>,
    /// Packed outputs, by their place in the graph.
    pub outputs: Vec<Option<Bytes>>,
}

impl<'r> State<'r> {
    /// Before the first job.
    pub fn new(graph: &'r Lowered, sources: &'r [ImageView<'r>]) -> State<'r> {
        let outputs = graph.outputs.iter().map(|_| None).collect();
        State { graph, sources, pictures: BTreeMap::new(), buffers: BTreeMap::new(), outputs }
    }

    fn frame(&self) -> Frame<'_> {
        Frame { graph: self.graph, sources: self.sources, pictures: &self.pictures, buffers: &self.buffers }
    }

    /// Runs a job.
    pub fn run(&mut self, job: &Job) -> Result<()> {
        let mut inline = job.inline.clone();
        let own = self.store_for_wild_warps(&mut inline)?;
        let buffer = job.writes.iter().find(|write| self.graph.node(write.value).shape.is_buffer());
        match buffer {
            Some(write) => self.make_buffer(write.value, &inline)?,
            None => self.make_pictures(job, &inline)?,
        }
        for value in job.last_uses.iter().chain(&own) {
            self.pictures.remove(value);
        }
        Ok(())
    }

    /// A reduction, or a buffer from another.
    fn make_buffer(&mut self, value: Value, inline: &BTreeSet<Value>) -> Result<()> {
        let node = self.graph.node(value);
        let input = node.inputs.first().copied().ok_or_else(|| misplaced(node, "has no input"))?;
        let entries = match &node.step {
            Step::Reduce(reduction) => self.reduce(input, *reduction, inline)?,
            Step::Derive(kernel) => {
                let Rows::Derive(code) = &kernel.rows else {
                    return Err(Error::NoCpuCode { operator: kernel.name.to_string() });
                };
                code(self.buffers.get(&input).ok_or_else(|| misplaced(node, "reads a buffer before a pass made it"))?)
            }
            _ => return Err(misplaced(node, "makes no buffer")),
        };
        self.buffers.insert(value, entries);
        Ok(())
    }

    fn reduce(&self, input: Value, reduction: Reduction, inline: &BTreeSet<Value>) -> Result<Vec<[u32; 4]>> {
        let extent = self.graph.node(input).shape.extent();
        let stages = compile(self.frame(), inline, &[input])?;
        let cut = Cut::new(self.graph, inline, &[input], extent).with_fixed_bands(extent);
        cut.afford()?;
        let tallies = (0..extent.height.div_ceil(cut.band_rows)).map(|_| Tally::new(reduction)).collect();
        Ok(reduce::entries(reduction, &drive(&stages, extent, cut, tallies)))
    }

    fn make_pictures(&mut self, job: &Job, inline: &BTreeSet<Value>) -> Result<()> {
        let roots = job.roots();
        let mut made: Vec<(usize, Made)> = Vec::with_capacity(job.writes.len());
        for write in &job.writes {
            let node = self.graph.node(write.value);
            if node.shape.extent() != job.extent {
                return Err(misplaced(node, "is written by a pass of another size"));
            }
            let result = roots.iter().position(|root| *root == write.value).unwrap_or(0);
            made.push((result, self.place(write.value, write.target)?));
        }
        let stages = compile(self.frame(), inline, &roots)?;
        let destinations = made.iter_mut().map(|(result, made)| (*result, made.destination()));
        write(self.graph, &stages, inline, &roots, job.extent, destinations)?;
        drop(stages);
        for (_, made) in made {
            match made {
                Made::Picture { value, picture } => {
                    self.pictures.insert(value, picture);
                }
                Made::Output { index, bytes, .. } => {
                    if let Some(place) = self.outputs.get_mut(index) {
                        *place = Some(bytes);
                    }
                }
            }
        }
        Ok(())
    }

    /// Memory for a result.
    fn place(&mut self, value: Value, target: Target) -> Result<Made> {
        let node = self.graph.node(value);
        match target {
            Target::Stored(Storage::Texture(_)) => {
                let picture = Picture::new(node.shape.extent(), Layout::of(&node.shape))?;
                Ok(Made::Picture { value, picture })
            }
            Target::Output(index) => match self.graph.outputs.get(index).map(|output| output.kind) {
                Some(OutputKind::Picture(description)) => {
                    let bytes = Bytes::new(description.byte_count())?;
                    Ok(Made::Output { index, format: description.format, bytes })
                }
                _ => Err(misplaced(node, "is written to an output that is no picture")),
            },
            Target::Stored(Storage::Buffer(_)) => Err(misplaced(node, "is a picture and cannot lie in a buffer")),
        }
    }

    /// A warp that reads all over the place would have its input evaluated many times over, box by box. It is stored first
    /// instead, and no longer evaluated in this job. Returns what was stored.
    fn store_for_wild_warps(&mut self, inline: &mut BTreeSet<Value>) -> Result<Vec<Value>> {
        let mut stored = Vec::new();
        for value in inline.clone() {
            let node = self.graph.node(value);
            let (Step::Warp { kernel, interpolation, edge }, Some(input)) = (&node.step, node.inputs.first().copied())
            else {
                continue;
            };
            let Rows::Warp(code) = &kernel.rows else { continue };
            let source = self.graph.node(input).shape;
            if self.pictures.contains_key(&input)
                || !warp::is_wild(code, node.shape.extent(), *interpolation, *edge, source.extent())
            {
                continue;
            }
            let mut picture = Picture::new(source.extent(), Layout::of(&source))?;
            let stages = compile(self.frame(), inline, &[input])?;
            write(self.graph, &stages, inline, &[input], source.extent(), [(0, Destination::Planar(&mut picture))])?;
            drop(stages);
            self.pictures.insert(input, picture);
            inline.remove(&input);
            stored.push(input);
        }
        Ok(stored)
    }
}

/// Runs stages over a whole picture.
fn write<'w>(
    graph: &Lowered,
    stages: &[Stage<'_>],
    inline: &BTreeSet<Value>,
    roots: &[Value],
    extent: Extent,
    destinations: impl IntoIterator<Item = (usize, Destination<'w>)>,
) -> Result<()> {
    let Some(last) = stages.last() else { return Ok(()) };
    let cut = Cut::new(graph, inline, roots, extent).in_cells(last.cell);
    cut.afford()?;
    drive(stages, extent, cut, writers(extent, cut.band_rows, destinations));
    Ok(())
}

/// A result while it is made.
enum Made {
    Picture { value: Value, picture: Picture },
    Output { index: usize, format: crate::image::PixelFormat, bytes: Bytes },
}

impl Made {
    fn destination(&mut self) -> Destination<'_> {
        match self {
            Made::Picture { picture, .. } => Destination::Planar(picture),
            Made::Output { format, bytes, .. } => Destination::Packed { format: *format, bytes: bytes.bytes_mut() },
        }
    }
}
