//! What callers hold: a [`Device`], the recordings [`Loaded`] on it, a [`Ticket`] per frame. All are handles: the work is
//! done on the device's own thread, and only what is named so waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_intrusive::channel::shared::{ChannelReceiveFuture, OneshotReceiver, oneshot_channel};

use super::adapter::{AdapterInfo, BackendName, enumerate};
use super::bound::Bound;
use super::bytes::PooledBytes;
use super::program::dispatches;
use super::schedule::WorkBounds;
use super::status::{Counters, Status};
use super::worker::{Answer, Command, Submission, Worker};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::plan::recording::{Limits, Recording};
use crate::timings::{Profile, Timings};

/// Which device, and how it is used.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// Only this backend; a software rasteriser will then do. `None`: the first that has a GPU.
    pub backend: Option<BackendName>,
    /// Only adapters with this in their name (letter case aside); a software rasteriser will then do.
    pub adapter: Option<String>,
    /// Whether a software rasteriser will do where there is no GPU. It is slower than the CPU backend.
    pub allow_software: bool,
    /// Limits to keep within where they are smaller than the adapter's own: for testing what a weaker device would do.
    pub limits: Option<Limits>,
    /// Most frames in flight. Three keep host, bus and device busy at the same time; each holds its pictures in memory.
    pub frames_in_flight: usize,
    /// When long work is split.
    pub work: WorkBounds,
    /// Without any sign of life for this long the device counts as lost.
    pub deadline: Duration,
    /// Compiles kernels with every check that wgpu has, for debugging kernels.
    pub checked: bool,
    /// Believes drivers instead of stepping around the faults that they are known for: for looking whether those are gone.
    pub believing: bool,
    /// A fault that the adapter or the device will have.
    #[cfg(test)]
    pub(crate) injected: Option<super::status::Injected>,
}

impl Default for DeviceOptions {
    fn default() -> DeviceOptions {
        DeviceOptions {
            backend: None,
            adapter: None,
            allow_software: false,
            limits: None,
            frames_in_flight: 3,
            work: WorkBounds::default(),
            // Software rasterisers take tens of seconds for the first run of a large kernel.
            deadline: Duration::from_secs(120),
            checked: false,
            believing: false,
            #[cfg(test)]
            injected: None,
        }
    }
}

/// A device. Clones share it; it ends with the last of them and of the [`Loaded`] recordings, after the frames in flight.
#[derive(Clone)]
pub struct Device {
    handle: Arc<Handle>,
}

struct Handle {
    /// `None` only while being dropped.
    commands: Option<Sender<Command>>,
    worker: Option<JoinHandle<()>>,
    status: Arc<Status>,
    bound: Arc<Bound>,
    info: AdapterInfo,
    next_id: AtomicU64,
}

/// A recording that is ready to run on its device. Dropping it does not disturb frames in flight.
pub struct Loaded {
    device: Device,
    id: u64,
    recording: Arc<Recording>,
}

/// The parameters of one dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchData {
    /// As long as the recording's.
    pub uniforms: Vec<u32>,
    /// Given exactly if the recording has one. The length may change.
    pub table: Option<Arc<[[f32; 4]]>>,
}

/// What a frame is made of. `B` is how compute buffers are named: by number, or by what the number stands for.
#[derive(Debug, Clone, Default)]
pub struct FrameInput<B = u64> {
    /// A picture for each source.
    pub sources: Vec<FrameSource<B>>,
    /// Parameters of each dispatch in order. `None`, or the same `Arc`: those of the frame submitted before, at first the
    /// recording's. Unchanged parameters are not sent to the device again.
    pub data: Option<Arc<[DispatchData]>>,
    /// Whether to measure, and how.
    pub profile: Profile,
    /// Outputs, by number, that also go to a compute buffer, as far as that holds them.
    pub copies: Vec<(usize, B)>,
}

/// A picture that a frame works on.
#[derive(Debug, Clone)]
pub enum FrameSource<B = u64> {
    /// Of the host; of the source's size and bytes per pixel, any stride.
    Image(Image),
    /// The words of a compute buffer, laid out as the source's `PackedLayout` says.
    Buffer(B),
}

/// What a frame gives.
#[derive(Debug, Clone)]
pub struct FrameOutput {
    /// One per output. Pictures have the stride of their `PackedLayout`; the pixels that pad a row may hold anything.
    pub outputs: Vec<Arc<PooledBytes>>,
    /// If they were asked for.
    pub timings: Option<Timings>,
}

/// What to do when as many frames are in flight as the device allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait until one is finished.
    Wait,
    /// Answer [`Error::Busy`].
    Busy,
}

