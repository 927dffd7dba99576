//! A kernel of your own: the collatz steps of a million numbers, on a GPU through WGSL and on the CPU through a closure.
//! `cargo run --release --example own_kernel`

use cyanotype::compute::{Grid, KernelOptions};
use cyanotype::{Context, Result};

const STEPS: &str = "
override size: u32 = 64;

@group(0) @binding(0) var<uniform> most: u32;
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(size)
fn collatz(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= arrayLength(&numbers) {
        return;
    }
    var number = numbers[id.x];
    var count = 0u;
    while number > 1u && count < most {
        number = select(number / 2u, 3u * number + 1u, number % 2u == 1u);
        count++;
    }
    steps[id.x] = count;
}";

fn steps_of(mut number: u32, most: u32) -> u32 {
    let mut count = 0;
    while number > 1 && count < most {
        number = if number % 2 == 1 { number.wrapping_mul(3).wrapping_add(1) } else { number / 2 };
        count += 1;
    }
    count
}

fn main() -> Result<()> {
    let context = Context::new()?;
    let options = KernelOptions {
        overrides: &[("size", 128.0)],
        cpu: Some(Box::new(|call| {
            let most: u32 = call.value("most")?;
            let numbers: Vec<u32> = call.get("numbers")?;
            call.set("steps", &numbers.iter().map(|&number| steps_of(number, most)).collect::<Vec<_>>())
        })),
        ..KernelOptions::default()
    };
    let kernel = context.kernel_with(STEPS, options)?;
    let numbers: Vec<u32> = (1..=1_000_000).collect();
    let numbers = context.buffer(&numbers)?;
    let steps = context.zeros::<u32>(numbers.len())?;
    let call = kernel.call().with("most", 1000u32).with("numbers", &numbers).with("steps", &steps);
    call.dispatch(Grid::from(numbers.len()))?;
    let (longest, where_) = (steps.max().wait()?, steps.argmax().wait()?);
    println!("{}: {} takes {} steps", context.description(), where_.unwrap_or(0) + 1, longest.unwrap_or(0));
    Ok(())
}
