//! What buffers hold, and how a Rust type lies beside its WGSL counterpart. Knows no device.

use bytemuck::Pod;

/// A type that a buffer can hold. Its WGSL counterpart is checked against what a kernel declares.
///
/// Implement it for a struct of your own with [`elements!`](crate::elements) or by hand.
pub trait Element: Pod + Send + Sync {
    /// The type's WGSL name: `f32`, `vec4<f32>`; `struct` for one that is compared by size; `u32 packed` for types narrower
    /// than a word, several of which share an `u32` in the kernel.
    const WGSL: &'static str;
}

macro_rules! element {
    ($($rust:ty => $wgsl:literal),* $(,)?) => { $(impl Element for $rust { const WGSL: &'static str = $wgsl; })* };
}

element! {
    f32 => "f32", u32 => "u32", i32 => "i32",
    [f32; 2] => "vec2<f32>", [u32; 2] => "vec2<u32>", [i32; 2] => "vec2<i32>",
    [f32; 4] => "vec4<f32>", [u32; 4] => "vec4<u32>", [i32; 4] => "vec4<i32>",
    half::f16 => "u32 packed", u8 => "u32 packed", i8 => "u32 packed", u16 => "u32 packed", i16 => "u32 packed",
}

/// Makes structs fit for buffers: `elements!(Particle, Cell)`. They must be [`Pod`], and of the size that WGSL gives them.
/// A program with an element of no bytes, or aligned to more than eight, does not compile.
#[macro_export]
macro_rules! elements {
    ($($rust:ty),* $(,)?) => { $(impl $crate::compute::Element for $rust { const WGSL: &'static str = "struct"; })* };
}

/// A scalar that [`Buffer::map`](super::Buffer::map) and its kind compute with.
pub trait Scalar: Element + PartialOrd + Default {
    /// Which.
    const KIND: ScalarKind;
}

/// The scalars of WGSL that buffers hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    F32,
    U32,
    I32,
}

impl Scalar for f32 {
    const KIND: ScalarKind = ScalarKind::F32;
}
impl Scalar for u32 {
    const KIND: ScalarKind = ScalarKind::U32;
}
impl Scalar for i32 {
    const KIND: ScalarKind = ScalarKind::I32;
}

/// A struct whose fields can be compared, one by one, with a kernel's uniform block. Implement it with
/// [`layout!`](crate::layout).
pub trait Layout: Pod {
    /// All fields.
    const FIELDS: &'static [Field];
}

/// A field of a struct in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Bytes before it.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// Its type, as the source has it.
    pub rust: &'static str,
}

/// Tells how a struct lies in memory, so that a kernel's uniform block can be checked against it field by field:
///
/// ```
/// #[repr(C)]
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// struct Blend { amount: f32, count: u32 }
/// cyanotype::layout!(Blend { amount: f32, count: u32 });
/// let count = <Blend as cyanotype::compute::Layout>::FIELDS[1];
/// assert_eq!((count.name, count.offset, count.size), ("count", 4, 4));
/// ```
#[macro_export]
macro_rules! layout {
    ($rust:ty { $($field:ident : $kind:ty),* $(,)? }) => {
        impl $crate::compute::Layout for $rust {
            const FIELDS: &'static [$crate::compute::Field] = &[$($crate::compute::Field {
                name: stringify!($field),
                offset: ::core::mem::offset_of!($rust, $field),
                size: ::core::mem::size_of::<$kind>(),
                rust: stringify!($kind),
            }),*];
        }
    };
}
