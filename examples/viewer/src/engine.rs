//! Runs Cyanotype on a thread of its own: opens devices, keeps compiled programs, draws frames, saves pictures. It decides
//! nothing: the [application](crate::app) does. The thread that owns the window never waits for it.

use crate::app::{Answer, Frame, Request, Rung};
use cyanotype::graph::NodeContent;
use cyanotype::graph::lower::{OutputKind, lower};
use cyanotype::op::{Argument, Extent};
use cyanotype::{
    BackendChoice, Context, ContextOptions, Description, Error, FrameOptions, Graph, GraphData, Image, PixelFormat,
    Profile, Program, Result,
};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What the engine can be told.
#[derive(Debug)]
pub enum Command {
    /// Use this picture file from now on. Answered by [`Answer::Photo`] or [`Answer::NoPhoto`].
    OpenPhoto(PathBuf),
    /// The same from a file's content.
    DecodePhoto(Vec<u8>),
    Open {
        opening: u64,
        rung: Rung,
    },
    Draw(Request),
    /// Save the result, at full size, as a new PNG file in the folder.
    Save(Request, PathBuf),
    Trim,
    Close,
    /// Destroy the device, as a driver might at any time.
    #[cfg(test)]
    Lose,
}

/// A running engine. It ends, after what it is doing, when dropped.
#[derive(Debug)]
pub struct Engine {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the thread. `answer` is called on it; it should hand the answer over and wake the window's thread.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where no thread can be had.
    pub fn start(answer: impl Fn(Answer) + Send + 'static) -> Result<Engine> {
        let (commands, receiver) = channel();
        let work =
            move || Worker { answer, context: None, photo: None, programs: HashMap::new(), clock: 0 }.run(&receiver);
        let thread = std::thread::Builder::new().name("engine".into()).spawn(work);
        let thread = thread.map_err(|error| Error::OutOfMemory(format!("no thread for the engine: {error}")))?;
        Ok(Engine { commands: Some(commands), thread: Some(thread) })
    }

    /// Gives a command, to be carried out after those before it.
    pub fn send(&self, command: Command) {
        let sent = self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok());
        if !sent {
            log::error!("the engine has ended");
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.commands = None;
        // A driver must not be inside a call when the process ends.
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            log::error!("the engine's thread panicked");
        }
    }
}

/// The devices in the order in which they are tried: the platform's own interface, then OpenGL, then the CPU; or the one
/// that was asked for by name.
pub fn ladder(named: Option<BackendChoice>) -> Vec<Rung> {
    let platform = if cfg!(target_vendor = "apple") {
        vec![BackendChoice::Metal]
    } else if cfg!(windows) {
        vec![BackendChoice::Dx12, BackendChoice::Vulkan, BackendChoice::Gl]
    } else {
        vec![BackendChoice::Vulkan, BackendChoice::Gl]
    };
    let named = named.filter(|backend| *backend != BackendChoice::Auto);
    let rung = |backend| Rung { backend, by_name: named.is_some() };
    let mut rungs: Vec<Rung> = named.map_or(platform, |backend| vec![backend]).into_iter().map(rung).collect();
    if named != Some(BackendChoice::Cpu) {
        rungs.push(Rung { backend: BackendChoice::Cpu, by_name: false });
    }
    rungs
}

/// Programs are compiled for a graph and for what it is fitted into. The original has no graph.
type Key = (Option<String>, Extent);

struct Compiled {
    program: Program,
    /// When it was last used.
    used: u64,
}

/// Compiled programs kept: the looks upright and lying.
const PROGRAMS_KEPT: usize = 24;

struct Worker<A> {
    answer: A,
    context: Option<Context>,
    photo: Option<Image>,
    programs: HashMap<Key, Compiled>,
    clock: u64,
}

/// Name of the output that is shown.
const SCREEN: &str = "screen";

impl<A: Fn(Answer)> Worker<A> {
    fn run(mut self, commands: &Receiver<Command>) {
        while let Ok(command) = commands.recv() {
            if let Some(answer) = self.carry_out(command) {
                (self.answer)(answer);
            }
        }
    }

