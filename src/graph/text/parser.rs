//! Tokens to [`GraphData`]: recursive descent over one lookahead. Every error is told at the token that causes it.

use super::DEPTH_LIMIT;
use super::token::{Kind, Place, Token, tokens};
use crate::error::{Error, Result, nearest};
use crate::graph::GraphData;
use crate::image::PixelFormat;
use crate::op::{Argument, FileContent, Operator, Parameter, ParameterKind};
use crate::ops;
use std::collections::HashMap;

/// Parses the text form. Files that it names are read.
///
/// # Errors
/// [`Error::Parse`] with the place of the mistake; [`Error::Limit`] for more text than is read.
pub fn parse(text: &str) -> Result<GraphData> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        depth: 0,
        data: GraphData::default(),
        scope: HashMap::new(),
        default_input: None,
        read: Vec::new(),
    };
    parser.graph()?;
    Ok(parser.data)
}

/// The value that is the whole text, for [`GraphData::set_text`].
pub(super) fn lone_value(tokens: &[Token], parameter: Option<&Parameter>) -> Result<Argument> {
    let mut at = 0;
    let raw = raw_value(tokens, &mut at)?;
    match tokens.get(at) {
        Some(Token { kind: Kind::End, .. }) | None => {}
        Some(token) => return Err(token.place.error(format!("one value expected, then {}", token.kind.name()))),
    }
    match parameter {
        Some(parameter) => argument(raw, parameter),
        None => match raw {
            Raw::Number(number) => number.float(),
            other => Ok(Argument::Choice(other.name())),
        },
    }
}

/// The result of a statement without a name and without an output, which must still serve something.
struct Loose {
    node: usize,
    place: Place,
    /// Whether somebody can still read it, since `as` gave it a name.
    named: bool,
}

/// What a chain works on.
#[derive(Clone, Copy)]
struct Flow {
    /// What flows in; the default input where nothing does.
    incoming: Option<usize>,
    /// Inside `linear(...)`.
    linear: bool,
}

/// What an operator was given.
#[derive(Default)]
struct Given {
    arguments: Vec<(String, Argument)>,
    /// The picture for each of the operator's inputs.
    pictures: Vec<Option<usize>>,
    name: Option<(String, Place)>,
}

struct Parser<'a> {
    /// Never empty: the last is `End`, which is never passed.
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    data: GraphData,
    /// Inputs, branches and nodes named with `as`, and where.
    scope: HashMap<String, (usize, Place)>,
    default_input: Option<usize>,
    /// For each node, whether it is read or an output.
    read: Vec<bool>,
}

impl<'a> Parser<'a> {
    // What comes next.

    fn kind(&self) -> &'a Kind<'a> {
        self.tokens.get(self.at).map_or(&Kind::End, |token| &token.kind)
    }

    fn place(&self) -> Place {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(Place { line: 1, column: 1 }, |token| token.place)
    }

