//! lut3d: a colour look-up table from a .cube file. The format is the "Cube LUT Specification 1.0" of Adobe, with the
//! input ranges of DaVinci Resolve. Three-dimensional tables are interpolated in tetrahedra (the six that share the cell's
//! grey diagonal, so grey stays free of the other corners' colours) or trilinearly; one-dimensional ones linearly.

use crate::cpu::simd::clamp_to_int;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Channels, Choice, FileContent, Group, IMAGE, Kernel, Operator, Parameter, Point, Position,
    Rgba, Value, kernel,
};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// A look-up table.
pub static OPERATOR: Operator = Operator {
    name: "lut3d",
    group: Group::Color,
    summary: "Applies a colour look-up table from a .cube file",
    details: "Reads LUT_3D_SIZE (2 to 129) or LUT_1D_SIZE (2 to 65536) tables with DOMAIN_MIN and DOMAIN_MAX, or \
              LUT_3D_INPUT_RANGE and LUT_1D_INPUT_RANGE. Colours outside of the domain are clamped to it. Values are used \
              as stored: a table says what it expects, mostly encoded values. Interpolation is tetrahedral, as in \
              Resolve, libplacebo and ffmpeg's default, or trilinear, as in Pillow's Color3DLUT.",
    inputs: IMAGE,
    parameters: &[
        Parameter::file("file", "cube").help("The table"),
        Parameter::float("strength", 0.0, 1.0, 1.0, "").help("0 changes nothing, 1 is all table"),
        Parameter::choice("interpolation", &["tetrahedral", "trilinear"], 0).help("Between the entries of a 3D table"),
    ],
    lower,
};

kernel! {
    "lut3d", cost: 8.0,
    pub struct Lut3d { low: [f32; 3], strength: f32, scale: [f32; 3], size: u32, method: Choice } table entries
}

/// Values of `Lut3d::method`, as the WGSL has them.
const TETRAHEDRAL: u32 = 0;
const TRILINEAR: u32 = 1;
const CURVES: u32 = 2;

/// Most entries along an edge of a 3D table; 129 is the largest in use.
const MOST_3D: usize = 129;
const MOST_1D: usize = 65536;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let Some(file) = arguments.file("file") else {
        return Err(Error::BadParameter {
            operator: "lut3d".into(),
            parameter: "file".into(),
            expected: "the path of a .cube file".into(),
            found: "nothing".into(),
        });
    };
    let method = if arguments.choice("interpolation") == "trilinear" { TRILINEAR } else { TETRAHEDRAL };
    let kernel = Lut3d::new(&cached(file)?, arguments.float("strength"), method);
    Ok(builder.point_to(inputs[0], Kernel::point(kernel), Channels::Color))
}

/// A parsed file.
#[derive(Debug, Clone, PartialEq)]
pub struct Cube {
    layout: Layout,
    /// Red changes fastest, then green, then blue; alpha is unused.
    entries: Arc<[[f32; 4]]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    /// Entries along an edge.
    size: usize,
    /// One table for each channel instead of a cube.
    is_curves: bool,
    low: [f32; 3],
    high: [f32; 3],
}

/// A file parsed earlier, for as long as some program holds both its bytes and its table.
struct Parsed {
    bytes: Weak<[u8]>,
    entries: Weak<[[f32; 4]]>,
    layout: Layout,
}

/// A program lowers its graph again whenever a parameter changes; without this a slider would parse megabytes of text for
/// each frame. It holds weak references only.
static PARSED: Mutex<Vec<Parsed>> = Mutex::new(Vec::new());

fn cached(file: &FileContent) -> Result<Cube> {
    {
        let mut parsed = PARSED.lock();
        parsed.retain(|known| known.bytes.strong_count() > 0 && known.entries.strong_count() > 0);
        let known = parsed.iter().find(|known| std::ptr::addr_eq(known.bytes.as_ptr(), Arc::as_ptr(&file.bytes)));
        if let Some((entries, layout)) = known.and_then(|known| Some((known.entries.upgrade()?, known.layout))) {
            return Ok(Cube { layout, entries });
        }
    }
    let cube = parse(&file.path, &file.bytes)?;
    PARSED.lock().push(Parsed {
        bytes: Arc::downgrade(&file.bytes),
        entries: Arc::downgrade(&cube.entries),
        layout: cube.layout,
    });
    Ok(cube)
}

