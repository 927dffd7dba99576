//! What the worker tells the handles without being asked: what it has created so far, and why the device was lost.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// What a device has created since it was opened (its self-test not counted). A program in steady use creates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Compute pipelines.
    pub pipelines: u64,
    /// Buffers of every kind.
    pub buffers: u64,
    /// Textures.
    pub textures: u64,
    /// Bind groups.
    pub bind_groups: u64,
    /// Frames delivered.
    pub frames: u64,
}

/// Shared between the worker, wgpu's callbacks and the handles.
#[derive(Default)]
pub(super) struct Status {
    lost: OnceLock<String>,
    fault: Mutex<Option<String>>,
    pub(super) tally: Tally,
    #[cfg(test)]
    injected: Mutex<Option<Injected>>,
}

/// What tests make a device do, since drivers do it only when they please.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Injected {
    /// The adapter has no compute shaders.
    NoCompute,
    /// The self-test's answer is wrong.
    WrongAnswer,
    /// There is no memory for a frame.
    NoMemory,
    /// A frame's result cannot be mapped.
    NoMapping,
}

#[cfg(test)]
impl Status {
    pub(super) fn inject(&self, fault: Injected) {
        *self.injected.lock() = Some(fault);
    }

    /// Whether this fault was injected; once for each injection.
    pub(super) fn meets(&self, fault: Injected) -> bool {
        self.injected.lock().take_if(|injected| *injected == fault).is_some()
    }
}

/// [`Counters`] being counted.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) pipelines: AtomicU64,
    pub(super) buffers: AtomicU64,
    pub(super) textures: AtomicU64,
    pub(super) bind_groups: AtomicU64,
    pub(super) frames: AtomicU64,
}

/// Adds one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    fn all(&self) -> [&AtomicU64; 5] {
        [&self.pipelines, &self.buffers, &self.textures, &self.bind_groups, &self.frames]
    }

    pub(super) fn read(&self) -> Counters {
        let [pipelines, buffers, textures, bind_groups, frames] =
            self.all().map(|counter| counter.load(Ordering::Relaxed));
        Counters { pipelines, buffers, textures, bind_groups, frames }
    }

    pub(super) fn reset(&self) {
        self.all().iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl Status {
    /// Marks the device as lost. The first reason stays.
    pub(super) fn lose(&self, reason: String) {
        log::warn!("device lost: {reason}");
        // Full means that a reason is there already.
        let _ = self.lost.set(reason);
    }

    /// `Error::DeviceLost` once the device is lost.
    pub(super) fn check(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::DeviceLost(reason.clone())),
        }
    }

    /// What a failure means to a caller: whatever goes wrong on a lost device goes wrong because it is lost.
    pub(super) fn explain(&self, error: Error) -> Error {
        self.check().err().unwrap_or(error)
    }

    /// Records an error that no scope caught. The next frame to finish reports it.
    pub(super) fn record_fault(&self, message: String) {
        log::error!("uncaptured device error: {message}");
        self.fault.lock().get_or_insert(message);
    }

    /// The recorded error, once.
    pub(super) fn take_fault(&self) -> Result<()> {
        match self.fault.lock().take() {
            None => Ok(()),
            Some(message) => Err(Error::Device(message)),
        }
    }
}