    fn next_is(&self, kind: &Kind) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.kind == *kind)
    }

    fn accept(&mut self, kind: &Kind) -> bool {
        let found = self.kind() == kind;
        self.at += usize::from(found);
        found
    }

    fn name(&mut self, what: &str) -> Result<(String, Place)> {
        let place = self.place();
        let name = match self.kind() {
            Kind::Word(word) => word.to_string(),
            Kind::String(text) if !text.is_empty() => text.clone(),
            other => return Err(place.error(format!("{what} expected, found {}", other.name()))),
        };
        self.at += 1;
        Ok((name, place))
    }

    // Statements.

    fn graph(&mut self) -> Result<()> {
        let mut loose: Vec<Loose> = Vec::new();
        let mut last: Option<(usize, Place)> = None;
        loop {
            while self.accept(&Kind::Separator) {}
            if *self.kind() == Kind::End {
                break;
            }
            if matches!(self.kind(), Kind::Word("input")) && !self.next_is(&Kind::Equals) {
                self.inputs()?;
            } else {
                last = Some(self.statement(&mut loose)?);
            }
            match self.kind() {
                Kind::Separator | Kind::End => {}
                Kind::Close => return Err(self.place().error("this ')' closes nothing")),
                other => {
                    let message = format!("'|' or the end of the statement expected, found {}", other.name());
                    return Err(self.place().error(message));
                }
            }
        }
        let Some((node, place)) = last else {
            return Err(self.place().error("no operator: the graph gives nothing ('@in' gives the input as it is)"));
        };
        if self.data.outputs.is_empty() {
            self.output("out", node, None, place)?;
        }
        for chain in loose {
            if !chain.named && self.read.get(chain.node) != Some(&true) {
                let message = "nothing uses this chain: write '| ' to go on with it, 'name = ' to use it later, or \
                               '-> name' to make it an output";
                return Err(chain.place.error(message));
            }
        }
        Ok(())
    }

    fn inputs(&mut self) -> Result<()> {
        self.at += 1;
        loop {
            let (name, place) = self.name("the name of an input")?;
            let node = self.input(&name, place)?;
            self.default_input.get_or_insert(node);
            if !self.accept(&Kind::Comma) {
                return Ok(());
            }
        }
    }

    fn statement(&mut self, loose: &mut Vec<Loose>) -> Result<(usize, Place)> {
        let branch = match self.next_is(&Kind::Equals) {
            true => Some(self.name("the name of a branch")?),
            false => None,
        };
        if branch.is_some() {
            self.at += 1; // the '=' that was seen
        }
        let place = self.place();
        let named_before = self.scope.len();
        let node = self.chain(Flow { incoming: None, linear: false })?;
        let named = self.scope.len() > named_before
            && self
                .data
                .nodes
                .get(node)
                .is_some_and(|data| self.scope.get(&data.name).is_some_and(|(id, _)| *id == node));
        if let Some((name, place)) = &branch {
            self.declare(name, node, *place)?;
        }
        if self.accept(&Kind::Arrow) {
            loop {
                let (name, place) = self.name("the name of an output")?;
                let format = if self.accept(&Kind::Colon) { Some(self.format()?) } else { None };
                self.output(&name, node, format, place)?;
                if !self.accept(&Kind::Comma) {
                    break;
                }
            }
        } else if branch.is_none() {
            loose.push(Loose { node, place, named });
        }
        Ok((node, place))
    }

    fn format(&mut self) -> Result<PixelFormat> {
        let (name, place) = self.name("a pixel format")?;
        name.parse().map_err(|error| place.wrap(error))
    }

    fn output(&mut self, name: &str, node: usize, format: Option<PixelFormat>, place: Place) -> Result<()> {
        let found = self.data.outputs.len() as u64 + 1;
        if found > GraphData::NODE_LIMIT as u64 {
            let what = "number of outputs".into();
            return Err(place.wrap(Error::Limit { what, found, limit: GraphData::NODE_LIMIT as u64 }));
        }
        self.mark_read(node);
        self.data.output(name, node, format).map_err(|error| place.wrap(error))
    }

    // Names.

    fn declare(&mut self, name: &str, node: usize, place: Place) -> Result<()> {
        if let Some((_, earlier)) = self.scope.get(name) {
            return Err(place.error(format!("'{name}' is a name already, given in line {}", earlier.line)));
        }
        self.scope.insert(name.to_string(), (node, place));
        Ok(())
    }

    fn input(&mut self, name: &str, place: Place) -> Result<usize> {
        if self.data.nodes.iter().any(|node| node.name == name) {
            return Err(place.error(format!("'{name}' is a name already; declare inputs at the start, each once")));
        }
        let found = self.data.nodes.len() as u64 + 1;
        if found > GraphData::NODE_LIMIT as u64 {
            let what = "number of nodes".into();
            return Err(place.wrap(Error::Limit { what, found, limit: GraphData::NODE_LIMIT as u64 }));
        }
        let node = self.data.input(name);
        self.declare(name, node, place)?;
        Ok(node)
    }

    fn default_input(&mut self, place: Place) -> Result<usize> {
        match self.default_input {
            Some(node) => Ok(node),
            None => {
                let node = self.input("in", place)?;
                self.default_input = Some(node);
                Ok(node)
            }
        }
    }

    /// `@name`.
    fn reference(&mut self) -> Result<usize> {
        let at = self.place();
        self.at += 1;
        let (name, _) = self.name("a name after '@'")?;
        if let Some((node, _)) = self.scope.get(&name) {
            return Ok(*node);
        }
        if name == "in" && self.default_input.is_none() {
            return self.default_input(at);
        }
        let mut message = format!("nothing before this is named '{name}'");
        if let Some(near) = nearest(&name, self.scope.keys().map(String::as_str)) {
            message += &format!("; did you mean '@{near}'?");
        } else if ops::find(&name).is_ok() {
            message += &format!("; the operator is written without '@': {name}");
        }
        Err(at.error(message))
    }

    // Chains.

    /// Goes one level of parentheses down and up again.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let open = self.place();
        if self.depth >= DEPTH_LIMIT {
            return Err(open.error(format!("parentheses nest more than {DEPTH_LIMIT} deep")));
        }
        self.depth += 1;
        self.at += 1;
        let result = inner(self)?;
        self.depth -= 1;
        match self.kind() {
            Kind::Close => self.at += 1,
            Kind::End => return Err(open.error("this '(' is not closed")),
            other => {
                let message = format!("'|' or ')' expected, found {}", other.name());
                return Err(self.place().error(message));
            }
        }
        Ok(result)
    }

    fn chain(&mut self, flow: Flow) -> Result<usize> {
        let mut flow = flow;
        let mut first = true;
        loop {
            let node = self.term(flow, first)?;
            if !self.accept(&Kind::Pipe) {
                return Ok(node);
            }
            flow.incoming = Some(node);
            first = false;
        }
    }

    fn term(&mut self, flow: Flow, first: bool) -> Result<usize> {
        let place = self.place();
        match self.kind() {
            Kind::At if first => {
                let node = self.reference()?;
                self.entering(node, flow, place)
            }
            Kind::At => {
                let message = "'@' starts a chain; to read a second picture, put it among an operator's arguments";
                Err(place.error(message))
            }
            Kind::Open => self.nested(|parser| parser.chain(flow)),
            Kind::Word("linear") if self.next_is(&Kind::Open) => {
                self.at += 1;
                self.linear(flow, place)
            }
            Kind::Word(name) => {
                self.at += 1;
                self.operator(name, place, flow, first)
            }
            Kind::End if first => Err(place.error("an operator expected, found the end of the text")),
            other => Err(place.error(format!("an operator expected, found {}", other.name()))),
        }
    }

    fn linear(&mut self, flow: Flow, place: Place) -> Result<usize> {
        if flow.linear {
            return self.nested(|parser| parser.chain(flow));
        }
        let mut inner = Flow { linear: true, ..flow };
        if let Some(incoming) = flow.incoming {
            inner.incoming = Some(self.plain("srgb-to-linear", incoming, place)?);
        }
        let node = self.nested(|parser| parser.chain(inner))?;
        self.plain("linear-to-srgb", node, place)
    }

    /// A picture from outside, as the chain sees it.
    fn entering(&mut self, node: usize, flow: Flow, place: Place) -> Result<usize> {
        if flow.linear { self.plain("srgb-to-linear", node, place) } else { Ok(node) }
    }

    /// An operator that reads one picture, with its defaults.
    fn plain(&mut self, operator: &str, input: usize, place: Place) -> Result<usize> {
        self.mark_read(input);
        self.data.apply(operator, [], vec![input]).map_err(|error| place.wrap(error))
    }

    fn mark_read(&mut self, node: usize) {
        if self.read.len() <= node {
            self.read.resize(node + 1, false);
        }
        if let Some(slot) = self.read.get_mut(node) {
            *slot = true;
        }
    }

    // Operators.

    fn operator(&mut self, name: &str, place: Place, flow: Flow, first: bool) -> Result<usize> {
        let operator = ops::find(name).map_err(|error| place.wrap(error))?;
        let generates = operator.inputs.is_empty();
        if generates && !first {
            let message = format!("'{name}' reads no picture, so it can only start a chain");
            return Err(place.error(message));
        }
        let given = self.given(operator, flow, first)?;
        let inputs = self.pictures(operator, &given, flow, first, place)?;
        inputs.iter().for_each(|input| self.mark_read(*input));
        let node = self.data.apply(operator.name, given.arguments, inputs).map_err(|error| place.wrap(error))?;
        if let Some((name, place)) = given.name {
            self.data.rename(node, &name).map_err(|error| place.wrap(error))?;
            self.declare(&name, node, place)?;
        }
        if generates { self.entering(node, flow, place) } else { Ok(node) }
    }

    /// The arguments behind an operator's name.
    fn given(&mut self, operator: &'static Operator, flow: Flow, first: bool) -> Result<Given> {
        let mut given = Given { pictures: vec![None; operator.inputs.len()], ..Given::default() };
        let mut position = 0;
        loop {
            let place = self.place();
            match self.kind() {
                Kind::At | Kind::Open => {
                    let slot = self.free_slot(operator, &given, flow, first, place)?;
                    let picture = self.picture(operator, slot, flow)?;
                    if let Some(free) = given.pictures.get_mut(slot) {
                        *free = Some(picture);
                    }
                }
                Kind::Word("as") if !self.next_is(&Kind::Equals) => {
                    self.at += 1;
                    if given.name.is_some() {
                        return Err(place.error("this node has a name already"));
                    }
                    given.name = Some(self.name("a name after 'as'")?);
                }
                Kind::Word(name) if self.next_is(&Kind::Equals) => {
                    self.at += 2;
                    self.named(operator, name, place, flow, first, &mut given)?;
                }
                Kind::Word(_) | Kind::Number { .. } | Kind::String(_) | Kind::Color(_) | Kind::OpenList => {
                    self.positional(operator, position, place, &mut given)?;
                    position += 1;
                }
                _ => return Ok(given),
            }
        }
    }

    fn positional(
        &mut self,
        operator: &'static Operator,
        position: usize,
        place: Place,
        given: &mut Given,
    ) -> Result<()> {
        // A word that is an operator most often stands there because a '|' was forgotten.
        let hint = match self.kind() {
            Kind::Word(word) if ops::find(word).is_ok() => format!("; is there a '|' missing before '{word}'?"),
            _ => String::new(),
        };
        let Some(parameter) = operator.parameters.get(position) else {
            let takes = match operator.parameters {
                [] => "no arguments".to_string(),
                [one] => format!("one argument, {}", one.name),
                all => {
                    let names: Vec<&str> = all.iter().map(|parameter| parameter.name).collect();
                    format!("{} arguments: {}", all.len(), names.join(", "))
                }
            };
            return Err(place.error(format!("'{}' takes {takes}; this is one too many{hint}", operator.name)));
        };
        match self.value(operator, parameter, place) {
            Ok(value) => put(parameter, value, place, given),
            Err(Error::Parse { line, column, message }) if !hint.is_empty() => {
                Err(Error::Parse { line, column, message: message + &hint })
            }
            Err(error) => Err(error),
        }
    }

    fn named(
        &mut self,
        operator: &'static Operator,
        name: &str,
        place: Place,
        flow: Flow,
        first: bool,
        given: &mut Given,
    ) -> Result<()> {
        let is_picture = matches!(self.kind(), Kind::At | Kind::Open);
        let parameter = operator.parameter(name);
        let slot = operator.inputs.iter().position(|input| input.name == name);
        match (parameter, slot) {
            (_, Some(slot)) if is_picture => {
                if (slot == 0 && !first) || given.pictures.get(slot).is_some_and(Option::is_some) {
                    return Err(place.error(format!("'{}' has its picture '{name}' already", operator.name)));
                }
                let picture = self.picture(operator, slot, flow)?;
                if let Some(free) = given.pictures.get_mut(slot) {
                    *free = Some(picture);
                }
                Ok(())
            }
            (Some(parameter), _) if is_picture => {
                let message = format!("parameter '{name}' is no picture, but {}", parameter.expected());
                Err(place.error(message))
            }
            (Some(parameter), _) => {
                let value_place = self.place();
                let value = self.value(operator, parameter, value_place)?;
                put(parameter, value, place, given)
            }
            (None, Some(_)) => {
                Err(self.place().error(format!("'{name}' is a picture, written {name}=@name or {name}=(chain)")))
            }
            (None, None) => {
                let parameters = operator.parameters.iter().map(|parameter| parameter.name);
                let inputs = operator.inputs.iter().map(|input| input.name).filter(|_| is_picture);
                Err(place.wrap(Error::UnknownParameter {
                    operator: operator.name.into(),
                    name: name.into(),
                    suggestion: nearest(name, parameters.chain(inputs)),
                }))
            }
        }
    }

    fn value(&mut self, operator: &Operator, parameter: &Parameter, place: Place) -> Result<Argument> {
        let raw = raw_value(self.tokens, &mut self.at)?;
        argument(raw, parameter)
            .and_then(|argument| parameter.check(operator.name, argument))
            .map_err(|error| place.wrap(error))
    }

    /// The first of the operator's inputs that has no picture yet.
    fn free_slot(&self, operator: &Operator, given: &Given, flow: Flow, first: bool, place: Place) -> Result<usize> {
        let flows_in = usize::from(takes_flow(operator, given, flow, first));
        let free = given.pictures.iter().enumerate().skip(flows_in).find(|(_, picture)| picture.is_none());
        free.map(|(slot, _)| slot).ok_or_else(|| {
            let message = match operator.inputs.len() {
                0 => "reads no picture".to_string(),
                1 => "reads one picture, which flows in".to_string(),
                count => format!("reads {count} pictures at most, of which the first flows in"),
            };
            place.wrap(Error::BadInput { operator: operator.name.into(), message })
        })
    }

    /// `@name` or `(chain)` as the picture of a slot.
    fn picture(&mut self, operator: &Operator, slot: usize, flow: Flow) -> Result<usize> {
        // A mask says how much, not which light.
        let is_mask = operator.inputs.get(slot).is_some_and(|input| input.name == "mask");
        let place = self.place();
        match self.kind() {
            Kind::At => {
                let node = self.reference()?;
                if is_mask { Ok(node) } else { self.entering(node, flow, place) }
            }
            _ => self.nested(|parser| parser.chain(Flow { linear: flow.linear && !is_mask, ..flow })),
        }
    }

    /// What the operator reads, in order.
    fn pictures(
        &mut self,
        operator: &Operator,
        given: &Given,
        flow: Flow,
        first: bool,
        place: Place,
    ) -> Result<Vec<usize>> {
        let mut slots = given.pictures.clone();
        if takes_flow(operator, given, flow, first)
            && let Some(slot) = slots.first_mut()
        {
            *slot = Some(match flow.incoming {
                Some(node) => node,
                None => {
                    let node = self.default_input(place)?;
                    self.entering(node, flow, place)?
                }
            });
        }
        let count = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let required = operator.required_inputs();
        let mut inputs = Vec::with_capacity(count);
        for (slot, input) in slots.iter().zip(operator.inputs).take(count.max(required)) {
            inputs.push(slot.ok_or_else(|| {
                let message = format!("its picture '{0}' is missing: write {0}=@name or {0}=(chain)", input.name);
                place.wrap(Error::BadInput { operator: operator.name.into(), message })
            })?);
        }
        Ok(inputs)
    }
}

