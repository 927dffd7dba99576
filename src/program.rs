//! A program: a graph compiled for given inputs on a context. It runs, changes parameters and explains itself.

use crate::compute::Buffer;
use crate::context::{Backend, Context};
use crate::error::{Error, Result, nearest};
use crate::graph::lower::{Lowered, OutputKind, lower};
use crate::graph::simplify::{Decisions, simplify, structure, without_dead};
use crate::graph::{GraphData, ParameterHandle};
use crate::image::{Description, Image, ImageView};
use crate::op::{Argument, Rows};
use crate::plan::recording::{Command, Dispatch, Limits, PackedLayout, Recording};
use crate::plan::{Options, PassShapes, Plan, Report};
use crate::timings::{PassTime, Profile, Timings, milliseconds};
use crate::{cpu, plan, shader};
use futures_intrusive::channel::shared::oneshot_channel;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// A compiled graph. Cheap to share between threads by reference.
#[derive(Debug)]
pub struct Program {
    context: Context,
    inputs: Vec<(String, Description)>,
    options: Options,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    data: GraphData,
    decisions: Decisions,
    current: Arc<Compiled>,
    /// Programs of other structures that `set` has led to, by structure.
    others: HashMap<String, Arc<Compiled>>,
}

/// One structure, ready to run with one set of numbers.
struct Compiled {
    structure: String,
    graph: Arc<Lowered>,
    plan: Arc<Plan>,
    runner: Runner,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Compiled({} passes)", self.plan.passes.len())
    }
}

#[derive(Clone)]
enum Runner {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu {
        loaded: Arc<crate::gpu::Loaded>,
        data: Arc<[crate::gpu::DispatchData]>,
    },
}

/// Structures kept for a program whose structural parameters go back and forth.
const STRUCTURES_KEPT: usize = 16;

/// What to do when as many frames are in flight as the context allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Wait until one is finished.
    #[default]
    Wait,
    /// Answer [`Error::Busy`].
    Busy,
}

/// A picture given to a run: an [`Image`], whose pixels are shared, or a borrowed [`ImageView`].
///
/// A submitted frame outlives the call, so the pixels of a view are copied for it once; an `Image` (also one made by
/// [`Image::from_shared`] around memory of your own) is not. A run on the CPU copies neither.
///
/// Or the words of a compute buffer of the same context, which the device takes as they are when the frame's turn comes:
/// after what was asked of that buffer before, and without a trip through the host. (A program that had to fall back to the
/// CPU waits for them.)
///
/// ```
/// # fn main() -> cyanotype::Result<()> {
/// use cyanotype::{Context, Description, Graph, Picture, PixelFormat};
/// let context = Context::new()?;
/// // Two rows of two pixels; in memory a row is a whole number of sixteen.
/// let description = Description::new(2, 2, PixelFormat::Rgba8);
/// let words = context.zeros::<u32>(description.packed_words())?;
/// let grey = words.map::<u32>("0xff808080u")?; // or a kernel of your own
/// let program = context.compile(&Graph::parse("invert")?, &[("in", description)])?;
/// let image = program.run(&[("in", Picture::Buffer(grey, description))])?.image("out")?;
/// assert_eq!(image.tight_bytes()[..4], [127, 127, 127, 255]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub enum Picture<'a> {
    Image(Image),
    View(ImageView<'a>),
    /// [`Description::packed_words`] words.
    Buffer(Buffer<u32>, Description),
}

impl From<&Image> for Picture<'_> {
    fn from(image: &Image) -> Self {
        Picture::Image(image.clone())
    }
}

impl From<Image> for Picture<'_> {
    fn from(image: Image) -> Self {
        Picture::Image(image)
    }
}

impl<'a> From<ImageView<'a>> for Picture<'a> {
    fn from(view: ImageView<'a>) -> Self {
        Picture::View(view)
    }
}

impl<'a> Picture<'a> {
    fn description(&self) -> Description {
        match self {
            Picture::Image(image) => image.description(),
            Picture::View(view) => view.description(),
            Picture::Buffer(_, description) => *description,
        }
    }

