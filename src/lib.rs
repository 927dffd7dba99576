//! Cyanotype.
pub mod error;
