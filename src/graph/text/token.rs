//! Words, numbers and signs of the text form, each with its place.

use super::TEXT_LIMIT;
use crate::error::{Error, Result};

/// Most bytes of a word: longer ones are no names, and looking for the nearest name takes time and memory with length.
pub(super) const NAME_LIMIT: usize = 256;

/// Most bytes of a string: the longest path that Linux takes.
pub(super) const STRING_LIMIT: usize = 4096;

/// Where a token stands, counted from one, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// An error at this place.
    pub fn error(self, message: impl Into<String>) -> Error {
        let mut message = message.into();
        // An error text quotes what it found, which may be a list of thousands of numbers.
        if message.len() > MESSAGE_LIMIT {
            let end = (0..=MESSAGE_LIMIT).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
            message.truncate(end);
            message.push_str(" ...");
        }
        Error::Parse { line: self.line, column: self.column, message }
    }

    /// The same failure, told at this place.
    pub fn wrap(self, error: Error) -> Error {
        match error {
            Error::Parse { .. } => error,
            other => self.error(other.to_string()),
        }
    }
}

const MESSAGE_LIMIT: usize = 1000;

/// A token and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub kind: Kind<'a>,
    pub place: Place,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    Word(&'a str),
    /// Digits as written, without a percent sign, and whether one followed.
    Number {
        digits: &'a str,
        percent: bool,
    },
    String(String),
    Color([f32; 4]),
    At,
    Pipe,
    Arrow,
    Equals,
    Comma,
    Colon,
    Open,
    Close,
    OpenList,
    CloseList,
    /// `;` or a newline that ends a statement.
    Separator,
    /// Stands last, so that every error has a place.
    End,
}

impl Kind<'_> {
    /// As error texts name it.
    pub fn name(&self) -> String {
        match self {
            Kind::Word(word) => format!("'{word}'"),
            Kind::Number { digits, percent } => format!("{digits}{}", if *percent { "%" } else { "" }),
            Kind::String(text) => format!("{text:?}"),
            Kind::Color(_) => "a colour".into(),
            Kind::At => "'@'".into(),
            Kind::Pipe => "'|'".into(),
            Kind::Arrow => "'->'".into(),
            Kind::Equals => "'='".into(),
            Kind::Comma => "','".into(),
            Kind::Colon => "':'".into(),
            Kind::Open => "'('".into(),
            Kind::Close => "')'".into(),
            Kind::OpenList => "'['".into(),
            Kind::CloseList => "']'".into(),
            Kind::Separator => "the end of the statement".into(),
            Kind::End => "the end of the text".into(),
        }
    }

    /// Whether a statement goes on after it, so that a newline means nothing.
    fn goes_on(&self) -> bool {
        matches!(self, Kind::Pipe | Kind::Arrow | Kind::Equals | Kind::Comma | Kind::Colon | Kind::At | Kind::Separator)
    }
}

/// Whether the text form can write this name without quotes.
pub(super) fn is_word(name: &str) -> bool {
    name.len() <= NAME_LIMIT
        && match tokens(name).as_deref() {
            Ok([Token { kind: Kind::Word(word), .. }, _end]) => *word == name,
            _ => false,
        }
}

/// All tokens of a text, [`Kind::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    split(text, true)
}

/// The tokens of one value. It stands within a line, so `#` begins a colour and not a comment.
pub(super) fn value_tokens(text: &str) -> Result<Vec<Token<'_>>> {
    split(text, false)
}

fn split(text: &str, comments: bool) -> Result<Vec<Token<'_>>> {
    if text.len() > TEXT_LIMIT {
        let what = "length of the graph's text in bytes".into();
        return Err(Error::Limit { what, found: text.len() as u64, limit: TEXT_LIMIT as u64 });
    }
    let mut lexer = Lexer { rest: text, place: Place { line: 1, column: 1 }, tokens: Vec::new(), open: 0 };
    lexer.run(comments)?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    place: Place,
    tokens: Vec<Token<'a>>,
    /// Brackets that are open.
    open: usize,
}

impl<'a> Lexer<'a> {
    fn run(&mut self, comments: bool) -> Result<()> {
        let mut line_start = comments;
        // A newline that may end a statement, unless the next token carries the statement on.
        let mut newline: Option<Place> = None;
        loop {
            let place = self.place;
            let Some(first) = self.peek() else { break };
            match first {
                '\n' => {
                    self.take(1);
                    self.place = Place { line: place.line + 1, column: 1 };
                    line_start = comments;
                    newline.get_or_insert(place);
                    continue;
                }
                _ if first.is_whitespace() || first == '\u{feff}' => {
                    self.take(first.len_utf8());
                    continue;
                }
                '#' if line_start || (comments && !self.second().is_some_and(|second| second.is_ascii_hexdigit())) => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.take(end);
                    continue;
                }
                _ => {}
            }
            line_start = false;
            let kind = self.token(first, place)?;
            if let Some(place) = newline.take()
                && self.open == usize::from(matches!(kind, Kind::Open | Kind::OpenList))
                && !matches!(kind, Kind::Pipe | Kind::Arrow | Kind::Close | Kind::CloseList)
                && self.tokens.last().is_some_and(|last| !last.kind.goes_on())
            {
                self.tokens.push(Token { kind: Kind::Separator, place });
            }
            self.tokens.push(Token { kind, place });
        }
        self.tokens.push(Token { kind: Kind::End, place: self.place });
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn second(&self) -> Option<char> {
        self.rest.chars().nth(1)
    }

