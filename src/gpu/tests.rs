//! The backend against hand-written recordings, on the driver that `CYANOTYPE_BACKEND` names, or on each that
//! `CYANOTYPE_REQUIRE` lists. Without either these tests skip and say so; a required driver that is missing fails them.

use std::io::Write;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::status::Injected;
use super::*;
use crate::error::Error;
use crate::image::{Description, Image, PixelFormat};
use crate::op::Extent;
use crate::plan::recording::{
    Command, Dispatch, Limits, OutputLayout, PackedLayout, Recording, Resource, TexelFormat, TextureLayout,
};
use crate::timings::{PassTime, Profile};

/// One device test at a time: some measure time or memory.
static ALONE: Mutex<()> = Mutex::new(());

/// Says, past the harness, that the running test is left out, and why: `.ci/test` counts these lines.
pub(crate) fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("skipped in {}: {reason}\n", thread.name().unwrap_or("unnamed"));
    let _ = std::io::stderr().write_all(line.as_bytes()); // the terminal may be gone
}

/// Runs `test` on each driver asked for.
fn on_each_driver(test: impl Fn(DeviceOptions)) {
    let alone: MutexGuard<'_, ()> = ALONE.lock();
    let variable = |name| std::env::var(name).unwrap_or_default();
    let required = variable("CYANOTYPE_REQUIRE");
    let names = if variable("CYANOTYPE_BACKEND").is_empty() { required.clone() } else { variable("CYANOTYPE_BACKEND") };
    let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty() && *name != "cpu").collect();
    if names.is_empty() {
        skip("CYANOTYPE_BACKEND names no driver");
    }
    for name in names {
        let options = DeviceOptions { backend: Some(name.parse().unwrap()), ..DeviceOptions::default() };
        match Device::open(&options) {
            Ok(device) => eprintln!("on {} ({name})", device.info().name),
            Err(error) if required.split(',').any(|required| required == name) => panic!("{name} is required: {error}"),
            Err(error) => {
                skip(&format!("{name}: {error}"));
                continue;
            }
        }
        test(options);
    }
    drop(alone);
}

fn extent(width: u32, height: u32) -> Extent {
    Extent { width, height }
}

pub(super) fn picture(width: u32, height: u32, format: PixelFormat) -> Image {
    let description = Description::new(width, height, format);
    let bytes = (0..description.byte_count() as u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8);
    Image::new(description, bytes.collect()).unwrap()
}

/// Words 0 and 1 are the first workgroup, then strips in a row, rows, and a word to xor with.
fn uniforms(strips: u32, rows: u32, xor: u32) -> Vec<u32> {
    vec![0, 0, strips, rows, xor, 0, 0, 0]
}

/// RGB8 with every bit flipped that is set in `xor`: four pixels, three words, per invocation.
const FLIP: &str = "
struct Uniforms { first: vec2u, strips: u32, rows: u32, xor_with: u32 }
@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(64, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let at = id.xy + vec2u(64u, 1u) * uniforms.first;
    if at.x >= uniforms.strips || at.y >= uniforms.rows { return; }
    let index = 3u * (at.y * uniforms.strips + at.x);
    let words = vec3u(source[index], source[index + 1u], source[index + 2u]) ^ vec3u(uniforms.xor_with);
    target_words[index] = words.x;
    target_words[index + 1u] = words.y;
    target_words[index + 2u] = words.z;
}
";

/// Strips of four pixels in a row of RGB8, those that only pad it included.
fn strips_of(width: u32, height: u32) -> u32 {
    let layout = PackedLayout::of(&Description::new(width, height, PixelFormat::Rgb8));
    (layout.stride() / 12) as u32
}

pub(super) fn flip(width: u32, height: u32) -> Recording {
    let layout = PackedLayout::of(&Description::new(width, height, PixelFormat::Rgb8));
    let strips = strips_of(width, height);
    Recording {
        sources: vec![layout],
        source_textures: false,
        outputs: vec![OutputLayout::Picture(layout)],
        textures: Vec::new(),
        buffers: Vec::new(),
        commands: vec![Command::Dispatch(Dispatch {
            label: "flipped words".to_string(),
            wgsl: FLIP.into(),
            trusted: true,
            bindings: vec![Resource::Uniforms, Resource::Source(0), Resource::Output(0)],
            groups: [strips.div_ceil(64), height],
            group_cost: 256.0,
            uniforms: uniforms(strips, height, u32::MAX),
            table: None,
            workgroup_memory: 0,
        })],
    }
}