/// A frame in flight: a future of its output, which needs no runtime and no polling of the device. May be dropped at any
/// time; the frame is then finished and forgotten.
#[must_use = "a ticket is how the result arrives"]
pub struct Ticket {
    result: Pin<Box<Received<Result<FrameOutput>>>>,
    delivered: bool,
    // The channel closes with its receiver.
    _receiver: OneshotReceiver<Result<FrameOutput>>,
    _wanted: Arc<()>,
}

type Received<T> = ChannelReceiveFuture<parking_lot::RawMutex, T>;

/// How long the last handle waits for the worker's end. A worker that is still inside a driver when the process ends
/// crashes it; one whose device hangs must not hang the caller.
const FAREWELL: Duration = Duration::from_secs(10);

/// naga asks for much stack when it parses deeply nested shaders: as much as `shader::front` gives it.
const STACK: usize = 64 << 20;

impl Device {
    /// Opens a device: the best that the options allow and that passes a self-test.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with what was found and why it will not do.
    pub fn open(options: &DeviceOptions) -> Result<Device> {
        let (commands, receiver) = channel();
        let (reply, opened) = channel();
        let worker = spawn({
            let options = options.clone();
            move || match Worker::open(&options) {
                Err(error) => drop(reply.send(Err(error))),
                Ok((worker, info)) => {
                    if reply.send(Ok((info, worker.status()))).is_ok() {
                        worker.serve(receiver);
                    }
                }
            }
        })?;
        let gone = || Error::NoDevice("the device's thread ended while opening it".to_string());
        let (info, status) = opened.recv().map_err(|_| gone())??;
        log::info!("device: {} ({}, {})", info.name, info.backend, info.driver_info);
        let handle = Handle {
            commands: Some(commands),
            worker: Some(worker),
            status,
            bound: Bound::new(options.frames_in_flight),
            info,
            next_id: AtomicU64::new(1),
        };
        Ok(Device { handle: Arc::new(handle) })
    }

