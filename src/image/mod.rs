//! Pictures in host memory, and their files.
//!
//! An [`Image`] is pixels with a [`Description`]: width, height, [`PixelFormat`], [`AlphaMode`], [`ColorSpace`]. It is
//! what goes into a program and what comes out. An [`ImageView`] borrows pixels from somebody else. With the feature
//! `codecs` images are opened from and saved to files.
//!
//! This module must not know graphs, plans, backends or devices: it stands below all of them. What it shares with them
//! are luma and the transfer curves (`crate::color`, `crate::maths`).
//!
//! - `format`: what the bytes mean
//! - `picture`: the two types that hold bytes
//! - `convert`: from one meaning to another, plainly
//! - `codec`: the file formats, and what each can hold
//! - `decode`, `encode`: bytes of a file to a picture and back
//! - `orient`: the way the camera was held
//! - `replace`: a file's new content, whole or not at all
//! - `inspect`: the few facts in a file that the codecs keep to themselves

mod convert;
mod format;
mod picture;

#[cfg(feature = "codecs")]
mod codec;
#[cfg(feature = "codecs")]
mod decode;
#[cfg(feature = "codecs")]
mod encode;
#[cfg(feature = "codecs")]
mod inspect;
#[cfg(feature = "codecs")]
mod orient;
#[cfg(feature = "codecs")]
mod replace;

pub use format::{AlphaMode, ColorSpace, Description, PixelFormat, SampleType};
pub use picture::{Image, ImageView};

#[cfg(feature = "codecs")]
pub use codec::FileFormat;
#[cfg(feature = "codecs")]
pub use decode::DecodeLimits;
#[cfg(feature = "codecs")]
pub use encode::{EncodeOptions, PngCompression};
#[cfg(feature = "codecs")]
pub use replace::Replacement;
