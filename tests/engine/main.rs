//! What the promises of the engine say, in one binary so that it links once.

mod bad_input;
mod checkers;
mod common;
mod exact;
mod languages;
mod operators;
mod peers;
mod plans;
mod random_graphs;
mod running;
mod shaders;
mod shapes;
