//! The JSON form: what it accepts in which order, what it refuses and how, and that everything printed reads back the same.

mod random_graph;

use cyanotype::op::FileContent;
use cyanotype::{Argument, CustomOperator, Error, Graph, GraphData};
use proptest::prelude::*;
use random_graph::{Choices, Seed, random_graph};
use std::io::Write;
use std::sync::Arc;

fn parsed(json: &str) -> GraphData {
    match Graph::from_json(json) {
        Ok(graph) => graph.data(),
        Err(error) => panic!("{json}: {error}"),
    }
}

fn printed(data: &GraphData) -> String {
    Graph::from_data(data.clone()).to_json().unwrap_or_else(|error| panic!("{error}\n{data:#?}"))
}

#[track_caller]
fn assert_round_trip(data: &GraphData) {
    let json = printed(data);
    let again = parsed(&json);
    // Debug output tells 0.0 and -0.0 apart, which equality does not.
    assert_eq!(format!("{again:?}"), format!("{data:?}"), "{json}");
    assert_eq!(&again, data, "{json}");
    assert_eq!(printed(&again), json);
}

fn refused(json: &str) -> Error {
    match Graph::from_json(json) {
        Err(error) => error,
        Ok(graph) => panic!("{json}: was read as {:?}", graph.data()),
    }
}

#[track_caller]
fn assert_refused(json: &str, part: &str) {
    let error = refused(json);
    assert!(error.to_string().contains(part), "{json}: {error}");
}

/// A document with these nodes, an input `in` and an output of the node `a`.
fn with_nodes(nodes: &str) -> String {
    format!(r#"{{"version": 1, "inputs": ["in"], "nodes": [{nodes}], "outputs": [{{"name": "out", "node": "a"}}]}}"#)
}

#[test]
fn printed_a_node_to_a_line() {
    let data =
        Graph::parse("input photo; exposure 0.7 as boost | resize 640 480 area -> out:rgba8").expect("good").data();
    assert_eq!(
        printed(&data),
        r#"{
  "version": 1,
  "inputs": ["photo"],
  "nodes": [
    {"name": "boost", "operator": "exposure", "inputs": ["photo"], "parameters": {"stops": 0.7}},
    {"name": "resize", "operator": "resize", "inputs": ["boost"], "parameters": {"width": 640, "height": 480, "filter": "area", "antialias": true}}
  ],
  "outputs": [
    {"name": "out", "node": "resize", "format": "rgba8"}
  ]
}
"#
    );
    assert_round_trip(&data);
}

#[test]
fn nodes_in_any_order() {
    let nodes = [
        r#"{"name": "c", "operator": "gamma", "inputs": ["b"]}"#,
        r#"{"name": "a", "operator": "blend", "inputs": ["c", "b"]}"#,
        r#"{"name": "b", "operator": "exposure", "inputs": ["in"], "parameters": {"stops": 1}}"#,
        r#"{"name": "d", "operator": "invert", "inputs": ["in"]}"#,
    ];
    let names = |data: &GraphData| data.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    let data = parsed(&with_nodes(&nodes.join(",")));
    // `b` as soon as something needs it, the others as they stand.
    assert_eq!(names(&data), ["in", "b", "c", "a", "d"]);
    assert_round_trip(&data);
    // In an order that is good already nothing moves.
    let good = with_nodes(&[nodes[3], nodes[2], nodes[0], nodes[1]].join(","));
    assert_eq!(names(&parsed(&good)), ["in", "d", "b", "c", "a"]);
}

#[test]
fn keys_may_be_left_out() {
    let json =
        r#"{"outputs": [{"node": "a", "name": "out"}], "nodes": [{"operator": "solid", "name": "a"}], "version": 1}"#;
    let data = parsed(json);
    assert_eq!(data, Graph::parse("solid as a").expect("good").data());
}

