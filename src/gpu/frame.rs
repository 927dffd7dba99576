//! One frame: the buffers it needs for itself (a [`Slot`]), and the way through them: upload, encode, submit, read back.
//! A slot serves one frame at a time and then the next, so that steady use creates nothing.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::bytes::{BytePool, PooledBytes};
use super::device::{DispatchData, FrameSource};
use super::memory::{Gpu, Inlet, Outlet};
use super::program::{Program, Shared};
use super::schedule::Part;
use super::status::count;
use super::timing::Stamps;
use crate::error::{Error, Result};
use crate::plan::recording::{Command, Dispatch, OutputLayout, Recording, Resource};
use crate::timings::{PassTime, Profile, Timings, milliseconds};

/// Counts down the buffers that a frame waits for.
#[derive(Default)]
pub(super) struct Waiting {
    left: AtomicUsize,
    pub(super) failed: AtomicBool,
}

impl Waiting {
    /// Maps a buffer as soon as the submitted work that uses it is done.
    pub(super) fn map(self: &Arc<Self>, buffer: &wgpu::Buffer, mode: wgpu::MapMode) {
        self.left.fetch_add(1, Ordering::AcqRel);
        let waiting = Arc::clone(self);
        buffer.map_async(mode, .., move |result| {
            waiting.failed.fetch_or(result.is_err(), Ordering::AcqRel);
            waiting.left.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Maps the first `size` bytes for reading.
    pub(super) fn map_part(self: &Arc<Self>, buffer: &wgpu::Buffer, size: u64) {
        self.left.fetch_add(1, Ordering::AcqRel);
        let waiting = Arc::clone(self);
        buffer.map_async(wgpu::MapMode::Read, ..size, move |result| {
            waiting.failed.fetch_or(result.is_err(), Ordering::AcqRel);
            waiting.left.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Waits for all submitted work.
    pub(super) fn work_done(self: &Arc<Self>, queue: &wgpu::Queue) {
        self.left.fetch_add(1, Ordering::AcqRel);
        let waiting = Arc::clone(self);
        queue.on_submitted_work_done(move || {
            waiting.left.fetch_sub(1, Ordering::AcqRel);
        });
    }

    pub(super) fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }
}

/// The buffers of one frame.
pub(super) struct Slot {
    sources: Vec<Inlet>,
    uniforms: Inlet,
    tables: Tables,
    outputs: Vec<Outlet>,
    /// One per dispatch; `None` until made, and again when a table has moved.
    bind_groups: Vec<Option<wgpu::BindGroup>>,
    /// The version of the program's data that uniforms and tables hold.
    version: Option<u64>,
    stamps: Option<Stamps>,
}

/// Tables of all dispatches, one after the other in a single buffer.
#[derive(Default)]
struct Tables {
    inlet: Option<Inlet>,
    /// One per dispatch: where its table lies.
    ranges: Vec<Range<u64>>,
    /// One per dispatch: what is there.
    contents: Vec<Option<Arc<[[f32; 4]]>>>,
}

/// A frame that the device works on.
pub(super) struct Begun {
    slot: Slot,
    waiting: Arc<Waiting>,
    recording: Arc<Recording>,
    profile: Profile,
    /// Of each dispatch, by the host's clock.
    host_ms: Option<Vec<f64>>,
    started: Instant,
    upload_ms: f64,
}

/// What goes from and to compute buffers, by number of source and of output.
struct Transfers<'a> {
    buffers: Vec<(usize, wgpu::Buffer)>,
    copies: &'a [(usize, wgpu::Buffer)],
}

impl Tables {
    /// Writes what has changed. True if tables have moved, so that bind groups must be made anew.
    fn update(&mut self, gpu: &Gpu, data: &[DispatchData]) -> Result<bool> {
        let alignment = u64::from(gpu.device.limits().min_storage_buffer_offset_alignment.max(16));
        let mut end = 0;
        let place = |data: &DispatchData| {
            let start = end;
            // An empty table still needs a binding.
            let length = data.table.as_ref().map_or(0, |table| (size_of_val::<[_]>(table) as u64).max(16));
            end = (start + length).next_multiple_of(alignment);
            start..start + length
        };
        let ranges: Vec<_> = data.iter().map(place).collect();
        let moved = ranges != self.ranges;
        if moved {
            self.contents = vec![None; data.len()];
            self.ranges = ranges;
        }
        if end == 0 {
            return Ok(moved);
        }
        if self.inlet.as_ref().is_none_or(|inlet| inlet.buffer().size() < end) {
            let size = end.checked_next_power_of_two().unwrap_or(end);
            self.inlet = Some(Inlet::new(gpu, "tables", size, wgpu::BufferUsages::STORAGE, None));
        }
        let Some(inlet) = &mut self.inlet else { return Ok(moved) };
        for ((range, data), content) in self.ranges.iter().zip(data).zip(&mut self.contents) {
            if let Some(table) = &data.table
                && content.as_ref().is_none_or(|old| !Arc::ptr_eq(old, table) && old != table)
            {
                inlet.write(range.start, bytemuck::cast_slice(table))?;
                *content = Some(Arc::clone(table));
            }
        }
        Ok(moved)
    }
}

impl Slot {
    pub(super) fn new(gpu: &Gpu, program: &Program, shared: &Shared) -> Result<Slot> {
        let recording = &program.recording;
        let storage = wgpu::BufferUsages::STORAGE;
        let source =
            |(index, layout): (usize, &crate::plan::recording::PackedLayout)| match shared.source_textures.get(index) {
                Some(words) => Inlet::to_texture(gpu, *layout, Arc::clone(words)),
                None => Inlet::new(gpu, "source", layout.size(), storage, shared.sources.get(index).cloned()),
            };
        let mut pictures = shared.pictures.iter().cloned();
        let output = |output: &OutputLayout| {
            let device = match output {
                OutputLayout::Picture(_) => pictures.next(),
                OutputLayout::Buffer { buffer, .. } => Some(Arc::clone(at(&shared.buffers, *buffer)?)),
            };
            Ok(Outlet::new(gpu, output.size(), device))
        };
        let uniforms = wgpu::BufferUsages::UNIFORM;
        Ok(Slot {
            sources: recording.sources.iter().enumerate().map(source).collect(),
            uniforms: Inlet::new(gpu, "uniforms", program.schedule.uniform_bytes, uniforms, None),
            tables: Tables::default(),
            outputs: recording.outputs.iter().map(output).collect::<Result<_>>()?,
            bind_groups: vec![None; program.pipelines.len()],
            version: None,
            stamps: None,
        })
    }

    /// Uploads, encodes and submits. An error leaves the slot unusable.
    pub(super) fn begin(
        mut self,
        gpu: &Gpu,
        program: &Program,
        shared: &Shared,
        sources: Vec<FrameSource<wgpu::Buffer>>,
        profile: Profile,
        copies: &[(usize, wgpu::Buffer)],
    ) -> Result<Begun> {
        let started = Instant::now();
        let mut buffers = Vec::new();
        // The caller's pictures are free after this.
        for (index, source) in sources.into_iter().enumerate() {
            match (source, self.sources.get_mut(index)) {
                (FrameSource::Image(image), Some(inlet)) => {
                    inlet.write_image(&image, *at(&program.recording.sources, index)?)?;
                }
                (FrameSource::Buffer(buffer), _) => buffers.push((index, buffer)),
                (_, None) => return Err(missing("source", index)),
            }
        }
        if self.version != Some(program.version) {
            self.write_data(gpu, program)?;
            self.version = Some(program.version);
        }
        let stamped = profile != Profile::Off;
        if stamped && self.stamps.is_none() {
            self.stamps = Stamps::new(gpu, program.pipelines.len());
        }
        let upload_ms = milliseconds(started.elapsed());
        for index in 0..self.bind_groups.len() {
            self.make_bind_group(gpu, program, shared, index)?;
        }
        let host_ms = self.submit(gpu, program, shared, profile, Transfers { buffers, copies })?;

        #[cfg(test)]
        if gpu.status.meets(super::status::Injected::NoMapping) {
            self.outputs.iter().for_each(Outlet::destroy);
        }
        let waiting = Arc::new(Waiting::default());
        self.inlets().for_each(|inlet| inlet.map(&waiting));
        self.outputs.iter().for_each(|outlet| outlet.map(&waiting));
        if let Some(stamps) = self.stamps.as_ref().filter(|_| stamped) {
            stamps.map(&waiting);
        }
        let recording = Arc::clone(&program.recording);
        Ok(Begun { slot: self, waiting, recording, profile, host_ms, started, upload_ms })
    }

    fn inlets(&mut self) -> impl Iterator<Item = &mut Inlet> {
        self.sources.iter_mut().chain([&mut self.uniforms]).chain(&mut self.tables.inlet)
    }

    /// Uniforms of all parts, each with its first workgroup in words 0 and 1, and tables.
    fn write_data(&mut self, gpu: &Gpu, program: &Program) -> Result<()> {
        let mut words = vec![0_u32; program.schedule.uniform_bytes.div_ceil(4) as usize];
        for (parts, data) in program.schedule.dispatches.iter().zip(&*program.data) {
            for part in parts {
                let start = (part.uniforms / 4) as usize;
                if let Some(place) = words.get_mut(start..start + data.uniforms.len()) {
                    place.copy_from_slice(&data.uniforms);
                    place.iter_mut().zip(part.first).for_each(|(word, first)| *word = first);
                }
            }
        }
        self.uniforms.write(0, bytemuck::cast_slice(&words))?;
        if self.tables.update(gpu, &program.data)? {
            for (group, data) in self.bind_groups.iter_mut().zip(&*program.data) {
                group.take_if(|_| data.table.is_some());
            }
        }
        Ok(())
    }

    fn make_bind_group(&mut self, gpu: &Gpu, program: &Program, shared: &Shared, index: usize) -> Result<()> {
        let dispatch = dispatch_at(&program.recording, index)?;
        let pipeline = at(&program.pipelines, index)?;
        let place = self.bind_groups.get_mut(index).filter(|group| group.is_none());
        let Some(place) = place else { return Ok(()) };
        let mut entries = Vec::with_capacity(dispatch.bindings.len());
        for (binding, resource) in (0..).zip(&dispatch.bindings) {
            let resource = match *resource {
                Resource::Uniforms => part_of(self.uniforms.buffer(), 0..dispatch.uniforms.len() as u64 * 4),
                Resource::Table => match &self.tables.inlet {
                    Some(inlet) => part_of(inlet.buffer(), at(&self.tables.ranges, index)?.clone()),
                    None => return Err(missing("table", index)),
                },
                Resource::Source(number) => at(&self.sources, number)?.buffer().as_entire_binding(),
                Resource::SourceTexture(number) => {
                    wgpu::BindingResource::TextureView(&at(&shared.source_textures, number)?.view)
                }
                Resource::Output(number) => at(&self.outputs, number)?.buffer().as_entire_binding(),
                Resource::Buffer(number) | Resource::BufferWrite(number) => {
                    at(&shared.buffers, number)?.as_entire_binding()
                }
                Resource::Texture(number) | Resource::TextureWrite(number) => {
                    wgpu::BindingResource::TextureView(at(&shared.textures, number)?)
                }
            };
            entries.push(wgpu::BindGroupEntry { binding, resource });
        }
        count(&gpu.status.tally.bind_groups);
        *place = Some(gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&dispatch.label),
            layout: &pipeline.layout,
            entries: &entries,
        }));
        Ok(())
    }

    /// Records all commands and submits them: in one submit, or several where the schedule says so. Where the device has no
    /// clock, and the profile asks for it, each dispatch is submitted and waited for alone; then the times of all.
    fn submit(
        &mut self,
        gpu: &Gpu,
        program: &Program,
        shared: &Shared,
        profile: Profile,
        transfers: Transfers,
    ) -> Result<Option<Vec<f64>>> {
        let stamped = profile != Profile::Off;
        let mut host_ms = (profile == Profile::PassByPass && self.stamps.is_none()).then(Vec::new);
        let new_encoder =
            || gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
        let mut encoder = new_encoder();
        self.inlets().for_each(|inlet| inlet.release(&mut encoder));
        for (index, buffer) in &transfers.buffers {
            at(&self.sources, *index)?.copy_from(&mut encoder, buffer, *at(&program.recording.sources, *index)?);
        }
        if host_ms.is_some() {
            gpu.queue.submit([std::mem::replace(&mut encoder, new_encoder()).finish()]);
            gpu.settle()?;
        }
        let mut index = 0;
        for command in &program.recording.commands {
            let dispatch = match command {
                Command::Clear { buffer } => {
                    encoder.clear_buffer(at(&shared.buffers, *buffer)?, 0, None);
                    continue;
                }
                Command::Dispatch(dispatch) => dispatch,
            };
            let parts = at(&program.schedule.dispatches, index)?;
            // Runs of parts that go into one submit.
            let runs: Vec<&[Part]> = parts.chunk_by(|_, next| !next.submit_before).collect();
            for (run, number) in runs.iter().zip(1..) {
                if run.first().is_some_and(|part| part.submit_before) {
                    gpu.queue.submit([std::mem::replace(&mut encoder, new_encoder()).finish()]);
                }
                let stamps = self.stamps.as_ref().filter(|_| stamped);
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some(&dispatch.label),
                    timestamp_writes: stamps.and_then(|stamps| stamps.writes(index, number == 1, number == runs.len())),
                });
                pass.set_pipeline(&at(&program.pipelines, index)?.pipeline);
                let group = at(&self.bind_groups, index)?.as_ref();
                for part in *run {
                    // Within a uniform buffer, whose size a limit of 32 bits bounds.
                    pass.set_bind_group(0, group, &[part.uniforms as u32]);
                    pass.dispatch_workgroups(part.groups[0], part.groups[1], 1);
                }
            }
            if let Some(times) = &mut host_ms {
                let start = Instant::now();
                gpu.queue.submit([std::mem::replace(&mut encoder, new_encoder()).finish()]);
                gpu.settle()?;
                times.push(milliseconds(start.elapsed()));
            }
            index += 1;
        }
        for (output, target) in transfers.copies {
            let source = at(&self.outputs, *output)?.buffer();
            encoder.copy_buffer_to_buffer(source, 0, target, 0, source.size().min(target.size()));
        }
        self.outputs.iter().for_each(|outlet| outlet.fetch(&mut encoder));
        if let Some(stamps) = self.stamps.as_ref().filter(|_| stamped) {
            stamps.resolve(&mut encoder);
        }
        gpu.queue.submit([encoder.finish()]);
        Ok(host_ms)
    }
}

