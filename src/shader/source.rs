//! WGSL text as tokens: enough to list declarations, see what they refer to and rename identifiers. Not a parser: naga
//! parses and validates whole modules. Knows nothing of passes.

use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Identifier,
    Other,
    Blank,
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
    start: usize,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = bytes.get(start).copied() {
        let rest = &text[start..]; // `start` always lies on a character boundary: each token ends on one
        let (kind, length) = if rest.starts_with("//") {
            (TokenKind::Blank, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (TokenKind::Blank, block_comment(rest))
        } else if first.is_ascii_whitespace() {
            (TokenKind::Blank, rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len()))
        } else if first.is_ascii_digit() {
            // A number takes its suffix and fraction with it, so that "1.0f" holds no identifier "f".
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
            (TokenKind::Other, end)
        } else if rest.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') {
            (TokenKind::Identifier, rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()))
        } else {
            (TokenKind::Other, rest.chars().next().map_or(1, char::len_utf8))
        };
        tokens.push(Token { kind, text: &rest[..length], start });
        start += length;
    }
    tokens
}

/// Block comments nest in WGSL.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut index) = (0usize, 0usize);
    while index < bytes.len() {
        match bytes.get(index..index + 2) {
            Some(b"/*") => {
                depth += 1;
                index += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                index += 2;
                if depth == 0 {
                    return index;
                }
            }
            _ => index += 1,
        }
    }
    text.len()
}

/// A declaration at module level, with the comment before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// What it declares.
    pub name: String,
    /// Its text, comment and all.
    pub text: String,
}

/// The `fn`, `struct`, `const` and `alias` declarations of a module, in order.
pub fn declarations(text: &str) -> Vec<Declaration> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let (mut depth, mut start) = (0i32, 0usize);
    let mut name: Option<String> = None;
    let mut is_block = false;
    let mut after_keyword = false;
    for token in &tokens {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            "fn" | "struct" if depth == 0 => {
                after_keyword = true;
                is_block = true;
            }
            "const" | "alias" | "override" | "var" if depth == 0 => {
                after_keyword = true;
                is_block = false;
            }
            identifier if after_keyword && token.kind == TokenKind::Identifier => {
                name = Some(identifier.into());
                after_keyword = false;
            }
            _ => {}
        }
        let ends = depth == 0 && ((token.text == "}" && is_block) || token.text == ";");
        if ends {
            let end = token.start + token.text.len();
            if let Some(name) = name.take() {
                found.push(Declaration { name, text: text[start..end].trim().into() });
            }
            start = end;
        }
    }
    found
}

/// The identifiers of a text that are not members (no dot before them).
pub fn identifiers(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut after_dot = false;
    for token in tokens(text) {
        if token.kind == TokenKind::Identifier && !after_dot {
            found.insert(token.text.to_string());
        }
        if token.kind != TokenKind::Blank {
            after_dot = token.text == ".";
        }
    }
    found
}

/// Renames identifiers, except members after a dot.
pub fn rename(text: &str, names: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_dot = false;
    for token in tokens(text) {
        match names.get(token.text) {
            Some(name) if token.kind == TokenKind::Identifier && !after_dot => out.push_str(name),
            _ => out.push_str(token.text),
        }
        if token.kind != TokenKind::Blank {
            after_dot = token.text == ".";
        }
    }
    out
}

/// Names of a function's parameters, in order; `None` if there is no such function.
pub fn parameters(text: &str, function: &str) -> Option<Vec<String>> {
    let tokens: Vec<Token> = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Blank).collect();
    let start = tokens.windows(3).position(|window| {
        window[0].text == "fn" && window[1].text == function && window[2].text == "(" // windows(3) holds three
    })?;
    let mut names = Vec::new();
    let mut depth = 0i32;
    for pair in tokens.get(start + 2..)?.windows(2) {
        let [token, next] = pair else { break };
        match token.text {
            "(" | "[" | "<" => depth += 1,
            ")" | "]" | ">" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && token.kind == TokenKind::Identifier && next.text == ":" {
            names.push(token.text.to_string());
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// Doubles.\nfn twice(color: vec4f, u: Twice) -> vec4f { let x = color.twice; return x * 2.0f; }\n\
                        /* a /* nested */ one */ const LIMIT: f32 = 3.0;\nstruct S { a: f32, }\nfn no() {}";

    #[test]
    fn declarations_are_found() {
        let names: Vec<String> = declarations(TEXT).into_iter().map(|declaration| declaration.name).collect();
        assert_eq!(names, ["twice", "LIMIT", "S", "no"]);
        assert!(declarations(TEXT)[0].text.starts_with("// Doubles."));
        assert!(declarations(TEXT)[1].text.ends_with("3.0;"));
    }

    #[test]
    fn members_are_not_renamed() {
        let renamed = rename(TEXT, &HashMap::from([("twice".into(), "my_twice".into()), ("f".into(), "g".into())]));
        assert!(renamed.contains("fn my_twice("), "{renamed}");
        assert!(renamed.contains("color.twice"), "{renamed}");
        assert!(renamed.contains("2.0f"), "{renamed}");
    }

    #[test]
    fn parameters_are_listed() {
        assert_eq!(parameters(TEXT, "twice"), Some(vec!["color".to_string(), "u".to_string()]));
        assert_eq!(parameters("fn w(window: array<vec4f, 9>, at: vec2f) {}", "w").map(|names| names.len()), Some(2));
        assert_eq!(parameters(TEXT, "no"), Some(vec![]));
        assert_eq!(parameters(TEXT, "absent"), None);
    }

    #[test]
    fn hostile_text_does_not_panic() {
        for text in ["", "/*", "fn", "fn (", "}}}", "é fn é(é: é)", "fn x(", "\u{0}"] {
            declarations(text);
            identifiers(text);
            parameters(text, "x");
        }
    }
}
