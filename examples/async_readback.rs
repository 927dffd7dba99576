//! Several frames in flight: `submit` returns at once, each result is a future that completes by itself.
//!
//! `cargo run --release --example async_readback`

use cyanotype::{Context, Graph, Image, Result};
use std::time::Instant;

fn main() -> Result<()> {
    let photo = Image::open("assets/astronaut.png")?;
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").gaussian_blur(8.0).saturation(1.4));
    let context = Context::new()?;
    let program = context.compile(&graph, &[("photo", photo.description())])?;

    let start = Instant::now();
    let mut frames = Vec::new();
    for strength in 0..6 {
        program.set("saturation.amount", strength as f32 * 0.4)?;
        frames.push(program.submit(&[("photo", &photo)])?);
    }
    println!("submitted after {:.1} ms", start.elapsed().as_secs_f64() * 1e3);

    // Any executor will do; this one blocks the thread until all are there.
    let results = pollster::block_on(async {
        let mut results = Vec::new();
        for frame in frames {
            results.push(frame.await?);
        }
        Ok::<_, cyanotype::Error>(results)
    })?;
    println!("{} frames after {:.1} ms", results.len(), start.elapsed().as_secs_f64() * 1e3);
    for (index, result) in results.iter().enumerate() {
        println!("frame {index}: middle pixel {:.3?}", result.image("out")?.pixel(256, 256));
    }
    Ok(())
}
