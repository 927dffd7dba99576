//! Running programs: parameters per frame, frames in flight, dropping, loss, bad input.

use crate::common::{Random, difference, gpu, picture};
use cyanotype::{
    Argument, Context, ContextOptions, Counters, CustomOperator, Description, Error, FrameOptions, Graph, Image,
    ImageView, Limits, PixelFormat, Profile, Program, Results, WhenFull,
};
use std::sync::Arc;

fn photo(width: u32, height: u32) -> Image {
    picture(&mut Random(1), Description::new(width, height, PixelFormat::Rgb8))
}

fn contexts() -> Vec<Context> {
    let mut contexts = vec![Context::cpu()];
    contexts.extend(gpu());
    contexts
}

fn look(graph: &Graph) {
    let out = graph.input("photo").exposure(0.5).named("light").gaussian_blur(2.0).saturation(1.3);
    graph.output("out", &out);
}

#[test]
fn parameters_change_without_creating_anything() {
    for context in contexts() {
        let photo = photo(67, 41);
        let graph = Graph::new();
        look(&graph);
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let mut after_second = None;
        let mut last = None;
        for frame in 0..32 {
            // Through the identity, too.
            program.set("light.stops", frame as f32 * 0.125 - 2.0).unwrap();
            program.set("gaussian-blur.sigma", 2.0 - frame as f32 * 0.001).unwrap();
            last = Some(program.run(&[("photo", &photo)]).unwrap().image("out").unwrap());
            if frame == 1 {
                after_second = Some(context.counters());
            }
        }
        let (before, now) = (after_second.unwrap(), context.counters());
        assert_eq!(Counters { frames: 0, ..before }, Counters { frames: 0, ..now }, "{context:?}");
        assert!(!context.is_gpu() || now.frames == 32, "{now:?}");
        // The last frame is what a program made for these parameters gives.
        let graph = Graph::new();
        let out = graph.input("photo").exposure(1.875).gaussian_blur(1.969).saturation(1.3);
        graph.output("out", &out);
        let fresh = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let expected = fresh.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        assert!(difference(&last.unwrap(), &expected).0 < 1e-6);
    }
}

/// What passes move is what the plan said, but for what workgroups of a reduction hand to each other; each has its time,
/// and taking them one by one changes no pixel.
#[test]
fn profiles_tell_times_and_bytes_of_passes() {
    for context in contexts() {
        let photo = photo(333, 201);
        for chain in ["exposure 0.5 | gaussian-blur 2 | saturation 1.3", "auto-levels | unsharp 2 0.8", "median 3"] {
            let program = context.compile(&Graph::parse(chain).unwrap(), &[("in", photo.description())]).unwrap();
            let of = |profile| {
                let options = FrameOptions { profile, ..FrameOptions::default() };
                program.run_with(&[("in", &photo)], options).unwrap()
            };
            let (plain, found) = (of(Profile::Off), of(Profile::PassByPass));
            assert!(plain.timings().is_none());
            let image = |results: &Results| results.image("out").unwrap().tight_bytes().into_owned();
            assert_eq!(image(&found), image(&plain), "{chain} on {context:?}");
            let timings = found.timings().unwrap();
            assert!(timings.passes.iter().all(|pass| pass.milliseconds.is_some_and(|time| time >= 0.0)), "{timings:?}");
            assert!(timings.passes_ms().unwrap() <= timings.total_ms, "{timings:?}");
            let report = program.report();
            let planned = report.bytes_read + report.bytes_written;
            let moved = timings.passes.iter().map(|pass| pass.bytes).sum::<Option<u64>>();
            assert_eq!(moved.is_some(), context.is_gpu());
            // Each workgroup of a reduction leaves 48 bytes for 64 by 128 pixels or more.
            let extra = moved.map_or(0, |moved| moved - planned);
            assert!(extra <= if chain.contains("auto") { 2 * 48 * 16 + 1024 } else { 0 }, "{extra} of {planned}");
            if let Some(pass) = timings.passes.first().filter(|_| context.is_gpu()) {
                assert!(pass.bandwidth().unwrap() > 0.0 && pass.bytes.unwrap() > 333 * 201 * 3);
            }
        }
    }
}

#[test]
fn structural_parameters_recompile_from_cache() {
    for context in contexts() {
        let photo = photo(33, 21);
        let graph = Graph::new();
        look(&graph);
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let run = || program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        let narrow = run();
        program.set("gaussian-blur.sigma", 4.0).unwrap();
        let wide = run();
        assert!(difference(&narrow, &wide).0 > 0.0);
        let created = context.counters().pipelines;
        for _ in 0..3 {
            program.set("gaussian-blur.sigma", 2.0).unwrap();
            assert_eq!(difference(&run(), &narrow).0, 0.0);
            program.set("gaussian-blur.sigma", 4.0).unwrap();
            assert_eq!(difference(&run(), &wide).0, 0.0);
        }
        assert_eq!(context.counters().pipelines, created);
        program.set("gaussian-blur.edge", "wrap").unwrap();
        run();
    }
}