/// Reads the text of a .cube file; `path` is for error texts.
///
/// # Errors
/// [`Error::Decode`] with the line.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Cube> {
    let fail =
        |line: usize, message: String| Error::Decode { what: path.into(), message: format!("line {line}: {message}") };
    // Size, and whether the table is one-dimensional.
    let mut size: Option<(usize, bool)> = None;
    let (mut low, mut high) = ([0.0f32; 3], [1.0f32; 3]);
    let mut entries: Vec<[f32; 4]> = Vec::new();
    let mut wanted = 0usize;
    let mut lines = 0;
    for (index, raw) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        lines = line;
        let text = String::from_utf8_lossy(raw);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') || text.starts_with("TITLE") {
            continue;
        }
        let mut words = text.split('#').next().unwrap_or("").split_whitespace();
        let word = words.next().unwrap_or("");
        if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            if size.is_none() {
                return Err(fail(line, "numbers before LUT_3D_SIZE or LUT_1D_SIZE".into()));
            }
            if entries.len() == wanted {
                return Err(fail(line, format!("more entries than the {wanted} that the size calls for")));
            }
            let [red, green, blue] =
                numbers(std::iter::once(word).chain(words)).map_err(|message| fail(line, message))?;
            entries.push([red, green, blue, 0.0]);
            continue;
        }
        if !entries.is_empty() {
            return Err(fail(line, format!("'{word}' between the entries")));
        }
        match word {
            "LUT_3D_SIZE" | "LUT_1D_SIZE" => {
                if size.is_some() {
                    return Err(fail(line, "a second size; a 1D and a 3D table in one file are not supported".into()));
                }
                let is_curves = word == "LUT_1D_SIZE";
                let most = if is_curves { MOST_1D } else { MOST_3D };
                let given: Vec<&str> = words.collect();
                let number = match given.as_slice() {
                    [number] => number.parse().ok().filter(|number| (2..=most).contains(number)),
                    _ => None,
                };
                let Some(number) = number else {
                    let shown: String = given.join(" ").chars().take(40).collect();
                    return Err(fail(line, format!("{word} must be a whole number from 2 to {most}, found '{shown}'")));
                };
                wanted = if is_curves { number } else { number * number * number };
                // A line of three one-digit numbers is the shortest, so a short file cannot ask for much memory.
                entries.reserve(wanted.min(bytes.len() / 6 + 1));
                size = Some((number, is_curves));
            }
            "DOMAIN_MIN" => low = numbers(words).map_err(|message| fail(line, message))?,
            "DOMAIN_MAX" => high = numbers(words).map_err(|message| fail(line, message))?,
            "LUT_3D_INPUT_RANGE" | "LUT_1D_INPUT_RANGE" => {
                let [from, to] = numbers(words).map_err(|message| fail(line, message))?;
                (low, high) = ([from; 3], [to; 3]);
            }
            _ => {
                let shown: String = word.chars().take(40).collect();
                return Err(fail(line, format!("unknown keyword '{shown}'")));
            }
        }
    }
    let Some((size, is_curves)) = size else {
        return Err(fail(lines, "the file ends without LUT_3D_SIZE or LUT_1D_SIZE".into()));
    };
    if entries.len() != wanted {
        return Err(fail(lines, format!("the file ends after {} of {wanted} entries", entries.len())));
    }
    if low.iter().zip(&high).any(|(low, high)| !(high - low >= LEAST_DOMAIN)) {
        let message = format!("the domain must rise in each channel, found {low:?} to {high:?}");
        return Err(fail(lines, message));
    }
    Ok(Cube { layout: Layout { size, is_curves, low, high }, entries: entries.into() })
}

/// Narrowest domain. Narrower ones would let scaled values leave `f32`.
const LEAST_DOMAIN: f32 = 1e-6;

