//! One pass after the other: what each reads, and where its results lie until nobody needs them.

use super::picture::{Layout, Picture};
use super::pool::Bytes;
use super::program::{Frame, compile, misplaced};
use super::reduce::{self, Tally};
use super::steps::warp;
use super::tile::{Cut, Destination, drive, writers};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use crate::image::ImageView;
use crate::op::{Reduction, Rows, Step};
use crate::plan::{Pass, Plan, Storage, Target};
use std::collections::BTreeMap;

/// What exists between passes.
pub(super) struct State<'r> {
    graph: &'r Lowered,
    sources: &'r [ImageView<'r>],
    /// The plan's textures, then pictures that this backend stores on its own account.
    pictures: Vec<Option<Picture>>,
    /// Where a value lies among `pictures`.
    stored: BTreeMap<Value, usize>,
    /// The content of buffers by their values.
    pub buffers: BTreeMap<Value, Vec<[u32; 4]>>,
    /// Packed outputs, by their place in the graph.
    pub outputs: Vec<Option<Bytes>>,
}

impl<'r> State<'r> {
    /// Before the first pass.
    pub fn new(graph: &'r Lowered, plan: &'r Plan, sources: &'r [ImageView<'r>]) -> State<'r> {
        let texture = |place| if let Storage::Texture(index) = place { Some(index) } else { None };
        let stored = plan.stored.iter().filter_map(|stored| Some((stored.value, texture(stored.place)?)));
        State {
            graph,
            sources,
            pictures: plan.textures.iter().map(|_| None).collect(),
            stored: stored.collect(),
            buffers: BTreeMap::new(),
            outputs: graph.outputs.iter().map(|_| None).collect(),
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            graph: self.graph,
            sources: self.sources,
            pictures: &self.pictures,
            stored: &self.stored,
            buffers: &self.buffers,
        }
    }

    /// Runs a pass.
    pub fn run(&mut self, pass: &Pass) -> Result<()> {
        let mut inline = pass.inline.clone();
        self.store_for_wild_warps(&mut inline)?;
        let buffer = pass.writes.iter().find(|write| self.graph.node(write.value).shape.is_buffer());
        match buffer {
            Some(write) => self.make_buffer(write.value, &inline),
            None => self.make_pictures(pass, &inline),
        }
    }

    /// A reduction, or a buffer from another.
    fn make_buffer(&mut self, value: Value, inline: &[Value]) -> Result<()> {
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

    fn reduce(&self, input: Value, reduction: Reduction, inline: &[Value]) -> Result<Vec<[u32; 4]>> {
        let extent = self.graph.node(input).shape.extent();
        let stages = compile(self.frame(), inline, &[input])?;
        let cut = Cut::new(&stages, extent).with_fixed_bands(extent);
        let tallies = (0..extent.height.div_ceil(cut.band_rows)).map(|_| Tally::new(reduction)).collect();
        Ok(reduce::entries(reduction, &drive(&stages, extent, cut, tallies)))
    }

    fn make_pictures(&mut self, pass: &Pass, inline: &[Value]) -> Result<()> {
        let mut roots: Vec<Value> = Vec::new();
        for write in &pass.writes {
            let node = self.graph.node(write.value);
            if node.shape.extent() != pass.extent {
                return Err(misplaced(node, "is written by a pass of another size"));
            }
            if !roots.contains(&write.value) {
                roots.push(write.value);
            }
        }
        // Taken out of the state, because what a pass writes is not what it reads.
        let mut made: Vec<(usize, Made)> = Vec::with_capacity(pass.writes.len());
        for write in &pass.writes {
            let result = roots.iter().position(|root| *root == write.value).unwrap_or(0);
            made.push((result, self.place(write.value, write.target)?));
        }
        let stages = compile(self.frame(), inline, &roots)?;
        let cut = Cut::new(&stages, pass.extent);
        let destinations = made.iter_mut().map(|(result, made)| (*result, made.destination()));
        drive(&stages, pass.extent, cut, writers(pass.extent, cut.band_rows, destinations));
        drop(stages);
        for (_, made) in made {
            match made {
                Made::Picture { index, picture } => {
                    if let Some(place) = self.pictures.get_mut(index) {
                        *place = Some(picture);
                    }
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
            Target::Stored(Storage::Texture(index)) => {
                let (extent, layout) = (node.shape.extent(), Layout::of(&node.shape));
                // What lies there is dead: the plan's lifetimes end before another value moves in.
                let old = self.pictures.get_mut(index).and_then(Option::take);
                let picture = match old.filter(|old| old.extent == extent && old.layout == layout) {
                    Some(old) => old,
                    None => Picture::new(extent, layout)?,
                };
                Ok(Made::Picture { index, picture })
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
    /// instead, and no longer evaluated in this pass.
    fn store_for_wild_warps(&mut self, inline: &mut Vec<Value>) -> Result<()> {
        for value in inline.clone() {
            let node = self.graph.node(value);
            let (Step::Warp { kernel, interpolation, edge }, Some(input)) = (&node.step, node.inputs.first().copied()) else {
                continue;
            };
            let Rows::Warp(code) = &kernel.rows else { continue };
            let source = self.graph.node(input).shape;
            let is_stored = self.frame().picture(input).is_some() && !inline.contains(&input);
            if is_stored || !warp::is_wild(code, node.shape.extent(), *interpolation, *edge, source.extent()) {
                continue;
            }
            let mut picture = Picture::new(source.extent(), Layout::of(&source))?;
            let stages = compile(self.frame(), inline, &[input])?;
            let cut = Cut::new(&stages, source.extent());
            let destination = [(0, Destination::Planar(&mut picture))];
            drive(&stages, source.extent(), cut, writers(source.extent(), cut.band_rows, destination));
            drop(stages);
            self.stored.insert(input, self.pictures.len());
            self.pictures.push(Some(picture));
            inline.retain(|other| *other != input);
        }
        Ok(())
    }
}

/// A result while it is made.
enum Made {
    Picture { index: usize, picture: Picture },
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
