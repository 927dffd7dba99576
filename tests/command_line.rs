//! The command line, by running it: pictures in and out, what is refused and with which exit code, what help says. On the
//! CPU backend, which every machine has.

#![cfg(feature = "cli")]

use cyanotype::{Description, Image, PixelFormat};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PHOTOGRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/chelsea.png");

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cyanotype"));
    command.env_remove("CYANOTYPE_BACKEND").env("COLUMNS", "100").stdin(Stdio::null());
    command
}

/// Runs with the CPU backend.
fn run(arguments: &[&str]) -> Output {
    command().args(["--backend", "cpu"]).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes text")
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs, expects the exit code, and returns standard error. Nothing may be on standard output, and nothing may panic.
#[track_caller]
fn fails(code: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(!error.contains("panicked"), "{error}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    error
}

#[track_caller]
fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in:\n{text}");
}

/// A folder with a photograph, `photo.png`.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(TempDir::new().expect("a temporary folder can be made"));
        fs::copy(PHOTOGRAPH, folder.path("photo.png")).expect("the photograph can be copied");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("temporary paths are text").to_string()
    }

    fn names(&self) -> Vec<String> {
        names(self.0.path())
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_photograph_to_another() {
    let folder = Folder::new();
    let (photo, print) = (folder.text("photo.png"), folder.text("print.png"));
    assert_eq!(succeeds(&["apply", &photo, &print, "invert"]), "");
    let (before, after) = (Image::open(&photo).expect("a picture"), Image::open(&print).expect("a picture"));
    assert_eq!(after.description(), before.description());
    assert!(before.bytes().iter().zip(after.bytes()).all(|(before, after)| *after == 255 - before));
    // No temporary file stays behind.
    assert_eq!(folder.names(), ["photo.png", "print.png"]);
    // Another format, another chain, an output that exists.
    let jpeg = folder.text("small.jpg");
    for _ in 0..2 {
        succeeds(&["apply", &photo, &jpeg, "linear(resize 90 60) | exposure 0.5 | saturation 1.2", "--quality", "80"]);
    }
    assert_eq!(Image::open(&jpeg).expect("a picture").width(), 90);
    // A chain that reads no picture makes one of its size.
    let plain = folder.text("plain.png");
    succeeds(&["apply", &photo, &plain, "solid #ff8800"]);
    let plain = Image::open(&plain).expect("a picture");
    assert_eq!((plain.width(), plain.height()), (before.width(), before.height()));
    assert_eq!(plain.pixel(3, 3), [1.0, 136.0 / 255.0, 0.0, 1.0]);
}

#[test]
fn a_parameter_is_set() {
    let folder = Folder::new();
    let (photo, one, two) = (folder.text("photo.png"), folder.text("one.png"), folder.text("two.png"));
    succeeds(&["apply", &photo, &one, "exposure 1 | gamma 2 as bright"]);
    let set = ["--set", "exposure.stops=1", "--set", "bright.gamma = 200%"];
    succeeds(&[&["apply", &photo, &two, "exposure | gamma as bright"][..], &set[..]].concat());
    assert_eq!(Image::open(&one).expect("a picture"), Image::open(&two).expect("a picture"));
    for (setting, part) in [
        ("exposure.stop=1", "has no parameter 'stop'; did you mean 'stops'?"),
        ("exposur.stops=1", "did you mean 'exposure'?"),
        ("exposure.stops=nan", "must be a number from -20 to 20, found nan"),
        ("exposure.stops", "node.parameter=value"),
        // A value has no comment, so this can only be meant as a colour.
        ("exposure.stops=#ggg", "a colour has 3, 4, 6 or 8 hexadecimal digits"),
    ] {
        assert_contains(&fails(2, &["apply", &photo, &two, "exposure", "--set", setting]), part);
    }
}

#[test]
fn the_chain_is_wrong() {
    let folder = Folder::new();
    let (photo, print) = (folder.text("photo.png"), folder.text("print.png"));
    for (chain, part) in [
        (
            "exposure 0.7 | gausian-blur 2",
            "did you mean 'gaussian-blur'?\n  exposure 0.7 | gausian-blur 2\n                 ^",
        ),
        ("exposure NaN", "must be a number from -20 to 20, found NaN"),
        ("gaussian-blur -3", "'sigma' must be a number"),
        ("gaussian-blur 1e9", "'sigma' must be a number"),
        ("exposure 1 -> a; gamma 2 -> b", "1 input and 2 outputs; put it in a file"),
        ("input a, b; blend @b", "2 inputs and 1 output; put it in a file"),
        ("", "no operator"),
        ("lut3d 'nowhere.cube'", "nowhere.cube"),
    ] {
        assert_contains(&fails(2, &["apply", &photo, &print, chain]), part);
    }
    assert_eq!(folder.names(), ["photo.png"]);
}

#[test]
fn files_are_wrong() {
    let folder = Folder::new();
    let (photo, print) = (folder.text("photo.png"), folder.text("print.png"));
    assert_contains(&fails(1, &["apply", &folder.text("none.png"), &print, "invert"]), "none.png");
    let bytes = fs::read(&photo).expect("it was copied there");
    for (name, bytes) in [("cut.png", &bytes[..bytes.len() / 2]), ("empty.png", &[]), ("noise.png", &[7; 1000])] {
        fs::write(folder.path(name), bytes).expect("it can be written");
        assert_contains(&fails(1, &["apply", &folder.text(name), &print, "invert"]), name);
    }
    let claims_much = b"P6 65535 65535 255\n";
    fs::write(folder.path("large.ppm"), claims_much).expect("it can be written");
    assert_contains(&fails(1, &["apply", &folder.text("large.ppm"), &print, "invert"]), "limit");
    fs::write(folder.path("wide.ppm"), b"P6 65536 1 255\n").expect("it can be written");
    let error = fails(1, &["apply", &folder.text("wide.ppm"), &print, "invert"]);
    assert_contains(&error, "wide.ppm: width of the picture is 65536, over the limit of 65535");
    assert_contains(&fails(1, &["apply", "", &print, "invert"]), "error: an empty path: ");
    assert_contains(&fails(2, &["apply", &photo, "", "invert"]), "error: an empty path ");
    assert_contains(&fails(2, &["apply", &photo, "", &folder.text("out/"), "invert"]), "error: '' names no file");
    assert_contains(&fails(2, &["apply", &photo, &folder.text("print.docx"), "invert"]), "unknown picture format");
    assert_contains(&fails(1, &["apply", &photo, &folder.text("none/print.png"), "invert"]), "none");
    assert_contains(&fails(1, &["apply", &folder.text(""), &print, "invert"]), "error: ");
    assert!(!folder.path("print.png").exists());
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = Folder::new();
    let photo = folder.text("photo.png");
    let before = fs::read(&photo).expect("it was copied there");
    let mut same = vec![photo.clone(), folder.text("./photo.png"), folder.text("../").to_string() + &photo[1..]];
    same.truncate(2);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("photo.png", folder.path("link.png")).expect("links can be made");
        fs::hard_link(&photo, folder.path("hard.png")).expect("links can be made");
        std::os::unix::fs::symlink(".", folder.path("here")).expect("links can be made");
        same.extend([folder.text("link.png"), folder.text("hard.png"), folder.text("here/photo.png")]);
    }
    for output in &same {
        assert_contains(&fails(2, &["apply", &photo, output, "invert"]), "give --overwrite to replace it");
    }
    // Neither through a folder.
    let folder_name = folder.0.path().to_str().expect("temporary paths are text");
    assert_contains(&fails(2, &["apply", &photo, folder_name, "invert"]), "--overwrite");
    assert_eq!(fs::read(&photo).expect("it is still there"), before);
    succeeds(&["apply", &photo, &photo, "invert", "--overwrite"]);
    assert_ne!(fs::read(&photo).expect("it is still there"), before);
}

