//! A kernel: one function on pixels, written twice. The WGSL text and the Rust code receive the same numbers, which the
//! host derives once; the WGSL struct is generated from the Rust declaration, so the two cannot drift apart.
//!
//! An operator's file declares a kernel with [`kernel!`](crate::op::kernel!), writes `wgsl/ops/<name>.wgsl`, and
//! implements one of [`Point`], [`Composite`], [`Generate`], [`Window`], [`WeightedMean`], [`Warp`], [`Derive`]. From
//! the per-pixel Rust function this module makes code that runs over rows, which the compiler vectorises for each
//! instruction set.
//!
//! # The WGSL function
//! It is named as the kernel (hyphens become underscores). Its parameters are found by name, so it declares only what it
//! needs: `u` (the struct named as the Rust struct), and by kind
//! - point: `color: vec4f`; composite: `first: vec4f, second: vec4f, third: vec4f` (as many as there are inputs)
//! - generate: none; window: `window: array<vec4f, N>` row by row; weighted mean: `sample: vec4f, center: vec4f,
//!   offset: vec2f`, returning the weight as `f32`; warp: returns the source coordinate as `vec2f`
//! - derive: `index: u32`, returning `vec4u`
//! - any of them: `at: vec2f` (pixel centre) and `extent: vec2f` (of the picture that the kernel writes).
//!
//! Calls it may make: the functions of `wgsl/lib`, `table(index: u32) -> vec4f` for data given by [`Shader::table`], and
//! `buffer(index: u32) -> vec4u` for the buffer input of a point or derive step.

use crate::cpu::simd::vectorize;
use std::sync::Arc;

/// Red, green, blue, alpha.
pub type Rgba = [f32; 4];

/// Centre of a pixel and extent of its picture, in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// Where a run of pixels lies: its first pixel, its row, and the extent of the picture.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Place {
    /// Position of the pixel `index` places to the right.
    #[inline(always)]
    pub fn position(&self, index: usize) -> Position {
        Position {
            x: (self.x + index as u32) as f32 + 0.5,
            y: self.y as f32 + 0.5,
            width: self.width as f32,
            height: self.height as f32,
        }
    }
}

/// A run of pixels, one slice per channel, all of the same length.
#[derive(Debug, Clone, Copy)]
pub struct Planes<'a> {
    pub r: &'a [f32],
    pub g: &'a [f32],
    pub b: &'a [f32],
    pub a: &'a [f32],
}

/// A run of pixels to be written, one slice per channel, all of the same length.
#[derive(Debug)]
pub struct PlanesMut<'a> {
    pub r: &'a mut [f32],
    pub g: &'a mut [f32],
    pub b: &'a mut [f32],
    pub a: &'a mut [f32],
}

impl<'a> Planes<'a> {
    /// The same pixels from `start`, `length` of them.
    #[inline(always)]
    pub fn part(&self, start: usize, length: usize) -> Planes<'a> {
        let end = start + length;
        Planes { r: &self.r[start..end], g: &self.g[start..end], b: &self.b[start..end], a: &self.a[start..end] }
    }

    /// Number of pixels.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.r.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.r.is_empty()
    }
}

impl PlanesMut<'_> {
    /// Number of pixels.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.r.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.r.is_empty()
    }

    /// Shared view.
    pub fn view(&self) -> Planes<'_> {
        Planes { r: self.r, g: self.g, b: self.b, a: self.a }
    }
}