    fn carry_out(&mut self, command: Command) -> Option<Answer> {
        match command {
            Command::OpenPhoto(path) => Some(self.take(guarded(|| Image::open(&path)))),
            Command::DecodePhoto(bytes) => Some(self.take(guarded(|| Image::decode(&bytes)))),
            Command::Open { opening, rung } => Some(match guarded(|| open(rung)) {
                Ok(context) => {
                    let device = context.device();
                    let device = format!("{}: {}", device.backend, device.name);
                    self.close();
                    self.context = Some(context);
                    Answer::Opened { opening, device }
                }
                Err(error) => Answer::NotOpened { opening, reason: error.to_string() },
            }),
            Command::Draw(request) => Some(match guarded(|| self.draw(&request)) {
                Ok(frame) => Answer::Drawn(Box::new(frame)),
                Err(error) => Answer::NotDrawn { opening: request.opening, error },
            }),
            Command::Save(request, folder) => Some(match guarded(|| self.save(&request, &folder)) {
                Ok(path) => Answer::Saved(path),
                Err(error) => Answer::NotSaved { opening: request.opening, error },
            }),
            Command::Trim => {
                let newest = self.programs.values().map(|compiled| compiled.used).max();
                self.programs.retain(|_, compiled| Some(compiled.used) == newest);
                None
            }
            Command::Close => {
                self.close();
                None
            }
            #[cfg(test)]
            Command::Lose => {
                if let Some(context) = &self.context {
                    context.lose_device().unwrap();
                }
                None
            }
        }
    }

    fn take(&mut self, photo: Result<Image>) -> Answer {
        match photo {
            Ok(photo) => {
                let (width, height) = (photo.width(), photo.height());
                self.programs.clear();
                self.photo = Some(photo);
                Answer::Photo { width, height }
            }
            Err(error) => Answer::NoPhoto(error),
        }
    }

    fn close(&mut self) {
        self.programs.clear();
        self.context = None;
    }

    /// The picture and the device, or why there is nothing to draw with.
    fn ready(&self) -> Result<(Context, Image)> {
        let context = self.context.clone().ok_or_else(|| Error::DeviceLost("it was closed".into()))?;
        let photo = self.photo.clone().ok_or_else(|| Error::BadImage("there is no picture".into()))?;
        Ok((context, photo))
    }

    fn draw(&mut self, request: &Request) -> Result<Frame> {
        let (context, photo) = self.ready()?;
        let data = request.document.data();
        // Programs are compiled from the graph as it was parsed, so that each is found again whatever the values are.
        let key = (Some(request.document.text().to_string()), request.bounds);
        if !self.programs.contains_key(&key) {
            let program = compile(&context, data, &photo, request.bounds)?;
            log::info!("{}: {}", request.document.name(), summary(&program));
            self.keep(key.clone(), program);
        }
        let original_key = (None, request.bounds);
        if !self.programs.contains_key(&original_key) {
            let graph = Graph::new();
            graph.output("out", &graph.input("in"));
            let program = compile(&context, &graph.data(), &photo, request.bounds)?;
            self.keep(original_key.clone(), program);
        }
        let original =
            self.program(&original_key)?.run(&[(input_name(&GraphData::default()), &photo)])?.image(SCREEN)?;

        let program = self.program(&key)?;
        let plan = program.plan();
        set_all(program, data)?;
        if !Arc::ptr_eq(&plan, &program.plan()) {
            log::info!("{} with another structure: {}", request.document.name(), summary(program));
        }
        let options = FrameOptions { profile: Profile::Running, ..FrameOptions::default() };
        let results = program.run_with(&[(input_name(data), &photo)], options)?;
        let picture = results.image(SCREEN)?;
        let timings = results.timings().cloned().unwrap_or_default();
        let passes = if timings.passes.is_empty() {
            program.report().passes.into_iter().map(|pass| (pass.label, None)).collect()
        } else {
            timings.passes.into_iter().map(|pass| (pass.label, pass.milliseconds)).collect()
        };
        Ok(Frame {
            opening: request.opening,
            revision: request.revision,
            picture,
            original,
            passes,
            total: timings.total_ms,
            on_device: program.is_on_gpu(),
        })
    }

    fn program(&mut self, key: &Key) -> Result<&Program> {
        self.clock += 1;
        let clock = self.clock;
        let compiled = self.programs.get_mut(key).ok_or_else(|| Error::Device("a program was forgotten".into()))?;
        compiled.used = clock;
        Ok(&compiled.program)
    }

    fn keep(&mut self, key: Key, program: Program) {
        if self.programs.len() >= PROGRAMS_KEPT
            && let Some(oldest) =
                self.programs.iter().min_by_key(|(_, compiled)| compiled.used).map(|(key, _)| key.clone())
        {
            self.programs.remove(&oldest);
        }
        self.clock += 1;
        self.programs.insert(key, Compiled { program, used: self.clock });
    }

