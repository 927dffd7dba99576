//! An operator of your own: WGSL for the GPU, a closure for the CPU. It fuses like the built-in ones.
//!
//! `cargo run --release --example custom_operator`

use cyanotype::{Context, CustomOperator, Graph, Image, Result};
use std::sync::Arc;

fn main() -> Result<()> {
    // Every f32 parameter of the function is a parameter of the operator.
    let duotone = CustomOperator::point(
        "duotone",
        "fn duotone(color: vec4f, amount: f32) -> vec4f {
             let luma = luma709(color.rgb);
             let tinted = mix(vec3f(0.1, 0.15, 0.4), vec3f(1.0, 0.9, 0.6), luma);
             return vec4f(mix(color.rgb, tinted, amount), color.a);
         }",
    )?
    .parameter("amount", 1.0, 0.0..=1.0)?
    .on_cpu(|[r, g, b, a], values| {
        let luma = cyanotype::maths::luma709(r, g, b);
        let tint = |dark: f32, light: f32, old: f32| old + (dark + (light - dark) * luma - old) * values[0];
        [tint(0.1, 1.0, r), tint(0.15, 0.9, g), tint(0.4, 0.6, b), a]
    });
    let duotone = Arc::new(duotone);

    let photo = Image::open("assets/chelsea.png")?;
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").exposure(0.3).custom(&duotone, &[("amount", 0.8)]).gamma(1.1));
    let program = Context::new()?.compile(&graph, &[("photo", photo.description())])?;
    println!("{}", program.explain());
    let path = std::env::temp_dir().join("duotone.png");
    program.run(&[("photo", &photo)])?.image("out")?.save(&path)?;
    println!("wrote {}", path.display());

    // A mistake in the text is shown where it is.
    if let Err(error) = CustomOperator::point("broken", "fn broken(color: vec4f) -> vec4f {\n    return colour;\n}") {
        println!("{error}");
    }
    Ok(())
}
