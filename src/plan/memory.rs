//! Lifetimes: which physical texture each stored value uses, so that a texture serves again once its value is dead.

use super::fuse::{Draft, finish};
use super::recording::{Limits, PackedLayout, TexelFormat, TextureLayout};
use super::{Pass, Precision, Storage, Stored};
use crate::error::{Error, Result};
use crate::graph::lower::{Lowered, OutputKind, Value};
use std::collections::BTreeMap;

pub(super) struct Placed {
    pub passes: Vec<Pass>,
    pub stored: Vec<Stored>,
    pub textures: Vec<TextureLayout>,
    pub buffers: Vec<u32>,
}

/// Gives each stored value a texture or buffer. A texture is taken again by a later value of the same extent and format
/// when the last pass that reads its value has run.
pub(super) fn place(
    graph: &Lowered,
    precision: Precision,
    drafts: &[Draft],
    stores: &BTreeMap<Value, String>,
    limits: &Limits,
) -> Result<Placed> {
    let mut textures: Vec<TextureLayout> = Vec::new();
    // The pass after which each texture is free.
    let mut busy_until: Vec<usize> = Vec::new();
    let mut buffers = Vec::new();
    let mut places: BTreeMap<Value, Storage> = BTreeMap::new();

    for (index, draft) in drafts.iter().enumerate() {
        for root in draft.roots.iter().filter(|root| stores.contains_key(root)) {
            let node = graph.node(*root);
            if node.shape.is_buffer() {
                places.insert(*root, Storage::Buffer(buffers.len()));
                buffers.push(node.shape.extent().width);
                continue;
            }
            let format = match (node.shape.is_single_channel(), precision) {
                (true, _) => TexelFormat::R32Float,
                (false, Precision::Byte) => TexelFormat::Rgba8Unorm,
                (false, Precision::Half) => TexelFormat::Rgba16Float,
                (false, Precision::Full) => TexelFormat::Rgba32Float,
            };
            let extent = node.shape.extent();
            let layout = TextureLayout::within(limits, extent, format).ok_or_else(|| {
                let Limits { texture_size, texture_layers, .. } = limits;
                Error::DeviceLimit(format!(
                    "{}: a texture of {extent} is needed, the device allows {texture_size} texels a side in \
                     {texture_layers} layers",
                    node.label
                ))
            })?;
            let last_read = drafts
                .iter()
                .enumerate()
                .filter(|(_, draft)| draft.leaves.contains_key(root))
                .map(|(index, _)| index)
                .max()
                .unwrap_or(index);
            let free =
                textures.iter().zip(&busy_until).position(|(texture, until)| *texture == layout && *until < index);
            let slot = free.unwrap_or_else(|| {
                textures.push(layout);
                busy_until.push(0);
                textures.len() - 1
            });
            if let Some(until) = busy_until.get_mut(slot) {
                *until = last_read;
            }
            places.insert(*root, Storage::Texture(slot));
        }
    }
    for output in &graph.outputs {
        if let OutputKind::Picture(description) = output.kind {
            let bytes = PackedLayout::of(&description).size();
            check_buffer(&format!("output '{}'", output.name), bytes, limits)?;
        }
    }
    for (name, description) in &graph.inputs {
        check_buffer(&format!("input '{name}'"), PackedLayout::of(description).size(), limits)?;
    }
    let passes = drafts.iter().map(|draft| finish(graph, draft, |value| places.get(&value).copied())).collect();
    let stored = places.iter().map(|(value, place)| Stored { value: *value, place: *place }).collect();
    Ok(Placed { passes, stored, textures, buffers })
}

fn check_buffer(what: &str, bytes: u64, limits: &Limits) -> Result<()> {
    let limit = limits.storage_binding_size.min(limits.buffer_size);
    if bytes > limit {
        return Err(Error::DeviceLimit(format!("{what} takes {bytes} bytes, the device binds {limit}")));
    }
    Ok(())
}