/// A kernel's row code, by kind. Each closure handles a run of pixels.
#[derive(Clone)]
pub enum Rows {
    /// Changes colours in place.
    Point(Arc<dyn Fn(PlanesMut, Place) + Send + Sync>),
    /// Makes the row code once the buffer is known.
    PointWithBuffer(Arc<dyn Fn(&[[u32; 4]]) -> Rows + Send + Sync>),
    /// Several inputs to one output.
    Composite(Arc<dyn Fn(&[Planes], PlanesMut, Place) + Send + Sync>),
    /// Fills from coordinates.
    Generate(Arc<dyn Fn(PlanesMut, Place) + Send + Sync>),
    /// `2 * radius + 1` rows, each `2 * radius` longer than the output.
    Window(Arc<dyn Fn(&[Planes], PlanesMut, Place) + Send + Sync>),
    /// The same rows as `Window`.
    WeightedMean(Arc<dyn Fn(&[Planes], PlanesMut, Place) + Send + Sync>),
    /// Source coordinates (x, y) for a run of output pixels.
    Warp(Arc<dyn Fn(&mut [f32], &mut [f32], Place) + Send + Sync>),
    /// Buffer to buffer.
    Derive(Arc<dyn Fn(&[[u32; 4]]) -> Vec<[u32; 4]> + Send + Sync>),
    /// The kernel came as WGSL alone.
    Missing,
}

/// A kernel with its types erased: what steps carry.
#[derive(Clone)]
pub struct Kernel {
    /// Name in plans and captures: "hue-rotate".
    pub name: Arc<str>,
    /// WGSL text: one function named as the kernel, perhaps with helpers.
    pub wgsl: Arc<str>,
    /// Name of the WGSL struct of the uniforms.
    pub struct_name: Arc<str>,
    /// Declaration of the uniforms.
    pub fields: Arc<[Field]>,
    /// Their values as WGSL lays them out.
    pub words: Vec<u32>,
    /// Data that the kernel reads through `table()`.
    pub table: Option<Arc<[[f32; 4]]>>,
    /// Cost per evaluation, in cheap operators.
    pub cost: f32,
    /// Whether the result depends on the coordinate.
    pub positional: bool,
    /// Whether the step can be left out.
    pub identity: bool,
    /// The colour matrix (three rows of four: factors of r, g, b, and an offset) that the kernel is, if it is one.
    pub matrix: Option<[[f32; 4]; 3]>,
    /// The affine map from output to source coordinates that the warp is, if it is one.
    pub affine: Option<[[f32; 3]; 2]>,
    /// Whether names must be kept apart because the text is a user's.
    pub foreign: bool,
    /// CPU code.
    pub rows: Rows,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Kernel({})", self.name)
    }
}

impl Kernel {
    /// Name of the WGSL function.
    pub fn function(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Each uniform with its value if that is a [`Choice`].
    pub fn fields_and_choices(&self) -> impl Iterator<Item = (&Field, Option<u32>)> {
        let mut end = 0_u32;
        self.fields.iter().map(move |field| {
            let start = end.next_multiple_of(field.align.max(4)) as usize / 4; // as `put_field` lays them out
            end = start as u32 * 4 + field.size;
            (field, self.words.get(start).copied().filter(|_| field.choice))
        })
    }

    fn erase<K: Shader>(kernel: &K, rows: Rows) -> Kernel {
        let mut words = Vec::new();
        kernel.words(&mut words);
        Kernel {
            name: K::NAME.into(),
            wgsl: K::WGSL.into(),
            struct_name: K::STRUCT.into(),
            fields: K::fields().into(),
            words,
            table: kernel.table(),
            cost: K::COST,
            positional: false,
            identity: false,
            matrix: None,
            affine: None,
            foreign: false,
            rows,
        }
    }

    /// Erases a point kernel.
    pub fn point<K: Point>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.positional = K::POSITIONAL;
        erased.identity = kernel.is_identity();
        erased.matrix = kernel.matrix();
        erased.rows = point_rows(kernel);
        erased
    }

