//! Buffers that picture programs and kernels share, traces, and tuning.

use crate::common::{Random, seed};
use crate::{on_each, on_gpu};
use cyanotype::compute::{TUNABLE, TuneOptions};
use cyanotype::{Description, Error, FrameOptions, Graph, Image, PixelFormat};

#[test]
fn a_histogram_and_a_picture_go_from_a_program_to_kernels() {
    let mut random = Random(seed());
    on_each(|context| {
        let description = Description::new(37, 29, PixelFormat::Rgb8);
        let bytes: Vec<u8> = (0..description.byte_count()).map(|_| random.next() as u8).collect();
        let photo = Image::new(description, bytes.clone())?;
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
        assert_eq!(trace.events[0].bytes, 8_000_000);
        assert!(trace.events.iter().all(|event| event.wall_ms > 0.0 && event.device_ms != Some(0.0)));
        let json: serde_json::Value = serde_json::from_str(&trace.chrome_json()).expect("JSON");
        assert_eq!(json["traceEvents"].as_array().map(Vec::len), Some(labels.len()));
        assert_eq!(json["traceEvents"][0]["ph"], "X");
        assert!(trace.to_string().contains("in all"));
        assert!(context.trace()?.finish().wait()?.events.is_empty());
        assert!(context.copy_bandwidth()?.is_some_and(|rate| rate > 0.0));
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
        Ok(())
    });
    let cpu = cyanotype::Context::cpu();
    assert!(matches!(cpu.tune("map", &TuneOptions::default()), Err(Error::NoDevice(_))));
}
