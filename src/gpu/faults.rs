//! Faults of drivers, and of wgpu's ways to them, that the engine steps around: whom each befalls, what goes wrong, what is
//! done instead, and where the evidence is. The code that steps aside asks this list, so it is in one place what is done for
//! whose sake. The tests below look whether a fault is still there on the driver at hand and report those that are gone.
//!
//! What every device may do by its standard is no fault and not listed: limits are asked, answers are checked by
//! `self_test.rs`, memory by `probe.rs`.

use super::adapter::BackendName;

/// A fault of a driver.
#[derive(Debug, serde::Serialize)]
pub struct Fault {
    /// A short name for messages.
    pub name: &'static str,
    /// Whom it befalls, in words.
    pub adapters: &'static str,
    /// What goes wrong.
    pub what: &'static str,
    /// What the engine does instead.
    pub instead: &'static str,
    /// A page that shows it.
    pub evidence: &'static str,
    #[serde(skip)]
    befalls: fn(BackendName, &wgpu::AdapterInfo) -> bool,
}

pub(super) static LATE_TIMESTAMPS: Fault = Fault {
    name: "late timestamps",
    adapters: "lavapipe (Vulkan)",
    what: "the timestamps of a pass are often microseconds apart, however long it takes",
    instead: "passes are timed one by one by the host's clock, where times are asked for, and when tuning",
    evidence: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/gallium/frontends/lavapipe/lvp_execute.c",
    befalls: |backend, info| backend == BackendName::Vulkan && info.driver == "llvmpipe",
};

pub(super) static LAYERS_ARE_CUBES: Fault = Fault {
    name: "layers are cubes",
    adapters: "all of OpenGL, through wgpu",
    what: "a texture of square layers in sixes becomes a cube map, which no kernel can store to",
    instead: "such a texture has one layer more",
    evidence: "https://github.com/gfx-rs/wgpu/issues/7428",
    befalls: |backend, _| backend == BackendName::Gl,
};

pub(super) static ALL_FORMATS_READ_AND_WRITE: Fault = Fault {
    name: "all formats read and write",
    adapters: "all of OpenGL, through wgpu",
    what: "every storage format is said to be readable and writable at once; OpenGL ES 3.1 has that for r32 only",
    instead: "only r32 formats are believed",
    evidence: "https://github.com/gfx-rs/wgpu/blob/trunk/wgpu-hal/src/gles/adapter.rs",
    befalls: |backend, _| backend == BackendName::Gl,
};

pub(super) static BRANCHES_IN_LOOPS: Fault = Fault {
    name: "branches in loops",
    adapters: "SwiftShader, and ANGLE above it",
    what: "compiling a loop takes time by two to the number of branches that follow each other in it",
    instead: "edges are folded and colours chosen without branches",
    evidence: "https://github.com/google/swiftshader/blob/master/src/Pipeline/SpirvShaderControlFlow.cpp",
    befalls: |_, info| [&info.name, &info.driver].iter().any(|text| text.contains("SwiftShader")),
};

pub(super) static NEGATIVE_REMAINDERS: Fault = Fault {
    name: "negative remainders",
    adapters: "NVIDIA, through naga",
    what: "the remainder of a negative integer is that of its bits as an unsigned number",
    instead: "remainders are taken of unsigned numbers only",
    evidence: "https://github.com/gfx-rs/wgpu/issues/8191",
    befalls: |backend, info| {
        info.vendor == 0x10de && matches!(backend, BackendName::Vulkan | BackendName::Gl) // NVIDIA's PCI number
    },
};

pub(super) static SHORT_LOOPS: Fault = Fault {
    name: "short loops",
    adapters: "lavapipe and llvmpipe",
    what: "an invocation that has gone round its loops 65535 times in all leaves them, and goes on with what it has",
    instead: "sums of many terms are made in parts; kernels of your own must see to it themselves",
    evidence: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
    befalls: |_, info| [&info.name, &info.driver].iter().any(|text| text.contains("llvmpipe")),
};

/// All that are known.
static ALL: [&Fault; 6] = [
    &LATE_TIMESTAMPS,
    &LAYERS_ARE_CUBES,
    &ALL_FORMATS_READ_AND_WRITE,
    &BRANCHES_IN_LOOPS,
    &NEGATIVE_REMAINDERS,
    &SHORT_LOOPS,
];

/// Those of an adapter.
pub(super) fn of(backend: BackendName, info: &wgpu::AdapterInfo) -> Vec<&'static Fault> {
    ALL.into_iter().filter(|fault| (fault.befalls)(backend, info)).collect()
}

