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

/// Expression for the quad at word `index` of `buffer`.
fn load_quad(sample: SampleType, buffer: &str, index: &str) -> String {
    match sample {
        SampleType::U8 => format!("unpack_bytes({buffer}[{index}])"),
        SampleType::U16 => format!("unpack_shorts({buffer}[{index}], {buffer}[{index} + 1u])"),
        SampleType::F16 => format!("unpack_halfs({buffer}[{index}], {buffer}[{index} + 1u])"),
        SampleType::F32 => format!(
            "sanitize(bitcast<vec4f>(vec4u({buffer}[{index}], {buffer}[{index} + 1u], {buffer}[{index} + 2u], \
             {buffer}[{index} + 3u])))"
        ),
    }
}

/// Statements that write the quad `value` at word `index` of `buffer`.
fn store_quad(sample: SampleType, buffer: &str, index: &str, value: &str, number: u32) -> String {
    match sample {
        SampleType::U8 => format!("    {buffer}[{index}] = pack_bytes({value});\n"),
        SampleType::U16 | SampleType::F16 => {
            let function = if sample == SampleType::U16 { "pack_shorts" } else { "pack_halfs" };
            format!(
                "    let words_{number} = {function}({value});\n    {buffer}[{index}] = words_{number}.x;\n    \
                 {buffer}[{index} + 1u] = words_{number}.y;\n"
            )
        }
        SampleType::F32 => {
            let mut text = format!("    let words_{number} = bitcast<vec4u>(sanitize({value}));\n");
            for (lane, name) in ["x", "y", "z", "w"].iter().enumerate() {
                text += &format!("    {buffer}[{index} + {lane}u] = words_{number}.{name};\n");
            }
            text
        }
    }
}

/// Functions `strip_NAME(x, y) -> Strip` and `read_NAME(at) -> vec4f` that read a source bound as `buffer`. `size` is an
/// expression for its width and height as vec2u; `opaque` says that alpha is to be taken as one.
pub fn source(name: &str, buffer: &str, size: &str, format: PixelFormat, opaque: bool) -> String {
    let channels = format.channels();
    let sample = format.sample();
    let words = quad_words(sample);
    let pixels = match channels {
        1 => "gray_opaque(vec4f(q0.x)), gray_opaque(vec4f(q0.y)), gray_opaque(vec4f(q0.z)), gray_opaque(vec4f(q0.w))",
        3 => "vec4f(q0.xyz, 1.0), vec4f(q0.w, q1.xy, 1.0), vec4f(q1.zw, q2.x, 1.0), vec4f(q2.yzw, 1.0)",
        _ if opaque => "opaque(q0), opaque(q1), opaque(q2), opaque(q3)",
        _ => "q0, q1, q2, q3",
    };
    let mut quads = String::new();
    for quad in 0..channels {
        let load = load_quad(sample, buffer, &format!("at + {}u", quad * words));
        quads += &format!("    let q{quad} = {load};\n");
    }
    let row = format!("(({size}.x + 3u) / 4u)");
    let pixel = single_pixel(format, buffer, opaque);
    format!(
        "fn strip_{name}(x: i32, y: i32) -> Strip {{\n    let at = (u32(y) * {row} + u32(x) / 4u) * {strip_words}u;\n\
         {quads}    return Strip({pixels});\n}}\n\n\
         fn read_{name}(at: vec2i) -> vec4f {{\n    let pixel = u32(at.y) * {row} * 4u + u32(at.x);\n{pixel}}}",
        strip_words = channels * words,
    )
}

/// Body that reads the pixel of index `pixel`.
fn single_pixel(format: PixelFormat, buffer: &str, opaque: bool) -> String {
    let finish = |color: &str| if opaque { format!("opaque({color})") } else { color.to_string() };
    match (format.channels(), format.sample()) {
        (1, SampleType::U8) => format!(
            "    let word = {buffer}[pixel / 4u];\n    \
             return vec4f(vec3f(f32((word >> ((pixel & 3u) * 8u)) & 255u) * (1.0 / 255.0)), 1.0);\n"
        ),
        (1, SampleType::F32) => {
            format!(
                "    let value = sanitize(bitcast<vec4f>(vec4u({buffer}[pixel]))).x;\n    return vec4f(vec3f(value), 1.0);\n"
            )
        }
        (1, _) => format!(
            "    let word = {buffer}[pixel / 2u];\n    \
             return vec4f(vec3f(f32((word >> ((pixel & 1u) * 16u)) & 65535u) * (1.0 / 65535.0)), 1.0);\n"
        ),
        // Three bytes lie in one word or in two.
        (3, SampleType::U8) => format!(
            "    let byte = pixel * 3u;\n    let shift = (byte & 3u) * 8u;\n    let low = {buffer}[byte / 4u] >> shift;\n    \
             let high = {buffer}[(byte + 2u) / 4u] << ((32u - shift) & 31u);\n    \
             return vec4f(unpack_bytes(low | select(high, 0u, shift == 0u)).xyz, 1.0);\n"
        ),
        (3, SampleType::F32) => format!(
            "    let word = pixel * 3u;\n    return vec4f(sanitize(bitcast<vec4f>(vec4u({buffer}[word], \
             {buffer}[word + 1u], {buffer}[word + 2u], 0u))).xyz, 1.0);\n"
        ),
        // Three shorts start at the low or the high half of a word.
        (3, _) => format!(
            "    let short = pixel * 3u;\n    let first = {buffer}[short / 2u];\n    \
             let second = {buffer}[short / 2u + 1u];\n    let odd = (short & 1u) == 1u;\n    \
             return vec4f(select(unpack_shorts(first, second).xyz, unpack_shorts(first, second).yzw, odd), 1.0);\n"
        ),
        (_, sample) => {
            let words = quad_words(sample);
            let load = load_quad(sample, buffer, &format!("pixel * {words}u"));
            format!("    return {};\n", finish(&load))
        }
    }
}

/// Function `store_NAME(x, y, strip)` that packs a strip into an output bound as `buffer`, whose rows are
/// `uniforms.extent.x` pixels wide.
pub fn output(name: &str, buffer: &str, format: PixelFormat) -> String {
    let sample = format.sample();
    let words = quad_words(sample);
    let quads: &[&str] = match format.channels() {
        1 => &["vec4f(strip.a.x, strip.b.x, strip.c.x, strip.d.x)"],
        3 => &["vec4f(strip.a.xyz, strip.b.x)", "vec4f(strip.b.yz, strip.c.xy)", "vec4f(strip.c.z, strip.d.xyz)"],
        _ => &["strip.a", "strip.b", "strip.c", "strip.d"],
    };
    let mut stores = String::new();
    for (number, quad) in quads.iter().enumerate() {
        let number = number as u32;
        stores += &store_quad(sample, buffer, &format!("at + {}u", number * words), quad, number);
    }
    format!(
        "fn store_{name}(x: i32, y: i32, strip: Strip) {{\n    \
         let at = (u32(y) * ((uniforms.extent.x + 3u) / 4u) + u32(x) / 4u) * {}u;\n{stores}}}",
        format.channels() * words
    )
}
