//! The text form of graphs, for people: `exposure 0.7 | gaussian-blur 2 | saturation 1.2`. It can express every graph made
//! of built-in operators; what [`print()`] writes, [`parse`] reads back as the same graph.
//!
//! ```text
//! graph     = statement { (";" | newline) statement }
//! statement = "input" name { "," name }               declares input pictures
//!           | [ name "=" ] chain [ "->" output { "," output } ]
//! output    = name [ ":" format ]                     rgb8, rgba16f ...
//! chain     = term { "|" term }
//! term      = "@" name                                an input, a branch, a named node; only first in a chain
//!           | operator { argument } [ "as" name ]     "as" names the node, for `name.parameter`
//!           | "linear" "(" chain ")"                  the chain works on linear light
//!           | "(" chain ")"
//! argument  = value                                   for the parameters in their order
//!           | parameter "=" value
//!           | picture | input "=" picture             what the operator reads besides what flows in
//! picture   = "@" name | "(" chain ")"
//! value     = number [ "%" ] | true | false | word | colour | "[" { number [ "," ] } "]" | string
//! colour    = "#" and 3, 4, 6 or 8 hexadecimal digits
//! string    = text in double or single quotes, with \n \r \t \0 \\ \" \' \u{...}
//! name      = word | string
//! comment   = "#" up to the end of the line; at the start of a line, or before anything but a hexadecimal digit
//! ```
//!
//! A word starts with a letter, digit or `_` and goes on with those, `-` and `.` (the last two only inside). A newline
//! inside brackets, after `|`, `=`, `,`, `->` or before `|`, `->` does not end a statement.
//!
//! What flows where:
//! - `|` hands a picture on: it is the first one that the next operator reads. The other pictures are arguments.
//! - A chain that starts with an operator reads the first declared input, or the input `in` where none is declared.
//!   Operators that read no picture start a chain without.
//! - A chain in parentheses starts from the picture that flows into the operator before it, so
//!   `exposure 1 | blend (gaussian-blur 8) screen` blends the exposed picture with a blurred copy of itself. To start from
//!   something else, name it: `blend (@in | gaussian-blur 8)`.
//! - An operator at the start of a chain can be given its first picture by name as well: `blend image=@a other=@b`.
//! - Inside `linear(...)` every picture is linearised where it enters (what flows in, `@name`, generated ones), except
//!   one that is an operator's `mask`, and the result is encoded again. A `linear` inside another adds nothing.
//! - Without any `->` the last chain is the output `out`.
//!
//! Branches, inputs and nodes named with `as` share one set of names, each given once, before it is used. A name of a
//! branch is known only in the text; a name after `as` is the node's name in the graph.
//!
//! Knows nothing of how graphs run. Hostile text meets limits: [`TEXT_LIMIT`], [`DEPTH_LIMIT`], `NAME_LIMIT`,
//! [`GraphData::NODE_LIMIT`].

mod parser;
mod printer;
mod token;

pub use parser::parse;
pub use printer::print;

use super::{GraphData, NodeContent};
use crate::error::{Error, Result};
use crate::op::{Argument, Parameter};

/// Most bytes of text that are read or written. A graph of as many nodes as are allowed is shorter, unless each carries a
/// list of hundreds of numbers; such a graph belongs in JSON.
pub const TEXT_LIMIT: usize = 4 << 20;

/// How deep parentheses may nest: the parser recurses.
pub const DEPTH_LIMIT: usize = 64;

impl GraphData {
    /// Changes the argument `path`, written `node.parameter`, to a value as the text form writes it.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::UnknownParameter`], [`Error::BadParameter`]; [`Error::Parse`] for text that is no
    /// value at all.
    pub fn set_text(&mut self, path: &str, value: &str) -> Result<()> {
        let handle = self.find_parameter(path)?;
        let argument = match self.nodes.get(handle.node).map(|node| &node.content) {
            Some(NodeContent::Operator { operator, .. }) => match operator.parameter(&handle.parameter) {
                Some(parameter) => parse_value(value, Some(parameter))?,
                // Refused by `set`, with the nearest name; the value does not matter.
                None => Argument::Switch(false),
            },
            Some(NodeContent::Input) => {
                let message =
                    format!("input '{}' has no parameters", path.rsplit_once('.').map_or(path, |(node, _)| node));
                return Err(Error::BadGraph(message));
            }
            _ => parse_value(value, None)?,
        };
        self.set(&handle, argument)
    }
}

/// One value as it would stand after `parameter=`, or a number where the parameter has no declaration.
pub(super) fn parse_value(text: &str, parameter: Option<&Parameter>) -> Result<Argument> {
    let tokens = token::value_tokens(text)?;
    parser::lone_value(&tokens, parameter)
}