fn flip_data(width: u32, height: u32, xor: u32) -> Option<Arc<[DispatchData]>> {
    Some(Arc::new([DispatchData { uniforms: uniforms(strips_of(width, height), height, xor), table: None }]))
}

/// RGBA8 into a texture, and back through a table of 256 grey values, with a histogram of the red values on the way.
fn table_and_histogram(width: u32, height: u32, table: Arc<[[f32; 4]]>) -> Recording {
    let layout = PackedLayout::of(&Description::new(width, height, PixelFormat::Rgba8));
    // Pixels in a row, padding included.
    let strips = (layout.stride() / 4) as u32;
    let head = "
        struct Uniforms { first: vec2u, strips: u32, rows: u32, xor_with: u32 }
        @group(0) @binding(0) var<uniform> uniforms: Uniforms;
    ";
    let body = |bindings: &str, code: &str| -> Arc<str> {
        format!(
            "{head}{bindings}
            @compute @workgroup_size(16, 16)
            fn main(@builtin(global_invocation_id) id: vec3u) {{
                let at = id.xy + vec2u(16u) * uniforms.first;
                if at.x >= uniforms.strips || at.y >= uniforms.rows {{ return; }}
                let index = at.y * uniforms.strips + at.x;
                {code}
            }}"
        )
        .into()
    };
    let spread = body(
        "@group(0) @binding(1) var<storage, read> source: array<u32>;
         @group(0) @binding(2) var stored: texture_storage_2d<rgba8unorm, write>;
         @group(0) @binding(3) var<storage, read_write> histogram: array<atomic<u32>>;",
        "let word = source[index];
         textureStore(stored, at, unpack4x8unorm(word));
         if at.x < uniforms.xor_with { atomicAdd(&histogram[word & 255u], 1u); }",
    );
    let look_up = body(
        "@group(0) @binding(1) var stored: texture_2d<f32>;
         @group(0) @binding(2) var<storage, read> table: array<vec4f>;
         @group(0) @binding(3) var<storage, read_write> target_words: array<u32>;",
        "let red = u32(textureLoad(stored, at, 0).r * 255.0 + 0.5);
         target_words[index] = u32(table[min(red, arrayLength(&table) - 1u)].x) * 0x01010101u;",
    );
    let dispatch = |label: &str, wgsl, bindings: [Resource; 4], table| {
        Command::Dispatch(Dispatch {
            label: label.to_string(),
            wgsl,
            trusted: true,
            bindings: bindings.to_vec(),
            groups: [strips.div_ceil(16), height.div_ceil(16)],
            group_cost: 256.0,
            uniforms: uniforms(strips, height, width),
            table,
            workgroup_memory: 0,
        })
    };
    use Resource::*;
    Recording {
        sources: vec![layout],
        source_textures: false,
        outputs: vec![OutputLayout::Picture(layout), OutputLayout::Buffer { buffer: 0, length: 64 }],
        textures: vec![TextureLayout::whole(extent(strips, height), TexelFormat::Rgba8Unorm)],
        buffers: vec![1024],
        commands: vec![
            Command::Clear { buffer: 0 },
            dispatch("spread", spread, [Uniforms, Source(0), TextureWrite(0), BufferWrite(0)], None),
            dispatch("look up", look_up, [Uniforms, Texture(0), Table, Output(0)], Some(table)),
        ],
    }
}

fn ramp(length: usize, start: f32) -> Arc<[[f32; 4]]> {
    (0..length).map(|index| [(index as f32 + start) % 256.0; 4]).collect()
}

pub(super) fn frame(sources: &[&Image], data: Option<Arc<[DispatchData]>>) -> FrameInput {
    FrameInput {
        sources: sources.iter().map(|&image| FrameSource::Image(image.clone())).collect(),
        data,
        ..FrameInput::default()
    }
}

/// The pixels of an output picture without padding.
fn tight(image: &Image, output: &Arc<PooledBytes>) -> Vec<u8> {
    let stride = PackedLayout::of(&image.description()).stride() as usize;
    let shared: Arc<dyn AsRef<[u8]> + Send + Sync> = output.clone();
    Image::from_shared(image.description(), stride, shared).unwrap().tight_bytes().into_owned()
}

