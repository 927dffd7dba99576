//! A million numbers, squared on the best device there is. `cargo run --release --example compute_first`

fn main() -> cyanotype::Result<()> {
    let context = cyanotype::Context::new()?;
    let numbers: Vec<f32> = (0..1_000_000).map(|number| number as f32).collect();
    let squares = context.buffer(&numbers)?.map::<f32>("x * x")?.read().wait()?;
    println!("{}: {:?} ... {:?}", context.description(), &squares[..4], squares.last());
    Ok(())
}
