//! Where the time of compute work goes. While a trace is on, each dispatch runs alone: the device is idle before it, and the
//! host waits for its end. That is slower than work in flight, and is what makes the times mean something on devices whose
//! own clock is missing or wrong.

use std::fmt;

use super::builtin::Engine;
use super::pending::Pending;
use super::queue::{Queue, TraceHandle};
use crate::context::Context;
use crate::error::Result;
use crate::timings::Timings;

/// Times every dispatch of its context until it is finished or dropped. Several may be on at once.
#[must_use = "a trace ends with finish()"]
pub struct Tracing {
    context: Context,
    bandwidth: Option<f64>,
    /// `None` on the CPU.
    handle: Option<TraceHandle>,
}

/// One dispatch, timed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TraceEvent {
    /// Name of the kernel.
    pub label: String,
    /// When it began: milliseconds from the beginning of the trace.
    pub start_ms: f64,
    /// From submit to completion by the host's clock.
    pub wall_ms: f64,
    /// By the device's clock. `None` where it has none, or answered zero.
    pub device_ms: Option<f64>,
    /// Bytes that it must move at least: what it reads and writes, each once.
    pub bytes: u64,
}

/// What a trace has seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Trace {
    /// The device.
    pub device: String,
    /// In order.
    pub events: Vec<TraceEvent>,
    /// Gigabytes a second that the device copies, reading and writing counted, if it has been measured.
    pub copy_bandwidth: Option<f64>,
}

impl TraceEvent {
    /// Milliseconds: the device's, else the host's.
    pub fn milliseconds(&self) -> f64 {
        self.device_ms.unwrap_or(self.wall_ms)
    }

    /// Gigabytes moved in a second.
    pub fn bandwidth(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.milliseconds().max(1e-9)
    }
}

impl Context {
    /// Times each dispatch from now on. On the CPU there are none, and a trace is empty.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn trace(&self) -> Result<Tracing> {
        let bandwidth = *self.compute_state().bandwidth.lock();
        let handle = Queue::of(self).map(|queue| queue.trace()).transpose()?;
        Ok(Tracing { context: self.clone(), bandwidth, handle })
    }

    /// Gigabytes a second that the device copies from one large buffer to another, counted as read and as written. Measured
    /// once, which takes a moment; `None` on the CPU.
    ///
    /// # Errors
    /// As for [`Context::buffer`].
    pub fn copy_bandwidth(&self) -> Result<Option<f64>> {
        if Engine::of(self).is_none() {
            return Ok(None);
        }
        if let Some(known) = *self.compute_state().bandwidth.lock() {
            return Ok(Some(known));
        }
        // 64 MiB: beyond the caches of anything, and within what a phone can bind.
        let source = self.zeros::<f32>(16 << 20)?;
        drop(source.map::<f32>("x")?);
        let tracing = self.trace()?;
        for _ in 0..5 {
            drop(source.map::<f32>("x")?);
        }
        let trace = tracing.finish().wait()?;
        let best = trace.events.iter().map(TraceEvent::bandwidth).fold(0.0, f64::max);
        *self.compute_state().bandwidth.lock() = Some(best);
        Ok(Some(best))
    }
}

impl Tracing {
    /// Ends the trace.
    pub fn finish(self) -> Pending<Trace> {
        let (device, copy_bandwidth) = (self.context.description(), self.bandwidth);
        let steps = match &self.handle {
            None => Pending::ready(Ok(Vec::new())),
            Some(handle) => handle.finish(),
        };
        steps.map(move |steps| {
            let events = steps
                .into_iter()
                .map(|step| TraceEvent {
                    label: step.label,
                    start_ms: step.start_ms,
                    wall_ms: step.wall_ms,
                    device_ms: step.device_ms,
                    bytes: step.bytes,
                })
                .collect();
            Trace { device, events, copy_bandwidth }
        })
    }
}

impl Trace {
    /// The sum of all dispatches in milliseconds.
    pub fn total_ms(&self) -> f64 {
        self.events.iter().map(TraceEvent::milliseconds).sum()
    }

    /// Adds the passes of a frame, one after the other behind what is there. Passes that were not timed are left out: ask for
    /// [`Profile::PassByPass`](crate::Profile).
    pub fn add_frame(&mut self, timings: &Timings) {
        let mut start_ms = self.events.last().map_or(0.0, |last| last.start_ms + last.wall_ms);
        for pass in &timings.passes {
            let Some(wall_ms) = pass.milliseconds else { continue };
            let device_ms = pass.by_device.then_some(wall_ms);
            let event =
                TraceEvent { label: pass.label.clone(), start_ms, wall_ms, device_ms, bytes: pass.bytes.unwrap_or(0) };
            self.events.push(event);
            start_ms += wall_ms;
        }
    }

    /// The trace as Chrome (`chrome://tracing`) and Perfetto read it.
    pub fn chrome_json(&self) -> String {
        let events: Vec<serde_json::Value> = self
            .events
            .iter()
            .map(|event| {
                serde_json::json!({
                    "name": event.label, "cat": "compute", "ph": "X", "pid": 1, "tid": 1,
                    // Microseconds.
                    "ts": event.start_ms * 1e3, "dur": event.milliseconds() * 1e3,
                    "args": {
                        "bytes": event.bytes, "GB/s": event.bandwidth(),
                        "wall ms": event.wall_ms, "device ms": event.device_ms,
                    },
                })
            })
            .collect();
        let trace = serde_json::json!({
            "traceEvents": events, "displayTimeUnit": "ms", "otherData": { "device": self.device },
        });
        trace.to_string()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.device)?;
        writeln!(formatter, "{:>10}  {:>8}  {:>9}  {:>7}  kernel", "ms", "clock", "MB", "GB/s")?;
        for event in &self.events {
            let clock = if event.device_ms.is_some() { "device" } else { "host" };
            let (megabytes, bandwidth) = (event.bytes as f64 / 1e6, event.bandwidth());
            write!(formatter, "{:>10.3}  {clock:>8}  {megabytes:>9.2}  {bandwidth:>7.2}  ", event.milliseconds())?;
            match self.copy_bandwidth {
                Some(copy) => writeln!(formatter, "{} ({:.0}% of a copy)", event.label, 100.0 * bandwidth / copy)?,
                None => writeln!(formatter, "{}", event.label)?,
            }
        }
        writeln!(formatter, "{:>10.3}  in all", self.total_ms())
    }
}