    /// Erases a point kernel that reads a buffer: `prepare` makes the pixel code from the buffer's content.
    pub fn point_with_buffer<K: Shader, P: Point>(
        kernel: K,
        prepare: impl Fn(&K, &[[u32; 4]]) -> P + Send + Sync + 'static,
    ) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.rows = Rows::PointWithBuffer(Arc::new(move |buffer| point_rows(prepare(&kernel, buffer))));
        erased
    }

    /// Erases a composite kernel of `N` inputs.
    pub fn composite<const N: usize, K: Composite<N>>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.positional = K::POSITIONAL;
        erased.rows = Rows::Composite(Arc::new(move |inputs, out, place| {
            let Ok(inputs) = <&[Planes; N]>::try_from(inputs) else { return }; // the builder checks the number
            vectorize(
                #[inline(always)]
                || {
                    let length = out.r.len();
                    let inputs: [Planes; N] = std::array::from_fn(|index| inputs[index].part(0, length));
                    let (r, g, b, a) =
                        (&mut out.r[..length], &mut out.g[..length], &mut out.b[..length], &mut out.a[..length]);
                    for index in 0..length {
                        let colors: [Rgba; N] = std::array::from_fn(|input| {
                            let planes = &inputs[input];
                            [planes.r[index], planes.g[index], planes.b[index], planes.a[index]]
                        });
                        [r[index], g[index], b[index], a[index]] = kernel.pixel(colors, place.position(index));
                    }
                },
            );
        }));
        erased
    }

    /// Erases a generator.
    pub fn generate<K: Generate>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.positional = true;
        erased.rows = Rows::Generate(Arc::new(move |out, place| {
            vectorize(
                #[inline(always)]
                || {
                    let length = out.r.len();
                    let (r, g, b, a) =
                        (&mut out.r[..length], &mut out.g[..length], &mut out.b[..length], &mut out.a[..length]);
                    for index in 0..length {
                        [r[index], g[index], b[index], a[index]] = kernel.pixel(place.position(index));
                    }
                },
            );
        }));
        erased
    }

    /// Erases a window kernel of `SIDE` x `SIDE` = `N` pixels.
    pub fn window<const SIDE: usize, const N: usize, K: Window<N>>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.rows = Rows::Window(Arc::new(move |rows, out, place| {
            let Ok(rows) = <&[Planes; SIDE]>::try_from(rows) else { return }; // the engine hands SIDE rows
            vectorize(
                #[inline(always)]
                || {
                    let length = out.r.len();
                    let rows: [Planes; SIDE] = std::array::from_fn(|row| rows[row].part(0, length + SIDE - 1));
                    let (r, g, b, a) =
                        (&mut out.r[..length], &mut out.g[..length], &mut out.b[..length], &mut out.a[..length]);
                    for index in 0..length {
                        let window: [Rgba; N] = std::array::from_fn(|entry| {
                            let planes = &rows[entry / SIDE];
                            let x = index + entry % SIDE;
                            [planes.r[x], planes.g[x], planes.b[x], planes.a[x]]
                        });
                        [r[index], g[index], b[index], a[index]] = kernel.pixel(&window, place.position(index));
                    }
                },
            );
        }));
        erased
    }

    /// Erases a kernel that weighs the pixels of its window.
    pub fn weighted_mean<K: WeightedMean>(kernel: K, radius: u32) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        let radius = radius as usize;
        erased.rows = Rows::WeightedMean(Arc::new(move |rows, out, _place| {
            let length = out.r.len();
            let mut total = vec![0.0f32; length];
            let sums = [&mut *out.r, &mut *out.g, &mut *out.b, &mut *out.a];
            for sum in sums {
                sum.fill(0.0);
            }
            let Some(middle) = rows.get(radius) else { return }; // the engine hands 2 * radius + 1 rows
            let center = middle.part(radius, length);
            for (row, planes) in rows.iter().enumerate() {
                for column in 0..=2 * radius {
                    let sample = planes.part(column, length);
                    let offset = [column as f32 - radius as f32, row as f32 - radius as f32];
                    vectorize(
                        #[inline(always)]
                        || {
                            let (r, g, b, a) = (
                                &mut out.r[..length],
                                &mut out.g[..length],
                                &mut out.b[..length],
                                &mut out.a[..length],
                            );
                            let total = &mut total[..length];
                            for index in 0..length {
                                let color = [sample.r[index], sample.g[index], sample.b[index], sample.a[index]];
                                let middle = [center.r[index], center.g[index], center.b[index], center.a[index]];
                                let weight = kernel.weight(color, middle, offset);
                                r[index] += color[0] * weight;
                                g[index] += color[1] * weight;
                                b[index] += color[2] * weight;
                                a[index] += color[3] * weight;
                                total[index] += weight;
                            }
                        },
                    );
                }
            }
            for (index, total) in total.iter().enumerate() {
                let scale = 1.0 / total.max(f32::MIN_POSITIVE);
                out.r[index] *= scale;
                out.g[index] *= scale;
                out.b[index] *= scale;
                out.a[index] *= scale;
            }
        }));
        erased
    }

    /// Erases a warp.
    pub fn warp<K: Warp>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.positional = true;
        erased.affine = kernel.affine();
        erased.rows = Rows::Warp(Arc::new(move |xs, ys, place| {
            vectorize(
                #[inline(always)]
                || {
                    for (index, (x, y)) in xs.iter_mut().zip(ys.iter_mut()).enumerate() {
                        [*x, *y] = kernel.source(place.position(index));
                    }
                },
            );
        }));
        erased
    }

    /// Erases a kernel from buffer to buffer.
    pub fn derive<K: Derive>(kernel: K) -> Kernel {
        let mut erased = Kernel::erase(&kernel, Rows::Missing);
        erased.rows = Rows::Derive(Arc::new(move |buffer| kernel.entries(buffer)));
        erased
    }
}