/// Whether `found`, an adapter's faults, holds this one.
pub(super) fn has(found: &[&Fault], fault: &'static Fault) -> bool {
    found.iter().any(|known| std::ptr::eq(*known, fault))
}

#[cfg(test)]
mod tests {
    use super::super::adapter::{Candidate, enumerate};
    use super::super::device::{Device, DeviceOptions, FrameInput, WhenFull};
    use super::super::tests::{flip, frame, picture, skip};
    use super::*;
    use crate::image::PixelFormat;
    use std::io::Write;
    use std::time::{Duration, Instant};

    /// A device with nothing between it and the driver.
    struct Bare {
        candidate: Candidate,
        device: wgpu::Device,
        queue: wgpu::Queue,
    }

    impl Bare {
        fn open(candidate: Candidate) -> Bare {
            let request = candidate.adapter.request_device(&wgpu::DeviceDescriptor {
                required_limits: candidate.adapter.limits(),
                ..wgpu::DeviceDescriptor::default()
            });
            let (device, queue) = pollster::block_on(request).expect("a device");
            device.on_uncaptured_error(std::sync::Arc::new(|_| ())); // a fault may end in one
            Bare { candidate, device, queue }
        }

        fn pipeline(&self, text: &str) -> wgpu::ComputePipeline {
            let source = wgpu::ShaderSource::Wgsl(text.into());
            let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        }

        fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
            let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
            self.device.create_buffer(&descriptor)
        }