/// Each way to mix is a program of its own, and gives what a program that was compiled for it gives.
#[test]
fn a_choice_changes_while_running() {
    for context in contexts() {
        let photo = photo(33, 21);
        let compile = |mode: &str| {
            let graph = Graph::parse(&format!("@in | invert | blend @in {mode} 0.5 -> out")).unwrap();
            context.compile(&graph, &[("in", photo.description())]).unwrap()
        };
        let run = |program: &Program| program.run(&[("in", &photo)]).unwrap().image("out").unwrap();
        let program = compile("multiply");
        let first = run(&program);
        for mode in ["screen", "luminosity", "multiply"] {
            program.set("blend.mode", mode).unwrap();
            assert_eq!(difference(&run(&program), &run(&compile(mode))).0, 0.0, "{mode}");
        }
        assert_eq!(difference(&run(&program), &first).0, 0.0);
        program.set("blend.mode", "screen").unwrap();
        assert!(difference(&run(&program), &first).0 > 0.0);
    }
}

#[test]
fn handles_and_bad_values() {
    let context = Context::cpu();
    let photo = photo(9, 9);
    let graph = Graph::new();
    let light = graph.input("photo").exposure(0.5);
    let handle = light.parameter("stops");
    graph.output("out", &light);
    let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
    program.set(&handle, 1.0).unwrap();
    assert_eq!(program.get(&handle).unwrap(), Argument::Float(1.0));
    assert!(matches!(program.set(&handle, f32::NAN), Err(Error::BadParameter { .. })));
    assert!(matches!(program.set(&handle, 1e9), Err(Error::BadParameter { .. })));
    assert!(matches!(program.set("exposure.stop", 1.0), Err(Error::UnknownParameter { suggestion: Some(_), .. })));
    assert!(matches!(program.set("exposur.stops", 1.0), Err(Error::UnknownName { suggestion: Some(_), .. })));
    assert_eq!(program.get(&handle).unwrap(), Argument::Float(1.0), "a refused value changes nothing");
}

#[test]
fn frames_in_flight_complete_by_themselves_and_may_be_dropped() {
    for context in contexts() {
        let photo = photo(128, 96);
        let graph = Graph::new();
        look(&graph);
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let expected = program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        let readbacks: Vec<_> = (0..8).map(|_| program.submit(&[("photo", &photo)]).unwrap()).collect();
        for (index, readback) in readbacks.into_iter().enumerate() {
            if index % 3 == 1 {
                drop(readback);
                continue;
            }
            assert_eq!(difference(&readback.wait().unwrap().image("out").unwrap(), &expected).0, 0.0);
        }
        let readback = program.submit(&[("photo", &photo)]).unwrap();
        drop(program);
        drop(context);
        assert_eq!(difference(&readback.wait().unwrap().image("out").unwrap(), &expected).0, 0.0);
    }
}

#[test]
fn a_full_context_says_busy() {
    for context in contexts() {
        let photo = photo(900, 700);
        let graph = Graph::new();
        graph.output("out", &graph.input("photo").apply("median", &[("size", "5".into())]).gaussian_blur(5.0));
        let program = match context.compile(&graph, &[("photo", photo.description())]) {
            Ok(program) => program,
            Err(_) => {
                let graph = Graph::new();
                graph.output("out", &graph.input("photo").gaussian_blur(5.0).gaussian_blur(5.0).gaussian_blur(5.0));
                context.compile(&graph, &[("photo", photo.description())]).unwrap()
            }
        };
        let options = FrameOptions { when_full: WhenFull::Busy, ..FrameOptions::default() };
        let answers: Vec<_> = (0..12).map(|_| program.submit_with(&[("photo", &photo)], options)).collect();
        let busy = answers.iter().filter(|answer| matches!(answer, Err(Error::Busy { bound: 3, .. }))).count();
        assert!(busy > 0, "twelve frames at once and none was refused");
        for answer in answers.into_iter().flatten() {
            answer.wait().unwrap();
        }
    }
}

#[test]
fn a_lost_device_says_so_and_a_new_context_works() {
    let Some(context) = gpu() else { return };
    let photo = photo(64, 48);
    let graph = Graph::new();
    look(&graph);
    let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
    program.run(&[("photo", &photo)]).unwrap();
    context.lose_device().unwrap();
    assert!(matches!(program.run(&[("photo", &photo)]), Err(Error::DeviceLost(_))));
    assert!(matches!(context.compile(&graph, &[("photo", photo.description())]), Err(Error::DeviceLost(_))));
    let again = gpu().expect("a new context");
    let program = again.compile(&graph, &[("photo", photo.description())]).unwrap();
    program.run(&[("photo", &photo)]).unwrap();
}

