//! `apply`: one picture through a chain to a file, or many to a folder with a bounded number in flight.

use super::frame::{Runner, Times};
use super::output::{Target, named_files, protect};
use super::{Common, Encoding, Failure, Measuring, Outcome, say};
use cyanotype::GraphData;
use cyanotype::image::FileFormat;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One picture in, one out.
struct Job {
    input: PathBuf,
    target: Target,
}

/// What is asked for where pictures go to a folder.
pub struct InFolder {
    /// The extension of all of them.
    pub extension: Option<String>,
    /// Most in flight at a time.
    pub jobs: Option<u16>,
}

/// Most pictures in flight unless asked for more: each takes memory, and past a few cores the disk is what is waited for.
const JOBS: usize = 8;

pub fn run(
    common: &Common,
    mut arguments: Vec<OsString>,
    encoding: &Encoding,
    measuring: &Measuring,
    folder: &InFolder,
) -> Outcome {
    let usage = || Failure::Usage("apply needs a picture, a file or folder to write, and a chain".into());
    let chain = arguments.pop().ok_or_else(usage)?;
    let output = PathBuf::from(arguments.pop().ok_or_else(usage)?);
    let inputs: Vec<PathBuf> = arguments.into_iter().map(PathBuf::from).collect();
    let Some(chain) = chain.to_str() else { return Err(Failure::Usage("the chain is no valid text".into())) };
    let data = common.chain(chain)?;
    let (input_name, output_name) = single(&data)?;
    let is_standard = matches!(Target::new(&output), Ok(Target::Standard));
    if is_standard && inputs.len() > 1 {
        return Err(Failure::Usage("'-' takes the numbers of one picture; several need a folder".into()));
    }
    let to_folder = !is_standard && (inputs.len() > 1 || output.is_dir() || ends_with_separator(&output));
    let pictures = if to_folder {
        in_folder(inputs, &output, folder.extension.as_deref())?
    } else if folder.extension.is_some() {
        return Err(Failure::Usage("--extension is for outputs in a folder".into()));
    } else {
        let target = Target::new(&output)?;
        inputs.into_iter().map(|input| Job { input, target: target.clone() }).collect()
    };
    let trace = measuring.target(pictures.iter().map(|job| &job.target))?;
    let sources: Vec<&Path> = pictures.iter().map(|job| job.input.as_path()).chain(named_files(&data)).collect();
    let targets: Vec<&Path> = pictures.iter().map(|job| &job.target).chain(&trace).filter_map(Target::path).collect();
    protect(&sources, &targets, common.overwrite)?;
    let one = |runner: &Runner, job: &Job| apply(runner, job, &input_name, &output_name, encoding, measuring.time);
    if to_folder {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let jobs = folder.jobs.map_or(cores.min(JOBS), usize::from).min(pictures.len()).max(1);
        let is_new = !output.exists();
        std::fs::create_dir_all(&output).map_err(|error| Failure::Failed(format!("{}: {error}", output.display())))?;
        let outcome = Runner::new(data, common, measuring, trace, jobs)
            .and_then(|runner| runner.write_trace(many(&pictures, jobs, |job| one(&runner, job))));
        if is_new && outcome.is_err() {
            // Where nothing was written the folder goes as well; one that holds something stays, as this then fails.
            let _ = std::fs::remove_dir(&output);
        }
        return outcome;
    }
    let runner = Runner::new(data, common, measuring, trace, 1)?;
    runner.write_trace(pictures.iter().try_for_each(|job| one(&runner, job)))
}

/// The one input and the one output.
fn single(data: &GraphData) -> Outcome<(String, String)> {
    let inputs: Vec<&str> = data.input_names().collect();
    match (inputs.as_slice(), data.outputs.as_slice()) {
        ([input], [output]) => Ok((input.to_string(), output.name.clone())),
        (inputs, outputs) => {
            let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (inputs, outputs) = (count(inputs.len(), "input"), count(outputs.len(), "output"));
            let message = format!("the chain has {inputs} and {outputs}; put it in a file and use `cyanotype run`");
            Err(Failure::Usage(message))
        }
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
}

/// A file in the folder for each input, of the same name.
fn in_folder(inputs: Vec<PathBuf>, folder: &Path, extension: Option<&str>) -> Outcome<Vec<Job>> {
    if folder.exists() && !folder.is_dir() {
        let message = format!("{} is no folder; several pictures need one", folder.display());
        return Err(Failure::Usage(message));
    }
    let mut jobs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let Some(name) = input.file_name() else {
            return Err(Failure::Usage(format!("'{}' names no file", input.display())));
        };
        let mut path = folder.join(name);
        if let Some(extension) = extension {
            let extension = extension.trim_start_matches('.');
            if extension.contains(std::path::is_separator) {
                return Err(Failure::Usage(format!("--extension: '{extension}' is a path, not an extension")));
            }
            path.set_extension(extension);
        }
        let target = match Target::new(&path) {
            Ok(target) => target,
            Err(_) if extension.is_none() => {
                let hint = "its extension names no format that can be written; choose one with --extension";
                return Err(Failure::Usage(format!("{}: {hint}", input.display())));
            }
            Err(_) => {
                let known: Vec<&str> = FileFormat::ALL.iter().flat_map(|format| format.extensions()).copied().collect();
                let message = format!("--extension: unknown format; known are {}, json", known.join(", "));
                return Err(Failure::Usage(message));
            }
        };
        jobs.push(Job { input, target });
    }
    Ok(jobs)
}

fn apply(runner: &Runner, job: &Job, input: &str, output: &str, encoding: &Encoding, say_times: bool) -> Outcome {
    let mut times = Times::start();
    let results = runner.run(&[(input, job.input.as_path())], &mut times)?;
    runner.write(&results, &[(output, job.target.clone())], encoding, &mut times)?;
    if say_times {
        times.say(&job.input.display().to_string());
    }
    Ok(())
}

/// Carries out all jobs, `at_once` of them at a time. A failure is said and does not stop the others.
fn many(jobs: &[Job], at_once: usize, work: impl Fn(&Job) -> Outcome + Sync) -> Outcome {
    let bar = ProgressBar::new(jobs.len() as u64); // drawn on standard error, and only where that is a terminal
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len}  {eta} left  {msg}") {
        bar.set_style(style);
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let usage = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    bar.set_message(job.input.file_name().unwrap_or_default().to_string_lossy().into_owned());
                    let message = match work(job) {
                        Ok(()) | Err(Failure::Closed) => None,
                        Err(Failure::Told) => Some("failed".into()),
                        Err(Failure::Failed(message)) => Some(message),
                        Err(Failure::Usage(message)) => {
                            usage.fetch_add(1, Ordering::Relaxed);
                            Some(message)
                        }
                    };
                    if let Some(message) = message {
                        failed.fetch_add(1, Ordering::Relaxed);
                        let input = job.input.display().to_string();
                        // What went wrong with the file itself names it already.
                        let message = if message.starts_with(&input) { message } else { format!("{input}: {message}") };
                        bar.suspend(|| say(&format!("error: {message}")));
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    match failed.into_inner() {
        0 => Ok(()),
        // The graph itself is wrong, and so for each picture in the same way.
        count if count == jobs.len() && usage.into_inner() == count => {
            Err(Failure::Usage(format!("all {count} pictures failed")))
        }
        count => {
            say(&format!("{count} of {} pictures failed", jobs.len()));
            Err(Failure::Told)
        }
    }
}
