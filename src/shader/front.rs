//! WGSL text of others made into a checked naga module: parsed and validated, mistakes with their place. Knows nothing of
//! what the text is for.

use crate::error::Error;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// What is wrong with a text, and where: line and column, from 1.
#[derive(Debug, PartialEq)]
pub(crate) struct Mistake {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl Mistake {
    /// The same in `text`, which stood on lines of its own after the first in what was compiled. What is missing after its
    /// end is missing at its end; what its surroundings make impossible has no better place than its beginning.
    pub fn within(self, text: &str) -> Mistake {
        let lines = text.lines().count().max(1);
        let end = text.lines().last().map_or(1, |last| last.chars().count() + 1);
        let (line, column) = match self.line {
            0 | 1 => (1, 1),
            line if line - 1 > lines => (lines, end),
            line => (line - 1, self.column),
        };
        Mistake { line, column, ..self }
    }

    pub fn of(self, operator: &str) -> Error {
        let Mistake { line, column, message } = self;
        Error::Shader { operator: operator.to_string(), line, column, message }
    }
}

/// Deepest tree of operators and calls in an expression. naga and the compilers of drivers walk it by recursion, and a stack
/// that overflows ends the process.
const MOST_OPERATORS: usize = 1000;

/// Most `else if` after each other, each of which lies within the one before.
const MOST_BRANCHES: usize = 200;

/// Most bytes of text: declarations may lean on each other in a chain, too.
const MOST_BYTES: usize = 1 << 20;

/// Bytes of stack for naga, whose frames are large where it is compiled without optimisation.
const STACK: usize = 64 << 20;

/// Bytes of a text that no stack is too small for, even with a level of its tree for every second. Most expressions, which
/// are parsed for each call, are as short and need no thread.
const SHORT: usize = 512;

/// Parses and validates a text.
pub(crate) fn module(text: &str) -> Result<(naga::Module, ModuleInfo), Mistake> {
    if text.len() > MOST_BYTES {
        let message = format!("{} bytes of text, {MOST_BYTES} are the most", text.len());
        return Err(Mistake { line: 1, column: 1, message });
    }
    if let Some(mistake) = too_deep(&without_comments(text)) {
        return Err(mistake);
    }
    if text.len() <= SHORT {
        return on_this_stack(text);
    }
    let checked = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || on_this_stack(text));
        thread.ok().and_then(|thread| thread.join().ok())
    });
    let failed = "the WGSL compiler failed; is there memory for a thread?";
    checked.unwrap_or_else(|| Err(Mistake { line: 1, column: 1, message: failed.to_string() }))
}

fn on_this_stack(text: &str) -> Result<(naga::Module, ModuleInfo), Mistake> {
    let mistake = |place: Option<naga::SourceLocation>, message: String| {
        let (line, column) = place.map_or((1, 1), |place| (place.line_number as usize, place.line_position as usize));
        Mistake { line, column, message }
    };
    let module = naga::front::wgsl::parse_str(text).map_err(|error| {
        let message = match error.message() {
            // All that it says of expressions and types that are nested more than 200 deep.
            "internal WGSL front end error" => "it is nested too deeply, or a mistake of the WGSL compiler",
            other => other,
        };
        mistake(error.location(text), message.to_string())
    })?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).map_err(|error| {
        let mut message = error.as_inner().to_string();
        let mut cause = std::error::Error::source(error.as_inner());
        while let Some(inner) = cause {
            message = format!("{message}: {inner}");
            cause = inner.source();
        }
        mistake(error.location(text), message)
    })?;
    Ok((module, info))
}

/// Where a text without comments is deeper than [`MOST_OPERATORS`] or [`MOST_BRANCHES`], judged by its words alone.
fn too_deep(text: &str) -> Option<Mistake> {
    // The depth of the expression so far; and for each bracket that is open, of what is before it and of what is in it.
    let (mut depth, mut brackets): (usize, Vec<[usize; 2]>) = (0, Vec::new());
    // The `else if`s so far of the ladder in each block that is open, and of all together.
    let (mut ladders, mut branches) = (vec![0], 0);
    let (mut word, mut last_word) = (String::new(), String::new());
    let mut previous = ' ';
    for (index, line) in text.lines().enumerate() {
        for (column, (place, letter)) in line.char_indices().chain([(line.len(), '\n')]).enumerate() {
            let in_number = word.starts_with(|first: char| first.is_ascii_digit());
            let is_exponent = matches!(letter, '+' | '-') && word.ends_with(['e', 'E', 'p', 'P']);
            if letter.is_alphanumeric() || letter == '_' || in_number && (letter == '.' || is_exponent) {
                let goes_on = line.get(place..).is_some_and(|rest| rest.starts_with("else"));
                if let Some(ladder) = ladders.last_mut().filter(|_| word.is_empty() && previous == '}' && !goes_on) {
                    branches -= std::mem::take(ladder);
                }
                word.push(letter);
                previous = letter;
                continue;
            }
            if !word.is_empty() {
                if let Some(ladder) = ladders.last_mut().filter(|_| last_word == "else" && word == "if") {
                    *ladder += 1;
                    branches += 1;
                }
                last_word = std::mem::take(&mut word);
            }
            if !letter.is_whitespace() {
                last_word.clear();
            }
            match letter {
                ';' => depth = 0,
                '{' => {
                    depth = 0;
                    ladders.push(0);
                }
                '}' => {
                    depth = 0;
                    if ladders.len() > 1 {
                        branches -= ladders.pop().unwrap_or(0);
                    }
                }
                '(' | '[' => {
                    brackets.push([depth, 0]);
                    depth = 0;
                }
                ')' | ']' => {
                    let [before, within] = brackets.pop().unwrap_or_default();
                    depth = before.max(within).max(depth) + 1;
                }
                ',' => {
                    if let Some([_, within]) = brackets.last_mut() {
                        *within = depth.max(*within);
                    }
                    depth = 0;
                }
                // The second letter of an operator; and a sign alone, of a constant in a list.
                '&' | '|' if previous == letter => {}
                '-' if matches!(previous, ',' | '(') => {}
                // Comparisons and shifts make no chains.
                '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '!' | '~' | '.' => depth += 1,
                _ => {}
            }
            if depth > MOST_OPERATORS || branches > MOST_BRANCHES {
                let (most, what) = match branches > MOST_BRANCHES {
                    true => (MOST_BRANCHES, "'else if' after each other; use switch"),
                    false => (MOST_OPERATORS, "operators in an expression; use several statements"),
                };
                let message = format!("more than {most} {what}");
                return Some(Mistake { line: index + 1, column: column + 1, message });
            }
            if !letter.is_whitespace() {
                previous = letter;
            }
        }
    }
    None
}

