//! The text form: what each construct means, where errors point, and that everything printed reads back the same.

mod random_graph;

use cyanotype::graph::NodeContent;
use cyanotype::op::FileContent;
use cyanotype::{CustomOperator, Error, Graph, GraphData, PixelFormat};
use proptest::prelude::*;
use random_graph::{Seed, random_graph};
use std::io::Write;
use std::sync::Arc;

fn parsed(text: &str) -> GraphData {
    match Graph::parse(text) {
        Ok(graph) => graph.data(),
        Err(error) => panic!("{text:?}: {error}"),
    }
}

/// Nodes as `name: operator(inputs) parameter=value`, with parameters that differ from the default; then outputs.
fn shape(text: &str) -> Vec<String> {
    let data = parsed(text);
    let mut lines: Vec<String> = data
        .nodes
        .iter()
        .map(|node| {
            let inputs: Vec<&str> = node.inputs.iter().map(|input| data.nodes[*input].name.as_str()).collect();
            let mut line = format!("{}: {}({})", node.name, node.content.operator_name(), inputs.join(" "));
            if let NodeContent::Operator { arguments, .. } = &node.content {
                for (parameter, value) in arguments.iter() {
                    if parameter.default().as_ref() != Some(value) {
                        line += &format!(" {}={value}", parameter.name);
                    }
                }
            }
            line
        })
        .collect();
    lines.extend(data.outputs.iter().map(|output| {
        let format = output.format.map(|format| format!(":{format}")).unwrap_or_default();
        format!("{} -> {}{format}", data.nodes[output.node].name, output.name)
    }));
    lines
}

fn argument(text: &str, path: &str) -> String {
    let data = parsed(text);
    let handle = data.find_parameter(path).expect("the test names a parameter that is there");
    data.get(&handle).expect("the test names a parameter that is there").to_string()
}

/// The place and text of the error.
fn refused(text: &str) -> (usize, usize, String) {
    match Graph::parse(text) {
        Err(Error::Parse { line, column, message }) => (line, column, message),
        Err(other) => panic!("{text:?}: another error, {other}"),
        Ok(graph) => panic!("{text:?}: was read as {:?}", graph.data()),
    }
}

#[track_caller]
fn assert_refused(text: &str, place: (usize, usize), part: &str) {
    let (line, column, message) = refused(text);
    assert_eq!((line, column), place, "{text:?}: {message}");
    assert!(message.contains(part), "{text:?}: {message}");
}

#[track_caller]
fn assert_round_trip(data: &GraphData) {
    let printed = Graph::from_data(data.clone()).to_text().unwrap_or_else(|error| panic!("{error}\n{data:#?}"));
    let again = match Graph::parse(&printed) {
        Ok(graph) => graph.data(),
        Err(error) => panic!("{error}\n{printed}\n{data:#?}"),
    };
    // Debug output tells 0.0 and -0.0 apart, which equality does not.
    assert_eq!(format!("{again:?}"), format!("{data:?}"), "{printed}");
    assert_eq!(&again, data, "{printed}");
    let twice = Graph::from_data(again).to_text().expect("it was printed before");
    assert_eq!(twice, printed);
}

#[test]
fn a_chain_is_a_graph() {
    assert_eq!(
        shape("exposure 0.7 | gaussian-blur 2 | saturation 1.2"),
        [
            "in: input()",
            "exposure: exposure(in) stops=0.7",
            "gaussian-blur: gaussian-blur(exposure) sigma=2",
            "saturation: saturation(gaussian-blur) amount=1.2",
            "saturation -> out",
        ]
    );
}

#[test]
fn the_fluent_graph_is_the_same() {
    let graph = Graph::new();
    let out = graph.input("in").exposure(0.7).gaussian_blur(2.0).saturation(1.2);
    graph.output("out", &out);
    assert_eq!(parsed("exposure 0.7 | gaussian-blur 2 | saturation 1.2"), graph.data());
}

