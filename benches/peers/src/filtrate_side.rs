//! filtrate 0.2.1 on the same driver: upload, filter and readback of a frame, set up once and run in turn with ours.

use crate::{HEIGHT, WIDTH, compile, pair, report, run};
use cyanotype::{Image, Options, Result};
use filtrate::filters::{Brightness, Contrast, GaussianBlur, HueRotation, Median3x3, Saturation, Sobel};
use filtrate::runtime::FilterAdapter;
use filtrate::{Effect, EffectContext, EffectFrameTiming, EffectInput, EffectOutput, FilterExt, WgslModuleCache};
use std::time::Duration;

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Both sides on each of the filters that they have in common.
pub fn compare(photo: &Image) -> Result<()> {
    let context = crate::gpu()?;
    println!("\nwith upload and readback on {} | filtrate", context.description());
    let peer = Peer::new();
    let rgba = photo.converted(cyanotype::PixelFormat::Rgba8).tight_bytes().into_owned();
    let measure = |name: &str, filter: &mut dyn FnMut()| -> Result<()> {
        let ours = compile(&context, name, &Options::default())?;
        let times = pair(|| run(&ours, photo), filter);
        report(name, times);
        Ok(())
    };
    macro_rules! against {
        ($name:literal, $filter:expr) => {{
            let mut filter = FilterAdapter::new($filter);
            peer.set_up(&mut filter);
            measure($name, &mut || peer.frame(&mut filter, &rgba))?;
        }};
    }
    against!(
        "four colours",
        Brightness(0.05_f32).then(Contrast(1.2_f32)).then(Saturation(1.3_f32)).then(HueRotation(20.0_f32))
    );
    against!("gaussian 2", GaussianBlur(2.0_f32));
    against!("gaussian 10", GaussianBlur(10.0_f32));
    against!("box 31", filtrate::filters::Blur(15.0_f32));
    against!("sobel", Sobel);
    against!("median 3", Median3x3);
    Ok(())
}

struct Peer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    input: wgpu::Texture,
    output: wgpu::Texture,
    staging: wgpu::Buffer,
}

impl Peer {
    fn new() -> Self {
        let backends = match std::env::var("CYANOTYPE_BACKEND").as_deref() {
            Ok("gl") => wgpu::Backends::GL,
            _ => wgpu::Backends::VULKAN,
        };
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = backends;
        let instance = wgpu::Instance::new(descriptor);
        let adapter =
            pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).expect("an adapter");
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: adapter.limits(),
            required_features: adapter.features()
                & (wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES
                    | wgpu::Features::FLOAT32_FILTERABLE
                    | wgpu::Features::PASSTHROUGH_SHADERS),
            // SAFETY: it is what the peer asks for; it hands its own precompiled shaders to the driver.
            experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
            ..Default::default()
        }))
        .expect("a device");
        let texture = |usage: wgpu::TextureUsages| {
            device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size: wgpu::Extent3d { width: WIDTH, height: HEIGHT, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: FORMAT,
                usage,
                view_formats: &[],
            })
        };
        let input = texture(wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST);
        // Storage usage lets it write its result without a further pass.
        let output = texture(
            wgpu::TextureUsages::RENDER_ATTACHMENT
                | wgpu::TextureUsages::COPY_SRC
                | wgpu::TextureUsages::STORAGE_BINDING,
        );
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(stride()) * u64::from(HEIGHT),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        Peer { device, queue, input, output, staging }
    }

    fn set_up(&self, filter: &mut impl Effect) {
        let cache = WgslModuleCache::new();
        let context = EffectContext {
            device: &self.device,
            queue: &self.queue,
            shader_cache: &cache,
            input_format: FORMAT,
            output_format: FORMAT,
        };
        pollster::block_on(filter.setup(&context)).expect("the filter is set up");
    }

    /// Upload, filter, readback through reused staging.
    fn frame(&self, filter: &mut impl Effect, rgba: &[u8]) {
        let size = wgpu::Extent3d { width: WIDTH, height: HEIGHT, depth_or_array_layers: 1 };
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(WIDTH * 4), rows_per_image: None };
        self.queue.write_texture(self.input.as_image_copy(), rgba, layout, size);
        let input = EffectInput {
            device: &self.device,
            queue: &self.queue,
            texture: &self.input,
            view: self.input.create_view(&wgpu::TextureViewDescriptor::default()),
            format: FORMAT,
            width: WIDTH,
            height: HEIGHT,
            timing: EffectFrameTiming::new(Duration::ZERO, Duration::ZERO, 0),
        };
        let output = EffectOutput {
            device: &self.device,
            queue: &self.queue,
            texture: &self.output,
            view: self.output.create_view(&wgpu::TextureViewDescriptor::default()),
            format: FORMAT,
            width: WIDTH,
            height: HEIGHT,
        };
        filter.render(&input, &output).expect("the filter runs");
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(stride()), rows_per_image: None };
        encoder.copy_texture_to_buffer(
            self.output.as_image_copy(),
            wgpu::TexelCopyBufferInfo { buffer: &self.staging, layout },
            size,
        );
        self.queue.submit([encoder.finish()]);
        self.staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        {
            let mapped = self.staging.slice(..).get_mapped_range();
            std::hint::black_box(mapped.to_vec());
        }
        self.staging.unmap();
    }
}

/// Copies need rows of multiples of 256 bytes; 4000 pixels are not one.
fn stride() -> u32 {
    (WIDTH * 4).next_multiple_of(256)
}
