//! What the application decides, as a plain state machine: [`App::handle`] takes an [`Event`] and gives [`Effect`]s to be
//! carried out by whoever owns the window and the [engine](crate::engine). No thread, no clock, no device and no window,
//! so that every order in which a phone may pause, turn, take the surface or lose the device is tested on any machine.
//!
//! What holds, whatever comes in which order (the tests play random orders):
//! - At most one frame is being drawn; while it is, changes are collected and the next frame has them all.
//! - Nothing is drawn while paused, without a surface or without a device; nothing is presented without a surface.
//! - When everything has come to rest, active and with a surface, what is shown is what is wanted.
//! - A device that fails is given up for the next in the ladder. The last is the CPU, which is not lost.

use crate::document::{Document, shown};
use crate::gesture::Gesture;
use cyanotype::op::{Argument, Extent};
use cyanotype::{BackendChoice, Error, Image};
use std::path::PathBuf;

/// What happens to the application.
#[derive(Debug)]
pub enum Event {
    /// It is in front and may draw.
    Resumed,
    /// It is not in front any more.
    Paused,
    /// There is a surface of this size for the picture: a new one, or another size after a rotation.
    Surface(Extent),
    /// The surface is gone.
    SurfaceLost,
    /// The system is short of memory.
    LowMemory,
    /// Fingers.
    Gesture(Gesture),
    /// A value of the current document: "node.parameter".
    Set(String, Argument),
    /// Another document, by number.
    Select(usize),
    /// A new document, which becomes the current one.
    Add(Box<Document>),
    /// How the original is shown.
    Compare(Compare),
    /// The result is to be saved.
    Save,
    /// The engine answers.
    Engine(Answer),
}

/// What must be done.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Open this device. Answered by [`Answer::Opened`] or [`Answer::NotOpened`] with the same number.
    Open { opening: u64, rung: Rung },
    /// Draw a frame. Answered once: [`Answer::Drawn`] or [`Answer::NotDrawn`].
    Draw(Request),
    /// Save at full size. Answered by [`Answer::Saved`] or [`Answer::NotSaved`].
    Save(Request),
    /// Forget all compiled programs but that of the last frame.
    Trim,
    /// Let go of the device and all that is on it.
    Close,
    /// Show the present state.
    Present,
}

/// What the engine answers.
#[derive(Debug)]
pub enum Answer {
    Opened {
        opening: u64,
        device: String,
    },
    NotOpened {
        opening: u64,
        reason: String,
    },
    Drawn(Box<Frame>),
    NotDrawn {
        opening: u64,
        error: Error,
    },
    Saved(PathBuf),
    NotSaved {
        opening: u64,
        error: Error,
    },
    /// There is another photograph.
    Photo {
        width: u32,
        height: u32,
    },
    /// It could not be opened; the one before stays.
    NoPhoto(Error),
}

/// One device to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung {
    pub backend: BackendChoice,
    /// Whether it was asked for by name; a software rasteriser will then do.
    pub by_name: bool,
}

/// A frame to draw.
#[derive(Debug, Clone)]
pub struct Request {
    /// The opening of the device that it is meant for.
    pub opening: u64,
    /// Which state of the application it shows.
    pub revision: u64,
    pub document: Document,
    /// What it must fit into.
    pub bounds: Extent,
}

/// A frame.
#[derive(Debug, Clone)]
pub struct Frame {
    pub opening: u64,
    pub revision: u64,
    /// The result, as large as fits into the bounds of the request.
    pub picture: Image,
    /// The photograph, fitted likewise.
    pub original: Image,
    /// What each pass took in milliseconds, under its operators' names, where the device says.
    pub passes: Vec<(String, Option<f64>)>,
    /// All of the frame, in milliseconds.
    pub total: f64,
    /// Whether the program ran on the device; a graph over its limits runs on the CPU.
    pub on_device: bool,
}