#[test]
fn branches_inputs_and_outputs() {
    let text = "
        input photo, mask          # two pictures
        base = exposure 0.5        # reads the first declared input
        glow = @base | gaussian-blur 8 as wide
        @base | blend @glow mask=@mask mode=screen
              | gamma 1.1
              -> out:rgba16, copy
        @glow -> glow
    ";
    assert_eq!(
        shape(text),
        [
            "photo: input()",
            "mask: input()",
            "exposure: exposure(photo) stops=0.5",
            "wide: gaussian-blur(exposure) sigma=8",
            "blend: blend(exposure wide mask) mode=screen",
            "gamma: gamma(blend) gamma=1.1",
            "gamma -> out:rgba16",
            "gamma -> copy",
            "wide -> glow",
        ]
    );
}

#[test]
fn parentheses_fork_what_flows_in() {
    assert_eq!(
        shape("exposure 1 | blend (gaussian-blur 8 | invert) screen"),
        [
            "in: input()",
            "exposure: exposure(in) stops=1",
            "gaussian-blur: gaussian-blur(exposure) sigma=8",
            "invert: invert(gaussian-blur)",
            "blend: blend(exposure invert) mode=screen",
            "blend -> out",
        ]
    );
    // From something else, and at the start of a chain.
    assert_eq!(
        shape("exposure 1 | blend (@in | gaussian-blur 8)")[2..4],
        ["gaussian-blur: gaussian-blur(in) sigma=8", "blend: blend(exposure gaussian-blur)"]
    );
    assert_eq!(shape("blend (invert)")[1..3], ["invert: invert(in)", "blend: blend(in invert)"]);
    assert_eq!(shape("(exposure 1 | invert) | (gamma 2)")[3], "gamma: gamma(invert) gamma=2");
}

#[test]
fn generators_start_chains() {
    assert_eq!(shape("checkerboard | invert")[..2], ["checkerboard: checkerboard()", "invert: invert(checkerboard)"]);
    assert_eq!(
        shape("blend (solid #fff)"),
        ["solid: solid() color=[1, 1, 1, 1]", "in: input()", "blend: blend(in solid)", "blend -> out"]
    );
    assert_refused("exposure 1 | solid #fff", (1, 14), "can only start a chain");
}

#[test]
fn pictures_by_name() {
    let text = "input a, b, c; blend other=@b image=@c mask=@a";
    assert_eq!(shape(text)[3], "blend: blend(c b a)");
    assert_refused("input a, b; blend mask=@b", (1, 13), "its picture 'other' is missing");
    assert_refused("blend @in mask=0.5", (1, 16), "mask=@name");
    assert_refused("blend @in mode=@in", (1, 11), "is no picture");
    assert_refused("blend @in musk=@in", (1, 11), "did you mean 'mask'?");
    assert_refused("@in | blend image=@in @in", (1, 13), "already");
}

#[test]
fn linear_light() {
    assert_eq!(
        shape("linear(gaussian-blur 2)")[1..4],
        [
            "srgb-to-linear: srgb-to-linear(in)",
            "gaussian-blur: gaussian-blur(srgb-to-linear) sigma=2",
            "linear-to-srgb: linear-to-srgb(gaussian-blur)",
        ]
    );
    // Pictures that enter are linearised, masks are not, and a linear inside adds nothing.
    assert_eq!(
        shape("input a, b, m; exposure 1 | linear(blend (@b | linear(invert)) mask=@m)")[3..],
        [
            "exposure: exposure(a) stops=1",
            "srgb-to-linear: srgb-to-linear(exposure)",
            "srgb-to-linear-2: srgb-to-linear(b)",
            "invert: invert(srgb-to-linear-2)",
            "blend: blend(srgb-to-linear invert m)",
            "linear-to-srgb: linear-to-srgb(blend)",
            "linear-to-srgb -> out",
        ]
    );
    assert_eq!(
        shape("linear(solid #808080)")[..3],
        [
            "solid: solid() color=[0.5019608, 0.5019608, 0.5019608, 1]",
            "srgb-to-linear: srgb-to-linear(solid)",
            "linear-to-srgb: linear-to-srgb(srgb-to-linear)",
        ]
    );
}

