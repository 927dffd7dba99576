//! Expressions in WGSL that the CPU computes as well: `x * x`, `select(0.0, sqrt(x), x > 0.0)`. naga parses and checks them;
//! what it makes of them is carried out column by column here. Scalars only; knows no device.

use naga::{BinaryOperator as Op, Expression as Node, Handle, Literal, MathFunction as Math, UnaryOperator};

use super::element::ScalarKind;
use crate::error::{Error, Result};
use crate::shader::front::{self, Mistake, without_comments};

/// A checked expression over the scalars `x`, `y`, `a`, `b` and the index `i`.
#[derive(Debug)]
pub(super) struct Expression {
    module: naga::Module,
    result: Handle<Node>,
}

/// One value for each of some neighbouring elements.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    F32(Vec<f32>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    Bool(Vec<bool>),
}

impl ScalarKind {
    /// As WGSL names it.
    pub fn wgsl(self) -> &'static str {
        match self {
            ScalarKind::F32 => "f32",
            ScalarKind::U32 => "u32",
            ScalarKind::I32 => "i32",
        }
    }
}

/// The function that a kernel calls for each element. `a` and `b` are of the kind of `x`.
pub(super) fn function(text: &str, inputs: [ScalarKind; 2], output: &str) -> String {
    let [x, y] = inputs.map(ScalarKind::wgsl);
    format!("fn each(x: {x}, y: {y}, a: {x}, b: {x}, i: u32) -> {output} {{ return {output}(\n{text}\n); }}\n")
}

impl Expression {
    /// Parses and checks `text`. `output` is a WGSL scalar type, to which the value is converted.
    ///
    /// # Errors
    /// [`Error::Shader`] with a position in `text`.
    pub fn parse(text: &str, inputs: [ScalarKind; 2], output: &str) -> Result<Expression> {
        // What follows the text must not become part of a comment in it.
        if !without_comments(&format!("{text}\n)")).ends_with(')') {
            let message = "a comment has no end".to_string();
            return Err(Mistake { line: 1, column: 1, message }.of("expression"));
        }
        let source = function(text, inputs, output);
        // A parenthesis that closes one before the text would make something else of it.
        let depth = |depth: i32, letter: char| {
            let depth = depth + i32::from(letter == '(') - i32::from(letter == ')');
            (depth >= 0).then_some(depth)
        };
        let balanced = text.chars().try_fold(0, depth).is_some();
        let (module, _) = front::module(&source).map_err(|mistake| mistake.within(text).of("expression"))?;
        // One function, one expression: nothing that could loop, and nothing besides.
        let single =
            module.functions.len() == 1 && module.global_variables.is_empty() && module.entry_points.is_empty();
        let body = module.functions.iter().next().map(|(_, function)| &function.body);
        let mut result = None;
        let straight = body.is_some_and(|body| {
            body.iter().all(|statement| match statement {
                naga::Statement::Emit(_) => true,
                naga::Statement::Return { value: Some(value) } => result.replace(*value).is_none(),
                _ => false,
            })
        });
        match result.filter(|_| single && straight && balanced) {
            Some(result) => Ok(Expression { module, result }),
            None => {
                let message = "must be one expression over x, y, a, b and i".to_string();
                Err(Mistake { line: 1, column: 1, message }.of("expression"))
            }
        }
    }

