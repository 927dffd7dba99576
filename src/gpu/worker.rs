//! The thread that owns the device. It takes commands from handles and, while frames are in flight, polls in between, so
//! that results arrive without anyone waiting for them; with none in flight it sleeps. It must never wait for a caller.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_intrusive::channel::shared::OneshotSender;

use super::adapter::{Candidate, candidates, guarded, panic_message};
use super::bound::Permit;
use super::bytes::BytePool;
use super::compute::{Compute, ComputeCommand};
use super::device::{DeviceOptions, FrameInput, FrameOutput};
use super::frame::Begun;
use super::memory::{Gpu, SharedPool};
use super::pipelines::Pipelines;
use super::program::Program;
use super::status::{Status, count};
use super::{AdapterInfo, BackendName, faults, self_test};
use crate::error::{Error, Result};
use crate::plan::recording::Recording;

/// What handles ask for.
pub(super) enum Command {
    /// Makes a program that later commands call by `id`.
    Load { id: u64, recording: Arc<Recording>, reply: OneshotSender<Result<()>> },
    /// Runs a program.
    Submit(Submission),
    /// Compute work outside of programs.
    Compute(ComputeCommand),
    /// Forgets a program; its frames in flight are finished.
    Unload { id: u64 },
    /// Destroys the device, as a driver might.
    Lose,
}

/// A frame asked for.
pub(super) struct Submission {
    pub(super) program: u64,
    pub(super) input: FrameInput,
    pub(super) answer: Answer,
}

/// Where the result goes.
pub(super) struct Answer {
    pub(super) permit: Permit,
    pub(super) reply: OneshotSender<Result<FrameOutput>>,
    /// Dangling once the ticket is dropped.
    pub(super) wanted: Weak<()>,
}

impl Answer {
    fn give(self, result: Result<FrameOutput>) {
        // First, so that whoever the result wakes can submit.
        drop(self.permit);
        // Nobody may be listening any more.
        let _ = self.reply.send(result);
    }
}

/// Most commands between two looks at what the device has finished.
const TOGETHER: usize = 256;

/// A frame in flight.
struct Frame {
    program: u64,
    begun: Begun,
    answer: Answer,
}

/// The worker's whole state.
pub(super) struct Worker {
    // Fields drop in this order: what is on the device before the device.
    frames: VecDeque<Frame>,
    programs: HashMap<u64, Program>,
    shared: SharedPool,
    compute: Compute,
    pipelines: Pipelines,
    gpu: Gpu,
    bytes: Arc<BytePool>,
    status: Arc<Status>,
    options: DeviceOptions,
    workgroups: u32,
    /// When the device last took a frame or finished one.
    alive: Instant,
}

impl Worker {
    /// Opens the best adapter that the options allow and that passes the self-test.
    pub(super) fn open(options: &DeviceOptions) -> Result<(Worker, AdapterInfo)> {
        let mut reasons = Vec::new();
        for candidate in candidates(options)? {
            let info = candidate.info.clone();
            match Worker::open_candidate(candidate, options) {
                Ok(worker) => return Ok((worker, info)),
                Err(reason) => {
                    log::warn!("{} ({}) is not used: {reason}", info.name, info.backend);
                    reasons.push(format!("{} ({}): {reason}", info.name, info.backend));
                }
            }
        }
        Err(Error::NoDevice(reasons.join("; ")))
    }

    /// Opens one adapter and tests it.
    pub(super) fn open_candidate(candidate: Candidate, options: &DeviceOptions) -> Result<Worker, String> {
        if let Some(reason) = &candidate.info.unusable {
            return Err(reason.clone());
        }
        guarded(|| {
            let (device, queue) = candidate.request()?;
            let status = Arc::new(Status::default());
            #[cfg(test)]
            options.injected.into_iter().for_each(|fault| status.inject(fault));
            device.on_uncaptured_error({
                let status = Arc::clone(&status);
                Arc::new(move |error: wgpu::Error| status.record_fault(error.to_string()))
            });
            device.set_device_lost_callback({
                let status = Arc::clone(&status);
                move |reason, message| status.lose(format!("{reason:?} {message}").trim_end().to_string())
            });
            let info = &candidate.info;
            let (mappable, timestamps) = (info.mappable, info.timestamps);
            let silent = info.backend == BackendName::Gl;
            let cubes = faults::has(&info.faults, &faults::LAYERS_ARE_CUBES);
            let mut worker = Worker {
                workgroups: info.limits.workgroups,
                gpu: Gpu {
                    device,
                    queue,
                    status: Arc::clone(&status),
                    mappable,
                    timestamps,
                    silent,
                    cubes,
                    deadline: options.deadline,
                },
                frames: VecDeque::new(),
                programs: HashMap::new(),
                shared: SharedPool::default(),
                compute: Compute::new(options.checked, options.work.submit),
                pipelines: Pipelines::new(options.checked),
                bytes: Arc::new(BytePool::default()),
                status,
                options: options.clone(),
                alive: Instant::now(),
            };
            self_test::run(&mut worker)?;
            worker.status.tally.reset();
            Ok(worker)
        })
    }

