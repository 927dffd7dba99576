//! How the engine's kernels and the passes of pictures are shaped: workgroup size, and what each invocation makes. Untuned,
//! by a small table; tuned, as measured on the device, kept in a file. The shape never changes a result, except for the
//! order in which floats are added.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::builtin::{Engine, Text};
use super::matrix::{Matrix, Product};
use crate::context::Context;
use crate::error::{Error, Result, nearest};
use crate::graph::Graph;
use crate::image::{Description, Image, PixelFormat};
use crate::plan::Options;
use crate::plan::recording::{Limits, PassShape, PassShapes};
use crate::program::{FrameOptions, Program};
use crate::timings::{Profile, Timings};

/// The shape of a kernel over one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Invocations of a workgroup; a power of two.
    pub workgroup: u32,
    /// Vectors of four elements for each invocation.
    pub items: u32,
}

impl Shape {
    pub(super) fn text(self) -> Text {
        Text::new().constant("WORKGROUP", self.workgroup).constant("ITEMS", self.items)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&format!("{}x1, {} each", self.workgroup, self.items))
    }
}

/// What can be tuned: kernels, and the passes of pictures that read single pixels ("point") or neighbourhoods ("area").
pub const TUNABLE: [&str; 8] = ["map", "reduce", "scan", "scan-integers", "histogram", "product", "point", "area"];

/// What is tried for kernels.
const WORKGROUPS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
const ITEMS: [u32; 6] = [1, 2, 4, 8, 16, 64];

/// Workgroups that are tried for passes, as [`pass_shapes_to_try`] says.
const PASS_WORKGROUPS: [[u32; 2]; 9] =
    [[8, 8], [16, 8], [16, 16], [32, 8], [64, 4], [64, 1], [128, 1], [256, 1], [32, 32]];

/// What is used without tuning.
///
/// - Software rasterisers run a workgroup's invocations eight at a time on one core: what counts is work for each
///   invocation against the cost of starting it and of barriers, so many items and few invocations that wait for each other,
///   as measured on lavapipe.
/// - GPUs hide latency by invocations in flight: 256 of them is a size that all have and that fills a compute unit with few
///   groups; reductions and scans still pay for barriers, so they take more items each.
/// - The limits of weak phones are kept in any case.
fn default_shape(kernel: &str, software: bool, limits: &Limits) -> Shape {
    let shape = match (kernel, software) {
        ("map", true) => Shape { workgroup: 256, items: 2 },
        ("map", false) => Shape { workgroup: 256, items: 1 },
        ("histogram", true) => Shape { workgroup: 64, items: 64 },
        ("histogram", false) => Shape { workgroup: 256, items: 16 },
        ("scan" | "scan-integers", false) => Shape { workgroup: 256, items: 4 },
        (_, true) => Shape { workgroup: 32, items: 64 },
        (_, false) => Shape { workgroup: 256, items: 8 },
    };
    let most = limits.workgroup_invocations.min(limits.workgroup_size[0]).max(1);
    // Down to a power of two.
    let most = 1 << most.ilog2();
    Shape { workgroup: shape.workgroup.min(most), ..shape }
}

/// Whether integers are scanned in a single pass without tuning. Where every load costs as much as arithmetic it saves a third
/// of the time; on GPUs it has not been measured, so there tuning decides.
fn single_pass_by_default(context: &Context) -> bool {
    context.is_software()
}

/// What tuning has found, by kernel.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Tuning {
    shapes: BTreeMap<String, Shape>,
    product: Option<Product>,
    /// Whether integers are scanned in a single pass.
    #[serde(default)]
    single_pass: Option<bool>,
    /// By kind of pass.
    #[serde(default)]
    passes: BTreeMap<String, PassShape>,
}

impl Tuning {
    fn choose(&mut self, kernel: &str, Way { shape, single_pass }: Way) {
        self.shapes.insert(kernel.to_string(), shape);
        if kernel == "scan-integers" {
            self.single_pass = Some(single_pass);
        }
    }
}

/// How a kernel over one dimension is run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    shape: Shape,
    /// Of scans of integers alone.
    single_pass: bool,
}