fn flipped(image: &Image, xor: u8) -> Vec<u8> {
    image.tight_bytes().iter().map(|byte| byte ^ xor).collect()
}

fn assert_flipped(image: &Image, xor: u8, output: &FrameOutput) {
    assert!(tight(image, &output.outputs[0]) == flipped(image, xor), "{image:?} ^ {xor}");
}

#[test]
fn devices_are_listed() {
    let _alone = ALONE.lock();
    for info in Device::list() {
        eprintln!("{} | {} | {} | {} {}", info.backend, info.device_type, info.name, info.driver, info.driver_info);
        eprintln!("    {:?}", info.limits);
        eprintln!("    mappable {} timestamps {} unusable {:?}", info.mappable, info.timestamps, info.unusable);
        eprintln!("    {}", info.features.join(" "));
        assert!(!info.name.is_empty() && !info.all_limits.is_empty());
    }
}

#[test]
fn no_device_says_what_was_found() {
    let _alone = ALONE.lock();
    let options = DeviceOptions { adapter: Some("no such adapter".to_string()), ..DeviceOptions::default() };
    let error = Device::open(&options).unwrap_err();
    assert!(matches!(error, Error::NoDevice(_)), "{error}");
    assert!(error.to_string().contains("no adapter with 'no such adapter'"), "{error}");
    if !BackendName::Metal.is_built() {
        let metal = DeviceOptions { backend: Some(BackendName::Metal), ..DeviceOptions::default() };
        let error = Device::open(&metal).unwrap_err().to_string();
        assert!(error.contains("not in this build"), "{error}");
    }
}

#[test]
fn any_size_and_stride() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        for (width, height) in [(1, 1), (1, 9), (4, 1), (5, 3), (64, 2), (257, 65), (1023, 7)] {
            let loaded = device.load(flip(width, height)).unwrap();
            let image = picture(width, height, PixelFormat::Rgb8);
            let output = device.submit(&loaded, frame(&[&image], None), WhenFull::Busy).unwrap().wait().unwrap();
            assert_flipped(&image, 255, &output);

            let stride = image.description().row_bytes() + 7;
            let mut padded = vec![99; stride * height as usize];
            for y in 0..height {
                padded[y as usize * stride..][..image.row(y).len()].copy_from_slice(image.row(y));
            }
            let padded = Image::with_stride(image.description(), stride, padded).unwrap();
            let output = device.submit(&loaded, frame(&[&padded], None), WhenFull::Busy).unwrap().wait().unwrap();
            assert_flipped(&image, 255, &output);
        }
    });
}

#[test]
fn textures_tables_clears_and_buffers() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(333, 57, PixelFormat::Rgba8);
        let loaded = device.load(table_and_histogram(333, 57, ramp(256, 0.0))).unwrap();
        let strips = uniforms(336, 57, 333);
        let reds: Vec<u8> = image.tight_bytes().iter().step_by(4).copied().collect();
        // The table grows, shrinks, and changes without changing its size; and comes back.
        for (length, start) in [(256, 0.0), (256, 7.0), (1000, 3.0), (16, 5.0), (256, 0.0)] {
            let table = ramp(length, start);
            let data =
                |table: Option<&Arc<[[f32; 4]]>>| DispatchData { uniforms: strips.clone(), table: table.cloned() };
            let data: Arc<[DispatchData]> = Arc::new([data(None), data(Some(&table))]);
            for data in [Some(data), None] {
                let output = device.submit(&loaded, frame(&[&image], data), WhenFull::Wait).unwrap().wait().unwrap();
                let expected: Vec<u8> =
                    reds.iter().flat_map(|&red| [table[usize::from(red).min(length - 1)][0] as u8; 4]).collect();
                assert!(tight(&image, &output.outputs[0]) == expected, "table of {length} from {start}");
                let counts: &[u32] = bytemuck::cast_slice(&output.outputs[1]);
                let count = |value: usize| reds.iter().filter(|&&red| usize::from(red) == value).count() as u32;
                assert!(counts.iter().enumerate().all(|(value, &found)| found == count(value)), "{counts:?}");
            }
        }
    });
}

