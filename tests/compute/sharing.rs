//! Buffers that picture programs and kernels share, traces, and tuning.

use crate::common::{Random, seed};
use crate::{common_backend, on_each, on_gpu, some_of};
use cyanotype::compute::{Buffer, TUNABLE, TuneOptions};
use cyanotype::{ContextOptions, Description, Error, FrameOptions, Graph, Image, Limits, Picture, PixelFormat};

/// A picture of noise, and its bytes.
fn noise(random: &mut Random, description: Description) -> cyanotype::Result<(Image, Vec<u8>)> {
    let bytes: Vec<u8> = (0..description.byte_count()).map(|_| random.next() as u8).collect();
    Ok((Image::new(description, bytes.clone())?, bytes))
}

#[test]
fn a_histogram_and_a_picture_go_from_a_program_to_kernels() {
    let mut random = Random(seed());
    on_each(|context| {
        let description = Description::new(37, 29, PixelFormat::Rgb8);
        let (photo, bytes) = noise(&mut random, description)?;
        let graph = Graph::new();
        let input = graph.input("photo");
        graph.output("inverted", &input.invert());
        graph.output("counts", &input.histogram());
        let program = context.compile(&graph, &[("photo", description)])?;
        let counts = context.zeros::<u32>(program.shared_length("counts")?)?;
        let pixels = context.zeros::<u32>(program.shared_length("inverted")?)?;
        let shared = [("counts", &counts), ("inverted", &pixels)];
        let frame = program.submit_sharing(&[("photo", &photo)], FrameOptions::default(), &shared)?;
        // Asked for before the frame is waited for: order is enough.
        let total = counts.sum();
        let words = pixels.read();
        // Four channels (red, green, blue, luma), each with every pixel.
        assert_eq!(total.wait()?, 4 * 37 * 29);
        let found: Vec<u8> = bytemuck::pod_collect_to_vec(&words.wait()?);
        for (y, row) in bytes.chunks(37 * 3).enumerate() {
            let expected: Vec<u8> = row.iter().map(|byte| 255 - byte).collect();
            // Rows hold whole runs of sixteen pixels: 48 of three bytes.
            assert_eq!(found[y * 144..y * 144 + 111], expected, "row {y}");
        }
        let results = frame.wait()?;
        let numbers: Vec<u32> = results.numbers("counts")?.concat();
        assert_eq!(counts.read().wait()?, numbers);
        let short = context.zeros::<u32>(7)?;
        let wrong = |name: &str| {
            let frame = program.submit_sharing(&[("photo", &photo)], FrameOptions::default(), &[(name, &short)]);
            frame.map(|_| ()).expect_err("it is wrong")
        };
        assert!(matches!(wrong("counts"), Error::Mismatch { .. }));
        assert!(matches!(wrong("coutns"), Error::UnknownName { suggestion: Some(_), .. }));
        Ok(())
    });
}