impl std::fmt::Display for Way {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&format!("{}{}", self.shape, if self.single_pass { ", single pass" } else { "" }))
    }
}

impl Engine<'_> {
    /// The shape of a kernel on this device.
    pub(super) fn shape(&self, kernel: &str) -> Shape {
        let tuned = tuning(self.context).shapes.get(kernel).copied();
        tuned.unwrap_or_else(|| default_shape(kernel, self.context.is_software(), &self.context.limits()))
    }

    /// Whether integers are scanned in a single pass.
    pub(super) fn scans_in_a_single_pass(&self) -> bool {
        tuning(self.context).single_pass.unwrap_or_else(|| single_pass_by_default(self.context))
    }

    /// How matrices are multiplied on this device.
    pub(super) fn best_product(&self) -> Product {
        tuning(self.context).product.unwrap_or_else(|| Product::default_of(self.context.is_software()))
    }
}

/// What is known of this device: found now, or in the file.
fn tuning(context: &Context) -> Tuning {
    let mut known = context.compute_state().tuning.lock();
    known.get_or_insert_with(|| default_file().and_then(|file| read_file(&file, context)).unwrap_or_default()).clone()
}

fn change(context: &Context, change: impl FnOnce(&mut Tuning)) {
    let mut known = tuning(context);
    change(&mut known);
    *context.compute_state().tuning.lock() = Some(known);
}

/// The file that tuning is kept in: `CYANOTYPE_TUNING`, or `cyanotype/tuning.json` in the user's cache folder. `None` where
/// that is `off`, or there is no such folder.
pub fn default_file() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match variable("CYANOTYPE_TUNING") {
        Some(off) if off == "off" => None,
        Some(file) => Some(file.into()),
        None => {
            let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
            let local = || variable("LOCALAPPDATA").map(PathBuf::from);
            let folder = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).or_else(local)?;
            Some(folder.join("cyanotype").join("tuning.json"))
        }
    }
}

/// What the file holds for this device: adapter and driver are the key. A file that does not parse counts as none.
fn read_file(file: &Path, context: &Context) -> Option<Tuning> {
    let text = std::fs::read_to_string(file).ok()?;
    // Other devices' may be those of another version.
    let all: serde_json::Result<BTreeMap<String, serde_json::Value>> = serde_json::from_str(&text);
    let of_device = |mut all: BTreeMap<String, serde_json::Value>| all.remove(&context.device_key());
    let found = all.map(of_device).and_then(|value| value.map(serde_json::from_value::<Tuning>).transpose());
    let mut found = match found {
        Ok(found) => found?,
        Err(error) => {
            log::warn!("{}: {error}; tuning is not used", file.display());
            return None;
        }
    };
    let limits = context.limits();
    // Files are edited, and devices pretend: what is not legal here is not used.
    found.shapes.retain(|kernel, shape| TUNABLE.contains(&kernel.as_str()) && remark(*shape, &limits).is_none());
    found.passes.retain(|_, shape| PassShapes::both(*shape).check(&limits).is_ok());
    Some(found)
}

/// What a file holds, by device; nothing where there is none.
///
/// # Errors
/// [`Error::BadInput`] for a file of something else, which is not to be lost.
fn entries(file: &Path) -> Result<BTreeMap<String, serde_json::Value>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Error::Io { path: file.to_path_buf(), message: error.to_string() }),
    };
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is no tuning file: {error}; move it away", file.display());
        Error::BadInput { operator: "tune".to_string(), message }
    })
}

/// How a kernel is tuned.
#[derive(Debug, Clone)]
pub struct TuneOptions {
    /// Elements that kernels are measured on.
    pub elements: usize,
    /// Rows and columns of the matrices that are measured.
    pub side: usize,
    /// Where to keep what was found. `None`: only in this context.
    pub file: Option<PathBuf>,
}

impl Default for TuneOptions {
    fn default() -> Self {
        TuneOptions { elements: 4 << 20, side: 512, file: default_file() }
    }
}