    /// In memory that outlives the call.
    fn into_image(self) -> Result<Image> {
        match self {
            Picture::Image(image) => Ok(image),
            Picture::View(view) => view.try_to_image(),
            Picture::Buffer(words, description) => {
                let stride = PackedLayout::of(&description).stride() as usize;
                let bytes: Vec<u8> = bytemuck::pod_collect_to_vec(&words.read().wait()?);
                Image::from_shared(description, stride, Arc::new(bytes))
            }
        }
    }

    /// Where the CPU reads it.
    fn on_host(self) -> Result<OnHost<'a>> {
        Ok(match self {
            Picture::View(view) => OnHost::View(view),
            other => OnHost::Image(other.into_image()?),
        })
    }

    fn icc_profile(&self) -> Option<Vec<u8>> {
        match self {
            Picture::Image(image) => image.icc_profile().map(<[u8]>::to_vec),
            Picture::View(_) | Picture::Buffer(..) => None,
        }
    }
}

/// A picture in host memory.
enum OnHost<'a> {
    Image(Image),
    View(ImageView<'a>),
}

impl OnHost<'_> {
    fn view(&self) -> ImageView<'_> {
        match self {
            OnHost::Image(image) => image.view(),
            OnHost::View(view) => *view,
        }
    }
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Results {
    outputs: Vec<(String, OutputValue)>,
    timings: Option<Timings>,
}

#[derive(Debug, Clone)]
enum OutputValue {
    Picture(Image),
    Numbers(Arc<[[u32; 4]]>),
}

impl Results {
    /// The picture of an output.
    pub fn image(&self, name: &str) -> Result<Image> {
        match self.find(name)? {
            OutputValue::Picture(image) => Ok(image.clone()),
            OutputValue::Numbers(_) => Err(Error::UnknownName {
                what: "picture output (this one is numbers)",
                name: name.into(),
                suggestion: None,
            }),
        }
    }

    /// The entries of a reduction's output as they lie in its buffer: for `histogram` 256 entries of (red, green, blue,
    /// luma) counts, for `mean` and `min-max` see [`Reduction::Statistics`](crate::op::Reduction::Statistics).
    pub fn numbers(&self, name: &str) -> Result<Arc<[[u32; 4]]>> {
        match self.find(name)? {
            OutputValue::Numbers(numbers) => Ok(Arc::clone(numbers)),
            OutputValue::Picture(_) => Err(Error::UnknownName {
                what: "numbers output (this one is a picture)",
                name: name.into(),
                suggestion: None,
            }),
        }
    }

    /// An output as it lies in a compute buffer.
    fn packed(&self, name: &str) -> Result<Vec<u32>> {
        Ok(match self.find(name)? {
            OutputValue::Numbers(numbers) => bytemuck::pod_collect_to_vec(numbers),
            OutputValue::Picture(image) => {
                let layout = PackedLayout::of(&image.description());
                let mut bytes = vec![0_u8; layout.size() as usize];
                for (row, place) in image.view().rows().zip(bytes.chunks_mut(layout.stride() as usize)) {
                    place[..row.len()].copy_from_slice(row); // a stride is never shorter than a row
                }
                bytemuck::pod_collect_to_vec(&bytes)
            }
        })
    }

    fn find(&self, name: &str) -> Result<&OutputValue> {
        let names = || self.outputs.iter().map(|(name, _)| name.as_str());
        self.outputs.iter().find(|(known, _)| known == name).map(|(_, value)| value).ok_or_else(|| Error::UnknownName {
            what: "output",
            name: name.into(),
            suggestion: nearest(name, names()),
        })
    }

    /// Names of the outputs, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// Whether an output is a picture (else it is numbers).
    pub fn is_picture(&self, name: &str) -> bool {
        matches!(self.find(name), Ok(OutputValue::Picture(_)))
    }