/// Whether the first of the operator's pictures is what flows in.
fn takes_flow(operator: &Operator, given: &Given, flow: Flow, first: bool) -> bool {
    match given.pictures.first() {
        // It reads none, or was given the first one by name.
        None | Some(Some(_)) => false,
        Some(None) => !first || flow.incoming.is_some() || operator.required_inputs() > 0,
    }
}

fn put(parameter: &Parameter, value: Argument, place: Place, given: &mut Given) -> Result<()> {
    if given.arguments.iter().any(|(name, _)| name == parameter.name) {
        return Err(place.error(format!("'{}' is given twice", parameter.name)));
    }
    given.arguments.push((parameter.name.to_string(), value));
    Ok(())
}

// Values.

/// A value before it is known which parameter it is for.
enum Raw<'a> {
    Number(Number<'a>),
    Word(&'a str),
    String(&'a str),
    Color([f32; 4]),
    List(Vec<f32>),
}

struct Number<'a> {
    digits: &'a str,
    percent: bool,
    place: Place,
}

impl Number<'_> {
    fn value(&self) -> Result<f32> {
        // Only what the lexer takes for a number comes here, so this cannot fail; too large ones are infinite, which the
        // parameter refuses.
        let value: f32 =
            self.digits.parse().map_err(|_| self.place.error(format!("'{}' is no number", self.digits)))?;
        Ok(if self.percent { value / 100.0 } else { value })
    }

    /// A whole number where it is written as one, since not all of them are floats; else a float.
    fn float(&self) -> Result<Argument> {
        match self.digits.parse::<i32>() {
            // "-0" is a float: whole numbers know no negative zero.
            Ok(whole) if !self.percent && !(whole == 0 && self.digits.starts_with('-')) => Ok(Argument::Integer(whole)),
            _ => Ok(Argument::Float(self.value()?)),
        }
    }
}