        /// Encodes one pass of one workgroup, then what `after` adds, and waits for both.
        fn run(
            &self,
            pipeline: &wgpu::ComputePipeline,
            resource: wgpu::BindingResource<'_>,
            after: impl FnOnce(&mut wgpu::CommandEncoder),
        ) {
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &[wgpu::BindGroupEntry { binding: 0, resource }],
            });
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
            drop(pass);
            after(&mut encoder);
            self.queue.submit([encoder.finish()]);
            self.device.poll(wgpu::PollType::wait_indefinitely()).expect("it ends");
        }

        fn read(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
            buffer.map_async(wgpu::MapMode::Read, .., |result| result.expect("it maps"));
            self.device.poll(wgpu::PollType::wait_indefinitely()).expect("it ends");
            buffer.get_mapped_range(..).expect("it is mapped").to_vec()
        }
    }

    const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC);
    const HOST: wgpu::BufferUsages = wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);

    /// Whether a fault is still there.
    fn is_there(bare: &Bare, fault: &Fault) -> bool {
        match fault.name {
            "late timestamps" => timestamps_are_late(bare),
            "layers are cubes" => layers_are_lost(bare),
            "all formats read and write" => {
                let flags = bare.candidate.adapter.get_texture_format_features(wgpu::TextureFormat::Rgba16Float).flags;
                flags.contains(wgpu::TextureFormatFeatureFlags::STORAGE_READ_WRITE)
            }
            "branches in loops" => {
                // Two hundred times longer if it doubled with each from the first; there is much else to do for the fewer.
                compile_branches(bare, 20) > compile_branches(bare, 12) * 4
            }
            // Of numbers that the compiler does not know.
            "negative remainders" => word(bare, "i32", "out[0] = (out[0] - 1) % (out[1] + 768);") as i32 != -1,
            "short loops" => {
                let text = "var n = 0u; for (var i = 0u; i < out[1] + 70000u; i++) { n += 1u; } out[0] = n;";
                word(bare, "u32", text) != 70000
            }
            name => panic!("nothing looks whether '{name}' is still there"),
        }
    }

    /// A pass over twelve megapixels as the engine makes it, against the time that the whole frame took. Simpler ones are
    /// timed rightly.
    fn timestamps_are_late(bare: &Bare) -> bool {
        let backend = Some(bare.candidate.info.backend);
        let device = Device::open(&DeviceOptions { backend, believing: true, ..DeviceOptions::default() }).unwrap();
        let image = picture(4000, 3000, PixelFormat::Rgb8);
        let loaded = device.load(flip(4000, 3000)).unwrap();
        let run = || {
            let input = FrameInput { profile: crate::timings::Profile::Running, ..frame(&[&image], None) };
            device.submit(&loaded, input, WhenFull::Wait).unwrap().wait().unwrap().timings.unwrap()
        };
        // Once to compile.
        run();
        let timings = run();
        let passes: f64 = timings.passes.iter().filter_map(|pass| pass.milliseconds).sum();
        passes * 10.0 < timings.total_ms - timings.upload_ms - timings.readback_ms
    }

    /// Six square layers, each written its number, read back.
    fn layers_are_lost(bare: &Bare) -> bool {
        let size = wgpu::Extent3d { width: 4, height: 4, depth_or_array_layers: 6 };
        let texture = bare.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::STORAGE_BINDING | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let pipeline = bare.pipeline(
            "@group(0) @binding(0) var out: texture_storage_2d_array<r32float, write>;
            @compute @workgroup_size(4, 4) fn main(@builtin(local_invocation_id) at: vec3u) {
                for (var layer = 0u; layer < 6u; layer += 1u) {
                    textureStore(out, at.xy, layer, vec4f(f32(layer + 1u)));
                }
            }",
        );
        let dimension = Some(wgpu::TextureViewDimension::D2Array);
        let view = texture.create_view(&wgpu::TextureViewDescriptor { dimension, ..Default::default() });
        let host = bare.buffer(256 * 4 * 6, HOST);
        bare.run(&pipeline, wgpu::BindingResource::TextureView(&view), |encoder| {
            let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(256), rows_per_image: Some(4) };
            let target = wgpu::TexelCopyBufferInfo { buffer: &host, layout };
            encoder.copy_texture_to_buffer(texture.as_image_copy(), target, size);
        });
        let found: Vec<f32> = bytemuck::pod_collect_to_vec(&bare.read(&host));
        (0..6).any(|layer| found[layer * 256] != layer as f32 + 1.0)
    }

    /// How long it takes to compile and run a loop with so many branches.
    fn compile_branches(bare: &Bare, count: usize) -> Duration {
        // Functions that return early are the form in which the walk over blocks was met.
        let calls = (0..count).map(|index| format!("sum += choose(out[{index}u] + step);\n")).collect::<String>();
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            fn choose(value: u32) -> u32 {{
                if value > 7u {{ return out[value & 31u]; }}
                return out[(value + 1u) & 31u] * 3u;
            }}
            @compute @workgroup_size(1) fn main() {{
                var sum = 0u;
                for (var step = 0u; step < out[40]; step += 1u) {{ {calls} }}
                out[41] = sum;
            }}"
        );
        let out = bare.buffer(256, STORAGE);
        let start = Instant::now();
        let pipeline = bare.pipeline(&text);
        // OpenGL compiles when it is used first.
        bare.run(&pipeline, out.as_entire_binding(), |_| ());
        start.elapsed()
    }

    /// The first of two words, both zero before, after such statements.
    fn word(bare: &Bare, kind: &str, statements: &str) -> u32 {
        let pipeline = bare.pipeline(&format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<{kind}>;
            @compute @workgroup_size(1) fn main() {{ {statements} }}"
        ));
        let out = bare.buffer(8, STORAGE);
        let host = bare.buffer(8, HOST);
        bare.run(&pipeline, out.as_entire_binding(), |encoder| {
            encoder.copy_buffer_to_buffer(&out, 0, &host, 0, 8);
        });
        bytemuck::pod_collect_to_vec(&bare.read(&host))[0]
    }

    /// On the driver that `CYANOTYPE_BACKEND` names. A fault that is gone is reported and fails nothing: the list errs on
    /// the safe side, and a driver may mend it any day.
    #[test]
    fn listed_faults_are_still_there() {
        let Ok(backend) = std::env::var("CYANOTYPE_BACKEND").unwrap_or_default().parse::<BackendName>() else {
            skip("CYANOTYPE_BACKEND names no driver");
            return;
        };
        for candidate in enumerate(backend, &DeviceOptions::default()).expect("the driver that was asked for") {
            let faults = candidate.info.faults.clone();
            let name = candidate.info.name.clone();
            let bare = Bare::open(candidate);
            for fault in faults {
                let found = if is_there(&bare, fault) { "still there" } else { "gone" };
                // Past the harness, which hides what a test that passes has to say.
                let line = format!("known fault '{}' on {name}: {found}\n", fault.name);
                std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
            }
        }
    }

    #[test]
    fn each_fault_is_told_in_full() {
        for fault in ALL {
            for text in [fault.name, fault.adapters, fault.what, fault.instead] {
                assert!(!text.is_empty(), "{fault:?}");
            }
            assert!(fault.evidence.starts_with("https://"), "{fault:?}");
        }
    }
}
