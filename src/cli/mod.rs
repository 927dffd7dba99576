//! The command line: what can be asked for, and the way each command is carried out. Results go to standard output, and
//! everything said about them to standard error. Nothing panics on a closed pipe.
//!
//! - `apply`: pictures through a chain
//! - `files`: a graph in a file, with named inputs and outputs
//! - `explain`, `operators`, `devices`: what there is and what would be done
//! - `tune`: kernel shapes, measured
//! - `frame`: decode, compile, run, encode, and how long each took
//! - `output`: where results go, and what must not be overwritten

mod apply;
mod devices;
mod explain;
mod files;
mod frame;
mod operators;
mod output;
mod tune;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use cyanotype::compute::TUNABLE;
use cyanotype::{BackendChoice, Context, ContextOptions, Error, Graph, GraphData, Limits, Options, Precision};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: a file, a picture or a device; what had been written before stays as it was
  2  not tried: the command line or the graph is wrong";

/// Applies a chain of operators to pictures, fused into as few passes as possible, on a GPU or on the CPU.
#[derive(Debug, Parser)]
#[command(name = "cyanotype", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
struct Common {
    /// Where to run; by default what CYANOTYPE_BACKEND says, else the best GPU, else the CPU
    #[arg(long, global = true, value_parser = backend_parser())]
    backend: Option<BackendChoice>,
    /// One operator per pass, for comparison
    #[arg(long, global = true)]
    no_fuse: bool,
    /// How values are kept between passes on a GPU: 8 bit (within 0 to 1), half or single floats. The CPU keeps single floats
    #[arg(long, global = true, value_enum, default_value_t = PrecisionName::Half)]
    precision: PrecisionName,
    /// Change a parameter of the graph; may be repeated
    #[arg(long, global = true, value_name = "NODE.PARAMETER=VALUE")]
    set: Vec<String>,
    /// Keep within the limits of a weaker device, to try what it would do
    #[arg(long, global = true, value_enum)]
    limits: Option<LimitsName>,
    /// Let an output replace an input
    #[arg(long, global = true)]
    overwrite: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PrecisionName {
    Byte,
    Half,
    Full,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LimitsName {
    /// A weak phone under OpenGL ES 3.1
    Downlevel,
}

fn backend_parser() -> impl TypedValueParser<Value = BackendChoice> {
    PossibleValuesParser::new(BackendChoice::ALL.map(BackendChoice::name)).try_map(|name| name.parse())
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Apply a chain to a picture, or to many
    ///
    /// The chain is text: operators with their arguments, joined by '|'. `cyanotype ops` lists them.
    #[command(
        override_usage = "cyanotype apply [OPTIONS] IN OUT CHAIN\n       cyanotype apply [OPTIONS] IN... FOLDER CHAIN",
        after_help = "Examples:\n  cyanotype apply photo.jpg print.png 'exposure 0.7 | gaussian-blur 2 | saturation 1.2'\n  \
                      cyanotype apply photo.jpg - histogram\n  \
                      cyanotype apply *.jpg small/ 'linear(resize 1280 960)' --extension webp"
    )]
    Apply {
        /// One picture or more, then the file or folder to write, then the chain. Numbers (histogram, mean, min-max) are
        /// written to a .json file, or to standard output for '-'
        #[arg(required = true, num_args = 3.., value_names = ["IN", "OUT", "CHAIN"])]
        arguments: Vec<OsString>,
        #[command(flatten)]
        encoding: Encoding,
        #[command(flatten)]
        measuring: Measuring,
        /// File format of outputs in a folder, by extension; by default that of each input
        #[arg(long, value_name = "EXTENSION")]
        extension: Option<String>,
        /// Most pictures in flight at a time; by default one for each core, but 8 at most
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
        jobs: Option<u16>,
    },
    /// Run a graph that is in a file, as JSON or as text
    Run {
        /// The graph
        graph: PathBuf,
        /// A picture for an input of the graph; may be repeated. The name can be left out where there is one input
        #[arg(long, short, value_name = "NAME=FILE")]
        input: Vec<OsString>,
        /// A file for an output of the graph; may be repeated. Outputs without a file are not computed
        #[arg(long, short, value_name = "NAME=FILE", required = true)]
        output: Vec<OsString>,
        #[command(flatten)]
        encoding: Encoding,
        #[command(flatten)]
        measuring: Measuring,
    },
    /// Say which passes a chain becomes, what they read and write, and why
    Explain {
        /// The chain, or a file that holds a graph
        chain: String,
        /// Size of the inputs
        #[arg(long, value_name = "[NAME=]WIDTHxHEIGHT", default_value = "4000x3000")]
        size: Vec<String>,
        /// Pixel format of the inputs: r8, rgb8, rgba8, r16, rgb16, rgba16, r32f, rgb32f, rgba32f, rgba16f
        #[arg(long, value_name = "[NAME=]FORMAT", default_value = "rgb8")]
        format: Vec<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// With the WGSL text of each pass
        #[arg(long)]
        wgsl: bool,
    },
    /// List the operators, or say all about one
    Ops {
        /// The operator
        name: Option<String>,
        /// As JSON
        #[arg(long, conflicts_with = "markdown")]
        json: bool,
        /// As tables in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// List the devices: limits, features, self-test, and which one would be used
    Devices {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// With every limit, the formats that kernels can store to, and what is done about each thing that is missing
        #[arg(long)]
        full: bool,
    },
    /// Measure the shapes of compute kernels on the device and keep the best for later runs
    Tune {
        /// Show the whole sweep: shape, workgroups, milliseconds, rate, and which limit a shape is over
        #[arg(long)]
        table: bool,
        /// As JSON
        #[arg(long, conflicts_with = "table")]
        json: bool,
        /// Only this kernel, or kind of picture pass
        #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(TUNABLE))]
        kernel: Option<String>,
        /// Elements to measure on
        #[arg(long, value_name = "NUMBER", default_value = "4194304", value_parser = clap::value_parser!(u32).range(1..))]
        elements: u32,
        /// Measure, and keep nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// How pictures are written.
#[derive(Debug, Clone, Args)]
struct Encoding {
    /// Quality of JPEG files
    #[arg(long, value_name = "1-100", default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=100))]
    quality: u8,
}

/// What is said of the time that pictures take.
#[derive(Debug, Clone, Args)]
struct Measuring {
    /// Say on standard error how long everything took; each pass with the bytes that it moves, on a GPU also as a share of
    /// what the device copies in that time. Where the device has no clock to trust, passes run one by one
    #[arg(long)]
    time: bool,
    /// Write the times of all passes to a file that chrome://tracing and Perfetto read, or to standard output for '-'
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// Why a command did not succeed.
#[derive(Debug)]
enum Failure {
    /// The command line or the graph is wrong.
    Usage(String),
    /// It was tried and failed.
    Failed(String),
    /// It failed, and everything has been said.
    Told,
    /// Whoever read standard output has gone, and has what they wanted.
    Closed,
}

type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::UnknownOperator { .. }
            | Error::UnknownParameter { .. }
            | Error::BadParameter { .. }
            | Error::BadInput { .. }
            | Error::Parse { .. }
            | Error::BadGraph(_)
            | Error::UnknownName { .. }
            | Error::Shader { .. } => Failure::Usage(message),
            _ => Failure::Failed(message),
        }
    }
}

/// Parses the command line, carries it out, and says what went wrong.
pub fn main() -> ExitCode {
    quiet_wayland();
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => {
            // Help and version come this way too. A closed pipe is no reason to fail.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    // Cannot fail: no other logger has been set.
    let _ = log::set_logger(&Warnings).map(|()| log::set_max_level(log::LevelFilter::Warn));
    leave_nothing_behind();
    match command_line.run() {
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Told) => ExitCode::from(1),
        Err(Failure::Failed(message)) => {
            say(&format!("error: {message}"));
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            say(&format!("error: {message}"));
            ExitCode::from(2)
        }
    }
}

/// What is half written goes when the program is told to end.
#[cfg(unix)]
fn leave_nothing_behind() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    // Not SIGHUP, which `nohup` has told the system to ignore.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            cyanotype::image::Replacement::abandon_all();
            // As if nobody had listened: the caller sees what ended the program.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    // A machine without room for a thread will not get far anyway.
    let _ = std::thread::Builder::new().name("signals".to_string()).spawn(wait);
}

