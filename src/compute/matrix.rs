//! Matrices: products with matrices and vectors, transposition. Elements lie row by row; they are floats, or half floats
//! that are multiplied and added as floats.

use super::buffer::{Buffer, bad};
use super::builtin::{Bind, Engine, ROUNDS, Text, Work, count, parts, read, write};
use super::element::Element;
use crate::error::Result;

const NAIVE: &str = include_str!("../../wgsl/compute/product_naive.wgsl");
const TILED: &str = include_str!("../../wgsl/compute/product_tiled.wgsl");
const BLOCKED: &str = include_str!("../../wgsl/compute/product_blocked.wgsl");
const SHARED: &str = include_str!("../../wgsl/compute/product_shared.wgsl");
const VECTOR: &str = include_str!("../../wgsl/compute/product_vector.wgsl");
const PAD: &str = include_str!("../../wgsl/compute/pad.wgsl");
pub(super) const HALF: &str = include_str!("../../wgsl/compute/half_vector.wgsl");

const PAD_WORKGROUP: u32 = 64;

/// Most products and sums of one dispatch: a tenth of a second on the slowest device (two cores under a software
/// rasteriser do some 5e9 a second), far below any watchdog.
const MOST: u64 = 1 << 29;

/// What a matrix can be made of: `f32`, or `half::f16`.
pub trait Number: Element + Default {
    #[doc(hidden)]
    const HALF: bool;
    #[doc(hidden)]
    fn to_f32(self) -> f32;
}

impl Number for f32 {
    const HALF: bool = false;
    fn to_f32(self) -> f32 {
        self
    }
}

impl Number for half::f16 {
    const HALF: bool = true;
    fn to_f32(self) -> f32 {
        half::f16::to_f32(self)
    }
}

/// How a product is computed. The results are equal but for the order of additions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// One element for each invocation, straight from memory.
    Naive,
    /// One element for each invocation, by tiles in workgroup memory.
    Tiled,
    /// A block of 4 x 8 elements in each invocation's registers, straight from memory in vectors.
    Blocked,
    /// A block of 4 x 4 elements in registers, by tiles in workgroup memory.
    Shared,
}

impl Product {
    /// All of them.
    pub const ALL: [Product; 4] = [Product::Naive, Product::Tiled, Product::Blocked, Product::Shared];

    /// Name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Product::Naive => "naive",
            Product::Tiled => "tiled",
            Product::Blocked => "blocked",
            Product::Shared => "shared",
        }
    }

    /// What is used without tuning: registers alone where workgroup memory is memory like any other.
    pub(super) fn default_of(software: bool) -> Product {
        if software { Product::Blocked } else { Product::Shared }
    }

    /// What rows, inner extent and columns must be multiples of.
    fn steps(self) -> [u32; 3] {
        match self {
            Product::Naive | Product::Tiled => [1, 1, 1],
            Product::Blocked => [4, 4, 8],
            Product::Shared => [32, 16, 32],
        }
    }

    /// Columns and rows that a workgroup makes.
    fn tile(self) -> [u32; 2] {
        match self {
            Product::Naive => [16, 8],
            Product::Tiled => [8, 8],
            Product::Blocked => [64, 32],
            Product::Shared => [32, 32],
        }
    }

    /// Workgroups for a square product.
    pub(super) fn groups(self, side: usize) -> u64 {
        self.tile().iter().map(|&step| side.div_ceil(step as usize) as u64).product()
    }

    fn file(self) -> &'static str {
        match self {
            Product::Naive => NAIVE,
            Product::Tiled => TILED,
            Product::Blocked => BLOCKED,
            Product::Shared => SHARED,
        }
    }
}

/// A matrix in a buffer, row by row.
///
/// ```
/// # fn main() -> cyanotype::Result<()> {
/// use cyanotype::compute::Matrix;
/// let context = cyanotype::Context::new()?;
/// let a = Matrix::new(context.buffer(&[1.0f32, 2.0, 3.0, 4.0])?, 2, 2)?;
/// assert_eq!(a.multiply(&a)?.buffer().read().wait()?, [7.0, 10.0, 15.0, 22.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Matrix<T> {
    buffer: Buffer<T>,
    rows: usize,
    columns: usize,
}