    /// Where the time went, if the frame was [profiled](Program::submit_with).
    pub fn timings(&self) -> Option<&Timings> {
        self.timings.as_ref()
    }
}

/// A frame in flight: a future of its [`Results`] that completes by itself, whoever awaits it, and may be dropped at any
/// time.
#[must_use = "the results arrive through it"]
pub struct Readback(Pin<Box<dyn Future<Output = Result<Results>> + Send>>);

impl std::fmt::Debug for Readback {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Readback")
    }
}

impl Future for Readback {
    type Output = Result<Results>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl Readback {
    /// Blocks until the results are there.
    pub fn wait(self) -> Result<Results> {
        pollster::block_on(self)
    }
}

/// Options of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameOptions {
    /// When as many frames are in flight as the context allows.
    pub when_full: WhenFull,
    /// Whether to measure where the time goes, and how.
    pub profile: Profile,
}

/// A parameter to set: "node.parameter", or a [`ParameterHandle`].
pub trait ParameterPath {
    /// Finds it in the graph.
    fn resolve(&self, graph: &GraphData) -> Result<ParameterHandle>;
}

impl ParameterPath for &str {
    fn resolve(&self, graph: &GraphData) -> Result<ParameterHandle> {
        graph.find_parameter(self)
    }
}

impl ParameterPath for &ParameterHandle {
    fn resolve(&self, _: &GraphData) -> Result<ParameterHandle> {
        Ok((*self).clone())
    }
}

impl Program {
    pub(crate) fn new(
        context: Context,
        data: GraphData,
        inputs: &[(&str, Description)],
        options: &Options,
    ) -> Result<Self> {
        let shapes = options.pass_shapes.unwrap_or_else(|| context.pass_shapes());
        shapes.check(&context.limits())?;
        // Fixed here: tables are laid out by them, and tuning may find others while the program lives.
        let options = &Options { pass_shapes: Some(shapes), ..*options };
        let lowered = lower(&data, inputs)?;
        let simplified = if options.fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
        let inputs = inputs.iter().map(|(name, description)| (name.to_string(), *description)).collect();
        let current = compile(&context, simplified.graph, options, simplified.notes)?;
        let state = State { data, decisions: simplified.decisions, current: Arc::new(current), others: HashMap::new() };
        Ok(Program { context, inputs, options: *options, state: Mutex::new(state) })
    }

    fn current(&self) -> Arc<Compiled> {
        Arc::clone(&self.state.lock().current)
    }

    /// What the program does and why: passes, textures, bytes, refusals. For a person.
    pub fn explain(&self) -> String {
        let compiled = self.current();
        let device = match compiled.runner {
            Runner::Cpu if self.context.is_gpu() => "CPU".into(),
            _ => self.context.description(),
        };
        let is_cpu = matches!(compiled.runner, Runner::Cpu);
        let note = "; it may run neighbouring passes as one, over tiles, and keep no texture between them";
        let note = if is_cpu { note } else { "" };
        format!("on {device}{note}\n{}", compiled.plan.report)
    }

    /// The same as data.
    pub fn report(&self) -> Report {
        self.current().plan.report.clone()
    }