    fn save(&mut self, request: &Request, folder: &Path) -> Result<PathBuf> {
        let (context, photo) = self.ready()?;
        let data = request.document.data();
        let name = input_name(data);
        let output = data.outputs.first().map_or("out", |output| output.name.as_str());
        let program = context.compile(&Graph::from_data(data.clone()), &[(name, photo.description())])?;
        let result = program.run(&[(name, &photo)])?.image(output)?;
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::Io { path: folder.into(), message: error.to_string() })?;
        let stem: String =
            request.document.name().to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "-");
        let path = (1..).map(|number| folder.join(format!("{stem}-{number}.png"))).find(|path| !path.exists());
        let path = path.unwrap_or_else(|| folder.join(stem).with_extension("png"));
        result.save(&path)?;
        Ok(path)
    }
}

/// A panic of a driver's interface becomes an error: the next device can be tried.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::Device(format!("the driver interface panicked: {}", text.unwrap_or("no message"))))
    })
}

fn open(rung: Rung) -> Result<Context> {
    let context = Context::with(&ContextOptions { backend: rung.backend, ..ContextOptions::default() })?;
    let device = context.device();
    if device.software && !rung.by_name {
        return Err(Error::NoDevice(format!("{} is a software rasteriser, slower than the CPU backend", device.name)));
    }
    Ok(context)
}

/// The graph with its first output fitted into `bounds`, as RGBA bytes: no more than the screen shows comes back from
/// the device, and the resize fuses with what it can.
fn compile(context: &Context, data: &GraphData, photo: &Image, bounds: Extent) -> Result<Program> {
    let inputs = [(input_name(data), photo.description())];
    let lowered = lower(data, &inputs)?;
    let output = lowered.outputs.first().ok_or_else(|| Error::BadGraph("it has no output".into()))?;
    let OutputKind::Picture(description) = output.kind else {
        return Err(Error::BadGraph(format!("the output '{}' is numbers, not a picture", output.name)));
    };
    let size = fit(description, bounds);
    let mut data = data.clone();
    let Some(output) = data.outputs.first().cloned() else {
        return Err(Error::BadGraph("it has no output".into()));
    };
    let side = |value: u32| Argument::Integer(i32::try_from(value).unwrap_or(i32::MAX));
    let arguments = [("width".to_string(), side(size.width)), ("height".to_string(), side(size.height))];
    let node = data.apply("resize", arguments, vec![output.node])?;
    data.outputs.clear();
    data.output(SCREEN, node, Some(PixelFormat::Rgba8))?;
    context.compile(&Graph::from_data(data), &inputs)
}

/// The largest size of this picture's aspect that fits.
pub fn fit(picture: Description, bounds: Extent) -> Extent {
    let (width, height) = (u64::from(picture.width.max(1)), u64::from(picture.height.max(1)));
    let (most_width, most_height) = (u64::from(bounds.width.max(1)), u64::from(bounds.height.max(1)));
    let rounded = |value: u64, of: u64| u32::try_from((2 * value + of) / (2 * of)).unwrap_or(u32::MAX).max(1);
    if most_width * height <= most_height * width {
        Extent { width: bounds.width.max(1), height: rounded(height * most_width, width) }
    } else {
        Extent { width: rounded(width * most_height, height), height: bounds.height.max(1) }
    }
}

/// The picture's name in the graph.
fn input_name(data: &GraphData) -> &str {
    data.input_names().next().unwrap_or("in")
}

/// Brings the values of a compiled program up to those of a document.
fn set_all(program: &Program, data: &GraphData) -> Result<()> {
    for node in &data.nodes {
        if let NodeContent::Operator { arguments, .. } = &node.content {
            for (declared, value) in arguments.iter() {
                let path = format!("{}.{}", node.name, declared.name);
                if program.get(path.as_str())? != *value {
                    program.set(path.as_str(), value.clone())?;
                }
            }
        }
    }
    Ok(())
}

fn summary(program: &Program) -> String {
    let report = program.report();
    let labels: Vec<&str> = report.passes.iter().map(|pass| pass.label.as_str()).collect();
    format!("{} passes ({}), {} textures", labels.len(), labels.join(" / "), report.physical_textures)
}

#[cfg(test)]
mod tests;