    /// All adapters of all backends in this build, each opened and tested. Takes a while.
    pub fn list() -> Vec<AdapterInfo> {
        let list = || {
            let options = DeviceOptions::default();
            let adapters =
                BackendName::ALL.into_iter().filter_map(|backend| enumerate(backend, &options).ok()).flatten();
            adapters
                .map(|candidate| {
                    let info = candidate.info.clone();
                    AdapterInfo { unusable: Worker::open_candidate(candidate, &options).err(), ..info }
                })
                .collect()
        };
        // A thread of its own, since some interfaces tie themselves to the thread that used them first.
        spawn(list).ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    /// What is known of the adapter.
    pub fn info(&self) -> &AdapterInfo {
        &self.handle.info
    }

    /// What a plan must keep within.
    pub fn limits(&self) -> Limits {
        self.handle.info.limits
    }

    /// What has been created so far.
    pub fn counters(&self) -> Counters {
        self.handle.status.tally.read()
    }

    /// [`Error::DeviceLost`] once the device is lost; every other call then answers so, too.
    pub fn check(&self) -> Result<()> {
        self.handle.status.check()
    }

    /// Makes a recording ready to run: compiles its kernels. Waits for that.
    ///
    /// # Errors
    /// [`Error::Device`] if a kernel does not compile or does not fit its bindings, [`Error::DeviceLost`].
    pub fn load(&self, recording: Recording) -> Result<Loaded> {
        if self.handle.is_worker() {
            return Err(Error::Device(
                "load called from the device's own thread, which would wait for itself".to_string(),
            ));
        }
        let id = self.handle.next_id.fetch_add(1, Ordering::Relaxed);
        let recording = Arc::new(recording);
        let (reply, loaded) = oneshot_channel();
        self.handle.send(Command::Load { id, recording: Arc::clone(&recording), reply })?;
        pollster::block_on(loaded.receive()).unwrap_or_else(|| self.handle.gone())?;
        Ok(Loaded { device: self.clone(), id, recording })
    }

    /// Starts a frame. Returns at once, or with [`WhenFull::Wait`] as soon as the device takes another frame.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the input is not what the recording expects, [`Error::Busy`], [`Error::DeviceLost`]. What
    /// fails later arrives through the ticket.
    pub fn submit(&self, loaded: &Loaded, input: FrameInput, when_full: WhenFull) -> Result<Ticket> {
        self.check()?;
        if !Arc::ptr_eq(&self.handle, &loaded.device.handle) {
            return Err(Error::Device("the program was loaded on another device".to_string()));
        }
        loaded.accepts(&input)?;
        // The worker cannot wait for itself, should a waker run there and submit.
        let wait = when_full == WhenFull::Wait && !self.handle.is_worker();
        let permit = self.handle.bound.take(wait)?;
        let (reply, receiver) = oneshot_channel();
        let wanted = Arc::new(());
        let answer = Answer { permit, reply, wanted: Arc::downgrade(&wanted) };
        self.handle.send(Command::Submit(Submission { program: loaded.id, input, answer }))?;
        Ok(Ticket { result: Box::pin(receiver.receive()), delivered: false, _receiver: receiver, _wanted: wanted })
    }

    /// A number for a buffer or kernel, given out once.
    pub(crate) fn new_id(&self) -> u64 {
        self.handle.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks for compute work. Returns at once.
    pub(crate) fn compute(&self, command: super::ComputeCommand) -> Result<()> {
        self.handle.send(Command::Compute(command))
    }

    /// Whether this is the device's own thread, which must not wait for itself.
    pub(crate) fn is_own_thread(&self) -> bool {
        self.handle.is_worker()
    }

    /// The next frame has this fault.
    #[cfg(test)]
    pub(super) fn inject(&self, fault: super::status::Injected) {
        self.handle.status.inject(fault);
    }

    /// Destroys the device, as a driver might at any moment. For tests.
    #[doc(hidden)]
    pub fn lose(&self) -> Result<()> {
        self.handle.send(Command::Lose)
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Device({}, {})", self.info().name, self.info().backend)
    }
}

impl Handle {
    fn send(&self, command: Command) -> Result<()> {
        self.status.check()?;
        match self.commands.as_ref().map(|commands| commands.send(command)) {
            Some(Ok(())) => Ok(()),
            // The worker has ended, which it does before its handles only after a panic.
            _ => self.gone(),
        }
    }

    fn gone<T>(&self) -> Result<T> {
        self.status.check()?;
        Err(Error::DeviceLost("the device's thread has ended".to_string()))
    }

    fn is_worker(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.thread().id() == std::thread::current().id())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The worker ends once it has no more to do and nobody is left to ask.
        drop(self.commands.take());
        if self.is_worker() {
            return;
        }
        let since = Instant::now();
        if let Some(worker) = self.worker.take() {
            while !worker.is_finished() && since.elapsed() < FAREWELL {
                std::thread::sleep(Duration::from_millis(1));
            }
            if worker.is_finished() {
                // A panic has been turned into an error long ago.
                let _ = worker.join();
            }
        }
    }
}

impl Loaded {
    /// What was loaded.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The device it was loaded on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn accepts(&self, input: &FrameInput) -> Result<()> {
        let mismatch = |input: String, expected: String, found: String| Err(Error::Mismatch { input, expected, found });
        let layouts = &self.recording.sources;
        if input.sources.len() != layouts.len() {
            let (expected, found) = (format!("{} pictures", layouts.len()), input.sources.len().to_string());
            return mismatch("sources".to_string(), expected, found);
        }
        for ((source, layout), index) in input.sources.iter().zip(layouts).zip(0..) {
            // How long a buffer is the worker knows.
            let FrameSource::Image(image) = source else { continue };
            let bytes = image.format().bytes_per_pixel();
            if (image.width(), image.height(), bytes)
                != (layout.extent.width, layout.extent.height, layout.bytes_per_pixel as usize)
            {
                let expected = format!("{} of {} bytes a pixel", layout.extent, layout.bytes_per_pixel);
                return mismatch(format!("source {index}"), expected, image.description().to_string());
            }
        }
        let own = dispatches(&self.recording).map(|own| (own.uniforms.len(), own.table.is_some()));
        let given = |data: &DispatchData| (data.uniforms.len(), data.table.is_some());
        match &input.data {
            Some(data) if !own.clone().eq(data.iter().map(given)) => {
                let list = |shapes: Vec<(usize, bool)>| format!("(words, table) {shapes:?}");
                let found = list(data.iter().map(given).collect());
                mismatch("parameters".to_string(), list(own.collect()), found)
            }
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Loaded({}, {} commands)", self.id, self.recording.commands.len())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Fails only on a device that is lost and has forgotten everything.
        let _ = self.device.handle.send(Command::Unload { id: self.id });
    }
}

impl Ticket {
    /// Waits for the output.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Device`].
    pub fn wait(self) -> Result<FrameOutput> {
        pollster::block_on(self)
    }
}

impl Future for Ticket {
    type Output = Result<FrameOutput>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.delivered {
            return Poll::Ready(Err(Error::Device("the ticket has given its result before".to_string())));
        }
        let result = std::task::ready!(self.result.as_mut().poll(context));
        self.delivered = true;
        let gone = || Err(Error::DeviceLost("the device's thread has ended".to_string()));
        Poll::Ready(result.unwrap_or_else(gone))
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Ticket")
    }
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    std::thread::Builder::new()
        .name("cyanotype-gpu".to_string())
        .stack_size(STACK)
        .spawn(work)
        .map_err(|error| Error::NoDevice(format!("no thread for the device: {error}")))
}