    /// The plan that runs.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.current().plan)
    }

    /// The WGSL module of each dispatch, under the names of its operators. On the CPU: what a GPU would be given.
    pub fn wgsl(&self) -> Result<Vec<(String, String)>> {
        let named = |dispatch: Dispatch| (dispatch.label, dispatch.wgsl.to_string());
        Ok(self.dispatches(None)?.into_iter().map(named).collect())
    }

    /// What a GPU is told to run, in order; or what it would be with passes of other shapes.
    pub(crate) fn dispatches(&self, shapes: Option<PassShapes>) -> Result<Vec<Dispatch>> {
        let compiled = self.current();
        let options = Options { pass_shapes: shapes.or(self.options.pass_shapes), ..self.options };
        let recording = shader::record(&compiled.graph, &compiled.plan, &limits(&self.context, &options))?;
        let dispatch = |command| match command {
            Command::Dispatch(dispatch) => Some(dispatch),
            Command::Clear { .. } => None,
        };
        Ok(recording.commands.into_iter().filter_map(dispatch).collect())
    }

    /// Whether it runs on the device of its context, rather than falling back to the CPU because of a limit.
    pub fn is_on_gpu(&self) -> bool {
        !matches!(self.current().runner, Runner::Cpu)
    }

    /// Changes a parameter, by "node.parameter" or by handle. Frames submitted later use it. Numbers change without a
    /// recompile; a structural change (a radius, an edge mode) compiles once and is kept.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range; the program is then as before.
    pub fn set(&self, parameter: impl ParameterPath, value: impl Into<Argument>) -> Result<()> {
        let mut state = self.state.lock();
        let handle = parameter.resolve(&state.data)?;
        let mut data = state.data.clone();
        data.set(&handle, value.into())?;
        let inputs: Vec<(&str, Description)> =
            self.inputs.iter().map(|(name, description)| (name.as_str(), *description)).collect();
        let lowered = lower(&data, &inputs)?;
        let simplified =
            if self.options.fuse { simplify(&lowered, Some(&state.decisions)) } else { without_dead(&lowered) };
        let wanted = structure(&simplified.graph);
        let known = if wanted == state.current.structure {
            Some(Arc::clone(&state.current))
        } else {
            state.others.get(&wanted).map(Arc::clone)
        };
        let next = match known {
            Some(known) => renumber(&known, simplified.graph, &limits(&self.context, &self.options))?,
            None => compile(&self.context, simplified.graph, &self.options, simplified.notes)?,
        };
        state.decisions = simplified.decisions;
        state.data = data;
        let before = std::mem::replace(&mut state.current, Arc::new(next));
        if before.structure != wanted {
            if state.others.len() >= STRUCTURES_KEPT {
                state.others.clear();
            }
            state.others.insert(before.structure.clone(), before);
        }
        Ok(())
    }

    /// The present value of a parameter.
    pub fn get(&self, parameter: impl ParameterPath) -> Result<Argument> {
        let state = self.state.lock();
        let handle = parameter.resolve(&state.data)?;
        state.data.get(&handle)
    }

    /// Runs and waits for the results.
    pub fn run<'a, P>(&self, inputs: &[(&str, P)]) -> Result<Results>
    where
        P: Clone + Into<Picture<'a>>,
    {
        self.run_with(inputs, FrameOptions::default())
    }

    /// Runs and waits, with options.
    pub fn run_with<'a, P>(&self, inputs: &[(&str, P)], options: FrameOptions) -> Result<Results>
    where
        P: Clone + Into<Picture<'a>>,
    {
        let compiled = self.current();
        if let (Runner::Cpu, Backend::Cpu(bound)) = (&compiled.runner, self.context.backend()) {
            // The caller waits anyway, so borrowed pixels can be used in place.
            let pictures = self.pictures(inputs)?;
            let _place = bound.take(options.when_full == WhenFull::Wait)?;
            return run_on_cpu(&compiled, pictures, options.profile);
        }
        self.submit_with(inputs, options)?.wait()
    }

    /// Starts a frame and returns at once with a future of its results. Waits only when as many frames are in flight as
    /// the context allows.
    pub fn submit<'a, P>(&self, inputs: &[(&str, P)]) -> Result<Readback>
    where
        P: Clone + Into<Picture<'a>>,
    {
        self.submit_with(inputs, FrameOptions::default())
    }

    /// Starts a frame, with options.
    pub fn submit_with<'a, P>(&self, inputs: &[(&str, P)], options: FrameOptions) -> Result<Readback>
    where
        P: Clone + Into<Picture<'a>>,
    {
        self.submit_sharing(inputs, options, &[])
    }

    /// As [`submit_with`](Program::submit_with), and outputs also go, by name, to compute buffers of the same context, without
    /// a trip through the host: what is asked of those buffers afterwards sees them. A picture comes as
    /// [packed words](Description::packed_words); numbers come as four words each. [`shared_length`](Program::shared_length)
    /// is how long a buffer must be. For the way in see [`Picture::Buffer`].
    ///
    /// # Errors
    /// [`Error::UnknownName`] for an output, [`Error::Mismatch`] for a buffer of another length or context.
    pub fn submit_sharing<'a, P>(
        &self,
        inputs: &[(&str, P)],
        options: FrameOptions,
        shared: &[(&str, &Buffer<u32>)],
    ) -> Result<Readback>
    where
        P: Clone + Into<Picture<'a>>,
    {
        for (name, buffer) in shared {
            self.check_buffer(name, buffer, self.shared_length(name)?)?;
        }
        let compiled = self.current();
        if let (Runner::Cpu, false) = (&compiled.runner, shared.is_empty()) {
            // Compute work on the CPU is done when asked for, so this is, too.
            let results = self.submit_with(inputs, options)?.wait()?;
            for (name, buffer) in shared {
                buffer.write(&results.packed(name)?)?;
            }
            return Ok(Readback(Box::pin(std::future::ready(Ok(results)))));
        }
        let pictures = self.pictures(inputs)?;
        match &compiled.runner {
            Runner::Cpu => {
                let images: Vec<Image> = pictures.into_iter().map(Picture::into_image).collect::<Result<_>>()?;
                let place = match self.context.backend() {
                    Backend::Cpu(bound) => Some(bound.take(options.when_full == WhenFull::Wait)?),
                    #[cfg(feature = "gpu")]
                    Backend::Gpu(device) => {
                        device.check()?;
                        None
                    }
                };
                let compiled = Arc::clone(&compiled);
                let (sender, receiver) = oneshot_channel();
                rayon::spawn(move || {
                    let results =
                        run_on_cpu(&compiled, images.into_iter().map(Picture::Image).collect(), options.profile);
                    drop(place);
                    // The receiver may be gone: nobody wants the frame any more.
                    let _ = sender.send(results);
                });
                Ok(Readback(Box::pin(async move {
                    receiver.receive().await.unwrap_or_else(|| Err(Error::Device("the frame was dropped".into())))
                })))
            }
            #[cfg(feature = "gpu")]
            Runner::Gpu { loaded, data } => {
                let when_full = match options.when_full {
                    WhenFull::Wait => crate::gpu::WhenFull::Wait,
                    WhenFull::Busy => crate::gpu::WhenFull::Busy,
                };
                let profile = pictures.first().and_then(Picture::icc_profile);
                let source = |picture| match picture {
                    Picture::Buffer(words, _) => {
                        let gone = || Error::Device("a buffer of this context is not on its device".to_string());
                        Ok(crate::gpu::FrameSource::Buffer(words.device_number().ok_or_else(gone)?))
                    }
                    other => other.into_image().map(crate::gpu::FrameSource::Image),
                };
                let number = |name: &str| compiled.graph.outputs.iter().position(|output| output.name == name);
                let copies = shared.iter().filter_map(|(name, buffer)| Some((number(name)?, buffer.device_number()?)));
                let input = crate::gpu::FrameInput {
                    sources: pictures.into_iter().map(source).collect::<Result<_>>()?,
                    data: Some(Arc::clone(data)),
                    profile: options.profile,
                    copies: copies.collect(),
                };
                let ticket = loaded.device().submit(loaded, input, when_full)?;
                let graph = Arc::clone(&compiled.graph);
                Ok(Readback(Box::pin(async move { gpu_results(&graph, ticket.await?, profile) })))
            }
        }
    }

    /// Whether a compute buffer can hold what this input or output is.
    fn check_buffer(&self, name: &str, buffer: &Buffer<u32>, length: usize) -> Result<()> {
        let but = match () {
            () if buffer.len() != length => "",
            () if !buffer.context().is_same(&self.context) => ", of another context",
            () if !buffer.is_whole() => ", a view of a larger one",
            () => return Ok(()),
        };
        let expected = format!("a whole buffer of {length} words of the same context");
        Err(Error::Mismatch { input: name.to_string(), expected, found: format!("{buffer:?}{but}") })
    }

    /// Words that an output takes in a compute buffer.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn shared_length(&self, name: &str) -> Result<usize> {
        let compiled = self.current();
        let Some(output) = compiled.graph.outputs.iter().find(|output| output.name == name) else {
            let suggestion = nearest(name, compiled.graph.outputs.iter().map(|output| output.name.as_str()));
            return Err(Error::UnknownName { what: "output", name: name.to_string(), suggestion });
        };
        Ok(match output.kind {
            OutputKind::Picture(description) => description.packed_words(),
            OutputKind::Buffer { length, .. } => 4 * length as usize,
        })
    }

    /// The given pictures in the order of the compiled inputs, each checked against what it was compiled for.
    fn pictures<'a, P>(&self, inputs: &[(&str, P)]) -> Result<Vec<Picture<'a>>>
    where
        P: Clone + Into<Picture<'a>>,
    {
        let compiled = self.current();
        let wanted = &compiled.graph.inputs;
        for (index, (name, _)) in inputs.iter().enumerate() {
            if inputs.iter().take(index).any(|(before, _)| before == name) {
                let (expected, found) = ("one picture".into(), "several".into());
                return Err(Error::Mismatch { input: name.to_string(), expected, found });
            }
            if !self.inputs.iter().any(|(known, _)| known == name) {
                let suggestion = nearest(name, self.inputs.iter().map(|(name, _)| name.as_str()));
                return Err(Error::UnknownName { what: "input", name: name.to_string(), suggestion });
            }
        }
        let mut pictures = Vec::with_capacity(wanted.len());
        for (name, expected) in wanted {
            let Some((_, picture)) = inputs.iter().find(|(given, _)| given == name) else {
                return Err(Error::Mismatch {
                    input: name.clone(),
                    expected: expected.to_string(),
                    found: "nothing".into(),
                });
            };
            let picture: Picture<'a> = picture.clone().into();
            let found = picture.description();
            if (found.width, found.height, found.format, found.alpha)
                != (expected.width, expected.height, expected.format, expected.alpha)
            {
                let (expected, found) = (expected.to_string(), found.to_string());
                return Err(Error::Mismatch { input: name.clone(), expected, found });
            }
            if let Picture::Buffer(words, description) = &picture {
                self.check_buffer(name, words, description.packed_words())?;
            }
            pictures.push(picture);
        }
        Ok(pictures)
    }
}