#[test]
fn steady_use_creates_nothing() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(640, 480, PixelFormat::Rgb8);
        let loaded = device.load(flip(640, 480)).unwrap();
        let rgba = picture(640, 480, PixelFormat::Rgba8);
        let looking = device.load(table_and_histogram(640, 480, ramp(256, 0.0))).unwrap();
        let mut after_two = Counters::default();
        for index in 0..32_u8 {
            let data = flip_data(640, 480, u32::from_ne_bytes([index; 4]));
            let output = device.submit(&loaded, frame(&[&image], data), WhenFull::Busy).unwrap().wait().unwrap();
            assert_flipped(&image, index, &output);
            let data = |table| DispatchData { uniforms: uniforms(640, 480, 640), table };
            let data: Arc<[DispatchData]> = Arc::new([data(None), data(Some(ramp(256, f32::from(index))))]);
            device.submit(&looking, frame(&[&rgba], Some(data)), WhenFull::Busy).unwrap().wait().unwrap();
            if index == 1 {
                after_two = device.counters();
            }
        }
        let end = device.counters();
        eprintln!("{end:?}");
        assert_eq!(Counters { frames: 64, ..after_two }, end);

        // Several in flight: at most as many slots, each with its bind group, as frames.
        for _ in 0..4 {
            let tickets: Vec<Ticket> = (0..options.frames_in_flight)
                .map(|_| device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap())
                .collect();
            tickets.into_iter().for_each(|ticket| assert_flipped(&image, 31, &ticket.wait().unwrap()));
        }
        let slots = device.counters().bind_groups - end.bind_groups + 1;
        assert!(slots <= options.frames_in_flight as u64, "{slots} slots");

        // The same recording again needs no new pipeline.
        let pipelines = device.counters().pipelines;
        let again = device.load(flip(640, 480)).unwrap();
        assert_eq!(device.counters().pipelines, pipelines);
        device.submit(&again, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
    });
}

#[test]
fn programs_share_textures() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(64, 64, PixelFormat::Rgba8);
        let programs: Vec<Loaded> =
            (0..4).map(|_| device.load(table_and_histogram(64, 64, ramp(256, 1.0))).unwrap()).collect();
        for loaded in &programs {
            device.submit(loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        }
        assert_eq!(device.counters().textures, 1);
    });
}

#[test]
fn busy_waiting_and_dropping() {
    on_each_driver(|options| {
        let device = Device::open(&DeviceOptions { frames_in_flight: 2, ..options }).unwrap();
        let image = picture(2000, 1500, PixelFormat::Rgb8);
        let loaded = device.load(flip(2000, 1500)).unwrap();
        let mut busy = 0;
        let mut kept = Vec::new();
        for _ in 0..20 {
            match device.submit(&loaded, frame(&[&image], None), WhenFull::Busy) {
                Ok(ticket) => kept.push(ticket),
                Err(Error::Busy { in_flight: 2, bound: 2 }) => busy += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(busy > 0, "twenty submits in a row and never busy");
        // Dropped at once, before and after the frame is done; waiting ends all the same.
        kept.into_iter().for_each(drop);
        for index in 0..12 {
            let ticket = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap();
            match index % 3 {
                0 => drop(ticket),
                1 => assert_flipped(&image, 255, &ticket.wait().unwrap()),
                _ => {
                    let mut ticket = Box::pin(ticket);
                    let _ = ticket.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                }
            }
        }
        // Everything dropped with frames in flight; the ticket outlives them all.
        let ticket = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap();
        drop(loaded);
        drop(device);
        assert_flipped(&image, 255, &ticket.wait().unwrap());
    });
}

/// Drops what it holds when it is woken.
struct DropWhenWoken(Mutex<Option<(Loaded, Device)>>);

impl Wake for DropWhenWoken {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().take());
    }
}

#[test]
fn the_last_handle_may_be_dropped_on_the_worker() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(500, 500, PixelFormat::Rgb8);
        let loaded = device.load(flip(500, 500)).unwrap();
        let mut ticket = Box::pin(device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap());
        let handles = Arc::new(DropWhenWoken(Mutex::new(Some((loaded, device)))));
        let waker = Waker::from(Arc::clone(&handles));
        let first = ticket.as_mut().poll(&mut Context::from_waker(&waker));
        let output = match first {
            Poll::Ready(output) => output,
            Poll::Pending => pollster::block_on(ticket),
        };
        assert_flipped(&image, 255, &output.unwrap());
    });
}