/// How the original is compared with the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Compare {
    /// The result alone.
    Off,
    /// The original alone.
    Original,
    /// The original on the left of this part of the picture's width.
    Split(f32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Device {
    Closed,
    Opening,
    Ready,
}

/// Losses of one device before the next is taken: a phone loses one now and then, a broken driver each time.
const LOSSES: u32 = 2;

/// The state of the application.
#[derive(Debug)]
pub struct App {
    documents: Vec<Document>,
    current: usize,
    active: bool,
    surface: Option<Extent>,
    /// The size that the revision is for: that of the present surface, or of the last.
    bounds: Option<Extent>,
    compare: Compare,
    /// Counts what changes the picture.
    revision: u64,
    /// The frame being drawn.
    drawing: Option<u64>,
    saving: bool,
    save_wanted: bool,
    /// A revision that cannot be drawn on any device, for instance because the graph is wrong.
    hopeless: Option<u64>,
    frame: Option<Box<Frame>>,
    device: Device,
    ladder: Vec<Rung>,
    rung: usize,
    /// Counts openings; an answer that belongs to an earlier one says nothing about the present device.
    opening: u64,
    losses: u32,
    /// Memory ran out once on this device, and programs were forgotten.
    trimmed: bool,
    device_name: String,
    /// Why devices before the present one in the ladder are not used.
    refused: Vec<String>,
    message: Option<String>,
}

impl App {
    /// Starts with documents, of which there must be one, and devices in the order in which they are tried. The CPU is
    /// added at the end if it is not there.
    pub fn new(documents: Vec<Document>, mut ladder: Vec<Rung>) -> Self {
        if ladder.last().is_none_or(|rung| rung.backend != BackendChoice::Cpu) {
            ladder.push(Rung { backend: BackendChoice::Cpu, by_name: false });
        }
        App {
            documents,
            current: 0,
            active: false,
            surface: None,
            bounds: None,
            compare: Compare::Off,
            revision: 1,
            drawing: None,
            saving: false,
            save_wanted: false,
            hopeless: None,
            frame: None,
            device: Device::Closed,
            ladder,
            rung: 0,
            opening: 0,
            losses: 0,
            trimmed: false,
            device_name: String::new(),
            refused: Vec::new(),
            message: None,
        }
    }

    /// The document that is shown.
    pub fn document(&self) -> Option<&Document> {
        self.documents.get(self.current)
    }

    /// Number of the current document and of all.
    pub fn position(&self) -> (usize, usize) {
        (self.current, self.documents.len())
    }

    /// The last frame, which may be of an earlier state.
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_deref()
    }

    /// Whether the last frame shows the present state.
    pub fn is_up_to_date(&self) -> bool {
        self.frame.as_ref().is_some_and(|frame| frame.revision == self.revision)
    }

    pub fn compare(&self) -> Compare {
        self.compare
    }

    /// What the user should know, until the next gesture.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The device and why it is this one.
    pub fn status(&self) -> String {
        let name = match self.device {
            Device::Closed => "no device".to_string(),
            Device::Opening => {
                let backend = self.ladder.get(self.rung).map_or("", |rung| rung.backend.name());
                format!("opening {backend} ...")
            }
            Device::Ready => self.device_name.clone(),
        };
        let reason = match self.refused.as_slice() {
            _ if self.device == Device::Closed => return name,
            [] if self.ladder.get(self.rung).is_some_and(|rung| rung.by_name) => "asked for by name".to_string(),
            [] => "the first choice".to_string(),
            refused => format!("since {}", refused.join("; ")),
        };
        let apart = match &self.frame {
            Some(frame) if self.device == Device::Ready && !frame.on_device && !self.is_last_rung() => {
                "; this graph is over its limits and runs on the CPU"
            }
            _ => "",
        };
        format!("{name} ({reason}{apart})")
    }

    /// The state that should outlive the process: which document, and the values that fingers change.
    pub fn saved_state(&self) -> String {
        let mut state = format!("document={}\n", self.current);
        for (index, document) in self.documents.iter().enumerate() {
            for drag in document.drags() {
                if let Ok(value) = document.get(&drag.path) {
                    state += &format!("{index}.{}={value}\n", drag.path);
                }
            }
        }
        state
    }

    /// Takes a saved state back. What is not understood is left out: it may be that of another version.
    pub fn restore(&mut self, state: &str) {
        for (key, value) in state.lines().filter_map(|line| line.split_once('=')) {
            if key == "document" {
                let known = value.parse().ok().filter(|index| *index < self.documents.len());
                self.current = known.unwrap_or(self.current);
            } else if let Some((index, path)) = key.split_once('.')
                && let Some(document) = index.parse::<usize>().ok().and_then(|index| self.documents.get_mut(index))
                && document.drags().iter().any(|drag| drag.path == path)
                && let Err(error) = document.set_text(path, value)
            {
                log::warn!("saved state: {error}");
            }
        }
        self.revision += 1;
    }

    /// The one entrance: something happened; what must be done, in this order.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut present = true;
        match event {
            Event::Resumed => {
                self.active = true;
                // Some phones take the device away while an application is not in front: that is no fault of the device.
                self.losses = 0;
            }
            Event::Paused => {
                self.active = false;
                self.compare_ends();
            }
            Event::Surface(extent) => {
                self.surface = Some(extent);
                // A frame made for a surface that was lost is good for the next of the same size.
                if self.bounds.replace(extent) != Some(extent) {
                    self.revision += 1;
                }
            }
            Event::SurfaceLost => self.surface = None,
            Event::LowMemory => self.low_memory(&mut effects),
            Event::Gesture(gesture) => present = self.gesture(gesture),
            Event::Set(path, value) => self.set(&path, value),
            Event::Select(index) => self.select(index),
            Event::Add(document) => {
                self.documents.push(*document);
                self.select(self.documents.len() - 1);
            }
            Event::Compare(compare) => self.compare = compare,
            Event::Save => self.save_wanted = true,
            Event::Engine(answer) => self.answer(answer, &mut effects),
        }
        self.proceed(&mut effects);
        if present && self.surface.is_some() {
            effects.push(Effect::Present);
        }
        effects
    }

    /// Starts what can be started.
    fn proceed(&mut self, effects: &mut Vec<Effect>) {
        let Some(bounds) = self.surface.filter(|_| self.active) else { return };
        match self.device {
            Device::Opening => {}
            Device::Closed => {
                if let Some(rung) = self.ladder.get(self.rung).copied() {
                    self.device = Device::Opening;
                    self.opening += 1;
                    effects.push(Effect::Open { opening: self.opening, rung });
                }
            }
            Device::Ready => {
                let Some(document) = self.documents.get(self.current) else { return };
                let (opening, revision, document) = (self.opening, self.revision, document.clone());
                let request = Request { opening, revision, document, bounds };
                if self.drawing.is_none() && !self.is_up_to_date() && self.hopeless != Some(revision) {
                    self.drawing = Some(revision);
                    effects.push(Effect::Draw(request.clone()));
                }
                if self.save_wanted && !self.saving {
                    (self.save_wanted, self.saving) = (false, true);
                    self.message = Some("saving ...".into());
                    effects.push(Effect::Save(request));
                }
            }
        }
    }

    /// Says whether anything on the screen changes.
    fn gesture(&mut self, gesture: Gesture) -> bool {
        let message = self.message.take().is_some();
        match gesture {
            Gesture::Tap => self.select((self.current + 1) % self.documents.len().max(1)),
            Gesture::LongPress => self.save_wanted = true,
            Gesture::Compare(true) => self.compare = Compare::Original,
            Gesture::Compare(false) => self.compare_ends(),
            Gesture::Drag(direction, part) => {
                let moved = self.documents.get_mut(self.current).map(|document| document.drag_by(direction, part));
                match moved {
                    Some(Ok(true)) => self.revision += 1,
                    Some(Ok(false)) | None => return message,
                    Some(Err(error)) => self.message = Some(error.to_string()),
                }
            }
        }
        true
    }

    fn compare_ends(&mut self) {
        if self.compare == Compare::Original {
            self.compare = Compare::Off;
        }
    }

    fn set(&mut self, path: &str, value: Argument) {
        let Some(document) = self.documents.get_mut(self.current) else { return };
        match document.set(path, value) {
            Ok(()) => {
                self.message = None;
                self.revision += 1;
                if let Ok(value) = document.get(path) {
                    log::debug!("{path} = {}", shown(&value));
                }
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    fn select(&mut self, index: usize) {
        if index < self.documents.len() && index != self.current {
            self.current = index;
            self.message = None;
            self.revision += 1;
        }
    }

    fn low_memory(&mut self, effects: &mut Vec<Effect>) {
        if self.active {
            effects.push(Effect::Trim);
        } else {
            // Out of sight everything can be made again, and a process that holds little is not killed.
            effects.push(Effect::Close);
            self.device = Device::Closed;
            self.opening += 1;
            self.frame = None;
        }
    }

    fn answer(&mut self, answer: Answer, effects: &mut Vec<Effect>) {
        match answer {
            Answer::Opened { opening, device } => {
                if opening == self.opening && self.device == Device::Opening {
                    self.device = Device::Ready;
                    self.device_name = device;
                    log::info!("device: {}", self.status());
                }
            }
            Answer::NotOpened { opening, reason } => {
                if opening == self.opening && self.device == Device::Opening {
                    self.device = Device::Closed;
                    self.step_down(reason);
                }
            }
            Answer::Drawn(frame) => {
                self.drawing = None;
                // A device that draws is well; only losses in a row count.
                if frame.opening == self.opening {
                    (self.losses, self.trimmed) = (0, false);
                }
                self.frame = Some(frame);
            }
            Answer::NotDrawn { opening, error } => {
                let revision = self.drawing.take();
                if opening == self.opening && self.device == Device::Ready {
                    self.failed(error, revision, effects);
                }
            }
            Answer::Saved(path) => {
                self.saving = false;
                self.message = Some(format!("saved {}", path.display()));
                log::info!("saved {}", path.display());
            }
            Answer::Photo { width, height } => {
                log::info!("photograph of {width}x{height}");
                self.message = None;
                self.revision += 1;
            }
            Answer::NoPhoto(error) => {
                log::warn!("{error}");
                self.message = Some(error.to_string());
            }
            Answer::NotSaved { opening, error } => {
                self.saving = false;
                self.message = Some(format!("not saved: {error}"));
                log::warn!("not saved: {error}");
                if opening == self.opening && self.device == Device::Ready && matches!(error, Error::DeviceLost(_)) {
                    self.failed(error, None, effects);
                }
            }
        }
    }

    /// A frame failed on the present device.
    fn failed(&mut self, error: Error, revision: Option<u64>, effects: &mut Vec<Effect>) {
        log::warn!("{error}");
        let last = self.is_last_rung();
        match error {
            Error::DeviceLost(_) => {
                effects.push(Effect::Close);
                self.device = Device::Closed;
                self.losses += 1;
                if self.losses > LOSSES && last {
                    self.hopeless = revision;
                    self.message = Some(error.to_string());
                } else if self.losses > LOSSES {
                    self.step_down(format!("was lost {} times in a row", self.losses));
                }
            }
            Error::OutOfMemory(_) if !self.trimmed => {
                self.trimmed = true;
                effects.push(Effect::Trim);
            }
            Error::OutOfMemory(_)
            | Error::Device(_)
            | Error::NoDevice(_)
            | Error::DeviceLimit(_)
            | Error::Busy { .. }
                if !last =>
            {
                effects.push(Effect::Close);
                self.device = Device::Closed;
                self.step_down(error.to_string());
            }
            // A mistake in the graph, or the CPU itself: no other device would help.
            error => {
                self.hopeless = revision;
                self.message = Some(error.to_string());
            }
        }
    }

    fn is_last_rung(&self) -> bool {
        self.rung + 1 >= self.ladder.len()
    }

    fn step_down(&mut self, reason: String) {
        let backend = self.ladder.get(self.rung).map_or("", |rung| rung.backend.name());
        log::warn!("{backend} is not used: {reason}");
        self.refused.push(format!("{backend}: {reason}"));
        (self.losses, self.trimmed) = (0, false);
        if !self.is_last_rung() {
            self.rung += 1;
        }
    }
}
