//! A picture through a graph on the CPU backend, into a file: what `drive` expects to see on the window.
//!
//! `render PICTURE GRAPH OUTPUT`

use cyanotype::{Context, Graph, Image};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [picture, graph, output] = arguments.as_slice() else {
        return Err("usage: render PICTURE GRAPH OUTPUT".into());
    };
    let picture = Image::open(picture)?;
    let program = Context::cpu().compile(&Graph::parse(graph)?, &[("in", picture.description())])?;
    program.run(&[("in", &picture)])?.image("out")?.save(output)?;
    Ok(())
}
