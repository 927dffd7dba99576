//! What a device is told: a list of commands over numbered resources. Plain data, made from a plan by the shader stage
//! and carried out by the GPU backend, which learns nothing of operators from it. Knows nothing of any graphics API.

use crate::error::{Error, Result};
use crate::image::Description;
use crate::op::Extent;
use std::sync::Arc;

/// Everything a device needs for running one program any number of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Packed input pictures.
    pub sources: Vec<PackedLayout>,
    /// Whether the words of the sources stand in textures, four in a texel, and kernels name them
    /// [`Resource::SourceTexture`]; otherwise in buffers.
    pub source_textures: bool,
    /// Packed output pictures and small buffers, in the order of the program's outputs.
    pub outputs: Vec<OutputLayout>,
    /// Textures between passes, each perhaps used for several values one after the other.
    pub textures: Vec<TextureLayout>,
    /// Buffers between passes: sizes in bytes.
    pub buffers: Vec<u64>,
    /// In order; each sees what those before it wrote.
    pub commands: Vec<Command>,
}

impl Recording {
    /// Bytes that a dispatch moves at least: what it reads and writes, each once.
    pub fn bytes(&self, dispatch: &Dispatch) -> u64 {
        let size = |resource: &Resource| match *resource {
            // Small, and read from a cache.
            Resource::Uniforms => None,
            Resource::Table => dispatch.table.as_ref().map(|table| size_of_val::<[_]>(table) as u64),
            Resource::Source(number) | Resource::SourceTexture(number) => {
                self.sources.get(number).map(|layout| layout.size())
            }
            Resource::Output(number) => self.outputs.get(number).map(|layout| layout.size()),
            Resource::Texture(number) | Resource::TextureWrite(number) => {
                self.textures.get(number).map(|layout| layout.size())
            }
            Resource::Buffer(number) | Resource::BufferWrite(number) => self.buffers.get(number).copied(),
        };
        dispatch.bindings.iter().filter_map(size).sum()
    }
}

/// A packed picture in a storage buffer. Rows hold whole runs of [`RUN`] pixels, so that each starts at a whole vector of
/// four words; a row may be up to fifteen pixels longer than the picture is wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackedLayout {
    /// Width and height in pixels.
    pub extent: Extent,
    /// Bytes of a pixel.
    pub bytes_per_pixel: u32,
}

/// Neighbouring pixels that fill whole words in every pixel format.
pub const STRIP: u32 = 4;

/// Neighbouring pixels that fill whole vectors of four words in every pixel format.
pub const RUN: u32 = 16;

impl PackedLayout {
    /// How a picture of this description is packed.
    pub fn of(description: &Description) -> Self {
        PackedLayout {
            extent: Extent { width: description.width, height: description.height },
            bytes_per_pixel: description.format.bytes_per_pixel() as u32,
        }
    }

    /// Bytes of a row without padding.
    pub fn row_bytes(self) -> u64 {
        u64::from(self.extent.width) * u64::from(self.bytes_per_pixel)
    }

    /// Bytes from one row to the next in the device's buffer.
    pub fn stride(self) -> u64 {
        u64::from(self.extent.width.next_multiple_of(RUN)) * u64::from(self.bytes_per_pixel)
    }

    /// Size of the device's buffer.
    pub fn size(self) -> u64 {
        self.stride() * u64::from(self.extent.height)
    }

    /// Width and height of a texture whose texels hold four words each.
    pub fn texels(self) -> Extent {
        // A row of a picture with a side of at most 65535 and 16 bytes a pixel is far below 2^32 words.
        Extent { width: (self.stride() / 16) as u32, height: self.extent.height }
    }
}

impl Description {
    /// How many words of 32 bits such a picture is in a compute buffer: its pixels one after the other as in an [`Image`]
    /// (bytes in the order of memory, so the lowest of a word first), each row padded to a whole number of sixteen.
    ///
    /// [`Image`]: crate::Image
    ///
    /// ```
    /// use cyanotype::{Description, PixelFormat};
    /// assert_eq!(Description::new(37, 29, PixelFormat::Rgb8).packed_words(), 48 * 3 / 4 * 29);
    /// ```
    pub fn packed_words(&self) -> usize {
        usize::try_from(PackedLayout::of(self).size() / 4).unwrap_or(usize::MAX)
    }
}

