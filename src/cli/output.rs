//! Where results go: standard output, which may be closed at any time, and files, which appear whole or not at all. And what
//! must not be overwritten.

use super::{Failure, Measuring, Outcome};
use cyanotype::GraphData;
use cyanotype::graph::NodeContent;
use cyanotype::image::{FileFormat, Replacement};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes to standard output. A reader that has gone is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Outcome {
    let mut standard = BufWriter::new(io::stdout().lock());
    write(&mut standard).and_then(|()| standard.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Failed(format!("standard output: {error}")),
    })
}

/// Widest line of help.
const WIDTH: usize = 100;

/// Words on lines of at most [`WIDTH`] letters, each indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = margin.clone();
        for word in paragraph.split_whitespace() {
            if line.len() > indent && line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::replace(&mut line, margin.clone()));
            }
            if line.len() > indent {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Where an output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A picture file.
    Picture(PathBuf),
    /// A file of numbers as JSON.
    Numbers(PathBuf),
    /// Numbers as JSON to standard output.
    Standard,
}

impl Target {
    /// What a path on the command line stands for.
    pub fn new(path: &Path) -> Outcome<Target> {
        if path.as_os_str() == "-" {
            return Ok(Target::Standard);
        }
        if path.as_os_str().is_empty() {
            return Err(Failure::Usage("an empty path names no file to write".into()));
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            return Ok(Target::Numbers(path.to_path_buf()));
        }
        match FileFormat::from_path(path) {
            Ok(_) => Ok(Target::Picture(path.to_path_buf())),
            Err(error) => Err(Failure::Usage(error.to_string())),
        }
    }

    /// Its file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Target::Picture(path) | Target::Numbers(path) => Some(path),
            Target::Standard => None,
        }
    }
}

impl Measuring {
    /// Where the trace goes, if one is asked for, beside results.
    pub(super) fn target<'t>(&self, mut results: impl Iterator<Item = &'t Target>) -> Outcome<Option<Target>> {
        match &self.trace {
            None => Ok(None),
            Some(path) if path.as_os_str() != "-" => Ok(Some(Target::Numbers(path.clone()))),
            Some(_) if results.any(|result| *result == Target::Standard) => {
                Err(Failure::Usage("--trace -: a result goes to standard output already; name a file".into()))
            }
            Some(_) => Ok(Some(Target::Standard)),
        }
    }
}

/// Files that parameters of a graph name, such as the table of `lut3d`.
pub fn named_files(data: &GraphData) -> impl Iterator<Item = &Path> {
    let operators = data.nodes.iter().filter_map(|node| match &node.content {
        NodeContent::Operator { operator, arguments } => Some((operator, arguments)),
        _ => None,
    });
    operators.flat_map(|(operator, arguments)| {
        let files = operator.parameters.iter().filter_map(|parameter| arguments.file(parameter.name));
        files.map(|file| Path::new(&file.path))
    })
}

/// Refuses outputs that are an input, by any name (other spelling, symbolic or hard link), and two outputs in one file.
pub fn protect(inputs: &[&Path], outputs: &[&Path], overwrite: bool) -> Outcome {
    let mut read: HashMap<Place, &Path> = HashMap::new();
    for input in inputs {
        read.entry(Place::of(input)).or_insert(input);
    }
    let mut written: HashMap<Place, &Path> = HashMap::new();
    for output in outputs {
        let place = Place::of(output);
        // Pipes and devices have no content to lose.
        let is_file = !matches!(place, Place::Spelling(_));
        if !overwrite
            && is_file
            && let Some(input) = read.get(&place)
        {
            let (input, output) = (input.display(), output.display());
            return Err(Failure::Usage(format!("{output} is the input {input}; give --overwrite to replace it")));
        }
        if let Some(other) = written.insert(place, output) {
            let (other, output) = (other.display(), output.display());
            return Err(Failure::Usage(format!("two outputs go to one file, {other} and {output}")));
        }
    }
    Ok(())
}

/// What a path leads to: equal for all paths to one file.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    /// A file: device and number.
    #[cfg(unix)]
    File(u64, u64),
    /// The one spelling of a file, or of one that does not exist yet in a folder that does.
    Path(PathBuf),
    /// The path itself, of a pipe, a device, or something in a folder that does not exist yet.
    Spelling(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Place {
        let spelling = || Place::Spelling(path.to_path_buf());
        #[cfg(unix)]
        match fs::metadata(path) {
            Ok(data) if data.is_file() => {
                use std::os::unix::fs::MetadataExt;
                return Place::File(data.dev(), data.ino());
            }
            Ok(_) => return spelling(),
            // A link to a file that does not exist yet. (Links in a circle are another error.)
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Ok(next) = fs::read_link(path) {
                    return Place::of(&path.with_file_name(next));
                }
            }
            Err(_) => {}
        }
        let in_folder = || {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
        };
        fs::canonicalize(path).ok().or_else(in_folder).map_or_else(spelling, Place::Path)
    }
}

/// Something to write, complete in memory.
#[derive(Debug)]
pub struct Written {
    pub target: Target,
    pub bytes: Vec<u8>,
}

/// Writes all of them, or none where that can be known beforehand: each file is complete beside its place before the first
/// takes it.
pub fn write_together(outputs: &[Written]) -> Outcome {
    let mut replacements = Vec::with_capacity(outputs.len());
    for Written { target, bytes } in outputs {
        if let Some(path) = target.path() {
            replacements.push(Replacement::prepare(path, bytes)?);
        }
    }
    // A reader that has gone is no reason to keep the files back.
    let mut printed = Ok(());
    for Written { bytes, .. } in outputs.iter().filter(|output| output.target == Target::Standard) {
        match print(|out| out.write_all(bytes)) {
            Err(Failure::Closed) => printed = Err(Failure::Closed),
            outcome => outcome?,
        }
    }
    replacements.into_iter().try_for_each(Replacement::commit)?;
    printed
}
