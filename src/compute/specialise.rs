//! The text of a user's kernel, made fit: overrides become constants, so that all that follows knows sizes; and, for work of
//! more workgroups than a dispatch has along one dimension, an entry point that folds them over two. Both change the text in
//! place, line by line, so that positions in messages stay true. naga has parsed the text before.

use std::ops::Range;

use super::buffer::bad;
use crate::error::{Error, Result, nearest};
use crate::shader::front::without_comments;

/// Name of the folding entry point.
pub(super) const FOLDED: &str = "cyanotype_folded";

fn is_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_' || !letter.is_ascii()
}

/// Where `first` and then `second` stand, as words with nothing but space between.
fn find_pair(text: &str, first: &str, second: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    text.match_indices(first).find_map(|(start, _)| {
        let after = start + first.len();
        let name = after + text[after..].len() - text[after..].trim_start().len();
        let end = name + second.len();
        let before = start.checked_sub(1).and_then(|place| bytes.get(place)).is_some_and(|&letter| is_word(letter));
        let goes_on = bytes.get(end).is_some_and(|&letter| is_word(letter));
        (!before && !goes_on && name > after && text[name..].starts_with(second)).then_some(start..end)
    })
}

/// Index after the parenthesis that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (place, letter) in text.bytes().enumerate().skip(open) {
        match letter {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Replaces a range by spaces.
fn blank(text: &mut String, range: Range<usize>) {
    let spaces: String = text[range.clone()].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range, &spaces);
}

/// Replaces the attributes that stand right before `end` by spaces; of those named `only`, if given.
fn blank_attributes(text: &mut String, end: usize, only: Option<&str>) {
    let mut end = end;
    loop {
        let before = text[..end].trim_end();
        let mut start = before.len();
        if before.ends_with(')') {
            // Back to the parenthesis that it closes.
            let mut depth = 0;
            let open = before.bytes().enumerate().rev().find_map(|(place, letter)| {
                depth += i32::from(letter == b')') - i32::from(letter == b'(');
                (depth == 0).then_some(place)
            });
            let Some(open) = open else { return };
            start = before[..open].trim_end().len();
        }
        let name = text[..start].len() - text[..start].bytes().rev().take_while(|&letter| is_word(letter)).count();
        if name == start || !text[..name].ends_with('@') || only.is_some_and(|only| &text[name..start] != only) {
            return;
        }
        let range = name - 1..before.len();
        end = range.start;
        blank(text, range);
    }
}

/// The text, free of comments, with each override a constant: of the value given, or of its own default.
///
/// # Errors
/// [`Error::UnknownName`] for a value without an override, [`Error::BadInput`] for an override without a value.
pub(super) fn specialise(text: &str, module: &naga::Module, values: &[(&str, f64)]) -> Result<String> {
    let overrides: Vec<_> = module.overrides.iter().map(|(_, one)| one).collect();
    let names: Vec<&str> = overrides.iter().filter_map(|one| one.name.as_deref()).collect();
    if let Some((name, _)) = values.iter().find(|(name, _)| !names.contains(name)) {
        let suggestion = nearest(name, names.iter().copied());
        return Err(Error::UnknownName { what: "override of the kernel", name: name.to_string(), suggestion });
    }
    for (number, (name, _)) in values.iter().enumerate() {
        if values.iter().take(number).any(|(other, _)| other == name) {
            return Err(bad("kernel", format!("the override '{name}' is given twice")));
        }
    }
    let mut text = without_comments(text);
    for one in overrides {
        let Some(name) = one.name.as_deref() else { continue };
        let value = values.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        let found = find_pair(&text, "override", name);
        let Some(Range { start, end }) = found else {
            return Err(bad("kernel", format!("the override '{name}' was not found in the text")));
        };
        let stop = end + text[end..].find(';').unwrap_or(text.len() - end);
        let declaration = text[end..stop].to_string();
        let replacement = match value {
            None if one.init.is_none() => return Err(bad("kernel", format!("the override '{name}' needs a value"))),
            None => format!("const {name}{declaration}"),
            Some(value) => {
                let (kind, literal) = match module.types[one.ty].inner {
                    naga::TypeInner::Scalar(naga::Scalar::U32) if f64::from(value as u32) == value => {
                        ("u32", format!("{}", value as u32))
                    }
                    // Its literal would be the negation of a number too large.
                    naga::TypeInner::Scalar(naga::Scalar::I32)
                        if f64::from(value as i32) == value && value > f64::from(i32::MIN) =>
                    {
                        ("i32", format!("{}", value as i32))
                    }
                    naga::TypeInner::Scalar(naga::Scalar::F32) if value.is_finite() => ("f32", format!("{value:e}")),
                    naga::TypeInner::Scalar(naga::Scalar::BOOL) => ("bool", format!("{}", value != 0.0)),
                    _ => return Err(bad("kernel", format!("the override '{name}' cannot be {value}"))),
                };
                // As many lines as before.
                let lines = "\n".repeat(declaration.matches('\n').count());
                format!("const {name} = {kind}({literal}){lines}")
            }
        };
        text.replace_range(start..stop, &replacement);
        blank_attributes(&mut text, start, Some("id"));
    }
    Ok(text)
}

