//! What the compiler promises, asserted on plans: how many passes, which textures, and why. No device is needed.

use cyanotype::graph::lower::lower;
use cyanotype::graph::simplify::{simplify, without_dead};
use cyanotype::op::StepKind;
use cyanotype::plan::recording::PackedLayout;
use cyanotype::plan::{Plan, plan};
use cyanotype::{Description, Graph, Limits, Node, Options, PixelFormat, Report};

const SIZE: Description = Description::new(4000, 3000, PixelFormat::Rgb8);

fn compile_with(graph: &Graph, inputs: &[(&str, Description)], options: &Options, limits: &Limits) -> Plan {
    let lowered = lower(&graph.data(), inputs).expect("the graph is right");
    let simplified = if options.fuse { simplify(&lowered, None) } else { without_dead(&lowered) };
    plan(&simplified.graph, options, limits, simplified.notes).expect("it fits the limits")
}

fn compile(graph: &Graph) -> Plan {
    let data = graph.data();
    let inputs: Vec<(&str, Description)> = data.input_names().map(|name| (name, SIZE)).collect();
    compile_with(graph, &inputs, &Options::default(), &Limits::UNLIMITED)
}

fn chain(build: impl Fn(Node) -> Node) -> Plan {
    let graph = Graph::new();
    let out = build(graph.input("photo"));
    graph.output("out", &out);
    compile(&graph)
}

fn packed_bytes(description: Description) -> u64 {
    PackedLayout::of(&description).size()
}

fn refusal_reasons(report: &Report) -> String {
    report.refusals.iter().map(|refusal| refusal.reason.clone()).collect::<Vec<_>>().join("; ")
}

const IDENTITY: [f32; 12] = [0.9, 0.1, 0.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.1, 0.0, 0.9, 0.0];

fn five(node: Node) -> Node {
    node.exposure(0.3)
        .contrast(1.2)
        .saturation(1.3)
        .gamma(1.1)
        .apply("color-matrix", &[("matrix", IDENTITY.to_vec().into())])
}

// 1
#[test]
fn five_points_are_one_pass_without_texture() {
    let plan = chain(five);
    assert_eq!(plan.passes.len(), 1, "{}", plan.report);
    assert_eq!(plan.textures.len(), 0);
    assert_eq!(plan.report.bytes_read, packed_bytes(SIZE));
    assert_eq!(plan.report.bytes_written, packed_bytes(SIZE));
    assert_eq!(packed_bytes(SIZE), 36_000_000);
}

#[test]
fn sixty_points_of_any_mix_are_one_pass() {
    let plan = chain(|mut node| {
        for index in 0..12 {
            node = node.exposure(0.1).gamma(1.1).saturation(0.9 + 0.01 * index as f32).invert().sepia(0.3);
        }
        node
    });
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
}

// 2
#[test]
fn points_after_area_warp_and_resample_run_on_write() {
    let area = chain(|node| node.apply("sobel", &[]).gamma(1.2).invert());
    assert_eq!((area.passes.len(), area.textures.len()), (1, 0), "{}", area.report);
    let warp = chain(|node| node.apply("affine", &[]).gamma(1.2).invert());
    assert_eq!((warp.passes.len(), warp.textures.len()), (1, 0), "{}", warp.report);
    let resample = chain(|node| node.apply("resize", &[("width", 1280.into()), ("height", 960.into())]).gamma(1.2));
    assert_eq!((resample.passes.len(), resample.textures.len()), (2, 1), "{}", resample.report);
    let flip = chain(|node| node.apply("flip", &[]).gamma(1.2).invert());
    assert_eq!((flip.passes.len(), flip.textures.len()), (1, 0), "{}", flip.report);
}

// 3
#[test]
fn points_before_an_area_are_recomputed_when_cheap_and_stored_when_dear() {
    let cheap = chain(|node| node.exposure(0.5).gaussian_blur(3.0).saturation(1.2));
    assert_eq!((cheap.passes.len(), cheap.textures.len()), (2, 1), "{}", cheap.report);
    assert!(cheap.report.passes[0].label.contains("exposure"), "{}", cheap.report);
    assert!(cheap.report.passes[1].label.contains("saturation"), "{}", cheap.report);

    let dear = chain(|mut node| {
        for _ in 0..10 {
            node = node.gamma(1.1).invert();
        }
        node.gaussian_blur(6.0)
    });
    assert_eq!((dear.passes.len(), dear.textures.len()), (3, 2), "{}", dear.report);
    let reasons = refusal_reasons(&dear.report);
    assert!(reasons.contains("evaluating it costs") && reasons.contains("texture"), "{reasons}");
}