impl<T: Number> Matrix<T> {
    /// The elements of `buffer` as `rows` rows of `columns`.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if that is not its length.
    pub fn new(buffer: Buffer<T>, rows: usize, columns: usize) -> Result<Matrix<T>> {
        if rows.checked_mul(columns) != Some(buffer.len()) {
            return Err(bad("matrix", format!("{} elements are not {rows} x {columns}", buffer.len())));
        }
        count("matrix", buffer.len())?;
        count("matrix", rows)?;
        count("matrix", columns)?;
        Ok(Matrix { buffer, rows, columns })
    }

    /// The elements.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The product, by the way that is best on this device (see [`tune`](crate::Context::tune)).
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if this has not as many columns as `other` has rows.
    pub fn multiply<U: Number>(&self, other: &Matrix<U>) -> Result<Matrix<f32>> {
        let best = Engine::of(self.buffer.context()).map_or(Product::Naive, |engine| engine.best_product());
        self.multiply_by(other, best)
    }

    /// The product, by a way of your choice. On the CPU there is one way.
    ///
    /// # Errors
    /// As for [`multiply`](Matrix::multiply).
    pub fn multiply_by<U: Number>(&self, other: &Matrix<U>, product: Product) -> Result<Matrix<f32>> {
        let sizes = [self.rows, self.columns, other.columns];
        if self.columns != other.rows {
            let (a, b) = (format!("{} x {}", self.rows, self.columns), format!("{} x {}", other.rows, other.columns));
            return Err(bad(
                "matrix product",
                format!("{a} times {b}: the columns of the one are not the rows of the other"),
            ));
        }
        self.buffer.beside("matrix product", &other.buffer)?;
        let length = self.rows.saturating_mul(other.columns);
        count("matrix product", length)?;
        let context = self.buffer.context();
        let Some(engine) = Engine::of(context) else {
            let product = on_cpu(&self.buffer.on_host(), &other.buffer.on_host(), sizes);
            return Matrix::new(context.buffer(&product)?, self.rows, other.columns);
        };
        if sizes.contains(&0) {
            return Matrix::new(context.zeros(length)?, self.rows, other.columns);
        }
        // `Matrix::new` has seen that they fit.
        let [rows, inner, columns] = sizes.map(|size| size as u32);
        let steps = product.steps();
        let [_, inner_step, column_step] = steps;
        let padded =
            [rows, inner, columns].into_iter().zip(steps).map(|(size, step)| size.checked_next_multiple_of(step));
        let padded: Option<Vec<u32>> = padded.collect();
        let Some(&[padded_rows, padded_inner, padded_columns]) = padded.as_deref() else {
            return Err(bad("matrix product", "too large"));
        };
        let a = self.operand(&engine, [padded_rows, padded_inner], inner_step > 1)?;
        let b = other.operand(&engine, [padded_inner, padded_columns], column_step > 1)?;
        let output = engine.output(padded_rows as usize * padded_columns as usize)?;
        let text = || Text::new().with(HALF).with(&a.text("a", 1)).with(&b.text("b", 2)).with(product.file());
        let [tile_columns, tile_rows] = product.tile();
        let across = padded_columns.div_ceil(tile_columns);
        let limit = engine.context.limits().workgroups;
        if across > limit {
            return Err(bad("matrix product", format!("{columns} columns are over the device's {limit} workgroups")));
        }
        // The naive one goes round for each element.
        for (first_inner, end_inner) in parts(padded_inner, ROUNDS) {
            // Rows of workgroups in one dispatch.
            let depth = end_inner - first_inner;
            let cost = u64::from(tile_rows) * u64::from(depth) * u64::from(padded_columns);
            let down = (MOST / cost.max(1)).clamp(1, u64::from(limit)) as u32;
            let mut first = 0;
            while first < padded_rows {
                let groups = (padded_rows - first).div_ceil(tile_rows).min(down);
                let uniforms = vec![padded_rows, padded_inner, padded_columns, first, first_inner, end_inner];
                let binds = vec![Bind::Uniform(uniforms), a.bind(), b.bind(), write(&output)];
                let down_share = f64::from(groups * tile_rows) / f64::from(padded_rows);
                let inner_share = f64::from(depth) / f64::from(padded_inner);
                let bytes = a.bytes() as f64 * down_share * inner_share
                    + b.bytes() as f64 * inner_share
                    + output.byte_length() as f64 * down_share;
                let work = Work { bytes: bytes as u64, cost: cost as f64 * f64::from(groups) };
                engine.run(&format!("product, {}", product.name()), text(), binds, [across, groups, 1], work)?;
                first += groups * tile_rows;
            }
        }
        let buffer = if padded_rows != rows || padded_columns != columns {
            engine.pad(&output, [padded_rows, padded_columns], [rows, columns], [0, 0])?
        } else {
            output
        };
        Matrix::new(buffer, self.rows, other.columns)
    }

