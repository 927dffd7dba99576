//! Cyanotype beside its peers on a picture of 4000x3000 RGB8, both sides in turn in one run: the median of each, and of the
//! ratios of the turns, because a machine's speed drifts less within a turn than over a run.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml [-- cpu|gpu|filtrate]`, with `CYANOTYPE_BACKEND=vulkan` for
//! the parts that need a device. Figures are wall time; ratios carry over between machines better than they do.

mod filtrate_side;

use cyanotype::{Context, ContextOptions, Description, Graph, Image, Options, PixelFormat, Profile, Program, Result};
use std::time::Instant;

const WIDTH: u32 = 4000;
const HEIGHT: u32 = 3000;

/// Turns of each comparison after one that is not counted: so many, and more until so many milliseconds have been measured.
/// Other programs slow a machine down for seconds, one core or all.
const TURNS: usize = 7;
const MEASURED: f64 = 8_000.0;

fn main() -> Result<()> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let photo = photo();
    if wanted.is_empty() || wanted == "cpu" {
        cpu_against_image(&photo)?;
    }
    if wanted.is_empty() || wanted == "gpu" {
        device(&photo)?;
    }
    if wanted.is_empty() || wanted == "filtrate" {
        filtrate_side::compare(&photo)?;
    }
    Ok(())
}

/// The photograph of the repository enlarged, with a little noise, so that no two rows are alike.
fn photo() -> Image {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/coffee.png");
    let small = image::open(path).expect("the photograph of the repository").to_rgb8();
    let large = image::imageops::resize(&small, WIDTH, HEIGHT, image::imageops::FilterType::Triangle);
    let mut bytes = large.into_raw();
    let mut state = 1u32;
    for byte in &mut bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = byte.saturating_add((state >> 29) as u8);
    }
    Image::new(Description::new(WIDTH, HEIGHT, PixelFormat::Rgb8), bytes).expect("as many bytes as pixels")
}

/// What two sides that took turns have to show: median milliseconds, and how many times faster the first is.
pub struct Pair {
    first: f64,
    second: f64,
    ratio: f64,
}

/// Times two sides that take turns.
pub fn pair(mut first: impl FnMut(), mut second: impl FnMut()) -> Pair {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    pair_of(|| time(&mut first), || time(&mut second))
}