impl Begun {
    /// Whether the device is done with it and [`Begun::finish`] will not wait.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_over()
    }

    /// Reads the results if they are `wanted`. The slot is fit for the next frame unless there was an error.
    pub(super) fn finish(
        self,
        gpu: &Gpu,
        pool: &Arc<BytePool>,
        wanted: bool,
    ) -> Result<(Slot, Vec<PooledBytes>, Option<Timings>)> {
        let Begun { slot, waiting, recording, profile, host_ms, started, upload_ms } = self;
        if waiting.failed.load(Ordering::Acquire) {
            return Err(Error::Device("the device did not give its memory back for reading".to_string()));
        }
        let reading = Instant::now();
        let outputs: Vec<Option<PooledBytes>> =
            slot.outputs.iter().map(|outlet| outlet.read(pool, wanted)).collect::<Result<_>>()?;
        let readback_ms = milliseconds(reading.elapsed());
        let timings = (profile != Profile::Off).then(|| {
            let by_device = host_ms.is_none();
            let stamps = slot.stamps.as_ref();
            let times = match host_ms {
                Some(times) => times.into_iter().map(Some).collect(),
                None => stamps.map(|stamps| stamps.read(gpu.queue.get_timestamp_period())).unwrap_or_default(),
            };
            let pass = |(dispatch, milliseconds): (&Dispatch, Option<f64>)| PassTime {
                label: dispatch.label.clone(),
                milliseconds,
                by_device,
                bytes: Some(recording.bytes(dispatch)),
            };
            let times = times.into_iter().chain(std::iter::repeat(None));
            let passes = super::program::dispatches(&recording).zip(times).map(pass).collect();
            Timings { upload_ms, passes, readback_ms, total_ms: milliseconds(started.elapsed()) }
        });
        Ok((slot, outputs.into_iter().flatten().collect(), timings))
    }
}

fn dispatch_at(recording: &Recording, index: usize) -> Result<&Dispatch> {
    super::program::dispatches(recording).nth(index).ok_or_else(|| missing("dispatch", index))
}

fn part_of(buffer: &wgpu::Buffer, range: Range<u64>) -> wgpu::BindingResource<'_> {
    let size = std::num::NonZeroU64::new(range.end - range.start);
    wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: range.start, size })
}

/// The element with this number; recordings are checked when they are loaded, so a failure is a bug of ours.
fn at<T>(items: &[T], index: usize) -> Result<&T> {
    items.get(index).ok_or_else(|| missing(std::any::type_name::<T>(), index))
}

fn missing(what: &str, index: usize) -> Error {
    Error::Device(format!("bad recording: no {what} with number {index}"))
}