/// What plans keep within, with passes shaped as the options say.
fn limits(context: &Context, options: &Options) -> Limits {
    let limits = context.limits();
    Limits { pass_shapes: options.pass_shapes.unwrap_or(limits.pass_shapes), ..limits }
}

/// Plans and, on a GPU, records and loads. A plan over the device's limits runs on the CPU instead, and says so.
fn compile(context: &Context, graph: Lowered, options: &Options, mut notes: Vec<String>) -> Result<Compiled> {
    let structure = structure(&graph);
    let graph = Arc::new(graph);
    #[cfg(feature = "gpu")]
    if let Backend::Gpu(device) = context.backend() {
        device.check()?;
        let limits = limits(context, options);
        let planned = plan::plan(&graph, options, &limits, notes.clone())
            .and_then(|plan| Ok((shader::record(&graph, &plan, &limits)?, plan)));
        match planned {
            Ok((recording, plan)) => {
                let data = dispatch_data(&recording);
                let loaded = Arc::new(device.load(recording)?);
                let runner = Runner::Gpu { loaded, data };
                return Ok(Compiled { structure, graph, plan: Arc::new(plan), runner });
            }
            Err(Error::DeviceLimit(reason)) => {
                log::warn!("running on the CPU: {reason}");
                notes.push(format!("runs on the CPU instead of the device: {reason}"));
            }
            Err(error) => return Err(error),
        }
    }
    let _ = context;
    let plan = plan::plan(&graph, options, &Limits::UNLIMITED, notes)?;
    let mut kernels = graph.nodes.iter().filter_map(|node| node.step.kernel());
    if let Some(kernel) = kernels.find(|kernel| matches!(kernel.rows, Rows::Missing)) {
        return Err(Error::NoCpuCode { operator: kernel.name.to_string() });
    }
    Ok(Compiled { structure, graph, plan: Arc::new(plan), runner: Runner::Cpu })
}