/// Steps that each read one other pixel are nested in one pass, but not without end: shaders and stacks have an end.
#[test]
fn a_long_chain_of_remaps_is_cut() {
    let plan = chain(|mut node| {
        for _ in 0..1000 {
            node = node.apply("flip", &[]).invert();
        }
        node
    });
    assert_eq!(plan.passes.len(), 1000_usize.div_ceil(32), "{}", plan.report);
    assert!(refusal_reasons(&plan.report).contains("nested"), "{}", plan.report);
}

/// What is read at two other pixels is evaluated twice; in a chain of such, once stored, not two to the power of its length.
#[test]
fn a_chain_of_remaps_in_pairs_is_stored_in_time() {
    for length in [10, 200] {
        let plan = chain(|mut node| {
            for _ in 0..length {
                let other = node.apply("rotate90", &[("turns", 2.into())]);
                node = node.apply("flip", &[]).blend(&other, "multiply", 0.5);
            }
            node
        });
        // Each level doubles what the one before costs, about ten operators: a texture is cheaper after a few.
        assert!(plan.passes.len() > length / 4 && plan.passes.len() < length, "{}", plan.report);
        assert!(refusal_reasons(&plan.report).contains("evaluating it costs"), "{}", plan.report);
    }
    // The same pixel read twice is no such thing, however long the chain.
    let plan = chain(|mut node| {
        for _ in 0..30 {
            node = node.apply("flip", &[]);
            node = node.blend(&node.invert(), "multiply", 0.5);
        }
        node
    });
    assert_eq!(plan.passes.len(), 1, "{}", plan.report);
}

/// A reduction and the step that uses it read the same value: evaluated by both while that is cheap, then stored.
#[test]
fn a_chain_of_reductions_stores_what_has_become_dear() {
    let plan = chain(|mut node| {
        for _ in 0..300 {
            node = node.apply("equalize", &[]);
        }
        node
    });
    let stored = plan.report.textures.iter().filter(|texture| texture.reason.contains("costly to make twice")).count();
    assert!((10..150).contains(&stored), "{stored} textures");
}

#[test]
fn unsharp_after_a_colour_chain_takes_no_more_passes_than_its_blur() {
    for sigma in [1.0, 2.0, 3.0] {
        let blur = chain(|node| node.gaussian_blur(sigma));
        let unsharp = chain(|node| five(node).apply("unsharp", &[("sigma", sigma.into())]));
        assert!(unsharp.passes.len() <= blur.passes.len(), "sigma {sigma}: {}", unsharp.report);
    }
}

// 4
#[test]
fn composites_and_diamonds_are_evaluated_once() {
    let graph = Graph::new();
    let common = graph.input("photo").gamma(1.3);
    let out = common.invert().blend(&common.exposure(0.5), "screen", 0.5);
    graph.output("out", &out);
    let plan = compile(&graph);
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
    assert_eq!(plan.report.bytes_read, packed_bytes(SIZE), "the input is read once");
    let gammas = plan.passes[0].label.matches("gamma").count();
    assert_eq!(gammas, 1, "{}", plan.passes[0].label);

    let graph = Graph::new();
    let out = graph.input("a").exposure(0.5).blend(&graph.input("b").invert(), "multiply", 1.0);
    graph.output("out", &out);
    let plan = compile(&graph);
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
}

// 5
#[test]
fn every_format_is_unpacked_and_packed_in_the_one_pass() {
    for format in PixelFormat::ALL {
        let graph = Graph::new();
        graph.output_as("out", &graph.input("photo").gamma(1.2), format);
        let description = Description::new(640, 480, format);
        let plan = compile_with(&graph, &[("photo", description)], &Options::default(), &Limits::UNLIMITED);
        assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{format}: {}", plan.report);
        assert_eq!(plan.report.bytes_read + plan.report.bytes_written, 2 * packed_bytes(description), "{format}");
    }
}

