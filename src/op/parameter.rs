//! Parameters are declared once, here typed and checked; text form, JSON, help, table and tests derive from the
//! declaration. Knows nothing of graphs or shaders.

use crate::error::{Error, Result, nearest};
use std::sync::Arc;

/// Declaration of one parameter of an operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name in text, JSON and help.
    pub name: &'static str,
    /// Type, range and default.
    pub kind: ParameterKind,
    /// Unit as printed in help: "EV", "px", "degrees", or empty.
    pub unit: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// Type, range and default of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A finite number from `min` to `max`.
    Float { min: f32, max: f32, default: f32 },
    /// A whole number from `min` to `max`.
    Integer { min: i32, max: i32, default: i32 },
    /// True or false.
    Switch { default: bool },
    /// One of the named options; the default is an index.
    Choice { options: &'static [&'static str], default: usize },
    /// Red, green, blue, alpha, straight, each finite; 0..1 is the range of integer pictures.
    Color { default: [f32; 4] },
    /// A list of finite numbers.
    Floats { min_length: usize, max_length: usize, default: &'static [f32] },
    /// The content of a file, named by its path. There is no default.
    File { extension: &'static str },
}

impl Parameter {
    /// A finite number in a closed range.
    pub const fn float(name: &'static str, min: f32, max: f32, default: f32, unit: &'static str) -> Self {
        Parameter { name, kind: ParameterKind::Float { min, max, default }, unit, help: "" }
    }

    /// A whole number in a closed range.
    pub const fn integer(name: &'static str, min: i32, max: i32, default: i32, unit: &'static str) -> Self {
        Parameter { name, kind: ParameterKind::Integer { min, max, default }, unit, help: "" }
    }

    /// True or false.
    pub const fn switch(name: &'static str, default: bool) -> Self {
        Parameter { name, kind: ParameterKind::Switch { default }, unit: "", help: "" }
    }

    /// One of several names.
    pub const fn choice(name: &'static str, options: &'static [&'static str], default: usize) -> Self {
        Parameter { name, kind: ParameterKind::Choice { options, default }, unit: "", help: "" }
    }

    /// A straight RGBA colour.
    pub const fn color(name: &'static str, default: [f32; 4]) -> Self {
        Parameter { name, kind: ParameterKind::Color { default }, unit: "", help: "" }
    }

    /// A list of numbers.
    pub const fn floats(name: &'static str, min_length: usize, max_length: usize, default: &'static [f32]) -> Self {
        Parameter { name, kind: ParameterKind::Floats { min_length, max_length, default }, unit: "", help: "" }
    }

    /// A file.
    pub const fn file(name: &'static str, extension: &'static str) -> Self {
        Parameter { name, kind: ParameterKind::File { extension }, unit: "", help: "" }
    }

    /// The same with a line of help.
    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// The default, if there is one.
    pub fn default(&self) -> Option<Argument> {
        Some(match self.kind {
            ParameterKind::Float { default, .. } => Argument::Float(default),
            ParameterKind::Integer { default, .. } => Argument::Integer(default),
            ParameterKind::Switch { default } => Argument::Switch(default),
            ParameterKind::Choice { options, default } => Argument::Choice(options.get(default)?.to_string()),
            ParameterKind::Color { default } => Argument::Color(default),
            ParameterKind::Floats { default, .. } => Argument::Floats(default.into()),
            ParameterKind::File { .. } => return None,
        })
    }

    /// What values it takes, for help and error texts.
    pub fn expected(&self) -> String {
        match self.kind {
            ParameterKind::Float { min, max, .. } => format!("a number from {min} to {max}"),
            ParameterKind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            ParameterKind::Switch { .. } => "true or false".into(),
            ParameterKind::Choice { options, .. } => format!("one of {}", options.join(", ")),
            ParameterKind::Color { .. } => {
                "a colour of three or four finite numbers, or #rgb, #rgba, #rrggbb or #rrggbbaa".into()
            }
            ParameterKind::Floats { min_length, max_length, .. } if min_length == max_length => {
                format!("a list of {min_length} finite numbers")
            }
            ParameterKind::Floats { min_length, max_length, .. } => {
                format!("a list of {min_length} to {max_length} finite numbers")
            }
            ParameterKind::File { extension } => format!("the path of a .{extension} file"),
        }
    }

    /// Checks type and range. Numbers are accepted for each other where nothing is lost; a three-number list is an
    /// opaque colour.
    pub fn check(&self, operator: &str, argument: Argument) -> Result<Argument> {
        let bad = |found: &Argument, expected: String| Error::BadParameter {
            operator: operator.into(),
            parameter: self.name.into(),
            expected,
            found: found.to_string(),
        };
        let argument = match (self.kind, argument) {
            (ParameterKind::Float { .. }, Argument::Integer(value)) => Argument::Float(value as f32),
            (ParameterKind::Integer { .. }, Argument::Float(value))
                if value.fract() == 0.0 && value.abs() < 16_777_216.0 =>
            {
                Argument::Integer(value as i32)
            }
            (ParameterKind::Color { .. }, Argument::Floats(list)) => match *list {
                [r, g, b] => Argument::Color([r, g, b, 1.0]),
                [r, g, b, a] => Argument::Color([r, g, b, a]),
                _ => return Err(bad(&Argument::Floats(list), self.expected())),
            },
            (ParameterKind::Floats { .. }, Argument::Color(color)) => Argument::Floats(color.to_vec()),
            (ParameterKind::Floats { .. }, Argument::Float(value)) => Argument::Floats(vec![value]),
            (ParameterKind::Floats { .. }, Argument::Integer(value)) => Argument::Floats(vec![value as f32]),
            (_, argument) => argument,
        };
        let good = match (self.kind, &argument) {
            (ParameterKind::Float { min, max, .. }, Argument::Float(value)) => *value >= min && *value <= max,
            (ParameterKind::Integer { min, max, .. }, Argument::Integer(value)) => *value >= min && *value <= max,
            (ParameterKind::Switch { .. }, Argument::Switch(_)) => true,
            (ParameterKind::Choice { options, .. }, Argument::Choice(value)) => {
                if !options.contains(&value.as_str()) {
                    let expected = match nearest(value, options.iter().copied()) {
                        Some(near) => format!("{}; did you mean '{near}'?", self.expected()),
                        None => self.expected(),
                    };
                    return Err(bad(&argument, expected));
                }
                true
            }
            (ParameterKind::Color { .. }, Argument::Color(color)) => color.iter().all(|value| value.is_finite()),
            (ParameterKind::Floats { min_length, max_length, .. }, Argument::Floats(list)) => {
                (min_length..=max_length).contains(&list.len()) && list.iter().all(|value| value.is_finite())
            }
            (ParameterKind::File { .. }, Argument::File(_)) => true,
            _ => false,
        };
        if good { Ok(argument) } else { Err(bad(&argument, self.expected())) }
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    Float(f32),
    Integer(i32),
    Switch(bool),
    Choice(String),
    Color([f32; 4]),
    Floats(Vec<f32>),
    File(FileContent),
}

/// A file read into memory. The front ends read it, so that operators stay free of effects.
#[derive(Debug, Clone)]
pub struct FileContent {
    /// Where it came from; printed and written to text and JSON.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.bytes == other.bytes
    }
}

impl FileContent {
    /// Largest file that is read: a 129-cube .cube file in text is about 60 MB.
    pub const LIMIT: u64 = 64 << 20;

    /// Reads a regular file of at most [`FileContent::LIMIT`] bytes.
    pub fn read(path: &str) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Io { path: path.into(), message: error.to_string() };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(Error::Io { path: path.into(), message: "not a regular file".into() });
        }
        if metadata.len() > Self::LIMIT {
            return Err(Error::Limit { what: format!("file {path}"), found: metadata.len(), limit: Self::LIMIT });
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        Ok(FileContent { path: path.into(), bytes: bytes.into() })
    }
}

impl std::fmt::Display for Argument {
    /// As the text form writes it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |formatter: &mut std::fmt::Formatter<'_>, values: &[f32]| {
            write!(formatter, "[")?;
            for (index, value) in values.iter().enumerate() {
                write!(formatter, "{}{value}", if index == 0 { "" } else { ", " })?;
            }
            write!(formatter, "]")
        };
        match self {
            Argument::Float(value) => write!(formatter, "{value}"),
            Argument::Integer(value) => write!(formatter, "{value}"),
            Argument::Switch(value) => write!(formatter, "{value}"),
            Argument::Choice(value) => write!(formatter, "{value}"),
            Argument::Color(color) => list(formatter, color),
            Argument::Floats(values) => list(formatter, values),
            Argument::File(file) => write!(formatter, "{:?}", file.path),
        }
    }
}