/// One line of the familiar table.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TuneRow {
    /// Workgroup and items for each invocation; or the name of a way.
    pub shape: String,
    /// Workgroups of the first dispatch.
    pub groups: u64,
    /// Milliseconds. `None` for what the device does not allow.
    pub milliseconds: Option<f64>,
    /// Gigabytes moved a second, or thousand million products and sums for matrices.
    pub rate: Option<f64>,
    /// "default", "chosen", or the limit that it is over.
    pub remark: String,
}

/// What tuning a kernel has found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TuneReport {
    pub kernel: String,
    pub device: String,
    /// "GB/s" or "Gfma/s".
    pub unit: &'static str,
    /// By which clock: "device" or "host".
    pub clock: &'static str,
    pub rows: Vec<TuneRow>,
    /// How long the chosen shape takes against the default: below one, or one where the default stays.
    pub against_default: f64,
}

impl std::fmt::Display for TuneReport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{} on {}, by the {}'s clock", self.kernel, self.device, self.clock)?;
        writeln!(formatter, "{:<26}{:>10}{:>10}{:>9}  remark", "shape", "groups", "ms", self.unit)?;
        for row in &self.rows {
            let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
            let (time, rate) = (number(row.milliseconds), number(row.rate));
            let line = format!("{:<26}{:>10}{time:>10}{rate:>9}  {}", row.shape, row.groups, row.remark);
            writeln!(formatter, "{}", line.trim_end())?;
        }
        writeln!(formatter, "time against the default: {:.2}", self.against_default)
    }
}

/// Every workgroup with one to eight small blocks for each invocation and with a large one; neighbourhoods with a tile, too,
/// for one block of either kind.
fn pass_shapes_to_try(kind: &str) -> impl Iterator<Item = PassShape> {
    let blocks = [(false, 1), (false, 2), (false, 4), (false, 8), (true, 1)];
    let tiles: &[bool] = if kind == "area" { &[false, true] } else { &[false] };
    PASS_WORKGROUPS.into_iter().flat_map(move |workgroup| {
        let shape = move |tile, (large_blocks, items)| PassShape { workgroup, large_blocks, tile, items };
        let shapes = tiles.iter().flat_map(move |&tile| blocks.map(|block| shape(tile, block)));
        shapes.filter(|shape| !shape.tile || shape.items == 1)
    })
}

fn over_the_limit(name: &str, limit: u64) -> String {
    format!("over the limit: {name} {limit}")
}