#[test]
fn numbers_are_json() {
    let folder = Folder::new();
    let photo = folder.text("photo.png");
    let read = |text: &str| serde_json::from_str::<Vec<[f64; 4]>>(text).expect("JSON, entries of four numbers");
    let histogram = read(&succeeds(&["apply", &photo, "-", "histogram"]));
    let pixels = Image::open(&photo).expect("a picture").description().pixel_count() as f64;
    assert_eq!(histogram.len(), 256);
    for channel in 0..4 {
        assert_eq!(histogram.iter().map(|entry| entry[channel]).sum::<f64>(), pixels);
    }
    succeeds(&["apply", &photo, &folder.text("mean.json"), "mean"]);
    let mean = read(&fs::read_to_string(folder.path("mean.json")).expect("it was written"));
    assert!(mean.len() == 1 && mean[0].iter().all(|value| *value > 0.0 && *value <= 1.0), "{mean:?}");
    assert_contains(&fails(2, &["apply", &photo, &folder.text("mean.png"), "mean"]), "name a .json file");
    assert_contains(&fails(2, &["apply", &photo, "-", "invert"]), "is a picture");
    assert_contains(&fails(2, &["apply", &photo, &folder.text("a.json"), "invert"]), "is a picture");
    assert_eq!(folder.names(), ["mean.json", "photo.png"]);
}