// 6
#[test]
fn what_is_not_needed_disappears() {
    // Identities.
    let plan = chain(|node| node.exposure(0.0).gamma(1.0).invert());
    assert_eq!(plan.passes[0].label, "invert");
    // Dead nodes.
    let graph = Graph::new();
    let photo = graph.input("photo");
    let _unused = photo.gaussian_blur(5.0);
    graph.output("out", &photo.invert());
    assert_eq!(compile(&graph).passes.len(), 1);
    // Common subexpressions.
    let graph = Graph::new();
    let photo = graph.input("photo");
    let out = photo.gaussian_blur(3.0).blend(&photo.gaussian_blur(3.0).invert(), "normal", 0.5);
    graph.output("out", &out);
    let plan = compile(&graph);
    assert_eq!((plan.passes.len(), plan.textures.len()), (2, 1), "{}", plan.report);
    // Colour matrices.
    let plan = chain(|node| node.exposure(0.3).contrast(1.2).saturation(1.3).sepia(0.4));
    assert_eq!(plan.passes[0].inline.len(), 1, "{}", plan.report);
    // Affine maps: exact ones and interpolated ones.
    let plan = chain(|node| {
        let turned = node.apply("rotate90", &[]).apply("rotate90", &[]);
        turned.apply("flip", &[]).apply("flip", &[])
    });
    assert_eq!(plan.passes[0].inline.len(), 1, "{}", plan.report);
    let matrix = |values: [f32; 6]| [("matrix", values.to_vec().into())];
    let plan = chain(|node| {
        node.apply("affine", &matrix([0.9, 0.1, 3.0, -0.1, 0.9, 5.0]))
            .apply("affine", &matrix([1.0, 0.2, 0.0, 0.0, 1.0, 0.0]))
    });
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
    assert_eq!(plan.passes[0].inline.len(), 1, "{}", plan.report);
}

// 7
#[test]
fn reductions_take_their_points_along_and_stay_on_the_device() {
    let graph = Graph::new();
    graph.output("numbers", &graph.input("photo").exposure(0.5).gamma(1.2).apply("histogram", &[]));
    let plan = compile(&graph);
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
    assert_eq!(plan.report.passes[0].kind, StepKind::Reduce);
    assert!(plan.passes[0].label.contains("gamma"));

    let plan = chain(|node| node.exposure(0.5).apply("auto-levels", &[]).saturation(1.1));
    assert_eq!(plan.textures.len(), 0, "{}", plan.report);
    let reductions = plan.report.passes.iter().filter(|pass| pass.kind == StepKind::Reduce).count();
    assert_eq!(reductions, 1, "{}", plan.report);
    let plan = chain(|node| node.apply("equalize", &[]));
    assert_eq!((plan.passes.len(), plan.textures.len()), (3, 0), "{}", plan.report);
}

// 8
#[test]
fn outputs_share_a_pass_and_what_they_have_in_common() {
    let graph = Graph::new();
    let common = graph.input("photo").gamma(1.2);
    graph.output("a", &common.invert());
    graph.output("b", &common.saturation(0.2));
    graph.output("c", &common);
    let plan = compile(&graph);
    assert_eq!((plan.passes.len(), plan.textures.len()), (1, 0), "{}", plan.report);
    assert_eq!(plan.passes[0].writes.len(), 3);

    let graph = Graph::new();
    let blurred = graph.input("photo").gaussian_blur(3.0);
    graph.output("blurred", &blurred.invert());
    graph.output("edges", &blurred.apply("sobel", &[]));
    let plan = compile(&graph);
    assert_eq!(plan.passes.len(), 3, "{}", plan.report);
    let blurs = plan.report.passes.iter().filter(|pass| pass.label.contains("gaussian")).count();
    assert_eq!(blurs, 2, "two passes make the blur, once: {}", plan.report);
}

// 9
#[test]
fn a_long_chain_of_areas_holds_two_textures() {
    let plan = chain(|mut node| {
        for _ in 0..9 {
            node = node.apply("median", &[]);
        }
        node
    });
    assert_eq!(plan.passes.len(), 9, "{}", plan.report);
    assert_eq!(plan.stored.len(), 8);
    assert_eq!(plan.textures.len(), 2, "{}", plan.report);
    assert_eq!(plan.report.peak_intermediate_bytes, 2 * 4000 * 3000 * 8);
}