/// The same for sides that say themselves how many milliseconds they took.
fn pair_of(mut first: impl FnMut() -> f64, mut second: impl FnMut() -> f64) -> Pair {
    let (mut firsts, mut seconds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    (first(), second());
    let mut measured = 0.0;
    while ratios.len() < TURNS || measured < MEASURED {
        let (a, b) = (first(), second());
        measured += a + b;
        firsts.push(a);
        seconds.push(b);
        ratios.push(b / a);
    }
    Pair { first: median(firsts), second: median(seconds), ratio: median(ratios) }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one line.
pub fn report(what: &str, Pair { first, second, ratio }: Pair) {
    println!("{what:<64} {first:9.1} ms {second:9.1} ms  x{ratio:.2}");
}

pub const MATRIX: [f32; 12] = [0.9, 0.1, 0.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.1, 0.0, 0.9, 0.0];

/// The graphs that are measured.
pub fn graph(name: &str) -> Graph {
    let text = match name {
        "chain" => {
            let list = MATRIX.map(|value| value.to_string()).join(", ");
            format!("exposure 0.3 | contrast 1.2 | saturation 1.3 | gamma 1.1 | color-matrix [{list}]")
        }
        "one" => "exposure 0.3".into(),
        "gaussian 2" => "gaussian-blur 2".into(),
        "gaussian 10" => "gaussian-blur 10".into(),
        "lanczos" => "resize 1280 960 filter=lanczos3".into(),
        "box 31" => "box-blur 31".into(),
        "sobel" => "sobel".into(),
        "median 3" => "median 3".into(),
        "four colours" => "brightness 0.05 | contrast 1.2 | saturation 1.3 | hue-rotate 20".into(),
        other => other.into(),
    };
    Graph::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn compile(context: &Context, name: &str, options: &Options) -> Result<Program> {
    let description = Description::new(WIDTH, HEIGHT, PixelFormat::Rgb8);
    context.compile_with(&graph(name), &[("in", description)], options)
}

pub fn run(program: &Program, photo: &Image) {
    program.run(&[("in", photo)]).expect("the program runs").image("out").expect("the output is a picture");
}

fn cpu_against_image(photo: &Image) -> Result<()> {
    println!("\nCPU backend | image crate");
    let context = Context::cpu();
    let theirs = image::RgbImage::from_raw(WIDTH, HEIGHT, photo.tight_bytes().into_owned()).expect("the same picture");
    let options = Options::default();
    let chain = compile(&context, "chain", &options)?;
    let times = pair(
        || run(&chain, photo),
        || {
            let contrasted = image::imageops::contrast(&theirs, 20.0);
            let brightened = image::imageops::brighten(&contrasted, 10);
            std::hint::black_box(image::imageops::huerotate(&brightened, 20));
        },
    );
    report("five operators | contrast + brighten + huerotate", times);
    let blur = compile(&context, "gaussian 10", &options)?;
    let times = pair(
        || run(&blur, photo),
        || {
            std::hint::black_box(image::imageops::blur(&theirs, 10.0));
        },
    );
    report("gaussian sigma 10 | blur", times);
    let lanczos = compile(&context, "lanczos", &options)?;
    let times = pair(
        || run(&lanczos, photo),
        || {
            std::hint::black_box(image::imageops::resize(&theirs, 1280, 960, image::imageops::FilterType::Lanczos3));
        },
    );
    report("Lanczos3 to 1280x960 | resize", times);
    Ok(())
}

/// A context on the device that `CYANOTYPE_BACKEND` names; software drivers are welcome here.
pub fn gpu() -> Result<Context> {
    let backend = std::env::var("CYANOTYPE_BACKEND").unwrap_or_else(|_| "vulkan".into()).parse()?;
    Context::with(&ContextOptions { backend, allow_software: true, ..ContextOptions::default() })
}

fn device(photo: &Image) -> Result<()> {
    let context = gpu()?;
    println!("\n{}", context.description());
    let fused = compile(&context, "chain", &Options::default())?;
    let unfused = compile(&context, "chain", &Options { fuse: false, ..Options::default() })?;
    let passes = |program: &Program| -> f64 {
        let options = cyanotype::FrameOptions { profile: Profile::Running, ..cyanotype::FrameOptions::default() };
        let results = program.run_with(&[("in", photo)], options).expect("the program runs");
        between_transfers(results.timings().expect("they were asked for"))
    };
    let times = pair(|| run(&fused, photo), || run(&unfused, photo));
    report("five operators, with transfers: fused | unfused", times);
    let times = pair_of(|| passes(&fused), || passes(&unfused));
    report("five operators, between the transfers: fused | unfused", times);
    let one = compile(&context, "one", &Options::default())?;
    let copy = copy_kernel()?;
    let times = pair_of(|| passes(&one), || copy(photo));
    report("between the transfers: one operator | copy kernel of the same bytes", times);
    println!("\nCPU backend | {}", context.description());
    let cpu = Context::cpu();
    for name in ["chain", "gaussian 2", "gaussian 10", "lanczos"] {
        let (on_cpu, on_gpu) =
            (compile(&cpu, name, &Options::default())?, compile(&context, name, &Options::default())?);
        let times = pair(|| run(&on_cpu, photo), || run(&on_gpu, photo));
        report(name, times);
    }
    let program = compile(&context, "gaussian 10", &Options::default())?;
    run(&program, photo);
    let mut submits = Vec::new();
    let mut frames = Vec::new();
    for _ in 0..TURNS {
        let start = Instant::now();
        let readback = program.submit(&[("in", photo)])?;
        submits.push(start.elapsed().as_secs_f64() * 1e3);
        readback.wait()?;
        frames.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let (first, second) = (median(submits), median(frames));
    report("submit | whole frame", Pair { first, second, ratio: second / first });
    Ok(())
}

/// Milliseconds from the end of the upload to the start of the readback: not every driver has timestamps for passes.
fn between_transfers(timings: &cyanotype::Timings) -> f64 {
    timings.total_ms - timings.upload_ms - timings.readback_ms
}

/// A kernel that copies the packed picture, four words an invocation; returns a function that gives its milliseconds.
fn copy_kernel() -> Result<impl Fn(&Image) -> f64> {
    use cyanotype::gpu::{BackendName, Device, DeviceOptions, FrameInput, FrameSource, WhenFull};
    use cyanotype::op::Extent;
    use cyanotype::plan::recording::{Command, Dispatch, OutputLayout, PackedLayout, Recording, Resource};
    let backend = match std::env::var("CYANOTYPE_BACKEND").as_deref() {
        Ok("gl") => BackendName::Gl,
        _ => BackendName::Vulkan,
    };
    let device =
        Device::open(&DeviceOptions { backend: Some(backend), allow_software: true, ..DeviceOptions::default() })?;
    let layout = PackedLayout { extent: Extent { width: WIDTH, height: HEIGHT }, bytes_per_pixel: 3 };
    let words = (layout.size() / 16) as u32;
    let groups = words.div_ceil(128);
    let wgsl = format!(
        "struct Uniforms {{ first: vec2u, extent: vec2u }}
         @group(0) @binding(0) var<uniform> uniforms: Uniforms;
         @group(0) @binding(1) var<storage, read> source: array<vec4u>;
         @group(0) @binding(2) var<storage, read_write> target_words: array<vec4u>;
         @compute @workgroup_size(128)
         fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {{
             let at = ((group.y + uniforms.first.y) * 1024u + group.x + uniforms.first.x) * 128u + local.x;
             if at < {words}u {{ target_words[at] = source[at]; }}
         }}"
    );
    let loaded = device.load(Recording {
        sources: vec![layout],
        source_textures: false,
        outputs: vec![OutputLayout::Picture(layout)],
        textures: Vec::new(),
        buffers: Vec::new(),
        commands: vec![Command::Dispatch(Dispatch {
            label: "copy".into(),
            wgsl: wgsl.into(),
            trusted: true,
            bindings: vec![Resource::Uniforms, Resource::Source(0), Resource::Output(0)],
            groups: [1024, groups.div_ceil(1024)],
            group_cost: 128.0,
            uniforms: vec![0, 0, WIDTH, HEIGHT],
            table: None,
            workgroup_memory: 0,
        })],
    })?;
    Ok(move |photo: &Image| {
        let input = FrameInput {
            sources: vec![FrameSource::Image(photo.clone())],
            profile: Profile::Running,
            ..FrameInput::default()
        };
        let ticket = device.submit(&loaded, input, WhenFull::Wait).expect("the device takes it");
        let output = ticket.wait().expect("the copy runs");
        between_transfers(&output.timings.expect("they were asked for"))
    })
}