impl From<f32> for Argument {
    fn from(value: f32) -> Self {
        Argument::Float(value)
    }
}
impl From<i32> for Argument {
    fn from(value: i32) -> Self {
        Argument::Integer(value)
    }
}
impl From<u32> for Argument {
    fn from(value: u32) -> Self {
        Argument::Integer(i32::try_from(value).unwrap_or(i32::MAX)) // over every parameter's range, so refused later
    }
}
impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Argument::Switch(value)
    }
}
impl From<&str> for Argument {
    fn from(value: &str) -> Self {
        Argument::Choice(value.into())
    }
}
impl From<[f32; 4]> for Argument {
    fn from(value: [f32; 4]) -> Self {
        Argument::Color(value)
    }
}
impl From<[f32; 3]> for Argument {
    fn from([r, g, b]: [f32; 3]) -> Self {
        Argument::Color([r, g, b, 1.0])
    }
}
impl From<&[f32]> for Argument {
    fn from(value: &[f32]) -> Self {
        Argument::Floats(value.into())
    }
}
impl From<Vec<f32>> for Argument {
    fn from(value: Vec<f32>) -> Self {
        Argument::Floats(value)
    }
}
impl From<FileContent> for Argument {
    fn from(value: FileContent) -> Self {
        Argument::File(value)
    }
}

