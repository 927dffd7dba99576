//! One run of a graph from files to files: decode, compile, run, encode. Measures each.

use super::output::{Target, Written, write_together};
use super::{Common, Encoding, Failure, Measuring, Outcome, say};
use cyanotype::compute::Trace;
use cyanotype::graph::lower::lower;
use cyanotype::image::{EncodeOptions, FileFormat, Replacement};
use cyanotype::op::{Reduction, Step};
use cyanotype::{
    Context, Description, Error, FrameOptions, Graph, GraphData, Image, PassTime, Profile, Program, Results,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A graph on a context, compiled for whatever pictures come.
pub struct Runner {
    context: Context,
    data: GraphData,
    common: Common,
    /// Programs by the pictures they were compiled for. In a folder most have one size.
    programs: Mutex<HashMap<Vec<(String, Description)>, Arc<Program>>>,
    /// Whether passes are timed.
    is_profiled: bool,
    /// The passes of all frames, and what the device copies, which they are compared with.
    trace: Mutex<Trace>,
    /// Where `--trace` goes.
    trace_target: Option<Target>,
}

/// Programs kept; each may hold buffers for its pictures on the device.
const PROGRAMS_KEPT: usize = 8;

/// Milliseconds of each stage, in order.
pub struct Times {
    start: Instant,
    stages: Vec<(String, Option<f64>)>,
    /// What else there is to say.
    notes: Vec<String>,
}

impl Times {
    /// The clock starts.
    pub fn start() -> Self {
        Times { start: Instant::now(), stages: Vec::new(), notes: Vec::new() }
    }

    /// Runs and measures.
    pub fn measure<T>(&mut self, what: impl Into<String>, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.stages.push((what.into(), Some(milliseconds(start))));
        result
    }

    /// Says all of them, on standard error.
    pub fn say(&self, what: &str) {
        let mut lines = format!("{what}:");
        let total = ("total".to_string(), Some(milliseconds(self.start)));
        for (stage, time) in self.stages.iter().chain([&total]) {
            lines += &match time {
                Some(time) => format!("\n  {time:10.3} ms  {stage}"),
                None => format!("\n  {:>13}  {stage}", "not measured"),
            };
        }
        for note in &self.notes {
            lines += &format!("\n  {note}");
        }
        say(&lines);
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Bytes and rate of a pass, and what that is of a copy's, as far as they are known.
fn traffic(pass: &PassTime, copy_bandwidth: Option<f64>) -> String {
    let Some((bytes, rate)) = pass.bytes.zip(pass.bandwidth()) else { return String::new() };
    let share = copy_bandwidth.map_or(String::new(), |copy| format!(", {:.0}% of a copy", 100.0 * rate / copy));
    format!(" ({}, {rate:.2} GB/s{share})", megabytes(bytes))
}

/// The failure of a picture's file. What is over a limit does not name it by itself.
fn of_file(path: &Path, error: Error) -> Failure {
    match error {
        Error::Limit { .. } => Failure::Failed(format!("{}: {error}", path.display())),
        other => other.into(),
    }
}

/// Fails where a file could not be written, and leaves everything as it is: to know before work that takes long.
fn try_to_write(path: &Path) -> Outcome {
    if path.is_dir() {
        return Err(Failure::Failed(format!("{} is a folder", path.display())));
    }
    drop(Replacement::prepare(path, &[])?);
    Ok(())
}

impl Runner {
    /// For so many frames in flight.
    pub fn new(
        data: GraphData,
        common: &Common,
        measuring: &Measuring,
        trace_target: Option<Target>,
        frames_in_flight: usize,
    ) -> Outcome<Self> {
        if let Some(path) = trace_target.as_ref().and_then(Target::path) {
            try_to_write(path)?;
        }
        let context = common.context(frames_in_flight)?;
        let is_profiled = measuring.time || measuring.trace.is_some();
        // Before any frame, so that nothing disturbs it; without it there is only less to say.
        let copy_bandwidth = if is_profiled { context.copy_bandwidth().ok().flatten() } else { None };
        let trace = Trace { device: context.description(), events: Vec::new(), copy_bandwidth };
        let (programs, trace) = (Mutex::default(), Mutex::new(trace));
        Ok(Runner { context, data, common: common.clone(), programs, is_profiled, trace, trace_target })
    }

    /// Runs the graph on pictures from files.
    pub fn run(&self, inputs: &[(&str, &Path)], times: &mut Times) -> Outcome<Results> {
        let mut pictures = Vec::with_capacity(inputs.len());
        for (name, path) in inputs {
            let picture = times.measure(format!("decode {}", path.display()), || Image::open(path));
            let picture = picture.map_err(|error| of_file(path, error))?;
            pictures.push((*name, picture));
        }
        let described: Vec<(String, Description)> =
            pictures.iter().map(|(name, picture)| (name.to_string(), picture.description())).collect();
        let (program, is_new) = times.measure("compile", || self.program(described))?;
        let borrowed: Vec<(&str, &Image)> = pictures.iter().map(|(name, picture)| (*name, picture)).collect();
        let profile = if self.is_profiled { Profile::PassByPass } else { Profile::Off };
        if self.is_profiled && is_new && program.is_on_gpu() {
            // Some drivers compile only now, which is no time of a pass.
            times.measure("first run", || program.run(&borrowed))?;
        }
        let options = FrameOptions { profile, ..FrameOptions::default() };
        let results = times.measure("run", || program.run_with(&borrowed, options))?;
        if let Some(timings) = results.timings() {
            let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
            // What the whole run consists of, as far as the backend knows.
            times.stages.push(("  upload".into(), Some(timings.upload_ms)));
            for pass in &timings.passes {
                times
                    .stages
                    .push((format!("  pass {}{}", pass.label, traffic(pass, trace.copy_bandwidth)), pass.milliseconds));
            }
            times.stages.push(("  readback".into(), Some(timings.readback_ms)));
            if let Some(moved) = timings.passes.iter().map(|pass| pass.bytes).sum::<Option<u64>>() {
                let report = program.report();
                let planned = report.bytes_read + report.bytes_written;
                times.notes.push(format!("passes moved {}, the plan has {}", megabytes(moved), megabytes(planned)));
            }
            let names: Vec<String> = inputs.iter().map(|(_, path)| path.display().to_string()).collect();
            let names = (!names.is_empty()).then(|| names.join(", "));
            trace.add_frame(names.as_deref(), timings);
        }
        Ok(results)
    }

    /// Writes what `--trace` asks for, once all frames have run, and passes on what became of them. Where some failed the
    /// others are still worth telling of; where none ran there is nothing to tell.
    pub fn write_trace(&self, outcome: Outcome) -> Outcome {
        let Some(target) = &self.trace_target else { return outcome };
        let trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome.is_err() && trace.events.is_empty() {
            return outcome;
        }
        let written = write_together(&[Written { target: target.clone(), bytes: trace.chrome_json().into_bytes() }]);
        match (outcome, written) {
            (Err(failure), Err(Failure::Failed(message))) => {
                say(&format!("error: {message}"));
                Err(failure)
            }
            (outcome, written) => outcome.and(written),
        }
    }

    /// The program for such pictures, and whether it was made just now.
    fn program(&self, described: Vec<(String, Description)>) -> Outcome<(Arc<Program>, bool)> {
        // A poisoned lock means that another thread panicked while compiling; the map is whole all the same. Compiling
        // under the lock: pictures of the same size wait for one program instead of each making its own.
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&described) {
            return Ok((Arc::clone(program), false));
        }
        let inputs: Vec<(&str, Description)> =
            described.iter().map(|(name, description)| (name.as_str(), *description)).collect();
        let graph = Graph::from_data(self.data.clone());
        let program = Arc::new(self.context.compile_with(&graph, &inputs, &self.common.options())?);
        if programs.len() >= PROGRAMS_KEPT {
            programs.clear();
        }
        programs.insert(described, Arc::clone(&program));
        Ok((program, true))
    }

    /// Writes outputs where they belong, all of them or none.
    pub fn write(
        &self,
        results: &Results,
        outputs: &[(&str, Target)],
        encoding: &Encoding,
        times: &mut Times,
    ) -> Outcome {
        let encoded = outputs.iter().map(|(name, target)| {
            let bytes = self.encode(results, name, target, encoding, times)?;
            Ok(Written { target: target.clone(), bytes })
        });
        let encoded = encoded.collect::<Outcome<Vec<_>>>()?;
        times.measure("write", || write_together(&encoded))
    }

    /// The bytes of an output's file.
    fn encode(
        &self,
        results: &Results,
        name: &str,
        target: &Target,
        encoding: &Encoding,
        times: &mut Times,
    ) -> Outcome<Vec<u8>> {
        match (results.is_picture(name), target) {
            (true, Target::Picture(path)) => {
                let options = EncodeOptions { jpeg_quality: encoding.quality, ..EncodeOptions::default() };
                let (image, format) = (results.image(name)?, FileFormat::from_path(path)?);
                Ok(times.measure(format!("encode {}", path.display()), || image.encode(format, &options))?)
            }
            (true, _) => Err(Failure::Usage(format!("output '{name}' is a picture; name a picture file for it"))),
            (false, Target::Picture(path)) => Err(Failure::Usage(format!(
                "output '{name}' is numbers, which {} cannot hold; name a .json file, or '-' for standard output",
                path.display()
            ))),
            (false, Target::Numbers(_) | Target::Standard) => Ok(self.numbers(results, name)?.into_bytes()),
        }
    }

    /// A list of entries of four numbers, an entry to a line.
    fn numbers(&self, results: &Results, name: &str) -> Outcome<String> {
        let counts = self.is_counts(name);
        let entries = results.numbers(name)?;
        let lines: Vec<String> = entries
            .iter()
            .map(|entry| {
                let values: Vec<Value> =
                    entry.iter().map(|word| if counts { json!(word) } else { number(f32::from_bits(*word)) }).collect();
                format!("  {}", Value::Array(values))
            })
            .collect();
        Ok(format!("[\n{}\n]\n", lines.join(",\n")))
    }

    /// Whether an output's words are whole numbers, as those of a histogram, or floats. What made them says.
    fn is_counts(&self, name: &str) -> bool {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(inputs) = programs.keys().next() else { return false };
        let inputs: Vec<(&str, Description)> =
            inputs.iter().map(|(name, description)| (name.as_str(), *description)).collect();
        // It has been lowered before, for the program, so this does not fail.
        let Ok(lowered) = lower(&self.data, &inputs) else { return false };
        lowered
            .outputs
            .iter()
            .find(|output| output.name == name)
            .is_some_and(|output| matches!(lowered.node(output.value).step, Step::Reduce(Reduction::Histogram)))
    }
}

/// A float as JSON, by its shortest digits.
pub fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().ok().and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number)
}
