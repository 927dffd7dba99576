//! WGSL text that reads and writes packed pixels, for each pixel format. A row holds its samples four by four ("quads"),
//! so that a strip of four pixels is as many quads as a pixel has channels, each quad whole words.

use crate::image::{PixelFormat, SampleType};

/// Words of a quad.
fn quad_words(sample: SampleType) -> u32 {
    match sample {
        SampleType::U8 => 1,
        SampleType::U16 | SampleType::F16 => 2,
        SampleType::F32 => 4,
    }
}

/// Expression for a quad made of these words.
fn unpack_quad(sample: SampleType, words: &[String]) -> String {
    let words = words.join(", ");
    match sample {
        SampleType::U8 => format!("unpack_bytes({words})"),
        SampleType::U16 => format!("unpack_shorts({words})"),
        SampleType::F16 => format!("unpack_halfs({words})"),
        SampleType::F32 => format!("sanitize(bitcast<vec4f>(vec4u({words})))"),
    }
}

/// Statement that packs the quad `value` into `name`, and expressions for its words.
fn pack_quad(sample: SampleType, name: &str, value: &str) -> (String, Vec<String>) {
    let (function, members): (&str, &[&str]) = match sample {
        SampleType::U8 => ("pack_bytes", &[""]),
        SampleType::U16 => ("pack_shorts", &[".x", ".y"]),
        SampleType::F16 => ("pack_halfs", &[".x", ".y"]),
        SampleType::F32 => ("pack_floats", &[".x", ".y", ".z", ".w"]),
    };
    let words = members.iter().map(|member| format!("{name}{member}")).collect();
    (format!("    let {name} = {function}({value});\n"), words)
}

/// Expression for the strip made of its quads, named by a prefix and a number.
fn strip_of_quads(channels: u32, opaque: bool, prefix: &str) -> String {
    let text = match channels {
        1 => "gray_opaque(vec4f(Q0.x)), gray_opaque(vec4f(Q0.y)), gray_opaque(vec4f(Q0.z)), gray_opaque(vec4f(Q0.w))",
        3 => "vec4f(Q0.xyz, 1.0), vec4f(Q0.w, Q1.xy, 1.0), vec4f(Q1.zw, Q2.x, 1.0), vec4f(Q2.yzw, 1.0)",
        _ if opaque => "opaque(Q0), opaque(Q1), opaque(Q2), opaque(Q3)",
        _ => "Q0, Q1, Q2, Q3",
    };
    format!("Strip({})", text.replace('Q', prefix))
}

/// Expressions for the quads of a strip.
fn quads_of_strip(channels: u32, strip: &str) -> Vec<String> {
    let texts: &[&str] = match channels {
        1 => &["vec4f(S.a.x, S.b.x, S.c.x, S.d.x)"],
        3 => &["vec4f(S.a.xyz, S.b.x)", "vec4f(S.b.yz, S.c.xy)", "vec4f(S.c.z, S.d.xyz)"],
        _ => &["S.a", "S.b", "S.c", "S.d"],
    };
    texts.iter().map(|text| text.replace('S', strip)).collect()
}

/// Functions that read a source bound as `source`, a texture of vec4u or an array of them: `strip_NAME(x, y) -> Strip`,
/// `run_NAME(x, y) -> Run` and `read_NAME(at) -> vec4f`. `size` is an expression for its width and height as vec2u; `opaque`
/// says that alpha is to be taken as one.
pub fn source(name: &str, source: &str, texture: bool, size: &str, format: PixelFormat, opaque: bool) -> String {
    let channels = format.channels();
    let sample = format.sample();
    let words = quad_words(sample);
    let word = format!("word_{name}");
    // A run is as many vectors as a strip is words.
    let vectors = channels * words;
    let vector = |index: &str| match texture {
        true => format!("textureLoad({source}, vec2u({index}, y), 0)"),
        false => format!("{source}[y * runs_in({size}.x) * {vectors}u + {index}]"),
    };
    let mut strip = String::new();
    for quad in 0..channels {
        let quad_words: Vec<String> = (quad * words..(quad + 1) * words)
            .map(|index| format!("{word}(u32(x) / 4u * {vectors}u + {index}u, u32(y))"))
            .collect();
        strip += &format!("    let q{quad} = {};\n", unpack_quad(sample, &quad_words));
    }
    let mut run = String::new();
    for index in 0..vectors {
        run += &format!("    let v{index} = vector_{name}(first + {index}u, u32(y));\n");
    }
    for (index, strip) in (0..).zip(["a", "b", "c", "d"]) {
        for quad in 0..channels {
            let first = (index * channels + quad) * words;
            let quad_words: Vec<String> = (first..first + words)
                .map(|word| format!("v{}.{}", word / 4, ["x", "y", "z", "w"][word as usize % 4]))
                .collect();
            run += &format!("    let {strip}{quad} = {};\n", unpack_quad(sample, &quad_words));
        }
    }
    let strips = ["a", "b", "c", "d"].map(|strip| strip_of_quads(channels, opaque, strip)).join(", ");
    let pixel = single_pixel(format, &word, opaque);
    format!(
        "fn vector_{name}(index: u32, y: u32) -> vec4u {{\n    return {whole};\n}}\n\n\
         fn {word}(index: u32, y: u32) -> u32 {{\n    return {quarter}[index & 3u];\n}}\n\n\
         fn strip_{name}(x: i32, y: i32) -> Strip {{\n{strip}    return {single};\n}}\n\n\
         fn run_{name}(x: i32, y: i32) -> Run {{\n    let first = u32(x) / 16u * {vectors}u;\n{run}    \
         return Run({strips});\n}}\n\n\
         fn read_{name}(at: vec2i) -> vec4f {{\n    let pixel = u32(at.x);\n    let y = u32(at.y);\n{pixel}}}",
        whole = vector("index"),
        // In place, so that a buffer is asked for one word and not for the vector around it.
        quarter = vector("index / 4u"),
        single = strip_of_quads(channels, opaque, "q"),
    )
}