/// A picture goes from a program through a kernel into a program, and nothing comes back in between.
#[test]
fn kernels_make_pictures_for_programs() {
    let mut random = Random(seed());
    on_each(|context| {
        for (width, height, format) in some_of([
            (37, 29, PixelFormat::Rgb8),
            (1, 3, PixelFormat::R8),
            (64, 5, PixelFormat::Rgba8),
            (33, 4, PixelFormat::Rgb16),
            (5, 1, PixelFormat::Rgba32F),
        ]) {
            let description = Description::new(width, height, format);
            let bytes: Vec<u8> = (0..description.byte_count()).map(|_| (random.next() >> 16) as u8 & 0x3f).collect();
            let photo = Image::new(description, bytes)?;
            let graph = Graph::parse("invert")?;
            let program = context.compile(&graph, &[("in", description)])?;
            let words = context.zeros::<u32>(program.shared_length("out")?)?;
            assert_eq!(words.len(), description.packed_words());
            let first = program.submit_sharing(&[("in", &photo)], FrameOptions::default(), &[("out", &words)])?;
            // Bits turned over twice are what they were; here they are read by another kernel in between.
            let turned = words.map::<u32>("~x")?.map::<u32>("~x")?;
            let buffer = Picture::Buffer(turned, description);
            let second = program.submit(&[("in", buffer.clone())])?;
            let direct = program.run(&[("in", first.wait()?.image("out")?)])?.image("out")?;
            let found = second.wait()?.image("out")?;
            assert_eq!(found.description(), direct.description());
            assert_eq!(found.tight_bytes(), direct.tight_bytes(), "{description}");
            // A picture of the host again in the same place, then the buffer once more.
            let again = program.run(&[("in", &photo)])?.image("out")?;
            assert_eq!(program.run(&[("in", &again)])?.image("out")?.tight_bytes(), direct.tight_bytes());
            assert_eq!(program.run(&[("in", buffer)])?.image("out")?.tight_bytes(), direct.tight_bytes());

            let wrong = |words: &Buffer<u32>| program.run(&[("in", Picture::Buffer(words.clone(), description))]);
            let short = context.zeros::<u32>(words.len() - 1)?;
            assert!(matches!(wrong(&short), Err(Error::Mismatch { .. })));
            let part = context.zeros::<u32>(words.len() + 64)?.view(64..)?;
            assert!(matches!(wrong(&part), Err(Error::Mismatch { .. })));
            let foreign = cyanotype::Context::cpu().zeros::<u32>(words.len())?;
            assert!(matches!(wrong(&foreign), Err(Error::Mismatch { .. })));
            let other = Description::new(width, height + 1, format);
            let tall = context.zeros::<u32>(other.packed_words())?;
            let found = program.run(&[("in", Picture::Buffer(tall, other))]);
            assert!(matches!(found, Err(Error::Mismatch { .. })));
        }
        Ok(())
    });
}

/// A kernel makes a look-up table, another for each frame, and the program reads it where it lies.
#[test]
fn kernels_make_tables_for_programs() {
    let mut random = Random(seed());
    on_each(|context| {
        let description = Description::new(37, 29, PixelFormat::Rgb8);
        let (photo, bytes) = noise(&mut random, description)?;
        let graph = Graph::new();
        graph.output("out", &graph.input("photo").lookup(&graph.input("table"), 1.0));
        let entries = Description::new(256, 1, PixelFormat::R32F);
        let program = context.compile(&graph, &[("photo", description), ("table", entries)])?;
        let index = context.buffer(&(0..256).map(|index| index as f32).collect::<Vec<_>>())?;
        // Posterised to fewer and fewer levels; all frames are asked for before the first is waited for.
        let frames = [2.0f32, 16.0, 128.0].map(|step| {
            let table = index.map::<f32>(&format!("floor(x / {step:?}) * {step:?} / 255.0"))?;
            let table = Picture::Buffer(table.cast::<u32>()?, entries);
            Ok((step, program.submit(&[("photo", Picture::from(&photo)), ("table", table)])?))
        });
        for frame in frames {
            let (step, frame) = frame?;
            let found = frame.wait()?.image("out")?;
            let expected: Vec<u8> = bytes.iter().map(|byte| byte / step as u8 * step as u8).collect();
            assert_eq!(*found.tight_bytes(), *expected, "in steps of {step}");
        }
        Ok(())
    });
}

/// The CPU stands in for a device without room for a texture between passes: it fetches the words.
#[test]
fn a_program_on_the_cpu_fetches_the_words() {
    on_gpu(|context| {
        let limits = Limits { texture_size: 8, texture_layers: 1, ..context.limits() };
        let options = ContextOptions {
            backend: common_backend(),
            allow_software: true,
            limits: Some(limits),
            ..Default::default()
        };
        let small = cyanotype::Context::with(&options)?;
        let description = Description::new(64, 64, PixelFormat::Rgba8);
        let program = small.compile(&Graph::parse("gaussian-blur 2 | invert")?, &[("in", description)])?;
        assert!(!program.is_on_gpu());
        let words = small.buffer(&vec![0xff20_4060_u32; description.packed_words()])?;
        let found = program.run(&[("in", Picture::Buffer(words, description))])?.image("out")?;
        // An even picture stays even.
        assert_eq!(found.tight_bytes()[..4], [0x9f, 0xbf, 0xdf, 0xff]);
        Ok(())
    });
}

