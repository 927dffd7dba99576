//! Frames as from a camera: rows with padding, parameters that change every frame, frames dropped when the device is
//! busy, nothing created after the first ones.
//!
//! `cargo run --release --example camera_like`

use cyanotype::{Context, Description, Error, FrameOptions, Graph, Image, PixelFormat, Result, WhenFull};
use std::collections::VecDeque;
use std::sync::Arc;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;
const STRIDE: usize = 640 * 4 + 128; // drivers pad rows

fn main() -> Result<()> {
    let description =
        Description { alpha: cyanotype::AlphaMode::Opaque, ..Description::new(WIDTH, HEIGHT, PixelFormat::Rgba8) };
    let graph = Graph::new();
    let light = graph.input("frame").exposure(0.0);
    let stops = light.parameter("stops");
    graph.output("preview", &light.gaussian_blur(1.5).saturation(1.2));
    let context = Context::new()?;
    let program = context.compile(&graph, &[("frame", description)])?;
    let options = FrameOptions { when_full: WhenFull::Busy, ..FrameOptions::default() };

    let mut waiting = VecDeque::new();
    let (mut shown, mut dropped) = (0, 0);
    for number in 0..60u32 {
        // A buffer of the camera's, shared and not copied.
        let pixels: Arc<Vec<u8>> = Arc::new(capture(number));
        let frame = Image::from_shared(description, STRIDE, pixels)?;
        program.set(&stops, (number as f32 * 0.1).sin())?;
        match program.submit_with(&[("frame", &frame)], options) {
            Ok(readback) => waiting.push_back(readback),
            Err(Error::Busy { .. }) => {
                dropped += 1;
                // A real camera has the next frame soon; here the oldest result is waited for instead.
                if let Some(oldest) = waiting.pop_front() {
                    let preview = oldest.wait()?.image("preview")?;
                    shown += usize::from(preview.width() == WIDTH);
                }
            }
            Err(error) => return Err(error),
        }
    }
    for readback in waiting {
        readback.wait()?;
        shown += 1;
    }
    println!("{shown} frames shown, {dropped} dropped while busy; {:?}", context.counters());
    Ok(())
}

fn capture(number: u32) -> Vec<u8> {
    let mut pixels = vec![0; STRIDE * HEIGHT as usize];
    for (y, row) in pixels.chunks_exact_mut(STRIDE).enumerate() {
        for (x, pixel) in row.chunks_exact_mut(4).take(WIDTH as usize).enumerate() {
            pixel.copy_from_slice(&[(x as u32 + number) as u8, y as u8, number as u8, 255]);
        }
    }
    pixels
}