/// How an output lies in its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputLayout {
    /// A packed picture.
    Picture(PackedLayout),
    /// `length` entries of four words: a copy of the buffer with this number.
    Buffer { buffer: usize, length: u32 },
}

impl OutputLayout {
    /// Size in bytes.
    pub fn size(self) -> u64 {
        match self {
            OutputLayout::Picture(layout) => layout.size(),
            OutputLayout::Buffer { length, .. } => u64::from(length) * 16,
        }
    }
}

/// A texture between passes. Where a side is longer than the device allows, it is cut into layers that lie as a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct TextureLayout {
    /// Of the value that it holds.
    pub extent: Extent,
    pub format: TexelFormat,
    /// Columns and rows of layers.
    pub layers: [u32; 2],
}

impl TextureLayout {
    /// In one layer.
    pub fn whole(extent: Extent, format: TexelFormat) -> TextureLayout {
        TextureLayout { extent, format, layers: [1, 1] }
    }

    /// In as few layers as a device needs. Nothing if it has not so many.
    pub fn within(limits: &Limits, extent: Extent, format: TexelFormat) -> Option<TextureLayout> {
        let layers = [extent.width, extent.height].map(|side| side.div_ceil(limits.texture_size.max(1)));
        let layout = TextureLayout { extent, format, layers };
        (layout.count() <= u64::from(limits.texture_layers)).then_some(layout)
    }

    /// Width and height of each layer; those on the right and at the bottom may hang over the value's edge.
    pub fn layer(self) -> Extent {
        let [columns, rows] = self.layers;
        Extent { width: self.extent.width.div_ceil(columns), height: self.extent.height.div_ceil(rows) }
    }

    /// Number of layers.
    pub fn count(self) -> u64 {
        self.layers.map(u64::from).iter().product()
    }

    /// Whether there are several layers, which kernels must tell apart.
    pub fn is_layered(self) -> bool {
        self.count() > 1
    }

    /// Size in bytes.
    pub fn size(self) -> u64 {
        self.layer().pixels() * self.count() * u64::from(self.format.bytes())
    }
}

/// Formats of textures between passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TexelFormat {
    Rgba8Unorm,
    Rgba16Float,
    Rgba32Float,
    R32Float,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        match self {
            TexelFormat::Rgba8Unorm | TexelFormat::R32Float => 4,
            TexelFormat::Rgba16Float => 8,
            TexelFormat::Rgba32Float => 16,
        }
    }

    /// As WGSL names it.
    pub fn wgsl(self) -> &'static str {
        match self {
            TexelFormat::Rgba8Unorm => "rgba8unorm",
            TexelFormat::Rgba16Float => "rgba16float",
            TexelFormat::Rgba32Float => "rgba32float",
            TexelFormat::R32Float => "r32float",
        }
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Fills a buffer with zeros.
    Clear { buffer: usize },
    /// Runs a compute kernel.
    Dispatch(Dispatch),
}

/// One dispatch. Entry point `main`; binding `n` of group 0 is `bindings[n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatch {
    /// Operator names, for captures and timings.
    pub label: String,
    /// The whole module.
    pub wgsl: Arc<str>,
    /// Whether all of it is the engine's own text, whose loops end; a user's are bounded by the device.
    pub trusted: bool,
    /// What the kernel reads and writes. Binding 0 is always [`Resource::Uniforms`].
    pub bindings: Vec<Resource>,
    /// Number of workgroups along x and y.
    pub groups: [u32; 2],
    /// Estimated work of one workgroup, in pixels times cheap operators; long dispatches are split by rows of groups.
    pub group_cost: f64,
    /// The uniform block. Its first two words are the index of the first workgroup along x and y, which the device sets
    /// when it splits a dispatch; a multiple of 16 bytes long.
    pub uniforms: Vec<u32>,
    /// Content of [`Resource::Table`], if there is one.
    pub table: Option<Arc<[[f32; 4]]>>,
    /// Bytes of workgroup memory that it takes for tiles.
    pub workgroup_memory: u32,
}

