//! The ten lines of the README: a photograph in, a photograph out.
//!
//! `cargo run --release --example first -- assets/coffee.png coffee-out.png`

use cyanotype::{Context, Graph, Image, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().unwrap_or_else(|| "assets/coffee.png".into());
    let output = arguments.next().unwrap_or_else(|| std::env::temp_dir().join("first.png").display().to_string());

    let photo = Image::open(&input)?;
    let graph = Graph::new();
    let out = graph.input("photo").exposure(0.7).gaussian_blur(2.0).saturation(1.2);
    graph.output("out", &out);
    let context = Context::new()?; // the best GPU, else the CPU
    let program = context.compile(&graph, &[("photo", photo.description())])?;
    println!("{}", program.explain());
    program.run(&[("photo", &photo)])?.image("out")?.save(&output)?;
    println!("wrote {output}");
    Ok(())
}