#[test]
fn a_lost_device_answers_every_call() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(2000, 2000, PixelFormat::Rgb8);
        let loaded = device.load(flip(2000, 2000)).unwrap();
        let submit = || device.submit(&loaded, frame(&[&image], None), WhenFull::Wait);
        let before = submit().unwrap();
        device.lose().unwrap();
        let after: Vec<Ticket> = (0..2).filter_map(|_| submit().ok()).collect();
        // One that was in flight may have been finished.
        if let Err(error) = before.wait() {
            assert!(matches!(error, Error::DeviceLost(_)), "{error}");
        }
        for ticket in after {
            let error = ticket.wait().unwrap_err();
            assert!(matches!(error, Error::DeviceLost(_)), "{error}");
        }
        let since = Instant::now();
        while device.check().is_ok() {
            assert!(since.elapsed() < Duration::from_secs(5), "the loss was not noticed");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(submit(), Err(Error::DeviceLost(_))));
        assert!(matches!(device.load(flip(4, 4)), Err(Error::DeviceLost(_))));
        // Lost while idle, which the device itself tells.
        let idle = Device::open(&options).unwrap();
        idle.lose().unwrap();
        while idle.check().is_ok() {
            assert!(since.elapsed() < Duration::from_secs(5), "the loss was not noticed");
            std::thread::sleep(Duration::from_millis(1));
        }
        // A new one is not affected.
        let again = Device::open(&options).unwrap();
        let loaded = again.load(flip(2000, 2000)).unwrap();
        let output = again.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        assert_flipped(&image, 255, &output);
    });
}

/// What drivers do only when they please is done to them here.
#[test]
fn injected_faults_end_in_errors_and_the_next_frame_is_right() {
    on_each_driver(|options| {
        for (injected, reason) in [(Injected::NoCompute, "no compute shaders"), (Injected::WrongAnswer, "wrong answer")]
        {
            let error = Device::open(&DeviceOptions { injected: Some(injected), ..options.clone() }).unwrap_err();
            assert!(matches!(&error, Error::NoDevice(message) if message.contains(reason)), "{error}");
            let context = crate::Context::instead(&error, 1);
            assert!(!context.is_gpu() && context.description().contains(reason), "{}", context.description());
        }
        let device = Device::open(&options).unwrap();
        let image = picture(37, 5, PixelFormat::Rgb8);
        let loaded = device.load(flip(37, 5)).unwrap();
        let submit = || device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap();
        for injected in [Injected::NoMemory, Injected::NoMapping] {
            assert_flipped(&image, 255, &submit().wait().unwrap());
            device.inject(injected);
            let (hit, next) = (submit(), submit());
            let error = hit.wait().unwrap_err();
            match injected {
                Injected::NoMemory => assert!(matches!(error, Error::OutOfMemory(_)), "{error}"),
                _ => assert!(matches!(error, Error::Device(_)), "{error}"),
            }
            assert_flipped(&image, 255, &next.wait().unwrap());
        }
        device.check().unwrap();
    });
}

/// Pixels whose owner panics when the device's thread asks for them.
struct Trap(Vec<u8>);

impl AsRef<[u8]> for Trap {
    fn as_ref(&self) -> &[u8] {
        assert_ne!(std::thread::current().name(), Some("cyanotype-gpu"), "this panic is part of a test");
        &self.0
    }
}

#[test]
fn a_panic_on_the_worker_is_an_error() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let loaded = device.load(flip(16, 16)).unwrap();
        let image = picture(16, 16, PixelFormat::Rgb8);
        let trap = Arc::new(Trap(image.bytes().to_vec()));
        let trap = Image::from_shared(image.description(), 48, trap).unwrap();
        let good = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap();
        let bad = device.submit(&loaded, frame(&[&trap], None), WhenFull::Wait).unwrap();
        let error = bad.wait().unwrap_err();
        assert!(matches!(error, Error::DeviceLost(_)), "{error}");
        // Whether it was finished before is a matter of time.
        drop(good.wait());
        assert!(matches!(device.check(), Err(Error::DeviceLost(_))));
    });
}