/// Body that reads the pixel of index `pixel` in row `y` through the function `word`.
fn single_pixel(format: PixelFormat, word: &str, opaque: bool) -> String {
    let finish = |color: &str| if opaque { format!("opaque({color})") } else { color.to_string() };
    match (format.channels(), format.sample()) {
        (1, SampleType::U8) => format!(
            "    let value = ({word}(pixel / 4u, y) >> ((pixel & 3u) * 8u)) & 255u;\n    \
             return vec4f(vec3f(f32(value) * (1.0 / 255.0)), 1.0);\n"
        ),
        (1, SampleType::F32) => format!(
            "    let value = sanitize(bitcast<vec4f>(vec4u({word}(pixel, y)))).x;\n    return vec4f(vec3f(value), 1.0);\n"
        ),
        (1, _) => format!(
            "    let value = ({word}(pixel / 2u, y) >> ((pixel & 1u) * 16u)) & 65535u;\n    \
             return vec4f(vec3f(f32(value) * (1.0 / 65535.0)), 1.0);\n"
        ),
        // Three bytes lie in one word or in two.
        (3, SampleType::U8) => format!(
            "    let byte = pixel * 3u;\n    let shift = (byte & 3u) * 8u;\n    let low = {word}(byte / 4u, y) >> shift;\n    \
             let high = {word}((byte + 2u) / 4u, y) << ((32u - shift) & 31u);\n    \
             return vec4f(unpack_bytes(low | select(vec2u(high), vec2u(0u), vec2<bool>(shift == 0u)).x).xyz, 1.0);\n"
        ),
        (3, SampleType::F32) => format!(
            "    let at_word = pixel * 3u;\n    return vec4f(sanitize(bitcast<vec4f>(vec4u({word}(at_word, y), \
             {word}(at_word + 1u, y), {word}(at_word + 2u, y), 0u))).xyz, 1.0);\n"
        ),
        // Three shorts start at the low or the high half of a word.
        (3, _) => format!(
            "    let short = pixel * 3u;\n    let first = {word}(short / 2u, y);\n    \
             let second = {word}(short / 2u + 1u, y);\n    let odd = (short & 1u) == 1u;\n    \
             return vec4f(select(unpack_shorts(first, second).xyz, unpack_shorts(first, second).yzw, vec3<bool>(odd)), 1.0);\n"
        ),
        (_, sample) => {
            let words = quad_words(sample);
            let quad: Vec<String> = (0..words).map(|index| format!("{word}(pixel * {words}u + {index}u, y)")).collect();
            format!("    return {};\n", finish(&unpack_quad(sample, &quad)))
        }
    }
}

/// Function `store_NAME(x, y, strip)`, which packs a strip into an output bound as `buffer`, an array of u32, whose rows
/// are `uniforms.extent.x` pixels wide.
pub fn output_strip(name: &str, buffer: &str, format: PixelFormat) -> String {
    let (packing, words) = pack_strip(format, "strip", "q");
    let stores: String =
        words.iter().enumerate().map(|(index, word)| format!("    {buffer}[at + {index}u] = {word};\n")).collect();
    format!(
        "fn store_{name}(x: i32, y: i32, strip: Strip) {{\n    \
         let at = (u32(y) * runs_in(uniforms.extent.x) * 4u + u32(x) / 4u) * {}u;\n{packing}{stores}}}",
        words.len()
    )
}

/// The same for a run: `store_NAME(x, y, run)`, into an array of vec4u.
pub fn output_run(name: &str, buffer: &str, format: PixelFormat) -> String {
    let mut packing = String::new();
    let mut words = Vec::new();
    for strip in ["a", "b", "c", "d"] {
        let (text, of_strip) = pack_strip(format, &format!("run.{strip}"), strip);
        packing += &text;
        words.extend(of_strip);
    }
    let vectors: Vec<String> = words.chunks(4).map(|words| format!("vec4u({})", words.join(", "))).collect();
    let stores: String = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| format!("    {buffer}[at + {index}u] = {vector};\n"))
        .collect();
    format!(
        "fn store_{name}(x: i32, y: i32, run: Run) {{\n    \
         let at = (u32(y) * runs_in(uniforms.extent.x) + u32(x) / 16u) * {}u;\n{packing}{stores}}}",
        vectors.len()
    )
}

/// Statements that pack the strip of this name, and expressions for its words; `prefix` is for the names between.
fn pack_strip(format: PixelFormat, strip: &str, prefix: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut words = Vec::new();
    for (number, quad) in quads_of_strip(format.channels(), strip).iter().enumerate() {
        let (statement, of_quad) = pack_quad(format.sample(), &format!("{prefix}{number}"), quad);
        text += &statement;
        words.extend(of_quad);
    }
    (text, words)
}
