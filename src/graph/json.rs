//! The JSON form of a graph.
use super::GraphData;
use crate::error::{Error, Result};
/// Parses.
pub fn parse(_text: &str) -> Result<GraphData> { Err(Error::BadGraph("not built".into())) }
/// Prints.
pub fn print(_graph: &GraphData) -> Result<String> { Err(Error::BadGraph("not built".into())) }