    /// The product with a column vector.
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if it has not as many elements as this has columns.
    pub fn multiply_vector(&self, vector: &Buffer<f32>) -> Result<Buffer<f32>> {
        if vector.len() != self.columns {
            let found = format!("{} x {} times a vector of {}", self.rows, self.columns, vector.len());
            return Err(bad("matrix product", found));
        }
        self.buffer.beside("matrix product", vector)?;
        let context = self.buffer.context();
        let Some(engine) = Engine::of(context) else {
            return context.buffer(&on_cpu(&self.buffer.on_host(), &vector.on_host(), [self.rows, self.columns, 1]));
        };
        if self.rows == 0 || self.columns == 0 {
            return context.zeros(self.rows);
        }
        let (rows, inner) = (self.rows as u32, self.columns as u32);
        let padded = inner.div_ceil(4) * 4;
        let a = self.operand(&engine, [rows, padded], true)?;
        let vector = match padded == inner {
            true => vector.aligned()?,
            false => engine.pad(&vector.aligned()?, [1, inner], [1, padded], [0, 0])?,
        };
        let output = engine.output(self.rows)?;
        let text = || Text::new().with(HALF).with(&a.text("a", 1)).with(VECTOR);
        // Each of the 64 invocations for a row goes round for a vector.
        for (first, end) in parts(padded / 4, 64 * ROUNDS) {
            let uniforms = Bind::Uniform(vec![rows, padded / 4, first, end]);
            let binds = vec![uniforms, a.bind(), read(&vector), write(&output)];
            let share = f64::from(end - first) / f64::from(padded / 4);
            let work = Work::moving((a.bytes() as f64 * share) as u64);
            engine.run("product with vector", text(), binds, engine.fold(u64::from(rows))?, work)?;
        }
        Ok(output)
    }

    /// Elements where a kernel can take them, with rows and columns of zeros added up to the size given.
    fn operand(&self, engine: &Engine, [rows, columns]: [u32; 2], vectors: bool) -> Result<Operand> {
        let (own_rows, own_columns) = (self.rows as u32, self.columns as u32);
        let aligned = self.buffer.aligned()?;
        if [rows, columns] == [own_rows, own_columns] {
            let buffer = match T::HALF {
                true => Elements::Half(aligned.cast()?),
                false => Elements::Single(aligned.cast()?),
            };
            return Ok(Operand { buffer, vectors });
        }
        let sizes = ([own_rows, own_columns], [rows, columns]);
        let padded = match T::HALF {
            true => engine.pad_half(&aligned.cast()?, sizes.0, sizes.1)?,
            false => engine.pad(&aligned.cast()?, sizes.0, sizes.1, [0, 0])?,
        };
        Ok(Operand { buffer: Elements::Single(padded), vectors })
    }
}

impl Matrix<f32> {
    /// Rows as columns.
    ///
    /// # Errors
    /// As for [`Context::buffer`](crate::Context::buffer).
    pub fn transpose(&self) -> Result<Matrix<f32>> {
        Matrix::new(self.buffer.transpose(self.rows, self.columns)?, self.columns, self.rows)
    }
}