#[test]
fn traces_name_kernels_and_read_as_json() {
    on_gpu(|context| {
        let numbers = context.buffer(&vec![1.0f32; 1_000_000])?;
        let tracing = context.trace()?;
        let total = numbers.map::<f32>("x + 1.0")?.sum();
        let trace = tracing.finish().wait()?;
        assert_eq!(total.wait()?, 2_000_000.0);
        let labels: Vec<&str> = trace.events.iter().map(|event| event.label.as_str()).collect();
        assert!(
            labels.len() >= 3 && labels[0] == "map" && labels[1..].iter().all(|label| *label == "sum"),
            "{labels:?}"
        );
        assert_eq!(trace.events[0].bytes, Some(8_000_000));
        assert!(trace.events.iter().all(|event| event.wall_ms > 0.0 && event.device_ms != Some(0.0)));
        let json: serde_json::Value = serde_json::from_str(&trace.chrome_json()).expect("JSON");
        assert_eq!(json["traceEvents"].as_array().map(Vec::len), Some(labels.len()));
        assert_eq!(json["traceEvents"][0]["ph"], "X");
        assert!(trace.to_string().contains("in all"));
        assert!(context.trace()?.finish().wait()?.events.is_empty());
        // One within another, and one that is dropped.
        let outer = context.trace()?;
        drop(context.trace()?);
        assert!(context.copy_bandwidth()?.is_some_and(|rate| rate > 0.0));
        let inner = context.trace()?;
        drop(numbers.map::<f32>("x - 1.0")?);
        let inner = inner.finish().wait()?;
        assert_eq!(inner.events.len(), 1);
        let outer = outer.finish().wait()?;
        assert_eq!(outer.events.last().map(|event| event.wall_ms), Some(inner.events[0].wall_ms));
        assert!(outer.events.len() > 1);
        Ok(())
    });
}

#[test]
fn tuning_changes_times_and_not_results() {
    let mut random = Random(seed());
    let folder = tempfile::tempdir().unwrap();
    on_gpu(|context| {
        // Compiling a hundred kernels takes minutes on drivers that compile slowly.
        if std::env::var_os("CYANOTYPE_THIN").is_some() {
            println!("one of {TUNABLE:?} alone: CYANOTYPE_THIN is set");
        }
        let kernels = if std::env::var_os("CYANOTYPE_THIN").is_some() { &["product"] } else { &TUNABLE[..] };
        let numbers: Vec<u32> = (0..100_003).map(|_| random.next() as u32).collect();
        let buffer = context.buffer(&numbers)?;
        let results = || -> cyanotype::Result<_> {
            let mapped = buffer.map::<u32>("x * 3u")?.read().wait()?;
            Ok((mapped, buffer.sum().wait()?, buffer.scan()?.read().wait()?, buffer.histogram(77)?.read().wait()?))
        };
        let before = results()?;
        let file = folder.path().join("folder").join("tuning.json");
        let options = TuneOptions { elements: 100_000, side: 64, file: Some(file.clone()) };
        for kernel in kernels {
            let report = context.tune(kernel, &options)?;
            println!("{report}");
            assert!(report.against_default <= 1.0, "{report}");
            assert_eq!(report.rows.iter().filter(|row| row.remark.contains("chosen")).count(), 1, "{report}");
            let over = report.rows.iter().filter(|row| row.milliseconds.is_none());
            assert!(over.clone().all(|row| row.remark.contains("over the limit")), "{report}");
            assert_eq!(results()?, before, "after tuning {kernel}");
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().as_object().unwrap().len() == 1);
        assert!(matches!(context.tune("mop", &options), Err(Error::UnknownName { suggestion: Some(_), .. })));
        let many = TuneOptions { elements: usize::MAX / 8, ..options.clone() };
        assert!(matches!(context.tune("map", &many), Err(Error::Limit { .. })));
        // What other devices and versions have written stays; what is no tuning file at all does, too.
        std::fs::write(&file, r#"{"other": {"product": "of the future"}}"#).unwrap();
        context.tune("product", &options)?;
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("of the future") && text.matches("product").count() == 2, "{text}");
        std::fs::write(&file, "a letter").unwrap();
        assert!(matches!(context.tune("product", &options), Err(Error::BadInput { .. })));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a letter");
        Ok(())
    });
    let cpu = cyanotype::Context::cpu();
    assert!(matches!(cpu.tune("map", &TuneOptions::default()), Err(Error::NoDevice(_))));
}