/// What a row of the table says of its shape.
fn remarks(over: Option<String>, is_default: bool, is_best: bool) -> String {
    let words = [over, is_default.then(|| "default".to_string()), is_best.then(|| "chosen".to_string())];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Which limit a shape is over.
fn remark(shape: Shape, limits: &Limits) -> Option<String> {
    if let Some((name, _, allowed)) = limits.exceeded_by([shape.workgroup, 1, 1]) {
        return Some(over_the_limit(name, allowed));
    }
    match shape.workgroup {
        // The others are not tested.
        size if !WORKGROUPS.contains(&size) || !ITEMS.contains(&shape.items) => Some("not a legal shape".to_string()),
        // Eight bytes for each invocation at most.
        size if 8 * size > limits.workgroup_memory => {
            Some(over_the_limit("bytes of workgroup memory", u64::from(limits.workgroup_memory)))
        }
        _ => None,
    }
}

/// A choice must be faster than the default by more than noise: the median of paired ratios below this.
const WORTH: f64 = 0.97;

/// Pairs of runs, default and candidate in turn, that decide.
const PAIRS: usize = 11;

impl Context {
    /// Measures the legal shapes of a kernel (one of [`TUNABLE`]) and uses the best from now on; kept in a file, it is used by
    /// all later contexts on this device. The default stays unless another is clearly faster in runs that alternate.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::NoDevice`] on the CPU, which has nothing to tune; [`Error::Limit`] for more elements
    /// than a device takes; [`Error::BadInput`] where the file holds something else, [`Error::Io`] where it cannot be
    /// written.
    pub fn tune(&self, kernel: &str, options: &TuneOptions) -> Result<TuneReport> {
        let Some(engine) = Engine::of(self) else {
            return Err(Error::NoDevice("the CPU has no workgroups to tune".to_string()));
        };
        if !TUNABLE.contains(&kernel) {
            let suggestion = nearest(kernel, TUNABLE);
            return Err(Error::UnknownName { what: "kernel to tune", name: kernel.to_string(), suggestion });
        }
        if let Some(file) = &options.file {
            // Before the time that measuring takes.
            entries(file)?;
        }
        let limits = self.limits();
        // Four bytes each, of kernels as of pictures.
        let most = limits.storage_binding_size.min(limits.buffer_size).min(u64::from(u32::MAX)) / 4;
        if kernel != "product" && options.elements as u64 > most {
            let what = "the number of elements to measure on".to_string();
            return Err(Error::Limit { what, found: options.elements as u64, limit: most });
        }
        let report = match kernel {
            "product" => self.tune_product(options)?,
            "point" | "area" => self.tune_passes(kernel, options)?,
            _ => self.tune_shape(&engine, kernel, options)?,
        };
        if let Some(file) = &options.file {
            self.save(file)?;
        }
        Ok(report)
    }

    /// How passes are shaped on this device.
    pub(crate) fn pass_shapes(&self) -> PassShapes {
        let default = self.limits().pass_shapes;
        if Engine::of(self).is_none() {
            return default;
        }
        let tuned = tuning(self).passes;
        let shape = |kind: &str, default: PassShape| tuned.get(kind).copied().unwrap_or(default);
        PassShapes { point: shape("point", default.point), area: shape("area", default.area) }
    }

    fn tune_passes(&self, kind: &str, options: &TuneOptions) -> Result<TuneReport> {
        let limits = self.limits();
        // All passes of either are of its kind.
        let (chain, default) = match kind {
            "point" => ("exposure 0.3 | saturation 1.3", limits.pass_shapes.point),
            _ => ("gaussian-blur 3 | sobel", limits.pass_shapes.area),
        };
        let graph = Graph::parse(chain)?;
        let side = (options.elements as f64).sqrt().max(1.0) as u32;
        let description = Description::new(side, side, PixelFormat::Rgba8);
        let noise = (0..description.byte_count() as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        let picture = Image::new(description, noise.collect())?;
        let compile = |shape: PassShape| {
            let options = Options { pass_shapes: Some(PassShapes::both(shape)), ..Options::default() };
            self.compile_with(&graph, &[("in", description)], &options)
        };
        // The same passes whatever their shape.
        let planned = compile(default)?;
        let report = planned.report();
        let bytes = (report.bytes_read + report.bytes_written) as f64;
        let mut shapes = Vec::new();
        for shape in pass_shapes_to_try(kind) {
            let dispatches = planned.dispatches(Some(PassShapes::both(shape)))?;
            let memory = dispatches.iter().map(|dispatch| dispatch.workgroup_memory).max().unwrap_or(0);
            let over = match shape.over(&limits) {
                None if shape.tile && memory == 0 => {
                    Some(over_the_limit("bytes of workgroup memory", u64::from(limits.workgroup_memory)))
                }
                over => over.map(|(name, _, allowed)| over_the_limit(name, allowed)),
            };
            let [x, y] = dispatches.first().map_or([0, 0], |dispatch| dispatch.groups.map(u64::from));
            shapes.push((shape, x * y, over));
        }
        let known: RefCell<Vec<(PassShape, Program)>> = RefCell::new(Vec::new());
        let run = |shape: PassShape| -> Result<f64> {
            let mut known = known.borrow_mut();
            let index = match known.iter().position(|(other, _)| *other == shape) {
                Some(index) => index,
                None => {
                    // Runs in pairs alternate between two; more would only hold memory.
                    known.truncate(1);
                    known.insert(0, (shape, compile(shape)?));
                    0
                }
            };
            let start = Instant::now();
            let profile = if self.has_timestamps() { Profile::Running } else { Profile::Off };
            let frame = FrameOptions { profile, ..FrameOptions::default() };
            // The index was found or made just now.
            let results = known[index].1.run_with(&[("in", &picture)], frame)?;
            let host = start.elapsed().as_secs_f64() * 1e3;
            // Without the device's clock the transfers are in it, the same for all.
            Ok(results.timings().and_then(Timings::passes_ms).unwrap_or(host))
        };
        let candidates = shapes.iter().map(|(shape, _, over)| (*shape, over.is_none())).collect();
        let (timed, best, against_default) = sweep(candidates, default, run)?;
        change(self, |tuning| {
            tuning.passes.insert(kind.to_string(), best);
        });
        let rows = timed.into_iter().zip(shapes).map(|((_, time), (shape, groups, over))| TuneRow {
            shape: shape.to_string(),
            groups,
            milliseconds: time,
            rate: time.map(|time| bytes / 1e6 / time),
            remark: remarks(over, shape == default, shape == best),
        });
        Ok(self.report(kind, "GB/s", rows.collect(), against_default))
    }

    fn tune_shape(&self, engine: &Engine, kernel: &str, options: &TuneOptions) -> Result<TuneReport> {
        let limits = self.limits();
        let single_pass = kernel == "scan-integers" && single_pass_by_default(self);
        let default = Way { shape: default_shape(kernel, self.is_software(), &limits), single_pass };
        let data =
            self.buffer(&(0..options.elements as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect::<Vec<_>>())?;
        let floats = data.map::<f32>("f32(x)")?;
        let run = |way: Way| -> Result<f64> {
            change(self, |tuning| tuning.choose(kernel, way));
            self.timed(|| match kernel {
                "map" => floats.map::<f32>("x * x").map(drop),
                "reduce" => floats.sum().wait().map(drop),
                "scan" => floats.scan().map(drop),
                "scan-integers" => data.scan().map(drop),
                _ => data.map::<u32>("x & 255u").and_then(|bytes| bytes.histogram(256)).map(drop),
            })
        };
        let before = tuning(self);
        let shapes = WORKGROUPS.into_iter().flat_map(|workgroup| ITEMS.map(|items| Shape { workgroup, items }));
        let passes: &[bool] = if kernel == "scan-integers" { &[false, true] } else { &[false] };
        let ways = shapes.flat_map(|shape| passes.iter().map(move |&single_pass| Way { shape, single_pass }));
        let candidates = ways.map(|way| (way, remark(way.shape, &limits).is_none())).collect();
        let outcome = sweep(candidates, default, run);
        // Whatever happened, no shape in the making stays.
        change(self, |tuning| *tuning = before);
        let (mut timed, best, against_default) = outcome?;
        change(self, |tuning| tuning.choose(kernel, best));
        debug_assert_eq!(engine.shape(kernel), best.shape);
        let bytes = options.elements as f64 * if kernel == "reduce" || kernel == "histogram" { 4.0 } else { 8.0 };
        timed.sort_by_key(|(way, _)| (way.single_pass, way.shape.workgroup, way.shape.items));
        let row = |(way, time): (Way, Option<f64>)| TuneRow {
            shape: way.to_string(),
            groups: (options.elements as u64).div_ceil(4 * u64::from(way.shape.workgroup * way.shape.items)),
            milliseconds: time,
            rate: time.map(|time| bytes / 1e6 / time),
            remark: remarks(remark(way.shape, &limits), way == default, way == best),
        };
        let rows = timed.into_iter().map(row).collect();
        Ok(self.report(kernel, "GB/s", rows, against_default))
    }

    fn tune_product(&self, options: &TuneOptions) -> Result<TuneReport> {
        let side = options.side;
        let matrix = Matrix::new(self.buffer(&vec![0.5f32; side * side])?, side, side)?;
        let default = Product::default_of(self.is_software());
        let run = |way: Product| self.timed(|| matrix.multiply_by(&matrix, way).map(drop));
        let (timed, best, against_default) = sweep(Product::ALL.map(|way| (way, true)).to_vec(), default, run)?;
        change(self, |tuning| tuning.product = Some(best));
        let work = (side * side * side) as f64;
        let row = |&(way, time): &(Product, Option<f64>)| TuneRow {
            shape: way.name().to_string(),
            groups: way.groups(side),
            milliseconds: time,
            rate: time.map(|time| work / 1e6 / time),
            remark: remarks(None, way == default, way == best),
        };
        Ok(self.report("product", "Gfma/s", timed.iter().map(row).collect(), against_default))
    }

    fn report(&self, kernel: &str, unit: &'static str, rows: Vec<TuneRow>, against_default: f64) -> TuneReport {
        let clock = if self.has_timestamps() { "device" } else { "host" };
        TuneReport { kernel: kernel.to_string(), device: self.description(), unit, clock, rows, against_default }
    }

    /// Milliseconds that some work takes: by the device's clock where it can be trusted, else by the host's.
    fn timed(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        if self.has_timestamps() {
            let tracing = self.trace()?;
            let done = work();
            let trace = tracing.finish().wait()?;
            return done.map(|()| trace.total_ms());
        }
        self.finish().wait()?;
        let start = Instant::now();
        work()?;
        self.finish().wait()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Adds what is known of this device to a file.
    fn save(&self, file: &Path) -> Result<()> {
        let failed = |error: std::io::Error| Error::Io { path: file.to_path_buf(), message: error.to_string() };
        let mut all = entries(file)?;
        // Numbers and names: cannot fail.
        all.insert(self.device_key(), serde_json::to_value(tuning(self)).unwrap_or_default());
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = serde_json::to_string_pretty(&all).unwrap_or_default(); // maps of plain numbers: cannot fail
        // Whole, or not at all: another process may be reading.
        let fresh = file.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, file)).map_err(failed)
    }
}

/// Times all shapes that are legal; then the fastest against the default in pairs. Gives all times, the choice and its
/// ratio.
fn sweep<S: Copy + PartialEq>(
    candidates: Vec<(S, bool)>,
    default: S,
    run: impl Fn(S) -> Result<f64>,
) -> Result<(Vec<(S, Option<f64>)>, S, f64)> {
    let mut timed = Vec::new();
    for (shape, is_legal) in candidates {
        let mut time = None;
        if is_legal {
            // The first run compiles.
            run(shape)?;
            let mut times = (0..3).map(|_| run(shape)).collect::<Result<Vec<f64>>>()?;
            time = Some(median(&mut times));
        }
        timed.push((shape, time));
    }
    let legal = timed.iter().filter_map(|&(shape, time)| time.map(|time| (shape, time)));
    let fastest = legal.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(default, |(shape, _)| shape);
    if fastest == default {
        return Ok((timed, default, 1.0));
    }
    let mut ratios = (0..PAIRS)
        .map(|_| {
            let before = run(default)?;
            Ok(run(fastest)? / before)
        })
        .collect::<Result<Vec<f64>>>()?;
    let ratio = median(&mut ratios);
    Ok(if ratio < WORTH { (timed, fastest, ratio) } else { (timed, default, 1.0) })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_fastest_or_the_default() {
        let default = Shape { workgroup: 64, items: 4 };
        let shapes =
            [64, 128, 256, 512].into_iter().flat_map(|workgroup| [4, 8].map(|items| Shape { workgroup, items }));
        let candidates: Vec<(Shape, bool)> = shapes.map(|shape| (shape, shape.workgroup <= 256)).collect();
        // Clearly faster at one shape.
        let wanted = Shape { workgroup: 128, items: 8 };
        let (timed, best, ratio) =
            sweep(candidates.clone(), default, |shape| Ok(if shape == wanted { 1.0 } else { 2.0 })).unwrap();
        assert_eq!((best, ratio), (wanted, 0.5));
        assert!(timed.iter().all(|(shape, time)| time.is_some() == (shape.workgroup <= 256)));
        // Faster, but not by more than noise.
        let (_, best, ratio) =
            sweep(candidates, default, |shape| Ok(if shape == wanted { 0.99 } else { 1.0 })).unwrap();
        assert_eq!((best, ratio), (default, 1.0));
    }

    #[test]
    fn defaults_keep_within_weak_devices() {
        for kernel in ["map", "reduce", "scan", "histogram"] {
            for software in [false, true] {
                assert_eq!(remark(default_shape(kernel, software, &Limits::DOWNLEVEL), &Limits::DOWNLEVEL), None);
            }
        }
        let large = remark(Shape { workgroup: 512, items: 1 }, &Limits::DOWNLEVEL).unwrap();
        assert!(large.contains("over the limit") && large.contains("128"), "{large}");
    }
}