/// One side of a product on the device.
struct Operand {
    buffer: Elements,
    /// Whether the kernel takes vectors of four elements.
    vectors: bool,
}

enum Elements {
    Single(Buffer<f32>),
    Half(Buffer<half::f16>),
}

impl Operand {
    fn bind(&self) -> Bind {
        match &self.buffer {
            Elements::Single(buffer) => read(buffer),
            Elements::Half(buffer) => read(buffer),
        }
    }

    fn bytes(&self) -> u64 {
        match &self.buffer {
            Elements::Single(buffer) => buffer.byte_length(),
            Elements::Half(buffer) => buffer.byte_length(),
        }
    }

    /// The binding, and `load_a` or `load_b`.
    fn text(&self, name: &str, binding: u32) -> String {
        let (storage, value, load) = match (&self.buffer, self.vectors) {
            (Elements::Single(_), false) => ("f32", "f32", format!("{name}[at]")),
            (Elements::Single(_), true) => ("vec4f", "vec4f", format!("{name}[at]")),
            (Elements::Half(_), false) => {
                ("u32", "f32", format!("half_to_single(({name}[at / 2u] >> (16u * (at % 2u))) & 0xffffu)"))
            }
            (Elements::Half(_), true) => ("vec2u", "vec4f", format!("unpack_vector({name}[at])")),
        };
        format!(
            "@group(0) @binding({binding}) var<storage, read> {name}: array<{storage}>;\n\
             fn load_{name}(at: u32) -> {value} {{ return {load}; }}\n"
        )
    }
}

impl Engine<'_> {
    /// Rows of another length and number, the first element at `corner` (row, column); zeros elsewhere.
    pub(super) fn pad(
        &self,
        input: &Buffer<f32>,
        old: [u32; 2],
        new: [u32; 2],
        corner: [u32; 2],
    ) -> Result<Buffer<f32>> {
        let load = "@group(0) @binding(1) var<storage, read> input: array<f32>;\n\
                    fn load(at: u32) -> f32 { return input[at]; }\n";
        self.padded(read(input), load, old, new, corner)
    }

    fn pad_half(&self, input: &Buffer<half::f16>, old: [u32; 2], new: [u32; 2]) -> Result<Buffer<f32>> {
        let load = format!(
            "{HALF}@group(0) @binding(1) var<storage, read> input: array<u32>;\n\
             fn load(at: u32) -> f32 {{ return half_to_single((input[at / 2u] >> (16u * (at % 2u))) & 0xffffu); }}\n"
        );
        self.padded(read(input), &load, old, new, [0, 0])
    }

    fn padded(&self, input: Bind, load: &str, old: [u32; 2], new: [u32; 2], corner: [u32; 2]) -> Result<Buffer<f32>> {
        let length = count("padding", new[0] as usize * new[1] as usize)?;
        let output = self.output(length as usize)?;
        let uniforms = Bind::Uniform(vec![old[0], old[1], new[0], new[1], corner[0], corner[1]]);
        let text = Text::new().constant("WORKGROUP", PAD_WORKGROUP).with(load).with(PAD);
        let groups = self.fold(u64::from(length.div_ceil(PAD_WORKGROUP)))?;
        self.run("pad", text, vec![uniforms, input, write(&output)], groups, Work::moving(u64::from(length) * 8))?;
        Ok(output)
    }
}

fn on_cpu<T: Number, U: Number>(a: &[T], b: &[U], [rows, inner, columns]: [usize; 3]) -> Vec<f32> {
    let mut product = vec![0.0; rows * columns];
    for row in 0..rows {
        let output = &mut product[row * columns..(row + 1) * columns];
        for k in 0..inner {
            let factor = a[row * inner + k].to_f32();
            for (sum, value) in output.iter_mut().zip(&b[k * columns..(k + 1) * columns]) {
                *sum += factor * value.to_f32();
            }
        }
    }
    product
}
