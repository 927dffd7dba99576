//! The engine's kernels side by side on one device, in one run: each against a copy of the same data, and the ways of a
//! matrix product against each other. Medians of runs that alternate.
//!
//! `CYANOTYPE_BACKEND=vulkan cargo bench --all-features --bench compute [-- NAME]`

use cyanotype::compute::{Extent, Matrix, Product};
use cyanotype::{BackendChoice, Context, ContextOptions, Result};
use std::time::Instant;

const ELEMENTS: usize = 16 << 20;
const ROUNDS: usize = 9;

type Case<'a> = (&'a str, Box<dyn Fn() -> Result<()> + 'a>);

fn main() -> Result<()> {
    let backend = std::env::var("CYANOTYPE_BACKEND").unwrap_or_default().parse().unwrap_or(BackendChoice::Auto);
    let context = Context::with(&ContextOptions { backend, allow_software: true, ..ContextOptions::default() })?;
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!("{}", context.description());
    let floats: Vec<f32> = (0..ELEMENTS as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6).collect();
    let floats = context.buffer(&floats)?;
    let bytes = floats.map::<u32>("u32(x * 1e3) & 255u")?;
    let small = floats.view(..1 << 20)?;
    let complex = small.complex()?;
    let picture = floats.view(..1 << 22)?;
    let taps = vec![0.01f32; 31];
    let window = [0.04f32; 25];
    let side = 512;
    let square = Matrix::new(context.buffer(&vec![0.5f32; side * side])?, side, side)?;
    let halfs = Matrix::new(context.buffer(&vec![half::f16::from_f32(0.5); side * side])?, side, side)?;
    let row = square.buffer().view(..side)?;
    let cases: Vec<Case> = vec![
        ("copy, 16 M floats", Box::new(|| floats.map::<f32>("x").map(drop))),
        ("reduce, 16 M floats", Box::new(|| floats.sum().wait().map(drop))),
        ("min, 16 M floats", Box::new(|| floats.min().wait().map(drop))),
        ("scan, 16 M floats", Box::new(|| floats.scan().map(drop))),
        ("scan, 16 M integers", Box::new(|| bytes.scan().map(drop))),
        ("histogram, 16 M in 256", Box::new(|| bytes.histogram(256).map(drop))),
        ("compact, 16 M floats", Box::new(|| floats.compact("x > 5.0").map(drop))),
        ("transpose, 4096 x 4096", Box::new(|| floats.transpose(4096, 4096).map(drop))),
        ("sort, 1 M keys", Box::new(|| bytes.view(..1 << 20)?.sort().map(drop))),
        ("argsort, 1 M floats", Box::new(|| small.argsort().map(drop))),
        ("fft, 1 M complex", Box::new(|| complex.fft().map(drop))),
        ("fir, 1 M by 31 taps", Box::new(|| small.fir(&taps).map(drop))),
        (
            "convolve, 2048 x 2048 by 5 x 5",
            Box::new(|| picture.convolve_2d([2048, 2048], &window, [5, 5], Extent::Same).map(drop)),
        ),
        ("product 512, naive", Box::new(|| square.multiply_by(&square, Product::Naive).map(drop))),
        ("product 512, tiled", Box::new(|| square.multiply_by(&square, Product::Tiled).map(drop))),
        ("product 512, blocked", Box::new(|| square.multiply_by(&square, Product::Blocked).map(drop))),
        ("product 512, blocked, f16", Box::new(|| halfs.multiply_by(&halfs, Product::Blocked).map(drop))),
        ("product 512, shared", Box::new(|| square.multiply_by(&square, Product::Shared).map(drop))),
        ("product 512 by vector", Box::new(|| square.multiply_vector(&row).map(drop))),
    ];
    let mut times = vec![Vec::new(); cases.len()];
    // The first round compiles, and does not count.
    for round in 0..=ROUNDS {
        for ((name, case), times) in cases.iter().zip(&mut times) {
            if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str()) && !name.starts_with("copy")) {
                continue;
            }
            context.finish().wait()?;
            let start = Instant::now();
            case()?;
            context.finish().wait()?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    let medians: Vec<Option<f64>> = times.iter_mut().map(median).collect();
    let time = |name: &str| cases.iter().position(|(known, _)| *known == name).and_then(|index| medians[index]);
    let (copy, naive) = (time("copy, 16 M floats"), time("product 512, naive"));
    for ((name, _), time) in cases.iter().zip(&medians) {
        let Some(time) = time else { continue };
        let remark = match (copy, naive) {
            (_, Some(naive)) if name.starts_with("product") => format!("{:.2} times as fast as naive", naive / time),
            (Some(copy), _) if name.contains("16 M") => format!("{:.2} times a copy's time", time / copy),
            _ => String::new(),
        };
        println!("{name:<32}{time:>10.3} ms  {remark}");
    }
    if let Some(copy) = copy {
        println!("a copy moves {:.2} GB/s", 8.0 * ELEMENTS as f64 / 1e6 / copy);
    }
    Ok(())
}