/// The text with comments as spaces.
pub(crate) fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let (mut line, mut depth) = (false, 0_u32);
    while let Some(letter) = rest.next() {
        let next = rest.peek().copied();
        match (letter, next) {
            ('\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}', _) => {
                line = false;
                clean.push(letter);
            }
            ('/', Some('*')) if !line => {
                depth += 1;
                rest.next();
                clean.push_str("  ");
            }
            ('*', Some('/')) if depth > 0 => {
                depth -= 1;
                rest.next();
                clean.push_str("  ");
            }
            ('/', Some('/')) if depth == 0 => {
                line = true;
                clean.push(' ');
            }
            _ if line || depth > 0 => clean.push(' '),
            _ => clean.push(letter),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On the stack that tests have, which is small.
    #[test]
    fn long_chains_are_refused_and_long_lists_are_not() {
        let function = |body: &str| format!("fn f(x: f32) -> f32 {{\n{body}\n}}");
        let chain = |count: usize, part: &str| format!("return {}x;", part.repeat(count));
        let branches =
            |count: usize| format!("if x < 1.0 {{ return x; }}{} return x;", " else if x < 2.0 { }".repeat(count));
        for fine in [
            chain(900, "x + "),
            chain(150, "- "),
            branches(190),
            format!("return {}x{};", "(".repeat(60), ")".repeat(60)),
        ] {
            assert!(module(&function(&fine)).is_ok(), "{fine}");
        }
        for deep in [chain(4000, "x + "), chain(100_000, "x+"), chain(4000, "- "), branches(2500)] {
            let mistake = module(&function(&deep)).unwrap_err();
            assert!(mistake.message.starts_with("more than"), "{mistake:?}");
            assert_eq!(mistake.line, 2);
        }
        let long = chain(4000, "x + ");
        let nested = format!("return {}x{};", "(".repeat(100), format!("{})", " + x".repeat(900)).repeat(100));
        for deep in [
            format!("return v{};", ".xy".repeat(100_000)),
            format!("return v{};", "[0]".repeat(100_000)),
            format!("return {}x;", "!".repeat(2000)),
            format!("// a comment that ends\r {long}"),
            nested,
        ] {
            let mistake = module(&function(&deep)).unwrap_err();
            assert!(mistake.message.starts_with("more than 1000 operators"), "{mistake:?}");
        }
        let constants: String = (0..100_000).map(|n| format!("const a{n} = a{};\n", n + 1)).collect();
        assert!(module(&constants).unwrap_err().message.contains("bytes of text"));
        let constants: String = (0..30_000).map(|n| format!("const a{n} = a{};\n", n + 1)).collect();
        assert!(module(&(constants + "const a30000 = 1;")).is_ok());
        // Many things, none of them deep.
        let list = format!(
            "const list = array<vec2<f32>, 3000>({}vec2<f32>(-1e-5, 1.0));",
            "vec2<f32>(-1e-5, 2.0), ".repeat(2999)
        );
        let ladders = "if x < 1.0 { } else if x < 2.0 { } else { if x < 3.0 { } }\n".repeat(300);
        let terms =
            format!("return select(0.0, 1.0, {}x != 2.0);", "x == 1.0 && x <= 3.0 || ".replace("||", "&&").repeat(300));
        for fine in [list, function(&(ladders + "return x;")), function(&terms)] {
            let made = module(&fine);
            assert!(made.is_ok(), "{:?}: {}", made.err(), fine.get(..200).unwrap_or_default());
        }
        assert!(module(&function(&format!("return {}x{};", "(".repeat(900), ")".repeat(900)))).is_err());
    }
}
