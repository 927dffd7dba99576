//! Elementwise work: any expression of WGSL over one buffer or two.

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, Work, count, read, write};
use super::element::{Scalar, ScalarKind};
use super::expression::{Column, Expression, function};
use crate::error::Result;

const MAP: &str = include_str!("../../wgsl/compute/map.wgsl");

/// Elements that the CPU works on at a time: columns that stay in its first-level cache.
const BLOCK: usize = 1024;

impl<T: Scalar> Buffer<T> {
    /// A new buffer of `expression`, in WGSL, for each element `x`; `i` is its index. The value is converted to `U`.
    /// What WGSL leaves to devices differs between them and the CPU: division of floats by zero and what is not finite,
    /// conversions of floats to integers that cannot hold them; OpenGL also has its own way with integers divided by zero
    /// and with `%` of negative ones.
    ///
    /// ```
    /// # fn main() -> cyanotype::Result<()> {
    /// # let context = cyanotype::Context::cpu();
    /// let numbers = context.buffer(&[-4.0f32, 9.0])?;
    /// let roots = numbers.map::<f32>("select(0.0, sqrt(x), x > 0.0) + f32(i)")?;
    /// assert_eq!(roots.read().wait()?, [0.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Shader`](crate::Error::Shader) if the expression is wrong, with the place;
    /// [`Error::BadInput`](crate::Error::BadInput) on the CPU for a function that is not computed there.
    pub fn map<U: Scalar>(&self, expression: &str) -> Result<Buffer<U>> {
        self.map_with(expression, [T::default(); 2])
    }

    /// As [`map`](Buffer::map), with two numbers that the expression calls `a` and `b`. They can change without a
    /// recompile, unlike numbers in the text.
    ///
    /// # Errors
    /// As for `map`.
    pub fn map_with<U: Scalar>(&self, expression: &str, constants: [T; 2]) -> Result<Buffer<U>> {
        self.elementwise::<T, U>(None, expression, constants)
    }

    /// As [`map_with`](Buffer::map_with), over the elements `x` of this buffer and `y` of `other`.
    ///
    /// # Errors
    /// As for `map`; [`Error::BadInput`](crate::Error::BadInput) if the lengths differ.
    pub fn zip<Y: Scalar, U: Scalar>(
        &self,
        other: &Buffer<Y>,
        expression: &str,
        constants: [T; 2],
    ) -> Result<Buffer<U>> {
        if other.len() != self.len() {
            return Err(bad("zip", format!("{} elements beside {}", self.len(), other.len())));
        }
        self.beside("zip", other)?;
        self.elementwise(Some(other), expression, constants)
    }

    fn elementwise<Y: Scalar, U: Scalar>(
        &self,
        other: Option<&Buffer<Y>>,
        expression: &str,
        constants: [T; 2],
    ) -> Result<Buffer<U>> {
        let inputs = [T::KIND, if other.is_some() { Y::KIND } else { T::KIND }];
        let output = U::KIND.wgsl();
        let parsed = Expression::parse(expression, inputs, output)?;
        let length = count("map", self.len())?;
        let Some(engine) = Engine::of(self.context()) else {
            let other = other.map(Buffer::on_host);
            return self.with_host_data(on_cpu(&parsed, &self.on_host(), other.as_deref(), constants)?);
        };
        let result = engine.output(self.len())?;
        if length == 0 {
            return Ok(result);
        }
        let shape = engine.shape("map");
        let input = self.aligned()?;
        let second = other.map(Buffer::aligned).transpose()?;
        let [a, b] = constants.map(|constant| bytemuck::pod_collect_to_vec::<T, u32>(&[constant])[0]); // scalars are words
        let vectors = length.div_ceil(4);
        let mut binds = vec![Bind::Uniform(vec![vectors, a, b]), read(&input), write(&result)];
        let text =
            shape.text().alias("In", T::KIND.wgsl()).alias("Out", output).with(&function(expression, inputs, output));
        let text = match &second {
            Some(second) => {
                binds.push(read(second));
                let kind = Y::KIND.wgsl();
                text.with(&format!(
                    "@group(0) @binding(3) var<storage, read> other: array<vec4<{kind}>>;\n\
                     fn second(at: u32) -> vec4<{kind}> {{ return other[at]; }}\n"
                ))
            }
            None => text.with("fn second(at: u32) -> vec4<In> { return vec4<In>(); }\n"),
        };
        let groups = engine.fold(u64::from(vectors).div_ceil(u64::from(shape.workgroup * shape.items)))?;
        let bytes = 4 * u64::from(length) * if second.is_some() { 3 } else { 2 };
        engine.run("map", text.with(MAP), binds, groups, Work::moving(bytes))?;
        Ok(result)
    }
}

impl Buffer<f32> {
    /// `a * x + y` for each pair of elements.
    ///
    /// # Errors
    /// As for [`zip`](Buffer::zip).
    pub fn axpy(&self, a: f32, y: &Buffer<f32>) -> Result<Buffer<f32>> {
        self.zip(y, "a * x + y", [a, 0.0])
    }
}

fn on_cpu<T: Scalar, Y: Scalar, U: Scalar>(
    expression: &Expression,
    x: &[T],
    y: Option<&[Y]>,
    constants: [T; 2],
) -> Result<Vec<U>> {
    let mut result = Vec::with_capacity(x.len());
    for (block, first) in x.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        let second = match y {
            Some(y) => column(&y[first..first + block.len()]), // as long as `x`
            None => column(&vec![T::default(); block.len()]),
        };
        let constants = constants.map(|constant| column(&vec![constant; block.len()]));
        // `count` has seen that it fits.
        match expression.evaluate(column(block), second, constants, first as u32)? {
            Column::F32(values) => result.extend_from_slice(bytemuck::cast_slice(&values)),
            Column::U32(values) => result.extend_from_slice(bytemuck::cast_slice(&values)),
            Column::I32(values) => result.extend_from_slice(bytemuck::cast_slice(&values)),
            Column::Bool(_) => return Err(bad("map", "the expression gives a bool")),
        }
    }
    Ok(result)
}

fn column<T: Scalar>(values: &[T]) -> Column {
    match T::KIND {
        ScalarKind::F32 => Column::F32(bytemuck::pod_collect_to_vec(values)),
        ScalarKind::U32 => Column::U32(bytemuck::pod_collect_to_vec(values)),
        ScalarKind::I32 => Column::I32(bytemuck::pod_collect_to_vec(values)),
    }
}