fn point_rows<K: Point>(kernel: K) -> Rows {
    Rows::Point(Arc::new(move |planes, place| {
        vectorize(
            #[inline(always)]
            || {
                let length = planes.r.len();
                let (r, g, b, a) = (
                    &mut planes.r[..length],
                    &mut planes.g[..length],
                    &mut planes.b[..length],
                    &mut planes.a[..length],
                );
                for index in 0..length {
                    let color = [r[index], g[index], b[index], a[index]];
                    [r[index], g[index], b[index], a[index]] = kernel.pixel(color, place.position(index));
                }
            },
        );
    }))
}

/// The numbers and the text of a kernel; written by [`kernel!`](crate::op::kernel!).
pub trait Shader: Send + Sync + 'static {
    /// The operator-like name: lower case with hyphens.
    const NAME: &'static str;
    /// The Rust and WGSL struct's name.
    const STRUCT: &'static str;
    /// The WGSL text.
    const WGSL: &'static str;
    /// Cost per evaluation; one is a handful of additions and multiplications, a `pow` is about four.
    const COST: f32;
    /// Declaration of the uniforms.
    fn fields() -> Vec<Field>;
    /// Appends the uniforms as WGSL lays them out.
    fn words(&self, words: &mut Vec<u32>);
    /// Data for the WGSL function `table`.
    fn table(&self) -> Option<Arc<[[f32; 4]]>>;
}

/// The pixel code that a kernel becomes on the CPU once its buffer is known, as in `of_buffer!(Curves: Equalize)`. On a GPU
/// it is the kernel, and the code itself has nothing to hand over.
macro_rules! of_buffer {
    ($code:ty: $kernel:ty) => {
        impl $crate::op::Shader for $code {
            const NAME: &'static str = <$kernel as $crate::op::Shader>::NAME;
            const STRUCT: &'static str = <$kernel as $crate::op::Shader>::STRUCT;
            const WGSL: &'static str = <$kernel as $crate::op::Shader>::WGSL;
            const COST: f32 = <$kernel as $crate::op::Shader>::COST;
            fn fields() -> Vec<$crate::op::Field> {
                <$kernel as $crate::op::Shader>::fields()
            }
            fn words(&self, _: &mut Vec<u32>) {}
            fn table(&self) -> Option<::std::sync::Arc<[[f32; 4]]>> {
                None
            }
        }
    };
}
pub(crate) use of_buffer;