/// What a binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// `var<uniform>`: the dispatch's uniforms.
    Uniforms,
    /// `var<storage, read>`: the dispatch's table.
    Table,
    /// `var<storage, read>` of an input picture.
    Source(usize),
    /// `texture_2d<u32>` of an input picture: four of its words in a texel.
    SourceTexture(usize),
    /// `var<storage, read_write>` of an output picture.
    Output(usize),
    /// `texture_2d<f32>`, read by integer loads; `texture_2d_array<f32>` if its layout has layers.
    Texture(usize),
    /// `texture_storage_2d<format, write>`, or `texture_storage_2d_array`.
    TextureWrite(usize),
    /// `var<storage, read>` of a buffer.
    Buffer(usize),
    /// `var<storage, read_write>` of a buffer.
    BufferWrite(usize),
}

/// How a pass over pixels is cut into invocations. Its pixels are the same for every shape, its time is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PassShape {
    /// Invocations of a workgroup along x and y.
    pub workgroup: [u32; 2],
    /// Invocations make sixteen pixels of a row instead of four, eight rows of a column instead of four, where registers
    /// for so many pay.
    pub large_blocks: bool,
    /// Whether a workgroup takes what its neighbourhoods read into workgroup memory first, where the device has enough for
    /// that. Passes that read single pixels have nothing to take.
    #[serde(default)]
    pub tile: bool,
    /// Blocks that an invocation makes one after the other, those of a workgroup below each other: from 1 to
    /// [`MOST_ITEMS`](Self::MOST_ITEMS). Passes that resize make one.
    #[serde(default = "one")]
    pub items: u32,
}

/// What a file says that does not name the items.
fn one() -> u32 {
    1
}

impl PassShape {
    /// 128 invocations are what the weakest devices allow; rows are read in order. Tiles were never faster where they were
    /// measured: neighbouring outputs share their reads in registers.
    pub const DEFAULT: PassShape = PassShape { workgroup: [16, 8], large_blocks: false, tile: false, items: 1 };

    /// More would leave the cores of a small device idle, and bring the rounds of loops towards the 65535 at which llvmpipe
    /// leaves them.
    pub const MOST_ITEMS: u32 = 8;

    /// Blocks that a workgroup makes along x and y.
    pub(crate) fn cover(self) -> [u32; 2] {
        [self.workgroup[0], self.workgroup[1] * self.items]
    }

    /// The limit that it is over, as [`Limits::exceeded_by`] tells it.
    pub fn over(self, limits: &Limits) -> Option<(&'static str, u64, u64)> {
        let [x, y] = self.workgroup;
        limits.exceeded_by([x, y, 1])
    }
}

/// As in "16x8, 2 small blocks, tile".
impl std::fmt::Display for PassShape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y] = self.workgroup;
        let blocks = if self.large_blocks { "large" } else { "small" };
        let tile = if self.tile { ", tile" } else { "" };
        let count = if self.items == 1 { String::new() } else { format!("{} ", self.items) };
        formatter.pad(&format!("{x}x{y}, {count}{blocks} blocks{tile}"))
    }
}

/// The shapes of passes, by what they read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PassShapes {
    /// Of passes that read single pixels.
    pub point: PassShape,
    /// Of passes that read neighbourhoods.
    pub area: PassShape,
}

impl PassShapes {
    /// Both alike.
    pub const fn both(shape: PassShape) -> PassShapes {
        PassShapes { point: shape, area: shape }
    }

