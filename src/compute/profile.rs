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
use serde_json::{Map, Value, json};

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
    /// What it worked on, where whoever added it to the trace says so.
    pub picture: Option<String>,
    /// When it began: milliseconds from the beginning of the trace.
    pub start_ms: f64,
    /// From submit to completion by the host's clock.
    pub wall_ms: f64,
    /// By the device's clock. `None` where it has none, or answered zero.
    pub device_ms: Option<f64>,
    /// Bytes that it must move at least: what it reads and writes, each once. `None` on the CPU.
    pub bytes: Option<u64>,
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

    /// Gigabytes moved in a second. `None` where the bytes are not known.
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.bytes? as f64 / 1e6 / self.milliseconds().max(1e-9))
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
        let best = trace.events.iter().filter_map(TraceEvent::bandwidth).fold(0.0, f64::max);
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
                    picture: None,
                    start_ms: step.start_ms,
                    wall_ms: step.wall_ms,
                    device_ms: step.device_ms,
                    bytes: Some(step.bytes),
                })
                .collect();
            Trace { device, events, copy_bandwidth }
        })
    }
}

impl Trace {
    /// The sum of all dispatches in milliseconds.
    pub fn total_ms(&self) -> f64 {
        // The sum of nothing is -0.0, which would be printed so.
        self.events.iter().map(TraceEvent::milliseconds).sum::<f64>() + 0.0
    }

    /// Adds the passes of a frame, one after the other behind what is there; `picture` says of what. Passes that were not
    /// timed are left out: ask for [`Profile::PassByPass`](crate::Profile).
    pub fn add_frame(&mut self, picture: Option<&str>, timings: &Timings) {
        let mut start_ms = self.events.last().map_or(0.0, |last| last.start_ms + last.wall_ms);
        for pass in &timings.passes {
            let Some(wall_ms) = pass.milliseconds else { continue };
            let device_ms = pass.by_device.then_some(wall_ms);
            let (label, picture) = (pass.label.clone(), picture.map(str::to_string));
            self.events.push(TraceEvent { label, picture, start_ms, wall_ms, device_ms, bytes: pass.bytes });
            start_ms += wall_ms;
        }
    }

    /// The rate of an event in hundredths of a copy's, where both are known.
    fn percent_of_copy(&self, event: &TraceEvent) -> Option<f64> {
        let copy = self.copy_bandwidth.filter(|copy| *copy > 0.0)?;
        Some(100.0 * event.bandwidth()? / copy)
    }

    /// The trace as Chrome (`chrome://tracing`) and Perfetto read it. What is not known of an event is left out.
    pub fn chrome_json(&self) -> String {
        let events: Vec<Value> = self
            .events
            .iter()
            .map(|event| {
                let known = [
                    ("picture", event.picture.as_ref().map(|picture| json!(picture))),
                    ("bytes", event.bytes.map(|bytes| json!(bytes))),
                    ("GB/s", event.bandwidth().map(|rate| json!(rate))),
                    ("% of a copy", self.percent_of_copy(event).map(|percent| json!(percent))),
                    ("wall ms", Some(json!(event.wall_ms))),
                    ("device ms", event.device_ms.map(|time| json!(time))),
                ];
                let known: Map<String, Value> =
                    known.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect();
                json!({
                    "name": event.label, "cat": "compute", "ph": "X", "pid": 1, "tid": 1,
                    // Microseconds.
                    "ts": event.start_ms * 1e3, "dur": event.milliseconds() * 1e3,
                    "args": known,
                })
            })
            .collect();
        let trace = json!({
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
            write!(formatter, "{:>10.3}  {clock:>8}  ", event.milliseconds())?;
            match event.bytes.zip(event.bandwidth()) {
                Some((bytes, rate)) => write!(formatter, "{:>9.2}  {rate:>7.2}  ", bytes as f64 / 1e6)?,
                None => write!(formatter, "{:>9}  {:>7}  ", "", "")?,
            }
            match self.percent_of_copy(event) {
                Some(percent) => writeln!(formatter, "{} ({percent:.0}% of a copy)", event.label)?,
                None => writeln!(formatter, "{}", event.label)?,
            }
        }
        writeln!(formatter, "{:>10.3}  in all", self.total_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timings::PassTime;

    fn trace(copy_bandwidth: Option<f64>) -> Trace {
        Trace { device: "a device".into(), events: Vec::new(), copy_bandwidth }
    }

    fn frame(bytes: Option<u64>) -> Timings {
        let pass = PassTime { label: "invert".into(), milliseconds: Some(2.0), by_device: false, bytes };
        Timings { passes: vec![pass], ..Timings::default() }
    }

    /// What is known of the first event.
    fn known(trace: &Trace) -> Value {
        let json: Value = serde_json::from_str(&trace.chrome_json()).expect("it is JSON");
        json["traceEvents"][0]["args"].clone()
    }

    #[test]
    fn what_is_known_is_told() {
        // 4 MB in 2 ms are 2 GB/s.
        let mut full = trace(Some(8.0));
        full.add_frame(Some("a.png"), &frame(Some(4_000_000)));
        let expected = json!({
            "picture": "a.png", "bytes": 4_000_000, "GB/s": 2.0, "% of a copy": 25.0, "wall ms": 2.0,
        });
        assert_eq!(known(&full), expected);
        assert!(full.to_string().contains("4.00     2.00  invert (25% of a copy)"), "{full}");
        let mut on_the_cpu = trace(None);
        on_the_cpu.add_frame(None, &frame(None));
        assert_eq!(known(&on_the_cpu), json!({ "wall ms": 2.0 }));
        assert!(on_the_cpu.to_string().contains("host                      invert\n"), "{on_the_cpu}");
    }

    #[test]
    fn nothing_takes_no_time() {
        assert!(trace(None).to_string().contains(" 0.000  in all"), "{}", trace(None));
        assert!(Timings::default().passes_ms().is_some_and(|sum| sum.is_sign_positive()));
    }
}