/// One input, same pixel. Receives straight colour; alpha is handed on by the kernel.
pub trait Point: Send + Sync + 'static + Shader {
    /// Whether it reads its position.
    const POSITIONAL: bool = false;
    /// The specification: one pixel. `#[inline(always)]`, so that it is compiled for each instruction set.
    fn pixel(&self, color: Rgba, position: Position) -> Rgba;
    /// Whether these parameters change nothing, so that the step can be left out.
    fn is_identity(&self) -> bool {
        false
    }
    /// The same as a colour matrix, where it is one: rows for red, green, blue; columns r, g, b, offset.
    fn matrix(&self) -> Option<[[f32; 4]; 3]> {
        None
    }
}

/// `N` inputs at the same pixel. Receives premultiplied colours.
pub trait Composite<const N: usize>: Shader {
    /// Whether it reads its position.
    const POSITIONAL: bool = false;
    /// One pixel.
    fn pixel(&self, colors: [Rgba; N], position: Position) -> Rgba;
}

/// A picture from coordinates.
pub trait Generate: Shader {
    /// One pixel.
    fn pixel(&self, position: Position) -> Rgba;
}

/// A square window of `N` pixels, row by row, premultiplied.
pub trait Window<const N: usize>: Shader {
    /// One output pixel.
    fn pixel(&self, window: &[Rgba; N], position: Position) -> Rgba;
}

/// A weight for each pixel of a window, from the pixel, the centre and the offset; the step divides by their sum.
pub trait WeightedMean: Shader {
    /// The weight, at least 0; the centre's must be positive.
    fn weight(&self, sample: Rgba, center: Rgba, offset: [f32; 2]) -> f32;
}

/// A source coordinate for each output pixel; both count pixel centres at half integers.
pub trait Warp: Shader {
    /// The source coordinate.
    fn source(&self, position: Position) -> [f32; 2];
    /// The same as two rows (factor of x, factor of y, offset), where it is affine.
    fn affine(&self) -> Option<[[f32; 3]; 2]> {
        None
    }
}

/// A small buffer from another.
pub trait Derive: Shader {
    /// All entries of the result.
    fn entries(&self, buffer: &[[u32; 4]]) -> Vec<[u32; 4]>;
}

/// One uniform: its WGSL type and layout.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name in the WGSL struct.
    pub name: String,
    /// WGSL type.
    pub wgsl: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether it is a [`Choice`].
    pub choice: bool,
}

/// A uniform that chooses between ways to compute. It stands in the shader as a number, so that a compiler drops the ways
/// not taken: the whole of a kernel's branches costs software drivers two to three times the one that is needed, and all
/// drivers the time to compile them. Another value is another structure, which is compiled once and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Choice(pub u32);

/// Rust types that a WGSL uniform can have.
pub trait FieldType {
    /// WGSL type.
    fn wgsl() -> String;
    /// Alignment in bytes in the uniform address space.
    const ALIGN: u32;
    /// Size in bytes.
    const SIZE: u32;
    /// Whether it is a [`Choice`].
    const CHOICE: bool = false;
    /// Appends the bits.
    fn put(&self, words: &mut Vec<u32>);
}

macro_rules! field_type {
    ($rust:ty, $wgsl:literal, $align:literal, $size:literal, |$value:ident, $words:ident| $put:expr) => {
        impl FieldType for $rust {
            fn wgsl() -> String {
                $wgsl.into()
            }
            const ALIGN: u32 = $align;
            const SIZE: u32 = $size;
            fn put(&self, $words: &mut Vec<u32>) {
                let $value = self;
                $put
            }
        }
    };
}

field_type!(f32, "f32", 4, 4, |value, words| words.push(value.to_bits()));
field_type!(u32, "u32", 4, 4, |value, words| words.push(*value));
field_type!(i32, "i32", 4, 4, |value, words| words.push(*value as u32));
field_type!([f32; 2], "vec2f", 8, 8, |value, words| words.extend(value.map(f32::to_bits)));
field_type!([f32; 3], "vec3f", 16, 12, |value, words| words.extend(value.map(f32::to_bits)));
field_type!([f32; 4], "vec4f", 16, 16, |value, words| words.extend(value.map(f32::to_bits)));