#[test]
fn wrong_input_is_refused_with_a_reason() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let loaded = device.load(flip(16, 16)).unwrap();
        let image = picture(16, 16, PixelFormat::Rgb8);
        let other = picture(16, 15, PixelFormat::Rgb8);
        let rgba = picture(16, 16, PixelFormat::Rgba8);
        let short: Arc<[DispatchData]> = Arc::new([DispatchData { uniforms: vec![0; 4], table: None }]);
        for wrong in [frame(&[], None), frame(&[&other], None), frame(&[&rgba], None), frame(&[&image], Some(short))] {
            let error = device.submit(&loaded, wrong, WhenFull::Wait).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        }
        let elsewhere = Device::open(&options).unwrap();
        assert!(matches!(elsewhere.submit(&loaded, frame(&[&image], None), WhenFull::Wait), Err(Error::Device(_))));
        // None of it has hurt the device.
        let output = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        assert_flipped(&image, 255, &output);
    });
}

#[test]
fn bad_recordings_are_errors_with_the_label() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let broken = |change: fn(&mut Dispatch)| {
            let mut recording = flip(16, 16);
            if let Command::Dispatch(dispatch) = &mut recording.commands[0] {
                change(dispatch);
            }
            recording
        };
        let recordings = [
            broken(|dispatch| dispatch.wgsl = "fn main( {".into()),
            broken(|dispatch| dispatch.wgsl = FLIP.replace("read>", "read_write>").into()),
            broken(|dispatch| dispatch.bindings[1] = Resource::Source(1)),
            broken(|dispatch| dispatch.bindings[2] = Resource::Texture(0)),
            broken(|dispatch| dispatch.uniforms = Vec::new()),
        ];
        for recording in recordings {
            let error = device.load(recording).unwrap_err();
            assert!(matches!(error, Error::Device(_)), "{error}");
            assert!(error.to_string().contains("flipped words"), "{error}");
        }
        // Too large for any device, found out when the frame is prepared.
        let mut large = flip(16, 16);
        large.textures = vec![TextureLayout::whole(extent(1 << 20, 16), TexelFormat::Rgba8Unorm)];
        let loaded = device.load(large).unwrap();
        let image = picture(16, 16, PixelFormat::Rgb8);
        let error = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap_err();
        assert!(matches!(error, Error::Device(_)), "{error}");
        let loaded = device.load(flip(16, 16)).unwrap();
        device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
    });
}

#[test]
fn split_work_gives_the_same_bytes() {
    on_each_driver(|options| {
        let image = picture(1200, 77, PixelFormat::Rgb8);
        let rgba = picture(333, 57, PixelFormat::Rgba8);
        let few_groups = Limits { workgroups: 3, ..Limits::UNLIMITED };
        let bounds = [(1e8, 1e9), (2000.0, 1e9), (2000.0, 5000.0), (1.0, 1.0)];
        let ways = bounds.into_iter().map(|bounds| (bounds, None)).chain([((1e8, 1e9), Some(few_groups))]);
        for ((dispatch, submit), limits) in ways {
            let work = WorkBounds { dispatch, submit };
            let device = Device::open(&DeviceOptions { work, limits, ..options.clone() }).unwrap();
            let loaded = device.load(flip(1200, 77)).unwrap();
            let input = FrameInput { profile: Profile::Running, ..frame(&[&image], None) };
            let output = device.submit(&loaded, input, WhenFull::Wait).unwrap().wait().unwrap();
            assert_flipped(&image, 255, &output);
            eprintln!("{work:?}: {:?}", output.timings.unwrap());

            let loaded = device.load(table_and_histogram(333, 57, ramp(256, 7.0))).unwrap();
            let output = device.submit(&loaded, frame(&[&rgba], None), WhenFull::Wait).unwrap().wait().unwrap();
            let counts: &[u32] = bytemuck::cast_slice(&output.outputs[1]);
            assert_eq!(counts.iter().sum::<u32>(), 333 * 57);
            let reds = rgba.tight_bytes().iter().step_by(4).map(|red| red.wrapping_add(7)).collect::<Vec<_>>();
            let found = tight(&rgba, &output.outputs[0]);
            assert!(found.iter().step_by(4).eq(&reds), "{work:?}, {limits:?}");
        }
    });
}