#[test]
fn many_to_a_folder() {
    let folder = Folder::new();
    let mut inputs = Vec::new();
    for index in 0..9u32 {
        let description = Description::new(20 + index % 3, 10, PixelFormat::Rgb8);
        let image = Image::new(description, vec![index as u8; description.byte_count()]).expect("as many bytes");
        let name = folder.text(&format!("{index}.{}", if index % 2 == 0 { "png" } else { "bmp" }));
        image.save(&name).expect("it can be written");
        inputs.push(name);
    }
    fs::write(folder.path("bad.png"), "no picture").expect("it can be written");
    let bad = folder.text("bad.png");
    let out = folder.text("out/deep");
    let arguments = |inputs: &[String], rest: &[&str]| -> Vec<String> {
        std::iter::once("apply".to_string())
            .chain(inputs.iter().cloned())
            .chain(rest.iter().map(|part| part.to_string()))
            .collect()
    };
    let all = arguments(&inputs, &[&out, "invert", "--jobs", "2"]);
    succeeds(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(names(Path::new(&out)).len(), 9);
    let last = Image::open(folder.path("out/deep/8.png")).expect("a picture");
    assert!(last.bytes().iter().all(|byte| *byte == 255 - 8));

    // One bad picture does not stop the others.
    let mut with_bad = inputs.clone();
    with_bad.insert(1, bad);
    let out = folder.text("other/");
    let all = arguments(&with_bad, &[&out, "invert", "--extension", "qoi"]);
    let error = fails(1, &all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_contains(&error, "bad.png");
    assert_contains(&error, "1 of 10 pictures failed");
    assert_eq!(names(Path::new(&out)).len(), 9);

    // Two inputs of one name would become one file.
    let twice = [inputs[0].clone(), folder.text("out/deep/0.png")];
    let all = arguments(&twice, &[&folder.text("third"), "invert"]);
    assert_contains(&fails(2, &all.iter().map(String::as_str).collect::<Vec<_>>()), "two outputs go to one file");
    assert!(!folder.path("third").exists());
    // Several pictures need a folder.
    let all = arguments(&inputs[..2], &[&inputs[2], "invert"]);
    assert_contains(&fails(2, &all.iter().map(String::as_str).collect::<Vec<_>>()), "no folder");
}

#[test]
fn graphs_from_files() {
    let folder = Folder::new();
    let photo = folder.text("photo.png");
    let graph = "input base, top, unused\nmixed = @base | blend @top screen -> mixed\n@mixed | histogram -> counts\n@unused -> rest\n";
    fs::write(folder.path("graph.txt"), graph).expect("it can be written");
    let json = cyanotype::Graph::parse(graph).and_then(|graph| graph.to_json()).expect("a good graph");
    fs::write(folder.path("graph.json"), &json).expect("it can be written");
    let (one, two, counts) = (folder.text("one.png"), folder.text("two.png"), folder.text("counts.json"));
    let (base, top) = (format!("base={photo}"), format!("top={photo}"));
    for (graph, output) in [("graph.txt", &one), ("graph.json", &two)] {
        let graph = folder.text(graph);
        let outputs = [format!("mixed={output}"), format!("counts={counts}")];
        let inputs = ["--input", &base, "--input", &top];
        succeeds(&[&["run", &graph][..], &inputs[..], &["-o", &outputs[0], "-o", &outputs[1]][..]].concat());
    }
    assert_eq!(fs::read(&one).expect("it was written"), fs::read(&two).expect("it was written"));

    let graph = folder.text("graph.json");
    let mixed = format!("mixed={one}");
    for (arguments, part) in [
        (&["-i", &base, "-o", &mixed][..], "input 'top' has no file"),
        (&["-i", &base, "-i", "tip=x.png", "-o", &mixed], "did you mean 'top'?"),
        (&["-i", &base, "-i", &base, "-o", &mixed], "given twice"),
        (&["-i", &base, "-i", &top, "-o", "mixt=x.png"], "no output named 'mixt'; did you mean 'mixed'?"),
        (&["-i", "x.png", "-o", &mixed], "NAME=FILE"),
        (&["-i", &base, "-i", &top, "-o", &format!("mixed={photo}")], "--overwrite"),
        (&["-i", &base, "-i", &top, "-o", &format!("mixed={graph}")], "--overwrite"),
        (&["-i", &base, "-i", &top, "-o", &mixed, "-o", &format!("rest={one}")], "two outputs go to one file"),
    ] {
        // `rest` needs `unused`, which comes first in some of these.
        let error = fails(2, &[&["run", &graph][..], arguments].concat());
        assert!(error.contains(part) || (part.starts_with("two") && error.contains("'unused'")), "{part}: {error}");
    }
    assert_eq!(fs::read_to_string(&graph).expect("it is still there"), json);
    fs::write(folder.path("bad.json"), json.replace("\"blend\"", "\"blond\"")).expect("it can be written");
    let error = fails(2, &["run", &folder.text("bad.json"), "-o", &mixed]);
    assert_contains(&error, "bad.json");
    assert_contains(&error, "did you mean 'blend'?");
    assert_contains(&fails(1, &["run", &folder.text("none.json"), "-o", &mixed]), "none.json");
}

/// Files that are none, or that claim to be larger than what is worth reading.
#[test]
fn what_has_no_end_is_not_read_to_the_end() {
    let folder = Folder::new();
    let out = folder.text("out.png");
    // Longer than memory; it begins like no picture.
    fs::File::create(folder.path("long.png")).and_then(|file| file.set_len(6 << 30)).expect("sparse files can be made");
    assert_contains(&fails(1, &["apply", &folder.text("long.png"), &out, "invert"]), "cannot decode");
    #[cfg(unix)]
    {
        assert_contains(&fails(1, &["apply", "/dev/zero", &out, "invert"]), "/dev/zero");
        assert_contains(&fails(1, &["run", "/dev/zero", "-i", "a=a.png", "-o", "out=a.png"]), "bytes at most");
    }
    assert!(!Path::new(&out).exists());
}

/// One file by two spellings, before it exists; and what only one picture can be written to.
#[test]
fn outputs_that_would_replace_each_other() {
    let folder = Folder::new();
    let photo = folder.text("photo.png");
    fs::write(folder.path("graph.txt"), "input in\n@in | invert -> one\n@in | sepia -> two\n")
        .expect("it can be written");
    let (one, two) = (format!("one={}", folder.text("new.png")), format!("two={}", folder.text("./new.png")));
    let error = fails(2, &["run", &folder.text("graph.txt"), "-i", &photo, "-o", &one, "-o", &two]);
    assert_contains(&error, "two outputs go to one file");
    // Where one of them cannot be written none is.
    let nowhere = format!("two={}", folder.text("nowhere/new.png"));
    let error = fails(1, &["run", &folder.text("graph.txt"), "-i", &photo, "-o", &one, "-o", &nowhere]);
    assert_contains(&error, "nowhere/new.png");
    #[cfg(target_os = "linux")]
    {
        // A link to a file that does not exist yet leads to it; links in a circle lead nowhere.
        let link =
            |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.path(name)).expect("it can be made");
        link("new.png", "link.png");
        let linked = format!("two={}", folder.text("link.png"));
        let error = fails(2, &["run", &folder.text("graph.txt"), "-i", &photo, "-o", &one, "-o", &linked]);
        assert_contains(&error, "two outputs go to one file");
        succeeds(&["run", &folder.text("graph.txt"), "-i", &photo, "-o", &linked]);
        assert!(folder.path("new.png").is_file() && folder.path("link.png").is_symlink());
        link("circle.png", "circle.png");
        fails(1, &["apply", &photo, &folder.text("circle.png"), "invert"]);
        assert!(folder.path("circle.png").is_symlink());
        for name in ["new.png", "link.png", "circle.png"] {
            fs::remove_file(folder.path(name)).expect("it was there");
        }
        // Where standard output takes no more, no file is written either.
        let numbers = folder.text("numbers.txt");
        fs::write(&numbers, "input in\n@in | invert -> one\n@in | histogram -> numbers\n").expect("it can be written");
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let arguments = ["run", &numbers, "-i", &photo, "-o", &one, "-o", "numbers=-"];
        let status = command().args(arguments).stdout(full).stderr(Stdio::null()).status().expect("it starts");
        assert_eq!(status.code(), Some(1));
        assert!(!folder.path("new.png").exists());
        fs::remove_file(numbers).expect("it was there");
    }
    assert_contains(&fails(2, &["apply", &photo, &photo, "-", "histogram"]), "several need a folder");
    // A graph that is wrong for every picture leaves no folder behind.
    fails(2, &["apply", &photo, &photo, &folder.text("made/"), "mean"]);
    assert_eq!(folder.names(), ["graph.txt", "photo.png"]);
}

#[test]
fn explain_says_what_happens() {
    assert_contains(&fails(1, &["explain", "none.json"]), "none.json: ");
    let chain = "exposure 0.5 | gaussian-blur 3 | saturation 1.2";
    let explained = succeeds(&["explain", chain, "--size", "400x300", "--format", "rgb8"]);
    assert_contains(&explained, "on CPU");
    assert_contains(&explained, "pass 1: ");
    assert_contains(&explained, "400x300");
    let report: serde_json::Value =
        serde_json::from_str(&succeeds(&["explain", chain, "--size", "400x300", "--json"])).expect("JSON");
    for list in ["passes", "textures", "refusals"] {
        assert!(report[list].is_array(), "{report}");
    }
    assert!(report["bytes_read"].as_u64() >= Some(400 * 300 * 3));
    assert!(report["bytes_written"].as_u64() >= Some(400 * 300 * 3));
    let unfused: serde_json::Value =
        serde_json::from_str(&succeeds(&["explain", chain, "--size", "400x300", "--json", "--no-fuse"])).expect("JSON");
    let count = |report: &serde_json::Value| report["passes"].as_array().map_or(0, Vec::len);
    assert!(count(&unfused) > count(&report));
    assert_contains(&succeeds(&["explain", chain, "--wgsl"]), "@compute");
    let with_text: serde_json::Value =
        serde_json::from_str(&succeeds(&["explain", chain, "--wgsl", "--json"])).expect("JSON");
    assert!(with_text["wgsl"][0]["text"].as_str().is_some_and(|text| text.contains("fn ")));

    let two = "input a, b; blend @b";
    assert_contains(&succeeds(&["explain", two, "--size", "64x64", "--format", "a=rgba8", "--format", "r8"]), "rgba8");
    for (arguments, part) in [
        (&["explain", "invert", "--size", "400"][..], "WIDTHxHEIGHT"),
        (&["explain", "invert", "--size", "0x4"], "at least one pixel"),
        (&["explain", "src"], "src is no chain of operators"),
        (&["explain", "invert", "--format", "rgb9"], "did you mean 'rgb8'?"),
        (&["explain", "invert", "--size", "im=4x4"], "did you mean 'in'?"),
        (&["explain", two, "--size", "4x4", "--size", "b=5x5"], "different sizes"),
        (&["explain", "invrt"], "did you mean 'invert'?"),
    ] {
        assert_contains(&fails(2, arguments), part);
    }
}

#[test]
fn operators_are_described() {
    let list = succeeds(&["ops"]);
    for operator in cyanotype::ops::ALL {
        assert_contains(&list, &format!("  {}  ", operator.name).replace("  ", " ").trim_end().replace(' ', "  "));
        let help = succeeds(&["ops", operator.name]);
        assert_contains(&help, &format!("{}: {}", operator.name, operator.summary));
        for parameter in operator.parameters {
            assert_contains(&help, &format!("  {}", parameter.name));
        }
        assert!(help.lines().all(|line| line.chars().count() <= 100 || !line.trim().contains(' ')), "{help}");
    }
    assert_eq!(
        succeeds(&["ops", "exposure"]),
        "exposure: Multiplies the light by 2^stops\n\n\
         value * 2^stops on red, green and blue. Exact in linear light; on encoded values it is the usual\n\
         quick approximation.\n\n\
         Written: exposure [stops]\n\
         Reads: image\n\
         Parameters:\n  \
         stops  a number from -20 to 20 EV; default 0\n         \
         Doubles the light for each whole stop\n"
    );
    let json: serde_json::Value = serde_json::from_str(&succeeds(&["ops", "--json"])).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(cyanotype::ops::ALL.len()));
    let one: serde_json::Value = serde_json::from_str(&succeeds(&["ops", "exposure", "--json"])).expect("JSON");
    assert_eq!(one["parameters"][0]["max"], 20.0);
    let markdown = succeeds(&["ops", "--markdown"]);
    assert_eq!(markdown.lines().filter(|line| line.starts_with("| `")).count(), cyanotype::ops::ALL.len());
    assert_contains(&fails(2, &["ops", "exposur"]), "did you mean 'exposure'?");
    assert_contains(&succeeds(&["ops", "solid"]), "#rgb, #rgba, #rrggbb or #rrggbbaa");
}