impl Raw<'_> {
    fn name(&self) -> String {
        match self {
            Raw::Number(number) => number.digits.to_string(),
            Raw::Word(word) => word.to_string(),
            Raw::String(text) => text.to_string(),
            Raw::Color(color) => Argument::Color(*color).to_string(),
            Raw::List(list) => Argument::Floats(list.clone()).to_string(),
        }
    }
}

fn raw_value<'a>(tokens: &'a [Token<'a>], at: &mut usize) -> Result<Raw<'a>> {
    let Some(token) = tokens.get(*at) else { return Err(Place { line: 1, column: 1 }.error("a value expected")) };
    *at += 1;
    Ok(match &token.kind {
        Kind::Number { digits, percent } => Raw::Number(Number { digits, percent: *percent, place: token.place }),
        Kind::Word(word) => Raw::Word(word),
        Kind::String(text) => Raw::String(text),
        Kind::Color(color) => Raw::Color(*color),
        Kind::OpenList => Raw::List(list(tokens, at, token.place)?),
        other => {
            *at -= 1;
            return Err(token.place.error(format!("a value expected, found {}", other.name())));
        }
    })
}

/// The numbers up to the closing bracket.
fn list(tokens: &[Token], at: &mut usize, open: Place) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    loop {
        let Some(token) = tokens.get(*at) else { return Err(open.error("this '[' is not closed")) };
        match &token.kind {
            Kind::CloseList => {
                *at += 1;
                return Ok(values);
            }
            Kind::Number { digits, percent } => {
                values.push(Number { digits, percent: *percent, place: token.place }.value()?);
            }
            // Between numbers only, once: "[1,, 2]" has lost a number.
            Kind::Comma
                if !values.is_empty()
                    && matches!(tokens.get(*at - 1), Some(Token { kind: Kind::Number { .. }, .. })) => {}
            Kind::End => return Err(open.error("this '[' is not closed")),
            other => return Err(token.place.error(format!("a number or ']' expected, found {}", other.name()))),
        }
        *at += 1;
    }
}

/// The value as the parameter's type wants it written; the check comes later.
fn argument(raw: Raw, parameter: &Parameter) -> Result<Argument> {
    Ok(match (raw, parameter.kind) {
        (Raw::Number(number), _) => number.float()?,
        (Raw::Word("true"), ParameterKind::Switch { .. }) => Argument::Switch(true),
        (Raw::Word("false"), ParameterKind::Switch { .. }) => Argument::Switch(false),
        (Raw::Word(path), ParameterKind::File { .. }) => Argument::File(FileContent::read(path)?),
        (Raw::String(path), ParameterKind::File { .. }) => Argument::File(FileContent::read(path)?),
        (Raw::Word(word), _) => Argument::Choice(word.to_string()),
        (Raw::String(text), _) => Argument::Choice(text.to_string()),
        (Raw::Color(color), _) => Argument::Color(color),
        (Raw::List(list), _) => Argument::Floats(list),
    })
}