#[test]
fn values() {
    assert_eq!(argument("exposure stops=-0.5", "exposure.stops"), "-0.5");
    assert_eq!(argument("exposure 1e1", "exposure.stops"), "10");
    assert_eq!(argument("exposure +.5", "exposure.stops"), "0.5");
    assert_eq!(argument("exposure 50%", "exposure.stops"), "0.5");
    assert_eq!(argument("gaussian-blur 2 mirror", "gaussian-blur.edge"), "mirror");
    assert_eq!(argument("gaussian-blur 2 'mirror'", "gaussian-blur.edge"), "mirror");
    for colour in ["#f80", "#ff8800", "#F80f", "#ff8800FF", "[1, 0.53333336, 0]", "[100% 0.53333336 0 1,]"] {
        assert_eq!(argument(&format!("solid {colour}"), "solid.color"), "[1, 0.53333336, 0, 1]", "{colour}");
    }
    assert_eq!(argument("convolve [0 -1 0, -1 5 -1,\n 0 -1 0]", "convolve.kernel"), "[0, -1, 0, -1, 5, -1, 0, -1, 0]");
}

#[test]
fn comments_and_newlines() {
    let same = parsed("exposure 1 | gamma 2");
    for text in [
        "# first\nexposure 1 # then\n  | gamma 2\n\n",
        "exposure 1 |\n# between\ngamma 2;;",
        "\u{feff}exposure 1 | # note\r\n gamma 2\r\n",
        "#abc is a comment at the start of a line\nexposure 1 | gamma 2",
        "exposure 1\n| gamma 2 -> out",
        "exposure 1 | gamma 2\n->\nout",
        "(exposure 1\n)\n| gamma 2",
    ] {
        assert_eq!(parsed(text), same, "{text:?}");
    }
    assert_refused("exposure 1 #added", (1, 12), "a comment has a space after '#'");
}

#[test]
fn files_are_read() {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(CUBE).expect("it can be written");
    let path = file.path().to_str().expect("temporary paths are text");
    let data = parsed(&format!("lut3d {path:?}"));
    let NodeContent::Operator { arguments, .. } = &data.nodes[1].content else { panic!("the second node is lut3d") };
    let (_, value) = arguments.iter().next().expect("lut3d has a file");
    assert_eq!(*value, FileContent::read(path).expect("it was just written").into());
    assert_round_trip(&data);
    assert_refused("exposure 1 | lut3d 'nowhere.cube'", (1, 20), "nowhere.cube");
    assert_refused("lut3d", (1, 1), "must be the path of a .cube file, found nothing");
}

const CUBE: &[u8] = b"LUT_3D_SIZE 2\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n";