/// The same program with other numbers.
fn renumber(known: &Compiled, graph: Lowered, limits: &Limits) -> Result<Compiled> {
    let _ = limits; // of GPUs alone
    let graph = Arc::new(graph);
    let runner = match &known.runner {
        Runner::Cpu => Runner::Cpu,
        #[cfg(feature = "gpu")]
        Runner::Gpu { loaded, .. } => {
            let recording = shader::record(&graph, &known.plan, limits)?;
            Runner::Gpu { loaded: Arc::clone(loaded), data: dispatch_data(&recording) }
        }
    };
    Ok(Compiled { structure: known.structure.clone(), graph, plan: Arc::clone(&known.plan), runner })
}

#[cfg(feature = "gpu")]
fn dispatch_data(recording: &Recording) -> Arc<[crate::gpu::DispatchData]> {
    recording
        .commands
        .iter()
        .filter_map(|command| match command {
            Command::Dispatch(dispatch) => {
                Some(crate::gpu::DispatchData { uniforms: dispatch.uniforms.clone(), table: dispatch.table.clone() })
            }
            Command::Clear { .. } => None,
        })
        .collect()
}

#[cfg(feature = "gpu")]
fn gpu_results(graph: &Lowered, frame: crate::gpu::FrameOutput, profile: Option<Vec<u8>>) -> Result<Results> {
    let mut outputs = Vec::new();
    for (output, bytes) in graph.outputs.iter().zip(frame.outputs) {
        let value = match output.kind {
            OutputKind::Picture(description) => {
                let layout = PackedLayout::of(&description);
                let mut image = Image::from_shared(description, layout.stride() as usize, bytes)?;
                if let Some(profile) = &profile {
                    image = image.with_icc_profile(profile.clone());
                }
                OutputValue::Picture(image)
            }
            OutputKind::Buffer { .. } => {
                let entries = bytes.as_ref().as_ref().chunks_exact(16).map(bytemuck::pod_read_unaligned);
                OutputValue::Numbers(entries.collect())
            }
        };
        outputs.push((output.name.clone(), value));
    }
    Ok(Results { outputs, timings: frame.timings })
}