/// The program of a look on a device with these limits, and what it makes beside what the CPU makes.
fn within(limits: Limits, photo: &Image) -> Option<(Program, Image, Image)> {
    gpu()?;
    let backend = std::env::var("CYANOTYPE_BACKEND").unwrap().parse().unwrap();
    let options = ContextOptions { backend, limits: Some(limits), ..ContextOptions::default() };
    let context = Context::with(&options).unwrap();
    let graph = Graph::new();
    look(&graph);
    let run = |context: &Context| {
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let result = program.run(&[("photo", photo)]).unwrap().image("out").unwrap();
        (program, result)
    };
    let (program, result) = run(&context);
    Some((program, result, run(&Context::cpu()).1))
}

#[test]
fn what_cannot_be_bound_falls_back_to_the_cpu_with_a_reason() {
    let limits = Limits { storage_binding_size: 10_000, ..Limits::DOWNLEVEL };
    let Some((program, result, expected)) = within(limits, &photo(100, 50)) else { return };
    assert!(!program.is_on_gpu());
    assert!(program.explain().contains("the device binds 10000"), "{}", program.explain());
    assert_eq!(difference(&result, &expected).0, 0.0);
}

/// Textures are cut where they are over the device's size. Grids of two and three layers, which OpenGL takes for a cube where
/// they are squares, are among them.
#[test]
fn large_values_lie_in_layers() {
    for (width, height, layers) in
        [(100, 50, "2x1"), (65, 129, "2x3"), (60, 64, ""), (128, 192, "2x3"), (700, 3, "11x1")]
    {
        let limits = Limits { texture_size: 64, ..Limits::DOWNLEVEL };
        let Some((program, result, expected)) = within(limits, &photo(width, height)) else { return };
        assert!(program.is_on_gpu(), "{}", program.explain());
        let explained = program.explain();
        assert_eq!(explained.contains("layers"), !layers.is_empty(), "{explained}");
        assert!(explained.contains(layers), "{explained}");
        // Half floats between the passes on one side, and not on the other.
        assert!(difference(&result, &expected).0 <= 1.0 / 255.0 + 1e-6, "{width}x{height}");
    }
    let limits = Limits { texture_size: 64, texture_layers: 2, ..Limits::DOWNLEVEL };
    let Some((program, ..)) = within(limits, &photo(100, 150)) else { return };
    assert!(!program.is_on_gpu());
    assert!(program.explain().contains("64 texels a side in 2 layers"), "{}", program.explain());
}

#[test]
fn a_view_with_a_stride_is_read_in_place() {
    for context in contexts() {
        let photo = photo(21, 13);
        let stride = 21 * 3 + 17;
        let mut bytes = vec![0xAA; stride * 13];
        for y in 0..13 {
            bytes[y * stride..y * stride + 63].copy_from_slice(photo.row(y as u32));
        }
        let view = ImageView::new(photo.description(), stride, &bytes).unwrap();
        let graph = Graph::new();
        look(&graph);
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let expected = program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        let result = program.run(&[("photo", view)]).unwrap().image("out").unwrap();
        assert_eq!(difference(&result, &expected).0, 0.0);
    }
}

#[test]
fn mismatches_and_mistakes_are_typed() {
    let context = Context::cpu();
    let photo = photo(16, 16);
    let graph = Graph::new();
    look(&graph);
    let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
    let other = self::photo(17, 16);
    assert!(matches!(program.run(&[("photo", &other)]), Err(Error::Mismatch { .. })));
    assert!(matches!(program.run(&[("phot", &photo)]), Err(Error::UnknownName { suggestion: Some(_), .. })));
    assert!(matches!(program.run::<&Image>(&[]), Err(Error::Mismatch { .. })));
    let result = program.run(&[("photo", &photo)]).unwrap();
    assert!(matches!(result.image("oot"), Err(Error::UnknownName { suggestion: Some(_), .. })));
    assert!(matches!(context.compile(&graph, &[]), Err(Error::BadGraph(_))));
    assert!(matches!(context.compile(&Graph::new(), &[]), Err(Error::BadGraph(_))));
    let empty = Description::new(0, 5, PixelFormat::Rgb8);
    assert!(matches!(context.compile(&graph, &[("photo", empty)]), Err(Error::BadImage(_))));
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").apply("exposur", &[]));
    let error = context.compile(&graph, &[("photo", photo.description())]).unwrap_err();
    assert!(
        matches!(error, Error::UnknownOperator { suggestion: Some(ref name), .. } if name == "exposure"),
        "{error}"
    );
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").exposure(f32::NAN));
    let error = context.compile(&graph, &[("photo", photo.description())]).unwrap_err();
    assert!(matches!(error, Error::BadParameter { .. }), "{error}");
}

