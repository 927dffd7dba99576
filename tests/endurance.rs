//! Ten thousand frames: memory and everything that is created stay flat. A binary of its own, because the memory of a
//! process is measured, in which other tests would be at work.

#[path = "engine/common.rs"]
mod common;

use common::{Random, gpu, picture};
use cyanotype::{Context, Counters, Description, Graph, Image, PixelFormat, Program, Readback};
use std::collections::VecDeque;

const FRAMES: usize = 10_000;

/// From here on nothing may be created: every frame in flight has had its buffers.
const WARM: usize = 1_000;

/// What memory may grow by over 9,000 frames: the allocator's own unrest. A leak of one picture in each frame would be
/// 100 MiB, of 256 bytes 2.2 MiB.
const UNREST: i64 = 2 << 20;

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs all frames, and tells by how much memory grew after the first thousand.
fn growth(mut frame: impl FnMut(usize)) -> Option<i64> {
    let mut before = None;
    for index in 0..FRAMES {
        if index == WARM {
            before = resident();
        }
        frame(index);
    }
    Some(resident()? - before?)
}

fn photo() -> Image {
    picture(&mut Random(2), Description::new(64, 60, PixelFormat::Rgb8))
}

fn program(context: &Context, photo: &Image) -> Program {
    let graph = Graph::new();
    let out = graph.input("photo").exposure(0.5).named("light").gaussian_blur(1.0).saturation(1.3);
    graph.output("out", &out);
    context.compile(&graph, &[("photo", photo.description())]).expect("the graph is right")
}

/// Other parameters in every frame, through the identity as well; some frames are dropped unread.
fn long_run(context: &Context) -> (Option<i64>, Counters, Counters) {
    let photo = photo();
    let program = program(context, &photo);
    let mut flying: VecDeque<Readback> = VecDeque::new();
    let mut early = Counters::default();
    let grown = growth(|index| {
        if index == WARM {
            early = context.counters();
        }
        program.set("light.stops", (index % 33) as f32 * 0.125 - 2.0).expect("in range");
        program.set("gaussian-blur.sigma", 1.0 - (index % 17) as f32 * 0.01).expect("in range");
        if flying.len() == 3 {
            let frame = flying.pop_front().expect("there are three");
            // Every seventh is dropped in flight.
            if index % 7 != 0 {
                assert_eq!(frame.wait().expect("a result").image("out").expect("a picture").width(), 64);
            }
        }
        flying.push_back(program.submit(&[("photo", &photo)]).expect("a place is free or becomes so"));
    });
    (grown, early, context.counters())
}

/// One test, so that nothing runs beside it.
#[test]
fn ten_thousand_frames_leave_nothing_behind() {
    for context in std::iter::once(Context::cpu()).chain(gpu()) {
        let (grown, early, late) = long_run(&context);
        match grown {
            None => println!("memory is not compared: the system does not tell it"),
            Some(grown) => {
                println!("{context:?}: {grown} bytes more after {FRAMES} frames");
                assert!(grown < UNREST, "{context:?}: {grown} bytes more after {} frames", FRAMES - WARM);
            }
        }
        println!("{late:?}");
        assert_eq!(Counters { frames: 0, ..late }, Counters { frames: 0, ..early }, "{context:?}");
        assert!(!context.is_gpu() || late.frames - early.frames >= (FRAMES - WARM) as u64 - 3, "{early:?} {late:?}");
    }
    // The measure itself: half a picture lost in each frame is seen.
    if let Some(grown) = growth(|_| std::mem::forget(std::hint::black_box(vec![1u8; 64 * 60 * 3 / 2]))) {
        assert!(grown > 10 * UNREST, "a leak went unseen: {grown}");
    }
}