/// The specialised text with an entry point that takes workgroups along x and y as one row, for the kernel of that name.
///
/// # Errors
/// [`Error::BadInput`] where the entry point takes what it is given in a struct.
pub(super) fn folded(text: &str, entry: &naga::EntryPoint) -> Result<String> {
    let name = &entry.name;
    let mut text = text.to_string();
    let found = find_pair(&text, "fn", name).and_then(|found| {
        let open = found.end + text[found.end..].find('(')?;
        Some((found.start, open, closing(&text, open)?))
    });
    let Some((start, open, close)) = found else {
        return Err(bad(name, "its entry point was not found in the text"));
    };
    while let Some(at) = text[open..close].find('@') {
        let at = open + at;
        let parenthesis = text[at..].find('(').and_then(|place| closing(&text, at + place));
        let Some(end) = parenthesis.filter(|&end| end < close) else { break };
        blank(&mut text, at..end);
    }
    blank_attributes(&mut text, start, None);
    let [x, y, z] = entry.workgroup_size;
    let mut arguments = Vec::new();
    for argument in &entry.function.arguments {
        use naga::BuiltIn;
        arguments.push(match argument.binding {
            Some(naga::Binding::BuiltIn(BuiltIn::GlobalInvocationId)) => {
                format!("vec3<u32>(group * {x}u + local.x, local.y, local.z)")
            }
            Some(naga::Binding::BuiltIn(BuiltIn::WorkGroupId)) => "vec3<u32>(group, 0u, 0u)".to_string(),
            Some(naga::Binding::BuiltIn(BuiltIn::NumWorkGroups)) => "vec3<u32>(count.x * count.y, 1u, 1u)".to_string(),
            Some(naga::Binding::BuiltIn(BuiltIn::LocalInvocationId)) => "local".to_string(),
            Some(naga::Binding::BuiltIn(BuiltIn::LocalInvocationIndex)) => "index".to_string(),
            _ => {
                return Err(bad(
                    name,
                    "to run over more workgroups than the device has along one dimension, it must take its builtins one \
                     by one, not in a struct",
                ));
            }
        });
    }
    let arguments = arguments.join(", ");
    text.push_str(&format!(
        "\n@compute @workgroup_size({x}, {y}, {z})\nfn {FOLDED}(\n    @builtin(workgroup_id) id: vec3<u32>,\n    \
         @builtin(num_workgroups) count: vec3<u32>,\n    @builtin(local_invocation_id) local: vec3<u32>,\n    \
         @builtin(local_invocation_index) index: u32,\n) {{\n    let group = id.y * count.x + id.x;\n    \
         {name}({arguments});\n}}\n"
    ));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// override size: u32 = 1;\n@id(3) override size: u32 = 64; /* a /* nested */ comment */\n\
        override scale: f32;\nvar<workgroup> tile: array<f32, size>;\n\
        @group(0) @binding(0) var<storage, read_write> data: array<f32>;\n\
        @compute @workgroup_size(size)\nfn twice(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) i: u32) {\n\
        tile[i] = scale; data[id.x] *= tile[i];\n}\n";

    fn parse(text: &str) -> naga::Module {
        naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)))
    }

    #[test]
    fn overrides_become_constants() {
        let module = parse(TEXT);
        let text = specialise(TEXT, &module, &[("size", 128.0), ("scale", 2.0)]).unwrap();
        let special = parse(&text);
        assert_eq!((special.overrides.len(), special.entry_points[0].workgroup_size), (0, [128, 1, 1]));
        assert_eq!(text.lines().count(), TEXT.lines().count());
        let text = specialise(TEXT, &module, &[("scale", 2.0)]).unwrap();
        assert_eq!(parse(&text).entry_points[0].workgroup_size, [64, 1, 1]);
        assert!(matches!(specialise(TEXT, &module, &[]), Err(Error::BadInput { .. })));
        let unknown = specialise(TEXT, &module, &[("scales", 2.0)]).unwrap_err().to_string();
        assert!(unknown.contains("did you mean 'scale'"), "{unknown}");
    }

    #[test]
    fn a_folding_entry_point_calls_the_kernel() {
        let module = parse(TEXT);
        let text = specialise(TEXT, &module, &[("scale", 2.0)]).unwrap();
        let folded = parse(&folded(&text, &parse(&text).entry_points[0]).unwrap());
        assert_eq!(folded.entry_points.len(), 1);
        assert_eq!((folded.entry_points[0].name.as_str(), folded.entry_points[0].workgroup_size), (FOLDED, [64, 1, 1]));
        assert_eq!(folded.functions.len(), 1);
    }
}