    /// Takes so many bytes, which must end at a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.place.column += taken.chars().count();
        self.rest = rest;
        taken
    }

    fn token(&mut self, first: char, place: Place) -> Result<Kind<'a>> {
        let sign = match first {
            '@' => Kind::At,
            '|' => Kind::Pipe,
            '=' => Kind::Equals,
            ',' => Kind::Comma,
            ':' => Kind::Colon,
            ';' => Kind::Separator,
            '(' => Kind::Open,
            ')' => Kind::Close,
            '[' => Kind::OpenList,
            ']' => Kind::CloseList,
            '-' if self.second() == Some('>') => Kind::Arrow,
            '#' => return self.color(place),
            '"' | '\'' => return self.string(first, place),
            _ => return self.word_or_number(first, place),
        };
        match sign {
            Kind::Open | Kind::OpenList => self.open += 1,
            Kind::Close | Kind::CloseList => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.take(if sign == Kind::Arrow { 2 } else { 1 });
        Ok(sign)
    }

    fn word_or_number(&mut self, first: char, place: Place) -> Result<Kind<'a>> {
        let number = number_length(self.rest);
        let word = word_length(self.rest);
        // "3x3" and "2px" are words; what does not fit them says so with its own text.
        if number > 0 && number >= word {
            let digits = self.take(number);
            let percent = self.peek() == Some('%');
            if percent {
                self.take(1);
            }
            return Ok(Kind::Number { digits, percent });
        }
        if word == 0 {
            return Err(place.error(format!("unexpected character {first:?}")));
        }
        if word > NAME_LIMIT {
            return Err(place.error(format!("a word of {word} bytes; the longest name has {NAME_LIMIT}")));
        }
        Ok(Kind::Word(self.take(word)))
    }

    fn color(&mut self, place: Place) -> Result<Kind<'a>> {
        self.take(1);
        let length = self.rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(self.rest.len());
        let digits = self.take(length);
        let nibbles: Option<Vec<u8>> =
            digits.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok())).collect();
        let levels: Option<Vec<u8>> = nibbles.and_then(|nibbles| match nibbles.len() {
            // As in CSS: each digit stands for two.
            3 | 4 => Some(nibbles.iter().map(|nibble| nibble * 17).collect()),
            6 | 8 => Some(nibbles.as_chunks::<2>().0.iter().map(|[high, low]| high * 16 + low).collect()),
            _ => None,
        });
        let value = |level: u8| f32::from(level) / 255.0;
        match levels.as_deref() {
            Some(&[r, g, b]) => Ok(Kind::Color([value(r), value(g), value(b), 1.0])),
            Some(&[r, g, b, a]) => Ok(Kind::Color([value(r), value(g), value(b), value(a)])),
            _ => Err(place.error("a colour has 3, 4, 6 or 8 hexadecimal digits; a comment has a space after '#'")),
        }
    }

    fn string(&mut self, quote: char, place: Place) -> Result<Kind<'a>> {
        let mut text = String::new();
        self.take(1);
        loop {
            let at = self.place;
            let Some(letter) = self.peek() else { return Err(place.error("this string is not closed")) };
            self.take(letter.len_utf8());
            if text.len() > STRING_LIMIT {
                return Err(place.error(format!("a string may have {STRING_LIMIT} bytes")));
            }
            match letter {
                _ if letter == quote => return Ok(Kind::String(text)),
                '\n' => return Err(place.error("this string is not closed; a newline in it is written \\n")),
                '\\' => text.push(self.escaped(at)?),
                _ => text.push(letter),
            }
        }
    }

    fn escaped(&mut self, place: Place) -> Result<char> {
        let unknown = || place.error("unknown escape; known are \\n \\r \\t \\0 \\\\ \\\" \\' and \\u{hexadecimal}");
        let letter = self.peek().ok_or_else(unknown)?;
        self.take(letter.len_utf8());
        Ok(match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            '\\' | '"' | '\'' => letter,
            'u' => {
                // No further than a code point can be long: a search to the end, repeated, would take quadratic time.
                let end = self.rest.bytes().take(8).position(|byte| byte == b'}').ok_or_else(unknown)?;
                let digits = self.take(end + 1).strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                code.and_then(char::from_u32).ok_or_else(unknown)?
            }
            _ => return Err(unknown()),
        })
    }
}

/// Bytes of the word at the start of the text.
fn word_length(text: &str) -> usize {
    let inner = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut letters = text.char_indices().peekable();
    let mut length = 0;
    while let Some((at, letter)) = letters.next() {
        let joins = matches!(letter, '-' | '.') && at > 0 && letters.peek().is_some_and(|(_, next)| inner(*next));
        if !inner(letter) && !joins {
            break;
        }
        length = at + letter.len_utf8();
    }
    length
}

/// Bytes of the number at the start of the text: sign, digits, fraction, exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(sign);
    let mut length = sign + whole;
    let mut any = whole > 0;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if fraction > 0 || whole > 0 {
            any |= fraction > 0;
            length += 1 + fraction;
        }
    }
    if !any {
        return 0;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'-' | b'+')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