#[cfg(not(unix))]
fn leave_nothing_behind() {}

/// On a machine without a desktop libwayland, which OpenGL is asked for a display through, complains on standard error that
/// this variable is not set. With any value it just finds no display.
fn quiet_wayland() {
    const NAME: &str = "XDG_RUNTIME_DIR";
    if cfg!(all(unix, not(target_vendor = "apple"))) && std::env::var_os(NAME).is_none() {
        // SAFETY: the environment may be changed while no other thread reads it; this is the first thing the program does.
        unsafe { std::env::set_var(NAME, "/nonexistent") };
    }
}

/// A line on standard error. Where that is closed there is nobody to tell.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Shows the engine's own warnings, such as a fall back to the CPU. What drivers and wgpu have to say is left out: it is
/// about their matters, and plenty.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("cyanotype")
    }

    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata()) {
            say(&format!("{}: {}", record.level().as_str().to_lowercase(), record.args()));
        }
    }

    fn flush(&self) {}
}

impl CommandLine {
    fn run(self) -> Outcome {
        let common = self.common;
        match self.command {
            Command::Apply { arguments, encoding, measuring, extension, jobs } => {
                let folder = apply::InFolder { extension, jobs };
                apply::run(&common, arguments, &encoding, &measuring, &folder)
            }
            Command::Run { graph, input, output, encoding, measuring } => {
                files::run(&common, &graph, &input, &output, &encoding, &measuring)
            }
            Command::Explain { chain, size, format, json, wgsl } => {
                explain::run(&common, &chain, &size, &format, explain::Style { json, wgsl })
            }
            Command::Ops { name, json, markdown } => operators::run(name.as_deref(), json, markdown),
            Command::Devices { json, full } => devices::run(&common, json, full),
            Command::Tune { table, json, kernel, elements, dry_run } => {
                let style = tune::Style { table, json };
                tune::run(&common, kernel.as_deref(), elements as usize, dry_run, style)
            }
        }
    }
}