#[test]
fn devices_are_listed() {
    let output = succeeds(&["devices"]);
    assert_contains(&output, "CPU backend");
    assert_contains(&output, "With --backend cpu: CPU");
    let json: serde_json::Value = serde_json::from_str(&succeeds(&["devices", "--json"])).expect("JSON");
    assert_eq!(json["devices"][0]["backend"], "cpu");
    assert_contains(json["chosen"].as_str().expect("a text"), "asked for by name");
    // In words, on whatever devices there are.
    let full = succeeds(&["devices", "--full"]);
    assert!(!full.contains("{\"") && !full.contains("not timed"), "{full}");
    let shapes =
        full.lines().filter(|line| line.starts_with("  passes     point ") && line.contains("; area ")).count();
    assert_eq!(shapes + 1, json["devices"].as_array().map_or(0, Vec::len), "{full}");
}

#[test]
fn the_environment_names_a_backend() {
    let with = |backend: &str| {
        command().env("CYANOTYPE_BACKEND", backend).args(["explain", "invert"]).output().expect("the program starts")
    };
    assert_contains(&text(&with("cpu").stdout), "on CPU");
    let wrong = with("vulcan");
    assert_eq!(wrong.status.code(), Some(2));
    assert_contains(&text(&wrong.stderr), "CYANOTYPE_BACKEND: no backend named 'vulcan'; did you mean 'vulkan'?");
    let wrong = run(&["explain", "invert", "--backend", "vulcan"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn times_are_told() {
    let folder = Folder::new();
    let output = run(&["apply", &folder.text("photo.png"), &folder.text("print.png"), "invert", "--time"]);
    let times = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{times}");
    for stage in ["decode", "compile", "run", "upload", "readback", "encode", "total", " ms"] {
        assert_contains(&times, stage);
    }
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_trace_is_written_beside_the_picture() {
    let folder = Folder::new();
    let (photo, print, trace) = (folder.text("photo.png"), folder.text("print.png"), folder.text("trace.json"));
    let output = run(&["apply", &photo, &print, "invert | gaussian-blur 2", "--trace", &trace]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(output.stderr, b"");
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&trace).expect("the file")).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("events");
    assert!(!events.is_empty() && events.iter().all(|event| event["ph"] == "X"), "{json}");
    assert!(events.iter().any(|event| event["name"].as_str().is_some_and(|name| name.contains("invert"))), "{json}");
    // What is not known on the CPU is not told.
    for event in events {
        let known: Vec<&str> = event["args"].as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(known, ["picture", "wall ms"], "{event}");
        assert_eq!(event["args"]["picture"], photo.as_str());
    }
    // An input is not overwritten by it. Where it cannot be written nothing runs.
    fs::remove_file(&print).expect("it was written");
    assert_contains(&fails(2, &["apply", &photo, &print, "invert", "--trace", &photo]), "--overwrite");
    assert_contains(&fails(1, &["apply", &photo, &print, "invert", "--trace", &folder.text("no/t.json")]), "no/t.json");
    assert_contains(&fails(1, &["apply", &photo, &print, "invert", "--trace", &folder.text(".")]), "is a folder");
    assert_contains(
        &fails(1, &["apply", &photo, &folder.text("out/"), "invert", "--trace", &folder.text("no/t")]),
        "no/t",
    );
    assert_eq!(folder.names(), ["photo.png", "trace.json"]);
}

/// The pictures that the events of a trace tell of.
fn pictures_of(trace: &[u8]) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_slice(trace).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let names = events.iter().map(|event| event["args"]["picture"].as_str().expect("a name").to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_batch_is_traced_although_a_picture_fails() {
    let folder = Folder::new();
    let (photo, bad, out) = (folder.text("photo.png"), folder.text("bad.png"), folder.text("out"));
    let other = folder.text("other.png");
    fs::copy(&photo, &other).expect("it can be copied");
    fs::write(&bad, "no picture").expect("it can be written");
    // Inside the folder that is made.
    let trace = folder.text("out/trace.json");
    let error = fails(1, &["apply", &photo, &bad, &other, &out, "invert", "--trace", &trace]);
    assert_contains(&error, "1 of 3 pictures failed");
    assert_eq!(pictures_of(&fs::read(&trace).expect("it was written")), [other.clone(), photo.clone()]);
    // Where none ran there is nothing to tell.
    fails(1, &["apply", &bad, &folder.text("none/"), "invert", "--trace", &folder.text("none.json")]);
    fails(1, &["apply", &bad, &folder.text("none.png"), "invert", "--trace", &folder.text("none.json")]);
    assert_eq!(folder.names(), ["bad.png", "other.png", "out", "photo.png"]);
}

#[test]
fn a_trace_to_standard_output() {
    let folder = Folder::new();
    let (photo, print) = (folder.text("photo.png"), folder.text("print.png"));
    assert_eq!(
        pictures_of(succeeds(&["apply", &photo, &print, "invert", "--trace", "-"]).as_bytes()),
        [photo.as_str()]
    );
    assert_contains(&fails(2, &["apply", &photo, "-", "histogram", "--trace", "-"]), "standard output already");
    // A pipe, which is no file in any folder.
    #[cfg(target_os = "linux")]
    assert_eq!(
        pictures_of(succeeds(&["apply", &photo, &print, "invert", "--trace", "/dev/stdout"]).as_bytes()),
        [photo.as_str()]
    );
}

#[test]
fn only_what_runs_pictures_takes_times() {
    for command in [&["explain", "invert"][..], &["devices"], &["ops"], &["tune", "--dry-run", "--elements", "1"]] {
        for option in [&["--trace", "trace.json"][..], &["--time"]] {
            assert_contains(&fails(2, &[command, option].concat()), &format!("unexpected argument '{}'", option[0]));
        }
    }
}

#[test]
fn files_that_a_graph_names_are_not_overwritten() {
    let folder = Folder::new();
    let (photo, print, cube) = (folder.text("photo.png"), folder.text("print.png"), folder.text("same.cube"));
    let table = "LUT_3D_SIZE 2\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n";
    fs::write(&cube, table).expect("it can be written");
    let chain = format!("lut3d '{cube}'");
    assert_contains(&fails(2, &["apply", &photo, &print, &chain, "--trace", &cube]), "--overwrite");
    let graph = folder.text("graph.txt");
    fs::write(&graph, format!("@in | {chain} -> out")).expect("it can be written");
    let (input, output) = (format!("in={photo}"), format!("out={print}"));
    assert_contains(&fails(2, &["run", &graph, "-i", &input, "-o", &output, "--trace", &cube]), "--overwrite");
    // By another name, and against a picture.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("same.cube", folder.path("link.png")).expect("links can be made");
        assert_contains(&fails(2, &["apply", &photo, &folder.text("link.png"), &chain]), "--overwrite");
    }
    assert_eq!(fs::read_to_string(&cube).expect("it is still there"), table);
    assert!(!Path::new(&print).exists());
    succeeds(&["apply", &photo, &print, &chain, "--trace", &cube, "--overwrite"]);
    assert_eq!(pictures_of(&fs::read(&cube).expect("it is there")), [photo]);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = command()
        .args(["ops", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(16, child.stdout.take().expect("it is piped"));
    reader.read_line(&mut line).expect("it writes a line");
    drop(reader);
    let mut error = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut error).expect("it writes text");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), error.as_str()), (Some(0), ""));
    // Closed before the first byte.
    #[cfg(target_os = "linux")]
    for arguments in
        [&["ops"][..], &["--help"], &["explain", "invert", "--backend", "cpu"], &["devices", "--backend", "cpu"]]
    {
        let quoted: Vec<String> = arguments.iter().map(|part| format!("'{part}'")).collect();
        let script = format!("sleep 0.05; '{}' {} 2>&1 1>&3", env!("CARGO_BIN_EXE_cyanotype"), quoted.join(" "));
        let script = format!("( exec 3>&1 1>&4; {script}; echo $? >&4 ) 4>&2 | true; sleep 0.3");
        let output = Command::new("bash").args(["-c", &script]).output().expect("bash is there");
        let said = text(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        // Drivers may have said something before.
        assert_eq!(said.trim().lines().last(), Some("0"), "{arguments:?}: {said}");
    }
    // No standard output or error at all.
    #[cfg(target_os = "linux")]
    for redirect in [">&-", "2>&-", ">&- 2>&-"] {
        let script = format!("'{}' explain invrt {redirect}; echo $?", env!("CARGO_BIN_EXE_cyanotype"));
        let output = Command::new("bash").args(["-c", &script]).output().expect("bash is there");
        assert_eq!(text(&output.stdout).trim().lines().last(), Some("2"), "{redirect}");
    }
}

#[test]
fn exit_codes_and_help() {
    let code = |arguments: &[&str]| command().args(arguments).output().expect("the program starts").status.code();
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&["frobnicate"]), Some(2));
    assert_eq!(code(&["apply", "a.png", "b.png"]), Some(2));
    assert_eq!(code(&["apply", "a.png", "b.png", "invert", "--jobs", "0"]), Some(2));
    assert_eq!(code(&["apply", "a.png", "b.png", "invert", "--quality", "101"]), Some(2));
    assert_eq!(code(&["--version"]), Some(0));
    let help = succeeds(&["--help"]);
    for part in
        ["apply", "run", "explain", "ops", "devices", "--backend", "--no-fuse", "--precision", "--set", "Exit codes:"]
    {
        assert_contains(&help, part);
    }
    let help = succeeds(&["apply", "--help"]);
    assert_contains(&help, "cyanotype apply [OPTIONS] IN OUT CHAIN");
    assert_contains(&help, "--extension");
}

