//! The one error type. Every failure that a caller can meet is a variant here, with enough context (operator, node,
//! expected, found) for a person to mend the cause. It knows nothing of the backends: they translate their own errors.

use std::path::{Path, PathBuf};

/// What went wrong, where, and what was expected.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {message}", shown(path))]
    Io { path: PathBuf, message: String },

    /// The bytes are not a picture that can be decoded (truncated, damaged, unsupported).
    #[error("cannot decode {what}: {message}")]
    Decode { what: String, message: String },

    /// The picture cannot be written in the format asked for.
    #[error("cannot encode {what}: {message}")]
    Encode { what: String, message: String },

    /// The file extension or content names no known picture format.
    #[error("{what}: unknown picture format; known extensions: {known}")]
    UnknownFormat { what: String, known: String },

    /// A picture description that makes no sense: zero pixels, a stride shorter than a row, too few bytes.
    #[error("bad picture: {0}")]
    BadImage(String),

    /// Something is larger than a stated limit.
    #[error("{what} is {found}, over the limit of {limit}")]
    Limit { what: String, found: u64, limit: u64 },

    /// No operator has this name.
    #[error("unknown operator '{name}'{}", suggest(suggestion))]
    UnknownOperator { name: String, suggestion: Option<String> },

    /// The operator has no parameter of this name.
    #[error("operator '{operator}' has no parameter '{name}'{}", suggest(suggestion))]
    UnknownParameter { operator: String, name: String, suggestion: Option<String> },

    /// A parameter's value is of the wrong type, out of range, or not finite.
    #[error("{operator}: parameter '{parameter}' must be {expected}, found {found}")]
    BadParameter { operator: String, parameter: String, expected: String, found: String },

    /// An operator was given the wrong pictures: too few, too many, of sizes that do not fit.
    #[error("{operator}: {message}")]
    BadInput { operator: String, message: String },

    /// The text or JSON form of a graph does not parse. `line` and `column` count from one.
    #[error("line {line}, column {column}: {message}")]
    Parse { line: usize, column: usize, message: String },

    /// The graph itself is wrong: a cycle, no output, a name used twice.
    #[error("bad graph: {0}")]
    BadGraph(String),

    /// No input, output, node or parameter of the program has this name.
    #[error("no {what} named '{name}'{}", suggest(suggestion))]
    UnknownName { what: &'static str, name: String, suggestion: Option<String> },

    /// The picture given to a run differs from the one the program was compiled for.
    #[error("input '{input}': compiled for {expected}, given {found}")]
    Mismatch { input: String, expected: String, found: String },

    /// A shader text of the user's does not parse or has the wrong signature. The position is in the user's own text.
    #[error("shader of '{operator}', line {line}, column {column}: {message}")]
    Shader { operator: String, line: usize, column: usize, message: String },

    /// The operator cannot run on the CPU because it came without CPU code.
    #[error("operator '{operator}' has no CPU code; give it a closure, or run on a GPU")]
    NoCpuCode { operator: String },

    /// There is no device of the kind asked for, or it failed its self-test.
    #[error("no usable device: {0}")]
    NoDevice(String),

    /// The plan does not fit the device's limits, in passes split and values cut as they may be.
    #[error("the device cannot run this graph: {0}")]
    DeviceLimit(String),

    /// A kernel asks for more than the device has.
    #[error("kernel '{kernel}': {limit}: {found}, and the device has {allowed}; {fits}")]
    KernelLimit { kernel: String, limit: &'static str, found: u64, allowed: u64, fits: String },

    /// The device was lost. Make a new context; this one answers every call with this error.
    #[error("device lost: {0}")]
    DeviceLost(String),

    /// The device or the host has not enough memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),

    /// As many frames are in flight as the context allows.
    #[error("busy: {in_flight} frames are in flight, the bound is {bound}")]
    Busy { in_flight: usize, bound: usize },

    /// The device reported a failure that none of the above describes.
    #[error("device error: {0}")]
    Device(String),
}

/// A path as error texts name it.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { "an empty path".into() } else { path.display().to_string() }
}

fn suggest(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// The candidate nearest to `name` by edit distance, if any is near enough to be a plausible slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min()
        .map(|(_, candidate)| candidate.to_string())
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