/// The checked arguments of one node, one for each declared parameter, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    declared: &'static [Parameter],
    values: Vec<Argument>,
}

impl Arguments {
    /// Checks the given (name, value) pairs against the declaration and fills in the defaults.
    pub fn new(
        operator: &str,
        declared: &'static [Parameter],
        given: impl IntoIterator<Item = (String, Argument)>,
    ) -> Result<Self> {
        let mut slots: Vec<Option<Argument>> = vec![None; declared.len()];
        for (name, argument) in given {
            let Some((parameter, slot)) =
                declared.iter().zip(slots.iter_mut()).find(|(parameter, _)| parameter.name == name)
            else {
                return Err(unknown(operator, declared, &name));
            };
            *slot = Some(parameter.check(operator, argument)?);
        }
        let mut values = Vec::with_capacity(declared.len());
        for (parameter, slot) in declared.iter().zip(slots) {
            let Some(value) = slot.or_else(|| parameter.default()) else {
                return Err(Error::BadParameter {
                    operator: operator.into(),
                    parameter: parameter.name.into(),
                    expected: parameter.expected(),
                    found: "nothing".into(),
                });
            };
            values.push(value);
        }
        Ok(Arguments { declared, values })
    }

    /// Replaces one argument after checking it.
    pub fn set(&mut self, operator: &str, name: &str, argument: Argument) -> Result<()> {
        let found = self.declared.iter().zip(self.values.iter_mut()).find(|(parameter, _)| parameter.name == name);
        let Some((parameter, slot)) = found else { return Err(unknown(operator, self.declared, name)) };
        *slot = parameter.check(operator, argument)?;
        Ok(())
    }

    /// The declarations and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &Argument)> {
        self.declared.iter().zip(&self.values)
    }

    /// The value of a parameter, if there is one of this name.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.iter().find(|(parameter, _)| parameter.name == name).map(|(_, argument)| argument)
    }

    /// A number. Operators ask only for what they declare; another name or type is a slip of the operator's author,
    /// which the registry tests find, and reads as zero.
    pub fn float(&self, name: &str) -> f32 {
        match self.get(name) {
            Some(Argument::Float(value)) => *value,
            other => slip(name, other, 0.0),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> i32 {
        match self.get(name) {
            Some(Argument::Integer(value)) => *value,
            other => slip(name, other, 0),
        }
    }

    /// True or false.
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Argument::Switch(value)) => *value,
            other => slip(name, other, false),
        }
    }

    /// The option chosen.
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Argument::Choice(value)) => value,
            other => slip(name, other, ""),
        }
    }

    /// The place of the chosen option in its declaration.
    pub fn choice_index(&self, name: &str) -> usize {
        let chosen = self.choice(name);
        self.iter()
            .find(|(parameter, _)| parameter.name == name)
            .and_then(|(parameter, _)| match parameter.kind {
                ParameterKind::Choice { options, .. } => options.iter().position(|option| *option == chosen),
                _ => None,
            })
            .unwrap_or(0)
    }

    /// A straight colour.
    pub fn color(&self, name: &str) -> [f32; 4] {
        match self.get(name) {
            Some(Argument::Color(value)) => *value,
            other => slip(name, other, [0.0; 4]),
        }
    }

    /// A list of numbers.
    pub fn floats(&self, name: &str) -> &[f32] {
        match self.get(name) {
            Some(Argument::Floats(value)) => value,
            other => slip(name, other, &[]),
        }
    }

    /// A file's content.
    pub fn file(&self, name: &str) -> Option<&FileContent> {
        match self.get(name) {
            Some(Argument::File(file)) => Some(file),
            _ => None,
        }
    }
}

fn unknown(operator: &str, declared: &[Parameter], name: &str) -> Error {
    Error::UnknownParameter {
        operator: operator.into(),
        name: name.into(),
        suggestion: nearest(name, declared.iter().map(|parameter| parameter.name)),
    }
}

fn slip<T>(name: &str, found: Option<&Argument>, value: T) -> T {
    debug_assert!(false, "operator asks for '{name}' of another type than declared: {found:?}");
    value
}