// 10
#[test]
fn limits_split_a_pass_and_say_why() {
    let graph = Graph::new();
    let mut out = graph.input("in0");
    for index in 1..7 {
        out = out.blend(&graph.input(&format!("in{index}")).gamma(1.1), "screen", 0.5);
    }
    graph.output("out", &out);
    let free = compile(&graph);
    assert_eq!(free.passes.len(), 1, "{}", free.report);
    let data = graph.data();
    let small = Description::new(640, 480, PixelFormat::Rgb8);
    let inputs: Vec<(&str, Description)> = data.input_names().map(|name| (name, small)).collect();
    let limits = Limits { storage_buffers: 4, ..Limits::UNLIMITED };
    let split = compile_with(&graph, &inputs, &Options::default(), &limits);
    assert!(split.passes.len() > 1, "{}", split.report);
    let reasons = refusal_reasons(&split.report);
    assert!(reasons.contains("storage buffers") && reasons.contains("allows 4"), "{reasons}");
    for pass in &split.report.passes {
        let sources = pass.reads.iter().filter(|read| read.starts_with("input")).count();
        let outputs = pass.writes.iter().filter(|write| write.starts_with("output")).count();
        assert!(sources + outputs <= 4, "{}", split.report);
    }

    let graph = Graph::new();
    graph.output("out", &graph.input("photo").gaussian_blur(3.0));
    let layered = compile_with(&graph, &[("photo", SIZE)], &Options::default(), &Limits::DOWNLEVEL);
    let place = &layered.report.textures[0].place;
    assert_eq!(place, "texture 0 (rgba16float, 2x2 layers of 2000x1500)", "{}", layered.report);
    let lowered = lower(&graph.data(), &[("photo", SIZE)]).expect("the graph is right");
    let limits = Limits { texture_layers: 3, ..Limits::DOWNLEVEL };
    let error = plan(&lowered, &Options::default(), &limits, Vec::new()).expect_err("four layers are too many");
    assert!(matches!(error, cyanotype::Error::DeviceLimit(_)), "{error}");
}

#[test]
fn without_fusion_each_operator_has_a_pass() {
    let graph = Graph::new();
    graph.output("out", &five(graph.input("photo")));
    let options = Options { fuse: false, ..Options::default() };
    let plan = compile_with(&graph, &[("photo", SIZE)], &options, &Limits::UNLIMITED);
    assert_eq!(plan.passes.len(), 5, "{}", plan.report);
    assert!(plan.report.textures.iter().all(|texture| texture.reason == "fusion is off"));
}

#[test]
fn every_texture_and_refusal_has_a_reason_and_the_report_serialises() {
    let plan = chain(|node| node.apply("median", &[]).gaussian_blur(9.0).apply("sobel", &[]));
    assert!(!plan.report.textures.is_empty());
    assert!(plan.report.textures.iter().all(|texture| !texture.reason.is_empty()));
    let json = serde_json::to_value(&plan.report).expect("a report is plain data");
    for field in ["passes", "textures", "refusals"] {
        assert!(json[field].is_array(), "{field}");
    }
    assert!(json["bytes_read"].is_u64() && json["bytes_written"].is_u64());
}

#[test]
fn the_layers_keep_apart() {
    let forbidden = |folder: &str, words: &[&str]| {
        let mut open = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)];
        let mut files = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).expect("a text file");
            for word in words {
                assert!(!text.contains(word), "{} names {word}", path.display());
            }
        }
        assert!(files > 0, "{folder} is empty");
    };
    forbidden("src/plan", &["wgpu"]);
    forbidden("src/graph", &["wgpu"]);
    forbidden("src/shader", &["wgpu"]);
    let operators: Vec<String> = cyanotype::ops::ALL.iter().map(|operator| format!("\"{}\"", operator.name)).collect();
    let names: Vec<&str> = operators.iter().map(String::as_str).collect();
    forbidden("src/gpu", &names);
    forbidden("src/plan", &names);
}
