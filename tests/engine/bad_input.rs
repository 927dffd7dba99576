//! Bad input at every door: a typed error that names its cause, nothing changed, nothing half done, no panic. What files
//! and texts can do wrong stands in tests/image.rs, tests/text.rs, tests/json.rs and tests/command_line.rs.

use crate::common::{Random, gpu, picture};
use cyanotype::op::{FileContent, Parameter, ParameterKind};
use cyanotype::{
    AlphaMode, Argument, BackendChoice, Context, ContextOptions, Description, Error, Graph, GraphData, Image,
    PixelFormat, ops,
};

fn photo(width: u32, height: u32) -> Image {
    picture(&mut Random(3), Description::new(width, height, PixelFormat::Rgb8))
}

/// Values that a parameter does not take.
fn outside(parameter: &Parameter) -> Vec<Argument> {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let mut values: Vec<Argument> = match parameter.kind {
        ParameterKind::Float { min, max, .. } => {
            odd.into_iter().chain([min.next_down(), max.next_up()]).map(Argument::Float).collect()
        }
        ParameterKind::Integer { min, max, .. } => {
            [min.checked_sub(1), max.checked_add(1), Some(i32::MIN), Some(i32::MAX)]
                .into_iter()
                .flatten()
                .filter(|value| !(min..=max).contains(value))
                .map(Argument::Integer)
                .collect()
        }
        ParameterKind::Switch { .. } => vec![Argument::Float(0.5)],
        ParameterKind::Choice { .. } => ["", "nothing like it"].map(|text| Argument::Choice(text.into())).into(),
        ParameterKind::Color { .. } => odd.into_iter().map(|value| Argument::Color([0.0, value, 0.0, 1.0])).collect(),
        ParameterKind::Floats { min_length, max_length, default } => {
            let mut lists = vec![vec![1.0; max_length + 1]];
            lists.extend((min_length > 0).then(|| vec![1.0; min_length - 1]));
            for value in odd {
                let mut list = default.to_vec();
                list[0] = value;
                lists.push(list);
            }
            lists.into_iter().map(Argument::Floats).collect()
        }
        ParameterKind::File { .. } => vec![Argument::Float(1.0)],
    };
    // And what is of another type altogether.
    if !matches!(parameter.kind, ParameterKind::File { .. }) {
        values.push(Argument::File(FileContent { path: "x".into(), bytes: vec![1, 2, 3].into() }));
    }
    values
}

/// Every parameter of every operator: NaN, infinities, one beyond each end, another type. Refused when the graph is
/// built, and by `set` on a program, which then goes on as before.
#[test]
fn parameters_out_of_range_are_refused_by_name() {
    for operator in ops::ALL {
        for parameter in operator.parameters {
            for value in outside(parameter) {
                let mut graph = GraphData::default();
                let inputs: Vec<usize> =
                    ["a", "b"].iter().take(operator.required_inputs()).map(|name| graph.input(name)).collect();
                let shown = format!("{} {}={value:?}", operator.name, parameter.name);
                match graph.apply(operator.name, [(parameter.name.to_string(), value)], inputs) {
                    Err(Error::BadParameter { operator: named, parameter: name, expected, found }) => {
                        assert_eq!((named.as_str(), name.as_str()), (operator.name, parameter.name), "{shown}");
                        assert!(!expected.is_empty() && found != expected, "{shown}: {expected}, {found}");
                    }
                    other => panic!("{shown}: {other:?}"),
                }
                assert!(graph.nodes.iter().all(|node| node.inputs.is_empty()), "{shown}: a node came about");
            }
        }
    }
}

#[test]
fn a_refused_value_leaves_the_program_as_it_was() {
    let photo = photo(9, 7);
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").gaussian_blur(2.0).contrast(1.5));
    for context in [Some(Context::cpu()), gpu()].into_iter().flatten() {
        let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
        let before = program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        for (path, value) in [
            ("gaussian-blur.sigma", Argument::Float(f32::NAN)),
            ("gaussian-blur.sigma", Argument::Float(-1.0)),
            ("gaussian-blur.edge", Argument::Choice("clap".into())),
            ("contrast.amount", Argument::Float(f32::INFINITY)),
            ("contrast.amount", Argument::Choice("much".into())),
        ] {
            let error = program.set(path, value).unwrap_err();
            assert!(matches!(error, Error::BadParameter { .. }), "{path}: {error}");
        }
        let after = program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
        assert_eq!(before.tight_bytes(), after.tight_bytes());
    }
}