#[test]
fn errors_point_at_their_cause() {
    assert_refused(
        "exposure 0.7 | gausian-blur 2",
        (1, 16),
        "unknown operator 'gausian-blur'; did you mean 'gaussian-blur'?",
    );
    assert_refused("exposure stop=1", (1, 10), "no parameter 'stop'; did you mean 'stops'?");
    assert_refused("exposure 99", (1, 10), "'stops' must be a number from -20 to 20, found 99");
    assert_refused("exposure nan", (1, 10), "found nan");
    assert_refused("exposure 1e99", (1, 10), "found inf");
    assert_refused("gaussian-blur 2 edge=miror", (1, 22), "did you mean 'mirror'?");
    assert_refused("gaussian-blur -1", (1, 15), "'sigma' must be");
    assert_refused("exposure 1 2", (1, 12), "takes one argument, stops");
    assert_refused("exposure 1 gamma 2", (1, 12), "is there a '|' missing before 'gamma'?");
    assert_refused("invert\n| exposure gamma 2", (2, 12), "is there a '|' missing before 'gamma'?");
    assert_refused("exposure 1 stops=2", (1, 12), "given twice");
    assert_refused("exposure 1\ngamma 2", (1, 1), "nothing uses this chain");
    assert_refused("exposure 1 |", (1, 13), "an operator expected, found the end of the text");
    assert_refused("", (1, 1), "no operator");
    assert_refused("input a", (1, 8), "no operator");
    assert_refused("base = exposure 1; @bas | gamma 2", (1, 20), "did you mean '@base'?");
    assert_refused("@gamma", (1, 1), "without '@'");
    assert_refused("input photo; @in | gamma 2", (1, 14), "nothing before this is named 'in'");
    assert_refused("exposure 1 | @in", (1, 14), "'@' starts a chain");
    assert_refused("a = exposure 1; a = gamma 2", (1, 17), "'a' is a name already, given in line 1");
    assert_refused("exposure 1 as a | gamma 2 as a", (1, 30), "two nodes are named 'a'");
    assert_refused("exposure 1 -> a, a", (1, 18), "two outputs are named 'a'");
    assert_refused("exposure 1 -> a:rgb9", (1, 17), "did you mean 'rgb8'?");
    assert_refused("exposure (1", (1, 10), "reads one picture");
    assert_refused("blend (exposure 1", (1, 7), "this '(' is not closed");
    assert_refused("exposure 1)", (1, 11), "closes nothing");
    assert_refused("convolve [1 2", (1, 10), "this '[' is not closed");
    assert_refused("convolve [1,,2]", (1, 13), "a number or ']' expected");
    assert_refused("lut3d \"x.cube", (1, 7), "not closed");
    assert_refused("lut3d \"\\q\"", (1, 8), "unknown escape");
    assert_refused("exposure ยง & 1", (1, 13), "unexpected character '&'");
    assert_refused("solid #12345", (1, 7), "3, 4, 6 or 8");
    assert_refused("invert @in", (1, 8), "reads one picture");
}