/// The operator table of the README is what the registry says.
#[test]
fn the_readme_lists_the_operators() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("the README");
    let table = succeeds(&["ops", "--markdown"]);
    assert!(readme.contains(table.trim()), "README.md is out of date; between its operator marks belongs:\n{table}");
}

/// A signal that comes while files are written: nothing of them stays, and what was there is as it was.
#[cfg(unix)]
#[test]
fn an_interrupted_command_leaves_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    fs::write(folder.path("graph.txt"), "@in | invert -> piped\n@in | flip -> kept").expect("it can be written");
    fs::write(folder.path("kept.png"), "old").expect("it can be written");
    // Nobody reads from it, so that the program waits there, with the other file prepared.
    let made = Command::new("mkfifo").arg(folder.path("piped.png")).status().expect("mkfifo is there");
    assert!(made.success());
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let mut program = command()
            .args(["--backend", "cpu", "run", &folder.text("graph.txt")])
            .args(["--input", &format!("in={}", folder.text("photo.png"))])
            .args(["--output", &format!("piped={}", folder.text("piped.png"))])
            .args(["--output", &format!("kept={}", folder.text("kept.png"))])
            .spawn()
            .expect("the program starts");
        while !folder.names().iter().any(|name| name.ends_with(".tmp")) {
            assert_eq!(program.try_wait().expect("it is ours"), None, "it ended before it was to");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let killed = Command::new("kill").args(["-s", signal, &program.id().to_string()]).status();
        assert!(killed.expect("kill is there").success());
        let status = program.wait().expect("it is ours");
        assert_eq!(status.signal(), Some(number), "{status}");
        assert_eq!(folder.names(), ["graph.txt", "kept.png", "photo.png", "piped.png"]);
        assert_eq!(fs::read(folder.path("kept.png")).expect("it is there"), b"old");
    }
}