#[test]
fn values() {
    let value = |operator: &str, parameter: &str, json: &str| {
        let node = format!(
            r#"{{"name": "a", "operator": "{operator}", "parameters": {{"{parameter}": {json}}}, "inputs": []}}"#
        );
        let node = if operator == "solid" { node } else { node.replace("[]", r#"["in"]"#) };
        let data = parsed(&with_nodes(&node));
        let handle = data.find_parameter(&format!("a.{parameter}")).expect("there is one");
        data.get(&handle).expect("there is one")
    };
    assert_eq!(value("exposure", "stops", "0.7"), Argument::Float(0.7));
    assert_eq!(value("exposure", "stops", "1e-45"), Argument::Float(f32::from_bits(1)));
    assert_eq!(value("exposure", "stops", "2"), Argument::Float(2.0));
    assert_eq!(value("resize", "width", "640.0"), Argument::Integer(640));
    assert_eq!(value("resize", "antialias", "false"), Argument::Switch(false));
    assert_eq!(value("resize", "filter", r#""area""#), Argument::Choice("area".into()));
    assert_eq!(value("solid", "color", r##""#ff000000""##), Argument::Color([1.0, 0.0, 0.0, 0.0]));
    assert_eq!(value("solid", "color", "[0, 0.5, 1]"), Argument::Color([0.0, 0.5, 1.0, 1.0]));
    assert_eq!(value("convolve", "kernel", "[1]"), Argument::Floats(vec![1.0]));
}

#[test]
fn files_by_path() {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(CUBE).expect("it can be written");
    let path = file.path().to_str().expect("temporary paths are text");
    let node = |file: &str| {
        format!(r#"{{"name": "a", "operator": "lut3d", "inputs": ["in"], "parameters": {{"file": {file}}}}}"#)
    };
    let one = parsed(&with_nodes(&node(&format!("{path:?}"))));
    assert_eq!(one, parsed(&with_nodes(&node(&format!(r#"{{"path": {path:?}}}"#)))));
    assert_round_trip(&one);
    assert_refused(&with_nodes(&node(r#"{"path": "nowhere.cube"}"#)), "node 'a': nowhere.cube");
    assert_refused(&with_nodes(&node(r#"{"path": "x", "bytes": ""}"#)), "a file has no key 'bytes'");
}

const CUBE: &[u8] = b"LUT_3D_SIZE 2\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n";

#[test]
fn custom_operators_round_trip() {
    let warm = "fn warm(color: vec4f, amount: f32, fade: f32) -> vec4f { return color * amount + fade; }";
    let point = CustomOperator::point("warm", warm)
        .and_then(|operator| operator.parameter("amount", 0.1, -1.0..=1.0))
        .and_then(|operator| operator.parameter("fade", 0.0, f32::NEG_INFINITY..=7.5))
        .expect("good WGSL");
    let area = "fn middle(window: array<vec4f, 9>) -> vec4f { return window[4]; }";
    let area = CustomOperator::area("middle", area, 1).expect("good WGSL");
    let graph = Graph::new();
    let point = Arc::new(point);
    let out = graph.input("in").custom(&point, &[("amount", 0.3)]).custom(&Arc::new(area), &[]).custom(&point, &[]);
    graph.output("out", &out);
    assert_round_trip(&graph.data());

    // Two that cannot be told apart by name.
    let other = CustomOperator::point("warm", "fn warm(color: vec4f) -> vec4f { return color; }").expect("good WGSL");
    graph.output("other", &graph.input("in").custom(&Arc::new(other), &[]));
    assert!(graph.to_json().expect_err("two of one name").to_string().contains("'warm'"));
}

#[test]
fn custom_operators_are_checked() {
    let json = |custom: &str, node: &str| {
        with_nodes(&format!(r#"{{"name": "a", "inputs": ["in"], {node}}}"#)).replacen(
            '{',
            &format!(r#"{{"custom": [{custom}], "#),
            1,
        )
    };
    let warm = r#"{"name": "warm", "kind": "point", "wgsl": "fn warm(color: vec4f, x: f32) -> vec4f { return color * x; }", "parameters": [{"name": "x", "max": 2}]}"#;
    let node = r#""operator": "warm", "parameters": {"x": 1.5}"#;
    assert_round_trip(&parsed(&json(warm, node)));
    assert_refused(&json(warm, &node.replace("1.5", "3")), "node 'a': warm: parameter 'x' must be");
    assert_refused(&json(warm, &node.replace("1.5", "true")), "found NaN");
    assert_refused(&json(warm, &node.replace("\"x\"", "\"y\"")), "has no parameter 'y'");
    assert_refused(&json(warm, &node.replace("warm", "worm")), "did you mean 'warm'?");
    assert_refused(&json(&warm.replace("point", "warp"), node), "its kind is 'point' or 'area', not 'warp'");
    assert_refused(&json(&warm.replace("point", "area"), node), "needs a radius");
    assert_refused(&json(&format!("{warm},{warm}"), node), "the name is given twice");
    let error = refused(&json(&warm.replace("return color * x", "return colour"), node));
    assert!(matches!(error, Error::Shader { line: 1, .. }), "{error}");
}

#[test]
fn mistakes_in_the_json_have_a_place() {
    let place = |json: &str| match refused(json) {
        Error::Parse { line, column, message } => (line, column, message),
        other => panic!("{json}: another error, {other}"),
    };
    assert_eq!(place("{\n \"version\": 1,,").0, 2);
    let (line, _, message) = place(&with_nodes("\n{\"name\": \"a\", \"operater\": \"invert\"}"));
    assert_eq!((line, message.as_str()), (2, "a node has no key 'operater'; did you mean 'operator'?"));
    let (_, _, message) = place(r#"{"version": 1, "colour": 2}"#);
    assert_eq!(message, "the graph has no key 'colour'; known are version, nodes, outputs, inputs, custom");
    for (json, part) in [
        ("", "EOF"),
        ("[]", "the graph, an object"),
        (r#"{"version": 1, "version": 1}"#, "twice"),
        (r#"{"version": 1, "nodes": [], "inputs": []}"#, "needs the key 'outputs'"),
        (&with_nodes(r#"{"name": "a"}"#), "a node needs the key 'operator'"),
        (
            &with_nodes(r#"{"name": "a", "operator": "exposure", "parameters": {"stops": null}}"#),
            "a number, true, false",
        ),
        (
            &with_nodes(r#"{"name": "a", "operator": "exposure", "parameters": {"stops": 1, "stops": 2}}"#),
            "given twice",
        ),
        (&with_nodes(r#"{"name": "a", "operator": "exposure", "parameters": {"stops": [[1]]}}"#), "expected f64"),
        (&with_nodes(&"[".repeat(1000)), "a node, an object"),
        (&with_nodes(r#"{"name": "a", "operator": "exposure", "parameters": {"stops": NaN}}"#), "expected value"),
        (&(with_nodes(r#"{"name": "a", "operator": "invert", "inputs": ["in"]}"#) + "x"), "trailing"),
    ] {
        let (_, _, message) = place(json);
        assert!(message.contains(part), "{json}: {message}");
    }
}

#[test]
fn mistakes_in_the_graph_name_the_node() {
    assert_refused(
        &with_nodes(r#"{"name": "a", "operator": "exposur", "inputs": ["in"]}"#),
        "node 'a': unknown operator 'exposur'; did you mean 'exposure'?",
    );
    assert_refused(
        &with_nodes(r#"{"name": "a", "operator": "exposure", "inputs": ["in"], "parameters": {"stop": 1}}"#),
        "node 'a': operator 'exposure' has no parameter 'stop'; did you mean 'stops'?",
    );
    assert_refused(
        &with_nodes(r#"{"name": "a", "operator": "exposure", "inputs": ["in"], "parameters": {"stops": 1e39}}"#),
        "must be a number from -20 to 20, found inf",
    );
    assert_refused(
        &with_nodes(r#"{"name": "a", "operator": "exposure"}"#),
        "node 'a': exposure: reads 1 picture, given 0",
    );
    assert_refused(
        &with_nodes(r#"{"name": "a", "operator": "invert", "inputs": ["im"]}"#),
        "node 'a' reads 'im', which is no node; did you mean 'in'?",
    );
    assert_refused(
        &with_nodes(r#"{"name": "b", "operator": "invert", "inputs": ["in"]}"#),
        "output 'out' gives 'a', which is no node; did you mean 'b'?",
    );
    assert_refused(
        &with_nodes(r#"{"name": "in", "operator": "invert", "inputs": ["in"]}"#),
        "two nodes are named 'in'",
    );
    assert_refused(&with_nodes(r#"{"name": "x", "operator": "input"}"#), "\"inputs\" does not name it");
    assert_refused(&with_nodes(r#"{"name": "in", "operator": "input", "inputs": ["in"]}"#), "circle");
    assert_refused(&with_nodes("").replace(r#"[{"name": "out", "node": "a"}]"#, "[]"), "no output");
    assert_refused(
        &with_nodes("").replace(r#""a""#, r#""in", "format": "rgb9""#),
        "output 'out': no pixel format named 'rgb9'; did you mean 'rgb8'?",
    );
    assert_refused(&with_nodes("").replace(r#"["in"]"#, r#"["in", "in"]"#), "names 'in' twice");
    let twice = with_nodes(r#"{"name": "a", "operator": "invert", "inputs": ["in"]}"#);
    let twice = twice
        .replace(r#"{"name": "out", "node": "a"}"#, r#"{"name": "out", "node": "a"}, {"name": "out", "node": "in"}"#);
    assert_refused(&twice, "two outputs are named 'out'");
    assert_refused(r#"{"version": 2, "layers": []}"#, "version 2 of the JSON form; this program reads version 1");
}

#[test]
fn cycles_are_named() {
    let nodes = r#"
        {"name": "x", "operator": "invert", "inputs": ["a"]},
        {"name": "a", "operator": "invert", "inputs": ["b"]},
        {"name": "b", "operator": "invert", "inputs": ["c"]},
        {"name": "c", "operator": "blend", "inputs": ["in", "a"]}"#;
    let error = refused(&with_nodes(nodes));
    assert!(matches!(error, Error::BadGraph(_)));
    assert_eq!(error.to_string(), "bad graph: nodes read each other in a circle: 'a' reads 'b' reads 'c' reads 'a'");
    assert_refused(&with_nodes(r#"{"name": "a", "operator": "invert", "inputs": ["a"]}"#), "circle: 'a' reads 'a'");
    let long: Vec<String> = (0..3000)
        .map(|index| format!(r#"{{"name": "n{index}", "operator": "invert", "inputs": ["n{}"]}}"#, (index + 1) % 3000))
        .collect();
    let message = refused(&with_nodes(&long.join(","))).to_string();
    assert!(message.contains("reads ... reads 'n0'") && message.len() < 400, "{message}");
}

#[test]
fn hostile_json_meets_limits() {
    let many: Vec<String> = (0..5000).map(|index| format!(r#"{{"name": "{index}", "operator": "solid"}}"#)).collect();
    assert!(matches!(refused(&with_nodes(&many.join(","))), Error::Limit { found: 5001, .. }));
    let long = "x".repeat(1 << 20);
    assert!(matches!(refused(&with_nodes(&format!(r#"{{"name": "a", "operator": "{long}"}}"#))), Error::Limit { .. }));
    assert!(refused(&format!(r#"{{"{long}": 1}}"#)).to_string().len() < 400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_graphs_round_trip(seed: u64) {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(CUBE).expect("it can be written");
        let content = FileContent::read(file.path().to_str().expect("temporary paths are text")).expect("just written");
        let data = random_graph(&mut Seed(seed), 1 + (seed % 24) as u32, Some(&content));
        assert_round_trip(&data);
    }

    #[test]
    fn shuffled_nodes_make_the_same_graph(seed: u64) {
        let mut choices = Seed(seed);
        let data = random_graph(&mut choices, 12, None);
        let mut lines: Vec<String> = printed(&data).lines().map(str::to_string).collect();
        let first = lines.iter().position(|line| line.contains("\"nodes\": [")).expect("there are nodes") + 1;
        let last = lines.iter().rposition(|line| line.starts_with("    {\"name\": ") && line.contains("\"operator\"")).expect("there are nodes");
        for index in (first + 1..=last).rev() {
            let other = first + choices.below((index - first + 1) as u32) as usize;
            lines.swap(index, other);
        }
        let (nodes, rest) = lines.split_at_mut(last + 1);
        for line in &mut nodes[first..] {
            *line = format!("{},", line.trim_end_matches(','));
        }
        let end = nodes.last_mut().expect("there are nodes");
        *end = end.trim_end_matches(',').to_string();
        let shuffled = parsed(&[&*nodes, &*rest].concat().join("\n"));
        // The same nodes by name, each reading the same.
        let described = |data: &GraphData| {
            let mut all: Vec<String> = data
                .nodes
                .iter()
                .map(|node| {
                    let inputs: Vec<&str> = node.inputs.iter().map(|input| data.nodes[*input].name.as_str()).collect();
                    format!("{:?} {:?} {inputs:?}", node.name, node.content)
                })
                .collect();
            all.sort();
            all
        };
        assert_eq!(described(&shuffled), described(&data));
    }

    #[test]
    fn floats_are_exact(bits: u32) {
        let value = f32::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut data = GraphData::default();
        let input = data.input("in");
        let node = data.apply("convolve", [("kernel".to_string(), Argument::Floats(vec![value]))], vec![input]).expect("good");
        data.output("out", node, None).expect("good");
        let again = parsed(&printed(&data));
        let Argument::Floats(list) = again.get(&again.find_parameter("convolve.kernel").expect("there")).expect("there") else {
            panic!("a list stays a list");
        };
        assert_eq!(list[0].to_bits(), bits);
    }
}