    /// Whether a device can have them.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a workgroup of none and for items out of range, [`Error::KernelLimit`] for a workgroup
    /// over a limit.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        for (kind, shape) in [("point", self.point), ("area", self.area)] {
            let refuse = |parameter: &str, expected: String, found: String| {
                let (operator, parameter) = (format!("{kind} passes"), parameter.to_string());
                Err(Error::BadParameter { operator, parameter, expected, found })
            };
            if shape.workgroup.contains(&0) {
                let expected = "one invocation or more along each side".to_string();
                return refuse("workgroup", expected, shape.to_string());
            }
            if !(1..=PassShape::MOST_ITEMS).contains(&shape.items) {
                let expected = format!("1 to {} for each invocation", PassShape::MOST_ITEMS);
                return refuse("items", expected, shape.items.to_string());
            }
            if let Some((limit, found, allowed)) = shape.over(limits) {
                let (kernel, fits) = (format!("{kind} passes"), format!("{} would fit", PassShape::DEFAULT));
                return Err(Error::KernelLimit { kernel, limit, found, allowed, fits });
            }
        }
        Ok(())
    }
}

/// What a plan must keep within, and how passes are made for the device. Taken from the device; [`Limits::UNLIMITED`] for
/// the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Largest width or height of a texture.
    pub texture_size: u32,
    /// Most layers of a texture.
    pub texture_layers: u32,
    /// Storage buffers in one kernel.
    pub storage_buffers: u32,
    /// Written textures in one kernel.
    pub storage_textures: u32,
    /// Read textures in one kernel.
    pub sampled_textures: u32,
    /// Bytes of one storage buffer binding.
    pub storage_binding_size: u64,
    /// Bytes of one buffer.
    pub buffer_size: u64,
    /// Bytes of one uniform binding.
    pub uniform_binding_size: u64,
    /// Invocations of a workgroup.
    pub workgroup_invocations: u32,
    /// Invocations of a workgroup along x, and along y.
    pub workgroup_size: [u32; 2],
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Workgroups of a dispatch along one dimension.
    pub workgroups: u32,
    /// Packed sources are better read through textures: loads from buffers cost far more than arithmetic, as measured on
    /// llvmpipe.
    pub source_textures: bool,
    /// How passes over pixels are shaped.
    pub pass_shapes: PassShapes,
}

impl Limits {
    /// The limit that a workgroup of this size is over: its name, what the workgroup has, what is allowed.
    pub fn exceeded_by(&self, workgroup: [u32; 3]) -> Option<(&'static str, u64, u64)> {
        let [x, y, _] = workgroup.map(u64::from);
        let invocations = workgroup.into_iter().map(u64::from).product();
        let [most_x, most_y] = self.workgroup_size.map(u64::from);
        let limits = [
            ("invocations of a workgroup", invocations, u64::from(self.workgroup_invocations)),
            ("size of a workgroup along x", x, most_x),
            ("size of a workgroup along y", y, most_y),
        ];
        limits.into_iter().find(|(_, found, allowed)| found > allowed)
    }

    /// No limit that a picture could reach.
    pub const UNLIMITED: Limits = Limits {
        texture_size: u32::MAX,
        texture_layers: u32::MAX,
        storage_buffers: u32::MAX,
        storage_textures: u32::MAX,
        sampled_textures: u32::MAX,
        storage_binding_size: u64::MAX,
        buffer_size: u64::MAX,
        uniform_binding_size: u64::MAX,
        workgroup_invocations: u32::MAX,
        workgroup_size: [u32::MAX; 2],
        workgroup_memory: u32::MAX,
        workgroups: u32::MAX,
        source_textures: false,
        pass_shapes: PassShapes::both(PassShape::DEFAULT),
    };

    /// A weak phone under GLES 3.1.
    pub const DOWNLEVEL: Limits = Limits {
        texture_size: 2048,
        texture_layers: 256,
        storage_buffers: 4,
        storage_textures: 4,
        sampled_textures: 16,
        storage_binding_size: 128 << 20,
        buffer_size: 256 << 20,
        uniform_binding_size: 16 << 10,
        workgroup_invocations: 128,
        workgroup_size: [128, 64],
        workgroup_memory: 16352,
        workgroups: 65535,
        source_textures: false,
        pass_shapes: PassShapes::both(PassShape::DEFAULT),
    };
}