#[test]
fn timings_name_the_passes() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(333, 57, PixelFormat::Rgba8);
        let loaded = device.load(table_and_histogram(333, 57, ramp(256, 7.0))).unwrap();
        for _ in 0..3 {
            let input = FrameInput { profile: Profile::Running, ..frame(&[&image], None) };
            let timings = device.submit(&loaded, input, WhenFull::Wait).unwrap().wait().unwrap().timings.unwrap();
            eprintln!("{timings:?}");
            let labels: Vec<&str> = timings.passes.iter().map(|pass| pass.label.as_str()).collect();
            assert_eq!(labels, ["spread", "look up"]);
            assert!(timings.total_ms >= timings.upload_ms + timings.readback_ms);
            assert!(device.info().timestamps || timings.passes.iter().all(|pass| pass.milliseconds.is_none()));
            // Rows of 336 pixels of four bytes into texels of four, and 256 counts.
            assert_eq!(timings.passes[0].bytes, Some(2 * 336 * 4 * 57 + 1024));
        }
        // Pass by pass each has its time, by whichever clock.
        let input = FrameInput { profile: Profile::PassByPass, ..frame(&[&image], None) };
        let output = device.submit(&loaded, input, WhenFull::Wait).unwrap().wait().unwrap();
        let right = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        assert_eq!(tight(&image, &output.outputs[0]), tight(&image, &right.outputs[0]));
        let timings = output.timings.unwrap();
        let is_timed = |pass: &PassTime| pass.milliseconds.is_some_and(|time| time > 0.0);
        assert!(timings.passes.iter().all(|pass| pass.by_device == device.info().timestamps), "{timings:?}");
        assert!(device.info().timestamps || timings.passes.iter().all(is_timed), "{timings:?}");
        let passes = timings.passes_ms().unwrap_or(0.0);
        assert!(passes + timings.upload_ms + timings.readback_ms <= timings.total_ms, "{timings:?}");
        let output = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        assert!(output.timings.is_none());
    });
}

#[test]
fn submit_does_not_wait_for_the_device() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(4000, 3000, PixelFormat::Rgb8);
        let loaded = device.load(flip(4000, 3000)).unwrap();
        // The best of some: on a busy machine the caller may be interrupted for longer than a frame takes.
        let ratio = (0..8).map(|_| {
            let started = Instant::now();
            let ticket = device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap();
            let submitted = started.elapsed();
            ticket.wait().unwrap();
            let finished = started.elapsed();
            let ratio = finished.as_secs_f64() / submitted.as_secs_f64();
            eprintln!("submit {submitted:?}, result after {finished:?}: 1 to {ratio:.0}");
            ratio
        });
        let ratio = ratio.fold(0.0, f64::max);
        assert!(ratio > 5.0);
    });
}

/// Resident memory in bytes, where Linux tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}

#[test]
fn memory_stays_flat() {
    on_each_driver(|options| {
        let device = Device::open(&options).unwrap();
        let image = picture(333, 100, PixelFormat::Rgba8);
        let loaded = device.load(table_and_histogram(333, 100, ramp(256, 7.0))).unwrap();
        let mut at_200 = None;
        let mut tickets = std::collections::VecDeque::new();
        for index in 0..2000 {
            if tickets.len() == 3 {
                tickets.pop_front().into_iter().for_each(|ticket: Ticket| drop(ticket.wait().unwrap()));
            }
            tickets.push_back(device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap());
            if index == 200 {
                at_200 = resident();
            }
        }
        // Loading and dropping programs gives everything back, too.
        let before_loads = resident();
        for index in 0..50 {
            let loaded = device.load(flip(400, 400 + index)).unwrap();
            let image = picture(400, 400 + index, PixelFormat::Rgb8);
            drop(device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap());
        }
        drop(tickets);
        device.submit(&loaded, frame(&[&image], None), WhenFull::Wait).unwrap().wait().unwrap();
        if let (Some(early), Some(late), Some(end)) = (at_200, before_loads, resident()) {
            let grown = |from: u64, to: u64| (to as f64 - from as f64) / f64::from(1 << 20);
            eprintln!(
                "grown by {:.1} MiB over 1800 frames, {:.1} MiB over 50 programs",
                grown(early, late),
                grown(late, end)
            );
            assert!(grown(early, late) < 8.0 && grown(late, end) < 32.0);
        }
    });
}