const WARM: &str = "// Warms.\nconst STEP: f32 = 0.5;\nfn helper(value: f32) -> f32 { return value * STEP; }\n\
                    fn warm(color: vec4f, amount: f32) -> vec4f {\n    \
                    return vec4f(color.r + helper(amount), color.g, color.b - helper(amount), color.a);\n}";

#[test]
fn custom_operators_fuse_and_keep_their_names_apart() {
    let warm = CustomOperator::point("warm", WARM)
        .unwrap()
        .parameter("amount", 0.1, -1.0..=1.0)
        .unwrap()
        .on_cpu(|[r, g, b, a], values| [r + values[0] * 0.5, g, b - values[0] * 0.5, a]);
    // The same helper names with other meanings.
    let other = WARM.replace("0.5", "0.25").replace("fn warm", "fn cool").replace("amount", "strength");
    let cool = CustomOperator::point("cool", &other)
        .unwrap()
        .on_cpu(|[r, g, b, a], values| [r + values[0] * 0.25, g, b - values[0] * 0.25, a]);
    let edges = CustomOperator::area(
        "edges",
        "fn edges(window: array<vec4f, 9>, scale: f32) -> vec4f {\n    \
         return vec4f(abs(window[5].rgb - window[3].rgb) * scale, window[4].a);\n}",
        1,
    )
    .unwrap()
    .on_cpu_window(|window, values| {
        let difference = |channel: usize| (window[5][channel] - window[3][channel]).abs() * values[0];
        [difference(0), difference(1), difference(2), window[4][3]]
    });
    let (warm, cool, edges) = (Arc::new(warm), Arc::new(cool), Arc::new(edges));
    let photo = photo(37, 23);
    let graph = Graph::new();
    let out = graph
        .input("photo")
        .custom(&warm, &[("amount", 0.2)])
        .custom(&warm, &[])
        .custom(&cool, &[("strength", -0.1)])
        .custom(&edges, &[("scale", 2.0)])
        .gamma(1.2);
    graph.output("out", &out);
    let mut results = Vec::new();
    for context in contexts() {
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        assert_eq!(program.plan().passes.len(), 1, "{}", program.explain());
        results.push(program.run(&[("photo", &photo)]).unwrap().image("out").unwrap());
        program.set("warm.amount", 0.3).unwrap();
        assert!(matches!(program.set("warm.amount", 3.0), Err(Error::BadParameter { .. })));
    }
    for result in &results[1..] {
        // One level: the exact value may lie at the rounding edge.
        assert!(difference(result, &results[0]).0 <= 1.01 / 255.0);
    }
}

#[test]
fn faults_in_custom_text_are_shown_where_they_are() {
    let at = |text: &str| match CustomOperator::point("warm", text) {
        Err(Error::Shader { line, .. }) => line,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(at("fn warm(color: vec4f) -> vec4f {\n    return color\n}"), 3);
    assert_eq!(at("\n\nfn warm(color: vec4f) -> vec4f {\n    return colour;\n}"), 4);
    assert_eq!(at("fn cold(color: vec4f) -> vec4f { return color; }"), 1);
    assert_eq!(at("\nfn warm(color: vec3f) -> vec4f { return vec4f(color, 1.0); }"), 2);
    assert_eq!(at("fn warm(color: vec4f, n: i32) -> vec4f { return color; }"), 1);
    assert_eq!(at("fn warm(color: vec4f) -> vec3f { return color.rgb; }"), 1);
    assert_eq!(at("fn warm(color: vec4f) -> vec4f { return color; }\nfn luma709(c: vec3f) -> f32 { return c.r; }"), 2);
    // What only fragment shaders may do.
    assert_eq!(
        at("fn half(x: f32) -> f32 {\n    return x;\n}\nfn warm(color: vec4f) -> vec4f {\n    return dpdx(color);\n}"),
        4
    );
    assert_eq!(at("\nfn warm(color: vec4f) -> vec4f { if color.r > 2.0 { discard; } return color; }"), 2);
    assert!(
        CustomOperator::area("wide", "fn wide(window: array<vec4f, 9>) -> vec4f { return window[4]; }", 9).is_err()
    );
    // Without CPU code it compiles for a GPU alone.
    let bare = CustomOperator::point("bare", "fn bare(color: vec4f) -> vec4f { return color; }").unwrap();
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").custom(&bare.into(), &[]));
    let error = Context::cpu().compile(&graph, &[("photo", Description::new(4, 4, PixelFormat::Rgb8))]).unwrap_err();
    assert!(matches!(error, Error::NoCpuCode { .. }), "{error}");
}