fn numbers<'a, const N: usize>(mut words: impl Iterator<Item = &'a str>) -> std::result::Result<[f32; N], String> {
    let mut found = [0.0; N];
    for slot in &mut found {
        let word = words.next().ok_or_else(|| format!("expected {N} numbers"))?;
        *slot = word.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(|| {
            let shown: String = word.chars().take(40).collect();
            format!("expected a finite number, found '{shown}'")
        })?;
    }
    match words.next() {
        Some(_) => Err(format!("more than {N} numbers")),
        None => Ok(found),
    }
}

impl Lut3d {
    fn new(cube: &Cube, strength: f32, method: u32) -> Self {
        let Layout { size, is_curves, low, high } = cube.layout;
        let scale = |index: usize| ((size - 1) as f64 / (f64::from(high[index]) - f64::from(low[index]))) as f32;
        Lut3d {
            low,
            strength,
            scale: std::array::from_fn(scale),
            size: size as u32, // at most 65536
            method: Choice(if is_curves { CURVES } else { method }),
            entries: Arc::clone(&cube.entries),
        }
    }

    /// Index below `value` along an axis, and the fraction from there to the next.
    #[inline(always)]
    fn place(&self, value: f32, axis: usize) -> (u32, f32) {
        let last = self.size - 1;
        let place = maths::clamp((value - self.low[axis]) * self.scale[axis], 0.0, last as f32);
        let index = (clamp_to_int::<0, { MOST_1D as i32 }>(place) as u32).min(last - 1);
        (index, place - index as f32)
    }

    #[inline(always)]
    fn entry(&self, index: u32) -> [f32; 3] {
        // Indices are below size^3 (or size); `get` says so without a panic.
        let [r, g, b, _] = self.entries.get(index as usize).copied().unwrap_or_default();
        [r, g, b]
    }

    #[inline(always)]
    fn tetrahedral(&self, base: u32, [red, green, blue]: [f32; 3]) -> [f32; 3] {
        let (row, plane) = (self.size, self.size * self.size);
        // From the cell's dark corner to its bright one, first along the axis with the largest fraction, last along that
        // with the smallest. Among equal fractions any order will do: the corner it decides on has weight 0.
        let first = if red >= green && red >= blue {
            1
        } else if green >= blue {
            row
        } else {
            plane
        };
        let last = if blue <= green && blue <= red {
            plane
        } else if green <= red {
            row
        } else {
            1
        };
        let far = 1 + row + plane;
        let (pair_low, pair_high) = if red < green { (red, green) } else { (green, red) };
        let high = if blue > pair_high { blue } else { pair_high };
        let low = if blue < pair_low { blue } else { pair_low };
        let rest = if blue < pair_high { blue } else { pair_high };
        let middle = if rest > pair_low { rest } else { pair_low };
        let corners =
            [self.entry(base), self.entry(base + first), self.entry(base + far - last), self.entry(base + far)];
        let weights = [1.0 - high, high - middle, middle - low, low];
        weighted(corners, weights)
    }

    #[inline(always)]
    fn trilinear(&self, base: u32, [red, green, blue]: [f32; 3]) -> [f32; 3] {
        let (row, plane) = (self.size, self.size * self.size);
        let along_red = |index: u32| lerp(self.entry(index), self.entry(index + 1), red);
        let near = lerp(along_red(base), along_red(base + row), green);
        let far = lerp(along_red(base + plane), along_red(base + plane + row), green);
        lerp(near, far, blue)
    }
}

#[inline(always)]
fn weighted(colors: [[f32; 3]; 4], weights: [f32; 4]) -> [f32; 3] {
    let [a, b, c, d] = colors;
    std::array::from_fn(|i| a[i] * weights[0] + b[i] * weights[1] + c[i] * weights[2] + d[i] * weights[3])
}

#[inline(always)]
fn lerp(first: [f32; 3], second: [f32; 3], weight: f32) -> [f32; 3] {
    std::array::from_fn(|i| first[i] * (1.0 - weight) + second[i] * weight)
}