fn run_on_cpu(compiled: &Compiled, pictures: Vec<Picture>, profile: Profile) -> Result<Results> {
    let start = std::time::Instant::now();
    let icc_profile = pictures.first().and_then(Picture::icc_profile);
    let pictures: Vec<OnHost> = pictures.into_iter().map(Picture::on_host).collect::<Result<_>>()?;
    let views: Vec<ImageView> = pictures.iter().map(OnHost::view).collect();
    let done = cpu::run(&compiled.graph, &compiled.plan, &views)?;
    let outputs = compiled.graph.outputs.iter().zip(done.outputs).map(|(output, value)| {
        let value = match value {
            cpu::Output::Picture(image) => OutputValue::Picture(match &icc_profile {
                Some(profile) => image.with_icc_profile(profile.clone()),
                None => image,
            }),
            cpu::Output::Buffer(entries) => OutputValue::Numbers(entries.into()),
        };
        (output.name.clone(), value)
    });
    let outputs = outputs.collect();
    let pass =
        |(label, time)| PassTime { label, milliseconds: Some(milliseconds(time)), by_device: false, bytes: None };
    let timings = (profile != Profile::Off).then(|| Timings {
        passes: done.passes.into_iter().map(pass).collect(),
        total_ms: milliseconds(start.elapsed()),
        ..Timings::default()
    });
    Ok(Results { outputs, timings })
}