impl FieldType for Choice {
    fn wgsl() -> String {
        u32::wgsl()
    }
    const ALIGN: u32 = u32::ALIGN;
    const SIZE: u32 = u32::SIZE;
    const CHOICE: bool = true;
    fn put(&self, words: &mut Vec<u32>) {
        self.0.put(words);
    }
}

impl<const N: usize> FieldType for [[f32; 4]; N] {
    fn wgsl() -> String {
        format!("array<vec4f, {N}>")
    }
    const ALIGN: u32 = 16;
    const SIZE: u32 = 16 * N as u32;
    fn put(&self, words: &mut Vec<u32>) {
        words.extend(self.iter().flatten().map(|value| value.to_bits()));
    }
}

/// Describes a field; used by [`kernel!`](crate::op::kernel!).
pub fn field<T: FieldType>(name: &str) -> Field {
    Field { name: name.into(), wgsl: T::wgsl(), align: T::ALIGN, size: T::SIZE, choice: T::CHOICE }
}

/// Appends a field with the padding before it; used by [`kernel!`](crate::op::kernel!).
pub fn put_field<T: FieldType>(value: &T, words: &mut Vec<u32>) {
    while !(words.len() as u32 * 4).is_multiple_of(T::ALIGN) {
        words.push(0);
    }
    value.put(words);
}

/// Declares a kernel's uniforms and finds its WGSL text, `wgsl/ops/<name>.wgsl`.
///
/// ```
/// use cyanotype::op::{Point, Position, Rgba, Shader, kernel};
///
/// kernel! { "exposure", cost: 1.0, pub struct Exposure { gain: f32 } }
/// kernel! { "curves", cost: 3.0, pub struct Curves { start: f32, scale: f32 } table samples }
///
/// impl Point for Exposure {
///     fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
///         [r * self.gain, g * self.gain, b * self.gain, a]
///     }
/// }
///
/// let mut words = Vec::new();
/// Exposure { gain: 2.0 }.words(&mut words);
/// assert_eq!(words, [2.0f32.to_bits()]);
/// assert!(Exposure::WGSL.contains("fn exposure("));
/// let curves = Curves { start: 0.0, scale: 1.0, samples: [[0.5; 4]].into() };
/// assert_eq!(curves.table().unwrap()[..], [[0.5; 4]]);
/// ```
/// With `table name` the struct gets one more member `name: Arc<[[f32; 4]]>`, which WGSL reads through `table()`.
#[macro_export]
#[doc(hidden)]
macro_rules! __kernel {
    ($name:literal, cost: $cost:literal, $(#[$attribute:meta])* pub struct $struct:ident { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? } $(table $table:ident)?) => {
        $(#[$attribute])*
        #[derive(Debug, Clone)]
        pub struct $struct { $($(#[$doc])* pub $field: $type,)* $(pub $table: std::sync::Arc<[[f32; 4]]>,)? }

        impl $crate::op::Shader for $struct {
            const NAME: &'static str = $name;
            const STRUCT: &'static str = stringify!($struct);
            const WGSL: &'static str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/wgsl/ops/", $name, ".wgsl"));
            const COST: f32 = $cost;
            fn fields() -> Vec<$crate::op::Field> {
                vec![$($crate::op::field::<$type>(stringify!($field)),)*]
            }
            #[allow(unused_variables)]
            fn words(&self, words: &mut Vec<u32>) {
                $($crate::op::put_field(&self.$field, words);)*
            }
            #[allow(unreachable_code)]
            fn table(&self) -> Option<std::sync::Arc<[[f32; 4]]>> {
                $(return Some(std::sync::Arc::clone(&self.$table));)?
                None
            }
        }
    };
}

pub use crate::__kernel as kernel;