impl Common {
    /// What was asked for, on the command line or in the environment.
    fn backend(&self) -> Outcome<BackendChoice> {
        if let Some(backend) = self.backend {
            return Ok(backend);
        }
        match std::env::var("CYANOTYPE_BACKEND") {
            Ok(name) if !name.is_empty() => {
                name.parse().map_err(|error| Failure::Usage(format!("CYANOTYPE_BACKEND: {error}")))
            }
            _ => Ok(BackendChoice::Auto),
        }
    }

    /// A context for so many frames in flight.
    fn context(&self, frames_in_flight: usize) -> Outcome<Context> {
        let backend = self.backend()?;
        let limits = self.limits.map(|LimitsName::Downlevel| Limits::DOWNLEVEL);
        Ok(Context::with(&ContextOptions { backend, frames_in_flight, limits, ..ContextOptions::default() })?)
    }

    fn options(&self) -> Options {
        let precision = match self.precision {
            PrecisionName::Byte => Precision::Byte,
            PrecisionName::Half => Precision::Half,
            PrecisionName::Full => Precision::Full,
        };
        Options { fuse: !self.no_fuse, precision, ..Options::default() }
    }

    /// The graph of a chain given on the command line. It has an input, if only for its size: `solid #f80` makes a picture
    /// as large as the one given.
    fn chain(&self, text: &str) -> Outcome<GraphData> {
        let graph = Graph::parse(text).map_err(|error| at_place(text, error))?;
        let mut data = self.with_settings(graph.data())?;
        if data.input_names().next().is_none() {
            let mut name = "in".to_string();
            while data.nodes.iter().any(|node| node.name == name) {
                name.push('_');
            }
            data.input(&name);
        }
        Ok(data)
    }

    /// Carries out `--set`.
    fn with_settings(&self, mut data: GraphData) -> Outcome<GraphData> {
        for setting in &self.set {
            let Some((path, value)) = setting.split_once('=') else {
                return Err(Failure::Usage(format!("--set {setting}: written --set node.parameter=value")));
            };
            data.set_text(path.trim(), value.trim())
                .map_err(|error| Failure::Usage(format!("--set {setting}: {}", without_place(&error))))?;
        }
        Ok(data)
    }
}

fn without_place(error: &Error) -> String {
    match error {
        Error::Parse { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Most of a line that is shown below an error.
const SHOWN: usize = 100;

/// The failure, with the line it happened in and a mark below the place.
fn at_place(text: &str, error: Error) -> Failure {
    let Error::Parse { line, column, .. } = error else { return error.into() };
    let Some(source) = text.lines().nth(line.saturating_sub(1)) else { return error.into() };
    // Of a long line, the part around the place.
    let skipped = column.saturating_sub(SHOWN * 3 / 4);
    let shown: String =
        source.chars().skip(skipped).take(SHOWN).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mark = " ".repeat(column.saturating_sub(1).saturating_sub(skipped));
    Failure::Usage(format!("{error}\n  {shown}\n  {mark}^"))
}