    /// The values for elements `first..first + x.len()`.
    ///
    /// # Errors
    /// [`Error::BadInput`] for a function of WGSL that is not computed here.
    pub fn evaluate(&self, x: Column, y: Column, constants: [Column; 2], first: u32) -> Result<Column> {
        let length = x.len();
        let Some((_, function)) = self.module.functions.iter().next() else {
            return Err(missing("it has no function"));
        };
        let [a, b] = constants;
        let index = Column::U32((0..length as u32).map(|offset| first.wrapping_add(offset)).collect());
        let arguments = [x, y, a, b, index];
        let mut done: Vec<Option<Column>> = vec![None; function.expressions.len()];
        for (handle, node) in function.expressions.iter() {
            let column = {
                let get = |handle: &Handle<Node>| {
                    done.get(handle.index()).and_then(Option::as_ref).ok_or_else(|| missing("a part of it"))
                };
                match node {
                    Node::Literal(literal) => Column::of(*literal, length)?,
                    Node::ZeroValue(kind) => match self.module.types[*kind].inner {
                        naga::TypeInner::Scalar(scalar) => match scalar.kind {
                            naga::ScalarKind::Float => Column::F32(vec![0.0; length]),
                            naga::ScalarKind::Uint => Column::U32(vec![0; length]),
                            naga::ScalarKind::Sint => Column::I32(vec![0; length]),
                            _ => Column::Bool(vec![false; length]),
                        },
                        _ => return Err(missing("a value that is no scalar")),
                    },
                    Node::FunctionArgument(number) => {
                        arguments.get(*number as usize).cloned().ok_or_else(|| missing("an argument"))?
                    }
                    Node::Unary { op, expr } => unary(*op, get(expr)?)?,
                    Node::Binary { op, left, right } => binary(*op, get(left)?, get(right)?)?,
                    Node::Select { condition, accept, reject } => select(get(condition)?, get(accept)?, get(reject)?)?,
                    Node::Math { fun, arg, arg1, arg2, .. } => {
                        let second = arg1.as_ref().map(get).transpose()?;
                        let third = arg2.as_ref().map(get).transpose()?;
                        math(*fun, get(arg)?, second, third)?
                    }
                    Node::As { expr, kind, convert } => cast(get(expr)?, *kind, convert.is_some())?,
                    _ => return Err(missing("vectors, or a function that has several results")),
                }
            };
            if let Some(place) = done.get_mut(handle.index()) {
                *place = Some(column);
            }
        }
        done.get_mut(self.result.index()).and_then(Option::take).ok_or_else(|| missing("its result"))
    }
}

fn missing(what: &str) -> Error {
    let message = format!("the CPU has no code for {what}; what it computes are scalars");
    Error::BadInput { operator: "expression".to_string(), message }
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::F32(values) => values.len(),
            Column::U32(values) => values.len(),
            Column::I32(values) => values.len(),
            Column::Bool(values) => values.len(),
        }
    }

    fn of(literal: Literal, length: usize) -> Result<Column> {
        Ok(match literal {
            Literal::F32(value) => Column::F32(vec![value; length]),
            Literal::U32(value) => Column::U32(vec![value; length]),
            Literal::I32(value) => Column::I32(vec![value; length]),
            Literal::Bool(value) => Column::Bool(vec![value; length]),
            other => return Err(missing(&format!("{other:?}"))),
        })
    }
}

/// Applies a function to each element, or to each pair or triple.
fn each<A: Copy, R>(a: &[A], f: impl Fn(A) -> R) -> Vec<R> {
    a.iter().map(|&a| f(a)).collect()
}

fn pairs<A: Copy, B: Copy, R>(a: &[A], b: &[B], f: impl Fn(A, B) -> R) -> Vec<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn triples<A: Copy, R>(a: &[A], b: &[A], c: &[A], f: impl Fn(A, A, A) -> R) -> Vec<R> {
    a.iter().zip(b).zip(c).map(|((&a, &b), &c)| f(a, b, c)).collect()
}

fn unary(op: UnaryOperator, column: &Column) -> Result<Column> {
    Ok(match (op, column) {
        (UnaryOperator::Negate, Column::F32(a)) => Column::F32(each(a, |a| -a)),
        (UnaryOperator::Negate, Column::I32(a)) => Column::I32(each(a, i32::wrapping_neg)),
        (UnaryOperator::LogicalNot, Column::Bool(a)) => Column::Bool(each(a, |a| !a)),
        (UnaryOperator::BitwiseNot, Column::U32(a)) => Column::U32(each(a, |a| !a)),
        (UnaryOperator::BitwiseNot, Column::I32(a)) => Column::I32(each(a, |a| !a)),
        (op, _) => return Err(missing(&format!("{op:?}"))),
    })
}

fn compare<A: Copy + PartialOrd>(op: Op, a: &[A], b: &[A]) -> Option<Column> {
    Some(Column::Bool(match op {
        Op::Equal => pairs(a, b, |a, b| a == b),
        Op::NotEqual => pairs(a, b, |a, b| a != b),
        Op::Less => pairs(a, b, |a, b| a < b),
        Op::LessEqual => pairs(a, b, |a, b| a <= b),
        Op::Greater => pairs(a, b, |a, b| a > b),
        Op::GreaterEqual => pairs(a, b, |a, b| a >= b),
        _ => return None,
    }))
}