#[test]
fn hostile_text_meets_limits() {
    let deep = |depth: usize| format!("{}invert{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(shape(&deep(64)).len(), 3);
    assert_refused(&deep(65), (1, 65), "64 deep");
    assert_refused(&"(".repeat(1 << 20), (1, 65), "64 deep");
    let long = "invert | ".repeat(GraphData::NODE_LIMIT) + "invert";
    assert!(refused(&long).2.contains("number of nodes is 4097, over the limit of 4096"));
    let inputs = format!("input {}; invert", (0..5000).map(|index| format!("i{index}")).collect::<Vec<_>>().join(","));
    assert!(refused(&inputs).2.contains("over the limit of 4096"));
    let outputs = format!("invert -> {}", (0..5000).map(|index| format!("o{index}")).collect::<Vec<_>>().join(","));
    assert!(refused(&outputs).2.contains("number of outputs is 4097"));
    assert_refused(&"x".repeat(100_000), (1, 1), "the longest name has 256");
    assert_refused(&format!("convolve [{}]", "1 ".repeat(100_000)), (1, 10), "must be");
    assert!(refused(&format!("convolve [{}]", "1 ".repeat(100_000))).2.len() < 2000);
    assert!(matches!(Graph::parse(&" ".repeat(5 << 20)), Err(Error::Limit { .. })));
    assert!(matches!(Graph::parse(&format!("lut3d \"{}\"", "\\u".repeat(1 << 20))), Err(Error::Parse { .. })));
}

#[test]
fn printed_as_a_person_would_write() {
    let printed = |text: &str| Graph::parse(text).and_then(|graph| graph.to_text()).expect("the test's text is good");
    for text in [
        "exposure 0.7 | gaussian-blur 2 | saturation 1.2",
        "exposure 0.7 as boost | gaussian-blur 2 edge=mirror",
        "solid #336699",
        "exposure 1 | resize 640 480 -> out:rgba8",
        "input photo, mask\nexposure = @photo | exposure 1\ngaussian-blur = @exposure | gaussian-blur 8\n\
         @exposure | blend @gaussian-blur @mask screen",
        "exposure = exposure 1 -> \"first one\"\n@exposure | gamma 2 -> second",
    ] {
        assert_eq!(printed(text), text);
        assert_round_trip(&parsed(text));
    }
}

#[test]
fn odd_graphs_round_trip() {
    // An input that nobody reads, an output that is an input, an output before another of a later node, dead nodes.
    let mut data = GraphData::default();
    let first = data.input("x");
    let exposure = data.apply("exposure", [], vec![first]).expect("good");
    let second = data.input("in");
    let gamma = data.apply("gamma", [], vec![exposure]).expect("good");
    let dead = data.apply("invert", [], vec![gamma]).expect("good");
    data.apply("invert", [], vec![dead]).expect("good");
    data.output("b", gamma, None).expect("good");
    data.output("a", exposure, Some(PixelFormat::R8)).expect("good");
    data.output("out", second, None).expect("good");
    assert_round_trip(&data);

    let mut data = GraphData::default();
    let input = data.input("in");
    let solid = data.apply("solid", [], vec![]).expect("good");
    let blend = data.apply("blend", [], vec![solid, input, solid]).expect("good");
    data.rename(solid, "blend-7").expect("good");
    data.rename(blend, "solid").expect("good");
    data.output("out", solid, None).expect("good");
    assert_round_trip(&data);
}

#[test]
fn what_cannot_be_printed() {
    let own = CustomOperator::point("warm", "fn warm(color: vec4f) -> vec4f { return color; }").expect("good WGSL");
    let graph = Graph::new();
    graph.output("out", &graph.input("in").custom(&Arc::new(own), &[]));
    let error = graph.to_text().expect_err("text has no custom operators").to_string();
    assert!(error.contains("node 'warm'") && error.contains("JSON"), "{error}");
    assert!(matches!(Graph::new().to_text(), Err(Error::BadGraph(_))));
}

#[test]
fn set_text_changes_a_value() {
    let mut data = parsed("exposure 1 as boost | gaussian-blur 2");
    data.set_text("boost.stops", "-50%").expect("good");
    data.set_text("gaussian-blur.edge", "wrap").expect("good");
    data.set_text("gaussian-blur.edge-color", "#123").expect("good");
    assert_eq!(
        Graph::from_data(data.clone()).to_text().expect("good"),
        "exposure -0.5 as boost | gaussian-blur 2 edge=wrap edge-color=#112233"
    );
    for (path, value, part) in [
        ("bost.stops", "1", "did you mean 'boost'?"),
        ("boost.stop", "1", "did you mean 'stops'?"),
        ("boost.stops", "nan", "found nan"),
        ("boost.stops", "1 2", "one value expected"),
        ("boost.stops", "", "a value expected"),
        ("boost", "1", "node.parameter"),
        ("in.x", "1", "has no parameters"),
    ] {
        let before = data.clone();
        let error = data.set_text(path, value).expect_err(path).to_string();
        assert!(error.contains(part), "{path}={value}: {error}");
        assert_eq!(data, before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_graphs_round_trip(seed: u64) {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(CUBE).expect("it can be written");
        let content = FileContent::read(file.path().to_str().expect("temporary paths are text")).expect("just written");
        let mut choices = Seed(seed);
        let size = 1 + (seed % 24) as u32;
        assert_round_trip(&random_graph(&mut choices, size, Some(&content)));
    }

    #[test]
    fn any_text_gives_a_graph_or_an_error(text in r#"([a-z@|=;,:()#"\[\]>0-9 .%\n-]|exposure|blend|input |linear\(| as |->|@in){0,60}"#) {
        if let Ok(graph) = Graph::parse(&text) {
            assert_round_trip(&graph.data());
        }
    }
}