/// A picture that differs in anything that the program was compiled for.
#[test]
fn pictures_of_another_shape_are_refused() {
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").gaussian_blur(1.0));
    let description = Description::new(16, 9, PixelFormat::Rgba8);
    let others = [
        Description::new(17, 9, PixelFormat::Rgba8),
        Description::new(16, 8, PixelFormat::Rgba8),
        Description::new(9, 16, PixelFormat::Rgba8),
        Description::new(16, 9, PixelFormat::Rgb8),
        Description::new(16, 9, PixelFormat::Rgba16),
        description.with_alpha(AlphaMode::Premultiplied),
        description.with_alpha(AlphaMode::Opaque),
    ];
    for context in [Some(Context::cpu()), gpu()].into_iter().flatten() {
        let program = context.compile(&graph, &[("photo", description)]).unwrap();
        for other in others {
            let image = picture(&mut Random(1), other);
            let errors = [program.run(&[("photo", &image)]).map(drop), program.submit(&[("photo", &image)]).map(drop)];
            for error in errors {
                match error {
                    Err(Error::Mismatch { input, expected, found }) => {
                        assert_eq!((input, expected), ("photo".into(), description.to_string()));
                        assert_eq!(found, other.to_string());
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(program.run(&[("photo", &picture(&mut Random(1), description))]).is_ok());
    }
}

/// What a graph may be made of by hand, and what does not fit a picture.
#[test]
fn graphs_that_make_no_sense() {
    let context = Context::cpu();
    let description = Description::new(30, 20, PixelFormat::Rgb8);
    let refusal = |chain: &str| -> Error {
        let graph = Graph::parse(chain).unwrap_or_else(|error| panic!("{chain}: {error}"));
        context.compile(&graph, &[("in", description)]).map(drop).expect_err(chain)
    };
    for chain in [
        "crop 25 0 10 10",
        "crop 0 20",
        "blend (resize 10 10)",
        "blend (crop 0 0 29 20) mask=(crop 0 0 5 5)",
        "unsharp | blend (rotate90)",
    ] {
        let error = refusal(chain);
        assert!(matches!(error, Error::BadInput { .. }), "{chain}: {error}");
    }
    for chain in ["pad 65535", "pad left=40000 right=40000", "rotate90 | resize 65535 0", "resize 0 60000"] {
        let error = refusal(chain);
        assert!(matches!(error, Error::Limit { limit: 65535, .. }), "{chain}: {error}");
    }
    for chain in ["affine [0 0 0 0 0 0]", "affine [1 2 0 2 4 0]", "perspective [1 0 0 2 0 0 0 0 1]", "median 4"] {
        let error = refusal(chain);
        assert!(matches!(error, Error::BadParameter { .. }), "{chain}: {error}");
    }
    let error = refusal("mean | invert");
    assert!(matches!(error, Error::BadInput { .. }), "{error}");

    // A cycle, a reference to nothing, an output of nothing: as hostile JSON or a slip of a caller's may build them.
    let mut data = GraphData::default();
    let input = data.input("in");
    let node = data.apply("invert", [], vec![input]).unwrap();
    data.output("out", node, None).unwrap();
    let damaged = |damage: fn(&mut GraphData)| {
        let mut data = data.clone();
        damage(&mut data);
        context.compile(&Graph::from_data(data), &[("in", description)]).map(drop)
    };
    for damage in [
        |data: &mut GraphData| data.nodes[1].inputs = vec![1],
        |data| data.nodes[1].inputs = vec![7],
        |data| data.nodes[1].inputs = vec![],
        |data| data.nodes[1].inputs = vec![0, 0],
        |data| data.outputs[0].node = 9,
        |data| data.outputs.clear(),
        |data| {
            let second = data.nodes[1].clone();
            data.nodes[1].inputs = vec![2];
            data.nodes.push(second);
            data.nodes[2].inputs = vec![1];
        },
    ] as [fn(&mut GraphData); 7]
    {
        let result = damaged(damage);
        assert!(matches!(result, Err(Error::BadGraph(_) | Error::BadInput { .. })), "{result:?}");
    }
    assert!(damaged(|_| {}).is_ok());
}

/// A backend that this machine has no driver for.
#[test]
fn no_device() {
    let absent = if cfg!(target_os = "windows") { BackendChoice::Metal } else { BackendChoice::Dx12 };
    let options = ContextOptions { backend: absent, ..ContextOptions::default() };
    match Context::with(&options) {
        Err(Error::NoDevice(message)) => assert!(!message.is_empty()),
        other => panic!("{other:?}"),
    }
    let error = "vulcan".parse::<BackendChoice>().unwrap_err();
    assert!(error.to_string().contains("did you mean 'vulkan'?"), "{error}");
}

/// Frames in flight when the device is lost: each gives its result or says so; none hangs, and nothing after them works
/// until there is a new context.
#[test]
fn a_device_lost_in_the_middle() {
    let Some(context) = gpu() else { return };
    let photo = photo(400, 300);
    let graph = Graph::new();
    graph.output("out", &graph.input("photo").gaussian_blur(5.0).apply("median", &[]));
    let program = context.compile(&graph, &[("photo", photo.description())]).unwrap();
    let expected = program.run(&[("photo", &photo)]).unwrap().image("out").unwrap();
    let frames: Vec<_> = (0..3).map(|_| program.submit(&[("photo", &photo)]).unwrap()).collect();
    context.lose_device().unwrap();
    for frame in frames {
        match frame.wait() {
            Ok(results) => assert_eq!(results.image("out").unwrap().tight_bytes(), expected.tight_bytes()),
            Err(Error::DeviceLost(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(matches!(program.submit(&[("photo", &photo)]), Err(Error::DeviceLost(_))));
    assert!(matches!(program.set("median.size", 5), Err(Error::DeviceLost(_))), "it needs another program");
    drop((program, context));
    let again = gpu().expect("a new context");
    let program = again.compile(&graph, &[("photo", photo.description())]).unwrap();
    assert_eq!(program.run(&[("photo", &photo)]).unwrap().image("out").unwrap().tight_bytes(), expected.tight_bytes());
}

/// Memory that is not there is an error, not an abort: the program runs under a limit of its address space, which the
/// system allocator obeys as it obeys an exhausted machine.
#[cfg(all(target_os = "linux", feature = "cli"))]
mod out_of_memory {
    use std::path::Path;
    use std::process::{Command, Output};

    /// The command line under `ulimit -v`, given in KiB.
    fn run_within(kibibytes: u32, backend: &str, chain: &str, out: &Path) -> Output {
        Command::new("sh")
            .args(["-c", &format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_cyanotype")])
            .args(["--backend", backend, "apply", concat!(env!("CARGO_MANIFEST_DIR"), "/assets/camera.png")])
            .arg(out)
            .arg(chain)
            .output()
            .expect("sh starts")
    }

    fn says_so(backend: &str, kibibytes: u32, chain: &str) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let output = run_within(kibibytes, backend, chain, &folder.path().join("out.png"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{backend}, {chain}: {error}");
        assert!(error.contains("error: out of memory: ") && !error.contains("panicked"), "{backend}, {chain}: {error}");
        let left = std::fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, 0, "{backend}, {chain}: something half written was left");
    }

    #[test]
    fn on_the_cpu() {
        // The output, a picture between passes, both: gigabytes each.
        for chain in [
            "affine [1 0 0 0 1 0] 65535 65535",
            "perspective [1 0 0 0 1 0 0 0 1] 65535 65535 bicubic",
            "pad 65000 65000 0 0",
            "resize 65535 65535",
            "resize 65535 65535 nearest | gaussian-blur 3 | crop 0 0 9 9",
            "solid #ff0000 65535 65535",
            "resize 40000 40000 | median 5 | auto-levels | resize 3 3",
        ] {
            says_so("cpu", 2_000_000, chain);
        }
        // The same limit leaves enough for what fits.
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let out = folder.path().join("out.png");
        let output = run_within(2_000_000, "cpu", "resize 600 600 | gaussian-blur 3", &out);
        assert!(output.status.success() && out.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Two textures of a gigabyte each, of which the second has no place. Other drivers than Mesa's either need more
    /// address space to start in or keep textures outside of it.
    #[test]
    fn on_a_device() {
        let Some(context) = crate::common::gpu() else { return };
        if !context.description().contains("llvmpipe") {
            crate::common::skip(format_args!("{} is not within the limit of address space", context.description()));
            return;
        }
        let backend = std::env::var("CYANOTYPE_BACKEND").expect("it named the device");
        says_so(&backend, 1_500_000, "resize 16000 16000 | gaussian-blur 3 | crop 0 0 9 9");
    }
}

#[test]
fn a_table_has_its_most_pixels() {
    let graph = Graph::parse("input in, table; lookup @table").expect("a graph");
    let compile = |width, height| {
        let description = |width, height| Description::new(width, height, PixelFormat::R8);
        let inputs = [("in", description(4, 4)), ("table", description(width, height))];
        Context::cpu().compile(&graph, &inputs).map(|_| ())
    };
    compile(256, 256).expect("one for each 16-bit value");
    let error = compile(257, 256).expect_err("more than that");
    let Error::BadInput { operator, message } = error else { panic!("{error}") };
    assert!(operator == "lookup" && message.contains("65792") && message.contains("65536"), "{operator}: {message}");
}