fn binary(op: Op, left: &Column, right: &Column) -> Result<Column> {
    let result = match (left, right) {
        (Column::F32(a), Column::F32(b)) => compare(op, a, b).or_else(|| {
            Some(Column::F32(match op {
                Op::Add => pairs(a, b, |a, b| a + b),
                Op::Subtract => pairs(a, b, |a, b| a - b),
                Op::Multiply => pairs(a, b, |a, b| a * b),
                Op::Divide => pairs(a, b, |a, b| a / b),
                Op::Modulo => pairs(a, b, |a, b| a % b),
                _ => return None,
            }))
        }),
        (Column::U32(a), Column::U32(b)) => compare(op, a, b).or_else(|| {
            Some(Column::U32(match op {
                Op::Add => pairs(a, b, u32::wrapping_add),
                Op::Subtract => pairs(a, b, u32::wrapping_sub),
                Op::Multiply => pairs(a, b, u32::wrapping_mul),
                // By zero: what WGSL says.
                Op::Divide => pairs(a, b, |a, b| a.checked_div(b).unwrap_or(a)),
                Op::Modulo => pairs(a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
                Op::And => pairs(a, b, |a, b| a & b),
                Op::InclusiveOr => pairs(a, b, |a, b| a | b),
                Op::ExclusiveOr => pairs(a, b, |a, b| a ^ b),
                Op::ShiftLeft => pairs(a, b, u32::wrapping_shl),
                Op::ShiftRight => pairs(a, b, u32::wrapping_shr),
                _ => return None,
            }))
        }),
        (Column::I32(a), Column::I32(b)) => compare(op, a, b).or_else(|| {
            Some(Column::I32(match op {
                Op::Add => pairs(a, b, i32::wrapping_add),
                Op::Subtract => pairs(a, b, i32::wrapping_sub),
                Op::Multiply => pairs(a, b, i32::wrapping_mul),
                // By zero, or past the end: what WGSL says.
                Op::Divide => pairs(a, b, |a, b| a.checked_div(b).unwrap_or(a)),
                Op::Modulo => pairs(a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
                Op::And => pairs(a, b, |a, b| a & b),
                Op::InclusiveOr => pairs(a, b, |a, b| a | b),
                Op::ExclusiveOr => pairs(a, b, |a, b| a ^ b),
                _ => return None,
            }))
        }),
        (Column::I32(a), Column::U32(b)) => match op {
            Op::ShiftLeft => Some(Column::I32(pairs(a, b, i32::wrapping_shl))),
            Op::ShiftRight => Some(Column::I32(pairs(a, b, i32::wrapping_shr))),
            _ => None,
        },
        (Column::Bool(a), Column::Bool(b)) => Some(Column::Bool(match op {
            Op::LogicalAnd | Op::And => pairs(a, b, |a, b| a & b),
            Op::LogicalOr | Op::InclusiveOr => pairs(a, b, |a, b| a | b),
            Op::Equal => pairs(a, b, |a, b| a == b),
            Op::NotEqual => pairs(a, b, |a, b| a != b),
            _ => return Err(missing(&format!("{op:?}"))),
        })),
        _ => None,
    };
    result.ok_or_else(|| missing(&format!("{op:?}")))
}

fn select(condition: &Column, accept: &Column, reject: &Column) -> Result<Column> {
    fn choose<A: Copy>(condition: &[bool], accept: &[A], reject: &[A]) -> Vec<A> {
        condition.iter().zip(accept.iter().zip(reject)).map(|(&c, (&a, &r))| if c { a } else { r }).collect()
    }
    let Column::Bool(condition) = condition else { return Err(missing("a condition that is no bool")) };
    Ok(match (accept, reject) {
        (Column::F32(a), Column::F32(r)) => Column::F32(choose(condition, a, r)),
        (Column::U32(a), Column::U32(r)) => Column::U32(choose(condition, a, r)),
        (Column::I32(a), Column::I32(r)) => Column::I32(choose(condition, a, r)),
        (Column::Bool(a), Column::Bool(r)) => Column::Bool(choose(condition, a, r)),
        _ => return Err(missing("a choice between two types")),
    })
}

fn cast(column: &Column, kind: naga::ScalarKind, convert: bool) -> Result<Column> {
    use naga::ScalarKind::{Bool, Float, Sint, Uint};
    // `as` saturates and takes NaN to zero, which WGSL's conversions may do, too.
    Ok(match (column, kind, convert) {
        (Column::F32(a), Float, _) => Column::F32(a.clone()),
        (Column::F32(a), Uint, true) => Column::U32(each(a, |a| a as u32)),
        (Column::F32(a), Sint, true) => Column::I32(each(a, |a| a as i32)),
        (Column::F32(a), Uint, false) => Column::U32(each(a, f32::to_bits)),
        (Column::F32(a), Sint, false) => Column::I32(each(a, |a| a.to_bits() as i32)),
        (Column::F32(a), Bool, _) => Column::Bool(each(a, |a| a != 0.0)),
        (Column::U32(a), Float, true) => Column::F32(each(a, |a| a as f32)),
        (Column::U32(a), Float, false) => Column::F32(each(a, f32::from_bits)),
        (Column::U32(a), Uint, _) => Column::U32(a.clone()),
        (Column::U32(a), Sint, _) => Column::I32(each(a, |a| a as i32)),
        (Column::U32(a), Bool, _) => Column::Bool(each(a, |a| a != 0)),
        (Column::I32(a), Float, true) => Column::F32(each(a, |a| a as f32)),
        (Column::I32(a), Float, false) => Column::F32(each(a, |a| f32::from_bits(a as u32))),
        (Column::I32(a), Uint, _) => Column::U32(each(a, |a| a as u32)),
        (Column::I32(a), Sint, _) => Column::I32(a.clone()),
        (Column::I32(a), Bool, _) => Column::Bool(each(a, |a| a != 0)),
        (Column::Bool(a), Float, _) => Column::F32(each(a, |a| f32::from(u8::from(a)))),
        (Column::Bool(a), Uint, _) => Column::U32(each(a, u32::from)),
        (Column::Bool(a), Sint, _) => Column::I32(each(a, i32::from)),
        (Column::Bool(a), Bool, _) => Column::Bool(a.clone()),
        (_, other, _) => return Err(missing(&format!("a conversion to {other:?}"))),
    })
}

fn math(fun: Math, first: &Column, second: Option<&Column>, third: Option<&Column>) -> Result<Column> {
    let result = match (first, second, third) {
        (Column::F32(a), None, None) => float_of_one(fun, a).map(Column::F32),
        (Column::F32(a), Some(Column::F32(b)), None) => float_of_two(fun, a, b).map(Column::F32),
        (Column::F32(a), Some(Column::F32(b)), Some(Column::F32(c))) => float_of_three(fun, a, b, c).map(Column::F32),
        (Column::U32(a), b, c) => integer(fun, a, as_u32(b), as_u32(c)).map(Column::U32),
        (Column::I32(a), b, c) => signed(fun, a, as_i32(b), as_i32(c)).map(Column::I32),
        _ => None,
    };
    result.ok_or_else(|| missing(&format!("the function {fun:?}").to_lowercase()))
}

fn as_u32(column: Option<&Column>) -> Option<&[u32]> {
    column.and_then(|column| if let Column::U32(values) = column { Some(values.as_slice()) } else { None })
}

fn as_i32(column: Option<&Column>) -> Option<&[i32]> {
    column.and_then(|column| if let Column::I32(values) = column { Some(values.as_slice()) } else { None })
}

fn float_of_one(fun: Math, a: &[f32]) -> Option<Vec<f32>> {
    Some(match fun {
        Math::Abs => each(a, f32::abs),
        Math::Saturate => each(a, |a| a.clamp(0.0, 1.0)),
        Math::Cos => each(a, f32::cos),
        Math::Cosh => each(a, f32::cosh),
        Math::Sin => each(a, f32::sin),
        Math::Sinh => each(a, f32::sinh),
        Math::Tan => each(a, f32::tan),
        Math::Tanh => each(a, f32::tanh),
        Math::Acos => each(a, f32::acos),
        Math::Asin => each(a, f32::asin),
        Math::Atan => each(a, f32::atan),
        Math::Asinh => each(a, f32::asinh),
        Math::Acosh => each(a, f32::acosh),
        Math::Atanh => each(a, f32::atanh),
        Math::Radians => each(a, f32::to_radians),
        Math::Degrees => each(a, f32::to_degrees),
        Math::Ceil => each(a, f32::ceil),
        Math::Floor => each(a, f32::floor),
        Math::Round => each(a, f32::round_ties_even),
        Math::Fract => each(a, |a| a - a.floor()),
        Math::Trunc => each(a, f32::trunc),
        Math::Exp => each(a, f32::exp),
        Math::Exp2 => each(a, f32::exp2),
        Math::Log => each(a, f32::ln),
        Math::Log2 => each(a, f32::log2),
        Math::Sign => each(a, |a| if a == 0.0 { 0.0 } else { a.signum() }),
        Math::Sqrt => each(a, f32::sqrt),
        Math::InverseSqrt => each(a, |a| 1.0 / a.sqrt()),
        _ => return None,
    })
}

fn float_of_two(fun: Math, a: &[f32], b: &[f32]) -> Option<Vec<f32>> {
    Some(match fun {
        Math::Min => pairs(a, b, f32::min),
        Math::Max => pairs(a, b, f32::max),
        Math::Pow => pairs(a, b, f32::powf),
        Math::Atan2 => pairs(a, b, f32::atan2),
        Math::Step => pairs(a, b, |edge, a| if a >= edge { 1.0 } else { 0.0 }),
        _ => return None,
    })
}

fn float_of_three(fun: Math, a: &[f32], b: &[f32], c: &[f32]) -> Option<Vec<f32>> {
    Some(match fun {
        Math::Clamp => triples(a, b, c, |a, low, high| a.max(low).min(high)),
        Math::Fma => triples(a, b, c, f32::mul_add),
        Math::Mix => triples(a, b, c, |a, b, t| a * (1.0 - t) + b * t),
        Math::SmoothStep => triples(a, b, c, |low, high, a| {
            let t = ((a - low) / (high - low)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        _ => return None,
    })
}

fn integer(fun: Math, a: &[u32], b: Option<&[u32]>, c: Option<&[u32]>) -> Option<Vec<u32>> {
    Some(match (fun, b, c) {
        (Math::Abs, None, None) => a.to_vec(),
        (Math::CountOneBits, None, None) => each(a, u32::count_ones),
        (Math::CountLeadingZeros, None, None) => each(a, u32::leading_zeros),
        (Math::CountTrailingZeros, None, None) => each(a, u32::trailing_zeros),
        (Math::ReverseBits, None, None) => each(a, u32::reverse_bits),
        (Math::Min, Some(b), None) => pairs(a, b, u32::min),
        (Math::Max, Some(b), None) => pairs(a, b, u32::max),
        (Math::Clamp, Some(b), Some(c)) => triples(a, b, c, |a, low, high| a.max(low).min(high)),
        _ => return None,
    })
}

fn signed(fun: Math, a: &[i32], b: Option<&[i32]>, c: Option<&[i32]>) -> Option<Vec<i32>> {
    Some(match (fun, b, c) {
        (Math::Abs, None, None) => each(a, i32::wrapping_abs),
        (Math::Sign, None, None) => each(a, i32::signum),
        (Math::CountOneBits, None, None) => each(a, |a| a.count_ones() as i32),
        (Math::CountLeadingZeros, None, None) => each(a, |a| a.leading_zeros() as i32),
        (Math::CountTrailingZeros, None, None) => each(a, |a| a.trailing_zeros() as i32),
        (Math::ReverseBits, None, None) => each(a, i32::reverse_bits),
        (Math::Min, Some(b), None) => pairs(a, b, i32::min),
        (Math::Max, Some(b), None) => pairs(a, b, i32::max),
        (Math::Clamp, Some(b), Some(c)) => triples(a, b, c, |a, low, high| a.max(low).min(high)),
        _ => return None,
    })
}
