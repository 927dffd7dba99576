//! A loaded recording on the worker's side: its pipelines, the resources that all its frames share, the parameters given
//! last, and slots that wait for the next frame. What is here belongs to the program; what belongs to one frame is in
//! [`super::frame`].

use std::sync::Arc;

use super::device::{DispatchData, FrameInput};
use super::frame::{Begun, Slot};
use super::memory::{Gpu, SharedPool, Words};
use super::pipelines::{Pipeline, Pipelines};
use super::schedule::{Schedule, WorkBounds, schedule};
use crate::error::{Error, Result};
use crate::plan::recording::{Command, Dispatch, OutputLayout, Recording, Resource};

/// A recording that is ready to run.
pub(super) struct Program {
    pub(super) recording: Arc<Recording>,
    pub(super) schedule: Schedule,
    /// One per dispatch.
    pub(super) pipelines: Vec<Arc<Pipeline>>,
    /// One per dispatch: the parameters given last.
    pub(super) data: Arc<[DispatchData]>,
    /// Counts changes of `data`, so that a slot knows whether it has them.
    pub(super) version: u64,
    shared: Option<Shared>,
    spare: Vec<Slot>,
}

/// What all frames of a program use in turn.
pub(super) struct Shared {
    pub(super) textures: Vec<Arc<wgpu::TextureView>>,
    pub(super) buffers: Vec<Arc<wgpu::Buffer>>,
    /// One per source, unless kernels read the host's memory.
    pub(super) sources: Vec<Arc<wgpu::Buffer>>,
    /// One per source, if kernels read them as textures.
    pub(super) source_textures: Vec<Arc<Words>>,
    /// One per output picture, unless kernels write the host's memory.
    pub(super) pictures: Vec<Arc<wgpu::Buffer>>,
}

/// The dispatches of a recording, in order.
pub(super) fn dispatches(recording: &Recording) -> impl Iterator<Item = &Dispatch> + Clone {
    recording.commands.iter().filter_map(|command| match command {
        Command::Dispatch(dispatch) => Some(dispatch),
        Command::Clear { .. } => None,
    })
}

impl Program {
    /// Checks the recording and makes its pipelines. `workgroups` is the most along one dimension of a dispatch.
    pub(super) fn load(
        gpu: &Gpu,
        pipelines: &mut Pipelines,
        recording: Arc<Recording>,
        bounds: WorkBounds,
        workgroups: u32,
    ) -> Result<Program> {
        check(&recording)?;
        let made = dispatches(&recording).map(|dispatch| pipelines.get(gpu, dispatch, &recording.textures));
        let alignment = gpu.device.limits().min_uniform_buffer_offset_alignment;
        let data =
            |dispatch: &Dispatch| DispatchData { uniforms: dispatch.uniforms.clone(), table: dispatch.table.clone() };
        Ok(Program {
            pipelines: made.collect::<Result<_>>()?,
            schedule: schedule(dispatches(&recording), bounds, workgroups, alignment),
            data: dispatches(&recording).map(data).collect(),
            version: 0,
            shared: None,
            spare: Vec::new(),
            recording,
        })
    }

    /// Uploads, encodes and submits a frame.
    pub(super) fn begin(&mut self, gpu: &Gpu, pool: &mut SharedPool, input: FrameInput<wgpu::Buffer>) -> Result<Begun> {
        let FrameInput { sources, data, profile, copies } = input;
        if let Some(data) = data.filter(|data| !Arc::ptr_eq(data, &self.data)) {
            self.data = data;
            self.version += 1;
        }
        if self.shared.is_none() {
            self.shared = Some(gpu.scoped("textures and buffers", || self.share(gpu, pool))?);
        }
        let Some(shared) = &self.shared else { return Err(Error::Device("no shared resources".to_string())) };
        let slot = match self.spare.pop() {
            Some(slot) => slot,
            None => gpu.scoped("buffers of a frame", || Slot::new(gpu, self, shared))?,
        };
        // A slot that failed is dropped: what state its buffers are in is anyone's guess.
        gpu.scoped("frame", || {
            #[cfg(test)]
            if gpu.status.meets(super::status::Injected::NoMemory) {
                return Err(Error::OutOfMemory("frame: injected".to_string()));
            }
            slot.begin(gpu, self, shared, sources, profile, &copies)
        })
    }

    /// Takes back the slot of a finished frame.
    pub(super) fn keep(&mut self, slot: Slot) {
        self.spare.push(slot);
    }

    fn share(&self, gpu: &Gpu, pool: &mut SharedPool) -> Result<Shared> {
        let recording = &self.recording;
        let pictures = recording.outputs.iter().filter(|output| matches!(output, OutputLayout::Picture(_)));
        let (mut sources, pictures): (Vec<u64>, Vec<u64>) = match gpu.mappable {
            true => (Vec::new(), Vec::new()),
            false => (
                recording.sources.iter().map(|layout| layout.size()).collect(),
                pictures.map(|layout| layout.size()).collect(),
            ),
        };
        let mut source_textures = Vec::new();
        if recording.source_textures {
            sources.clear();
            source_textures = pool.words(gpu, recording.sources.iter().map(|layout| layout.texels()))?;
        }
        let mut all = pool.buffers(gpu, recording.buffers.iter().chain(&sources).chain(&pictures).copied())?;
        let pictures = all.split_off(recording.buffers.len() + sources.len());
        let sources = all.split_off(recording.buffers.len());
        let textures = pool.textures(gpu, &recording.textures)?;
        Ok(Shared { textures, buffers: all, sources, source_textures, pictures })
    }
}

/// Whether every number in the recording names something. The shader stage writes recordings, so a failure is a bug of
/// ours; it is reported like any other.
fn check(recording: &Recording) -> Result<()> {
    let bad = |label: &str, what: String| Err(Error::Device(format!("{label}: bad recording: {what}")));
    for output in &recording.outputs {
        if let OutputLayout::Buffer { buffer, .. } = *output
            && recording.buffers.get(buffer).is_none_or(|&size| size < output.size())
        {
            return bad("output", format!("buffer {buffer} is missing or too short"));
        }
    }
    for command in &recording.commands {
        let dispatch = match command {
            Command::Dispatch(dispatch) => dispatch,
            Command::Clear { buffer } if *buffer < recording.buffers.len() => continue,
            Command::Clear { buffer } => return bad("clear", format!("no buffer {buffer}")),
        };
        let label = &dispatch.label;
        if dispatch.uniforms.len() < 4 || dispatch.uniforms.len() % 4 != 0 {
            return bad(label, format!("{} words of uniforms", dispatch.uniforms.len()));
        }
        for (index, resource) in dispatch.bindings.iter().enumerate() {
            let exists = match *resource {
                Resource::Uniforms => index == 0,
                Resource::Table => dispatch.table.is_some(),
                Resource::Source(number) => !recording.source_textures && number < recording.sources.len(),
                Resource::SourceTexture(number) => recording.source_textures && number < recording.sources.len(),
                Resource::Output(number) => {
                    matches!(recording.outputs.get(number), Some(OutputLayout::Picture(_)))
                }
                Resource::Texture(number) | Resource::TextureWrite(number) => number < recording.textures.len(),
                Resource::Buffer(number) | Resource::BufferWrite(number) => number < recording.buffers.len(),
            };
            if !exists || (index == 0 && *resource != Resource::Uniforms) {
                return bad(label, format!("binding {index} is {resource:?}"));
            }
        }
    }
    Ok(())
}