impl Point for Lut3d {
    #[inline(always)]
    fn pixel(&self, [r, g, b, a]: Rgba, _: Position) -> Rgba {
        let ((red, red_part), (green, green_part), (blue, blue_part)) =
            (self.place(r, 0), self.place(g, 1), self.place(b, 2));
        let parts = [red_part, green_part, blue_part];
        let found = if self.method.0 == CURVES {
            let channel = |index: u32, axis: usize| lerp(self.entry(index), self.entry(index + 1), parts[axis])[axis];
            [channel(red, 0), channel(green, 1), channel(blue, 2)]
        } else {
            let base = red + self.size * (green + self.size * blue);
            if self.method.0 == TRILINEAR { self.trilinear(base, parts) } else { self.tetrahedral(base, parts) }
        };
        let [r, g, b] = lerp([r, g, b], found, self.strength);
        [r, g, b, a]
    }

    fn is_identity(&self) -> bool {
        self.strength == 0.0
    }
}

impl Node {
    /// Applies a look-up table from the content of a .cube file; `strength` 1 is all table.
    pub fn lut3d(&self, file: FileContent, strength: f32) -> Node {
        self.apply("lut3d", &[("file", file.into()), ("strength", strength.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{SAMPLES, assert_near, run};

    fn text(size: usize, map: impl Fn([f32; 3]) -> [f32; 3]) -> String {
        let mut text =
            format!("TITLE \"a # b\"\n# remark\n\nLUT_3D_SIZE {size}\r\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 1 1 1\n");
        for index in 0..size * size * size {
            let at = |part: usize| (part % size) as f32 / (size - 1) as f32;
            let [r, g, b] = map([at(index), at(index / size), at(index / size / size)]);
            text += &format!("{r} {g} {b}\n");
        }
        text
    }

    fn kernel(text: &str, strength: f32, method: u32) -> Lut3d {
        Lut3d::new(&parse("test.cube", text.as_bytes()).unwrap(), strength, method)
    }

    fn message(text: &str) -> String {
        parse("test.cube", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn an_affine_table_is_exact_in_between() {
        let map = |[r, g, b]: [f32; 3]| [0.5 * r + 0.25 * g, 1.0 - b, 0.1 + 0.2 * r + 0.3 * g + 0.4 * b];
        for size in [2, 3, 17] {
            for method in [TETRAHEDRAL, TRILINEAR] {
                let kernel = kernel(&text(size, map), 1.0, method);
                for [r, g, b, a] in SAMPLES {
                    let [x, y, z] = map([r, g, b].map(|value| value.clamp(0.0, 1.0)));
                    assert_near(run(&kernel, [r, g, b, a]), [x, y, z, a], 1e-6);
                }
            }
        }
    }

    #[test]
    fn tetrahedra_follow_the_grey_diagonal() {
        // Only the corner at pure red differs from the identity.
        let map = |color: [f32; 3]| if color == [1.0, 0.0, 0.0] { [0.0, 0.0, 0.0] } else { color };
        let text = text(2, map);
        let (tetrahedral, trilinear) = (kernel(&text, 1.0, TETRAHEDRAL), kernel(&text, 1.0, TRILINEAR));
        assert_near(run(&tetrahedral, [0.5, 0.5, 0.5, 1.0]), [0.5, 0.5, 0.5, 1.0], 1e-7);
        assert_near(run(&trilinear, [0.5, 0.5, 0.5, 1.0]), [0.375, 0.5, 0.5, 1.0], 1e-7);
        // Weights of black, red, yellow and white at (0.75, 0.5, 0.25) are a quarter each.
        assert_near(run(&tetrahedral, [0.75, 0.5, 0.25, 1.0]), [0.5, 0.5, 0.25, 1.0], 1e-7);
    }

    #[test]
    fn every_order_of_fractions_reaches_the_right_corners() {
        // A product is not affine; on each edge and diagonal of a cell it has its own value.
        let map = |[r, g, b]: [f32; 3]| [r * g, g * b, r * b];
        let kernel = kernel(&text(3, map), 1.0, TETRAHEDRAL);
        let grid = [0.0f32, 0.1, 0.25, 0.25, 0.4, 0.5];
        for index in 0..grid.len().pow(3) {
            let [r, g, b] = [index, index / 6, index / 36].map(|place| grid[place % 6]);
            // The plain statement: walk along the axes in falling order of fraction.
            let mut axes = [(2.0 * r, 0usize), (2.0 * g, 1), (2.0 * b, 2)];
            axes.sort_by(|p, q| q.0.total_cmp(&p.0));
            let mut corner = [0.0; 3];
            let mut expected = [0.0; 3];
            let mut before = 1.0;
            for (fraction, axis) in axes.into_iter().chain([(0.0, 0)]) {
                let value = map(corner);
                (0..3).for_each(|channel| expected[channel] += value[channel] * (before - fraction));
                before = fraction;
                corner[axis] = 0.5;
            }
            assert_near(run(&kernel, [r, g, b, 1.0]), [expected[0], expected[1], expected[2], 1.0], 1e-6);
        }
    }

    #[test]
    fn strength_mixes() {
        let text = text(2, |_| [1.0, 0.0, 0.5]);
        assert_near(run(&kernel(&text, 0.25, TETRAHEDRAL), [0.4, 0.4, 0.5, 0.5]), [0.55, 0.3, 0.5, 0.5], 1e-6);
        assert!(kernel(&text, 0.0, TETRAHEDRAL).is_identity());
        assert_near(run(&kernel(&text, 1.0, TRILINEAR), [f32::MAX, f32::MIN, 0.0, 1.0]), [1.0, 0.0, 0.5, 1.0], 1e-6);
    }

    #[test]
    fn one_dimensional_tables_and_ranges() {
        let kernel = kernel("LUT_1D_SIZE 3\nLUT_1D_INPUT_RANGE -1 1\n0 1 5\n.5 0.5 5\n1 0 7 # end\n", 1.0, TRILINEAR);
        assert_near(run(&kernel, [-0.5, 0.5, 0.5, 1.0]), [0.25, 0.25, 6.0, 1.0], 1e-6);
        assert_near(run(&kernel, [9.0, -9.0, 0.0, 1.0]), [1.0, 1.0, 5.0, 1.0], 1e-6);
    }

    #[test]
    fn damaged_files_are_errors_with_a_line() {
        assert!(message("").contains("without LUT_3D_SIZE"));
        assert!(message("0 0 0\n").contains("line 1: numbers before"));
        assert!(message("LUT_3D_SIZE 1\n").contains("line 1: LUT_3D_SIZE must be"));
        assert!(message("LUT_3D_SIZE 130\n").contains("from 2 to 129, found '130'"));
        assert!(message("LUT_3D_SIZE 2 2\n").contains("found '2 2'"));
        assert!(message("LUT_3D_SIZE 2\nLUT_1D_SIZE 2\n").contains("line 2: a second size"));
        assert!(message("LUT_3D_SIZE 2\n0 0 0\n").contains("after 1 of 8 entries"));
        assert!(message("LUT_1D_SIZE 2\n0 0 0\n1 1\n").contains("line 3: expected 3 numbers"));
        assert!(message("LUT_1D_SIZE 2\n0 0 0\n1 1 1 1\n").contains("line 3: more than 3 numbers"));
        assert!(message("LUT_1D_SIZE 2\n0 0 0\n1 1 1e99\n").contains("line 3: expected a finite number"));
        assert!(message("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n2 2 2\n").contains("line 4: more entries than the 2"));
        assert!(message("LUT_1D_SIZE 2\n0 0 0\nDOMAIN_MIN 0 0 0\n").contains("line 3: 'DOMAIN_MIN' between"));
        assert!(message("LUT_1D_SIZE 2\nDOMAIN_MAX 1 0 1\n0 0 0\n1 1 1\n").contains("must rise"));
        assert!(message("HELLO\n").contains("line 1: unknown keyword 'HELLO'"));
        assert!(parse("x", b"\xff\xfe\x00garbage\n\xff").is_err());
        assert!(parse("x", &[b'\n'; 1000]).is_err());
    }

    #[test]
    fn a_file_in_use_is_parsed_once() {
        let content = || FileContent { path: "a.cube".into(), bytes: text(2, |color| color).into_bytes().into() };
        let file = content();
        let first = cached(&file).unwrap();
        assert!(Arc::ptr_eq(&first.entries, &cached(&file.clone()).unwrap().entries));
        assert!(!Arc::ptr_eq(&first.entries, &cached(&content()).unwrap().entries));
    }
}