    pub(super) fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Serves until the last handle is gone and the last frame delivered. Returns even if wgpu panics.
    pub(super) fn serve(mut self, commands: Receiver<Command>) {
        let served = catch_unwind(AssertUnwindSafe(|| self.run(&commands)));
        if let Err(panic) = served {
            self.status.lose(panic_message(&*panic));
        }
        self.fail_frames();
        // Commands that are still in the channel are dropped with it, and their tickets learn of it.
        drop(commands);
        // Drivers panic here as well: a queue that is not idle, a display that is gone.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }

    fn run(&mut self, commands: &Receiver<Command>) {
        let mut handles = true;
        while handles || self.is_busy() {
            let command = match self.is_busy() {
                false => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                true => commands.recv_timeout(self.pause()),
            };
            match command {
                Ok(command) => {
                    self.execute(command);
                    // What is asked for together goes to the device together.
                    commands.try_iter().take(TOGETHER).for_each(|command| self.execute(command));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    handles = false;
                    if self.is_busy() {
                        std::thread::sleep(self.pause());
                    }
                }
            }
            self.turn();
        }
    }

    /// How long to leave the device alone before asking again: a sixteenth of the time already waited, so that a result is
    /// noticed at most 6% late, between what a thread can sleep and what a person cannot notice.
    pub(super) fn pause(&self) -> Duration {
        (self.alive.elapsed() / 16).clamp(Duration::from_micros(50), Duration::from_millis(2))
    }

    pub(super) fn execute(&mut self, command: Command) {
        if !matches!(command, Command::Compute(_)) {
            // Whatever comes after sees what was asked for before.
            self.compute.flush(&self.gpu);
        }
        match command {
            Command::Compute(command) => {
                // Idle until now: its patience begins here.
                if !self.is_busy() {
                    self.alive = Instant::now();
                }
                self.compute.execute(&self.gpu, command);
            }
            Command::Load { id, recording, reply } => {
                let loaded = self.load(recording).map(|program| drop(self.programs.insert(id, program)));
                // Whoever asked may have gone.
                let _ = reply.send(loaded.map_err(|error| self.status.explain(error)));
            }
            Command::Submit(submission) => self.submit(submission),
            Command::Unload { id } => drop(self.programs.remove(&id)),
            Command::Lose => {
                self.gpu.device.destroy();
                // wgpu tells of a destroyed device only once its queue is empty; of one that a driver lost, at once.
                if self.is_busy() {
                    self.status.lose("destroyed with frames in flight".to_string());
                }
            }
        }
    }

    fn load(&mut self, recording: Arc<Recording>) -> Result<Program> {
        self.status.check()?;
        Program::load(&self.gpu, &mut self.pipelines, recording, self.options.work, self.workgroups)
    }

    fn submit(&mut self, Submission { program: id, input, answer }: Submission) {
        let begun = self.status.check().and_then(|()| match self.programs.get_mut(&id) {
            Some(program) => {
                let input = self.compute.resolve(input)?;
                program.begin(&self.gpu, &mut self.shared, input)
            }
            None => Err(Error::Device("the program is not loaded".to_string())),
        });
        // Only now: some drivers do the whole work within this.
        self.alive = Instant::now();
        match begun {
            Ok(begun) => self.frames.push_back(Frame { program: id, begun, answer }),
            Err(error) => answer.give(Err(self.status.explain(error))),
        }
    }

    /// Whether frames are in flight.
    pub(super) fn is_busy(&self) -> bool {
        !self.frames.is_empty() || self.compute.is_busy()
    }

    /// Lets the device report, and delivers what is finished.
    pub(super) fn turn(&mut self) {
        self.compute.flush(&self.gpu);
        // Only waiting can time out, and this does not wait.
        let _ = self.gpu.device.poll(wgpu::PollType::Poll);
        while self.frames.front().is_some_and(|frame| frame.begun.is_over()) {
            self.alive = Instant::now();
            self.frames.pop_front().into_iter().for_each(|frame| self.deliver(frame));
        }
        if self.compute.deliver(&self.gpu, &self.bytes) {
            self.alive = Instant::now();
        }
        if self.is_busy() && self.alive.elapsed() > self.options.deadline {
            self.status.lose(format!("no answer for {:?}", self.options.deadline));
        }
        if self.status.check().is_err() {
            self.fail_frames();
            self.programs.clear();
        }
    }

    fn deliver(&mut self, Frame { program, begun, answer }: Frame) {
        let wanted = answer.wanted.strong_count() > 0;
        let result = begun.finish(&self.gpu, &self.bytes, wanted).and_then(|(slot, outputs, timings)| {
            if let Some(program) = self.programs.get_mut(&program) {
                program.keep(slot);
            }
            // Lost while the frame ran: what it holds may be anything.
            self.status.check()?;
            self.status.take_fault()?;
            Ok(FrameOutput { outputs: outputs.into_iter().map(Arc::new).collect(), timings })
        });
        count(&self.status.tally.frames);
        answer.give(result.map_err(|error| self.status.explain(error)));
    }

    /// Answers all frames in flight with the reason why they will not come.
    fn fail_frames(&mut self) {
        let error = self.status.explain(Error::DeviceLost("the device's thread has ended".to_string()));
        self.frames.drain(..).for_each(|frame| frame.answer.give(Err(error.clone())));
        self.compute.fail_all(&error);
    }
}
