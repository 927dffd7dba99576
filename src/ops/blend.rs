//! blend: a picture laid over another, by the blend modes and source-over compositing of the W3C "Compositing and
//! Blending Level 1".
//!
//! With a mask the source is first multiplied by it, in a step of its own; both steps fuse into one pass.
//!
//! Some modes are steep: at one point of their domain they jump between 0 and 1, and there the last bit of a division
//! decides. Each jump is moved off the exact 0 or 1 by [`EDGE`], a distance above rounding errors and below any step of
//! 8- or 16-bit values, so that all devices land on the same side.

use crate::error::Result;
use crate::graph::Node;
use crate::maths;
use crate::op::{
    Arguments, Builder, Choice, Composite, Field, Group, Input, Operator, Parameter, Position, Rgba, Shader, Value,
    kernel,
};
use std::sync::Arc;

/// A picture over another.
pub static OPERATOR: Operator = Operator {
    name: "blend",
    group: Group::Blend,
    summary: "Lays a picture over another, with a blend mode",
    details: "co = cs (1 - ab) + as ab B(Cb, Cs) + cb (1 - as), ao = as + ab (1 - as), with premultiplied c, straight C and \
              the function B of the mode, all from the W3C Compositing and Blending Level 1; modes act on values as \
              stored, as in CSS and Photoshop. A mask (its luma times its alpha) multiplies the source. The result is \
              opaque where the image is. Modes other than normal, multiply, screen, darken, lighten, difference and \
              exclusion are meant for values in 0..1. Jumps of dodge and burn stand 2e-6 off the exact 0 and 1, and the \
              chroma of the non-separable modes fades below 1e-4, so that rounding does not decide. \
              Pillow's ImageChops overlay and hard_light divide by 127, a level off.",
    inputs: &[Input::required("image"), Input::required("other"), Input::optional("mask")],
    parameters: &[
        Parameter::choice("mode", MODES, 0).help("How the colours mix where both pictures are"),
        Parameter::float("opacity", 0.0, 1.0, 1.0, "").help("Multiplies the alpha of the picture on top"),
    ],
    lower,
};

/// The blend modes, in the order of their numbers in the WGSL.
pub const MODES: &[&str] = &[
    "normal",
    "multiply",
    "screen",
    "overlay",
    "darken",
    "lighten",
    "color-dodge",
    "color-burn",
    "hard-light",
    "soft-light",
    "difference",
    "exclusion",
    "hue",
    "saturation",
    "color",
    "luminosity",
];

kernel! { "blend", cost: 10.0, pub struct Blend { mode: Choice, opacity: f32 } }

kernel! {
    "blend-masked", cost: 0.7,
    /// The source seen through a mask.
    pub struct BlendMasked {}
}

/// How far from exact 0 and 1 the modes jump.
pub const EDGE: f32 = 2e-6;

/// Chroma up to which a colour counts, more and more, as grey: rounding errors have no hue worth amplifying.
pub const NEAR_GREY: f32 = 1e-4;

fn lower(builder: &mut Builder, arguments: &Arguments, inputs: &[Value]) -> Result<Value> {
    let mode = arguments.choice_index("mode");
    let kernel = Blend { mode: Choice(mode as u32), opacity: arguments.float("opacity") };
    let backdrop = inputs[0]; // two or three inputs: the number has been checked
    let source = match inputs.get(2) {
        Some(mask) => builder.composite([inputs[1], *mask], false, BlendMasked {})?,
        None => inputs[1],
    };
    let pair = [backdrop, source];
    // One Rust type for each mode, so that each has a loop of its own without a branch in it.
    match mode {
        1 => builder.composite(pair, true, Mode::<1>(kernel)),
        2 => builder.composite(pair, true, Mode::<2>(kernel)),
        3 => builder.composite(pair, true, Mode::<3>(kernel)),
        4 => builder.composite(pair, true, Mode::<4>(kernel)),
        5 => builder.composite(pair, true, Mode::<5>(kernel)),
        6 => builder.composite(pair, true, Mode::<6>(kernel)),
        7 => builder.composite(pair, true, Mode::<7>(kernel)),
        8 => builder.composite(pair, true, Mode::<8>(kernel)),
        9 => builder.composite(pair, true, Mode::<9>(kernel)),
        10 => builder.composite(pair, true, Mode::<10>(kernel)),
        11 => builder.composite(pair, true, Mode::<11>(kernel)),
        12 => builder.composite(pair, true, Mode::<12>(kernel)),
        13 => builder.composite(pair, true, Mode::<13>(kernel)),
        14 => builder.composite(pair, true, Mode::<14>(kernel)),
        15 => builder.composite(pair, true, Mode::<15>(kernel)),
        _ => builder.composite(pair, true, Mode::<0>(kernel)),
    }
}

/// [`Blend`] of one mode.
struct Mode<const MODE: usize>(Blend);

impl<const MODE: usize> Shader for Mode<MODE> {
    const NAME: &'static str = Blend::NAME;
    const STRUCT: &'static str = Blend::STRUCT;
    const WGSL: &'static str = Blend::WGSL;
    const COST: f32 = Blend::COST;

    fn fields() -> Vec<Field> {
        Blend::fields()
    }

    fn words(&self, words: &mut Vec<u32>) {
        self.0.words(words);
    }

    fn table(&self) -> Option<Arc<[[f32; 4]]>> {
        None
    }
}

impl<const MODE: usize> Composite<2> for Mode<MODE> {
    #[inline(always)]
    fn pixel(&self, [backdrop, source]: [Rgba; 2], _: Position) -> Rgba {
        let source = source.map(|value| value * self.0.opacity);
        let [.., backdrop_alpha] = backdrop;
        let [.., source_alpha] = source;
        let alpha = backdrop_alpha + source_alpha * (1.0 - backdrop_alpha);
        let over = |index: usize| source[index] + backdrop[index] * (1.0 - source_alpha);
        if MODE == 0 {
            return [over(0), over(1), over(2), alpha];
        }
        let mixed = mix::<MODE>(straight(backdrop), straight(source));
        let compose = |index: usize| {
            source[index] * (1.0 - backdrop_alpha)
                + mixed[index] * (source_alpha * backdrop_alpha)
                + backdrop[index] * (1.0 - source_alpha)
        };
        [compose(0), compose(1), compose(2), alpha]
    }
}

impl Composite<2> for BlendMasked {
    #[inline(always)]
    fn pixel(&self, [source, [r, g, b, _]]: [Rgba; 2], _: Position) -> Rgba {
        // The mask comes premultiplied, so this is luma times alpha.
        let coverage = maths::clamp(maths::luma709(r, g, b), 0.0, 1.0);
        source.map(|value| value * coverage)
    }
}

type Rgb = [f32; 3];

#[inline(always)]
fn straight([r, g, b, a]: Rgba) -> Rgb {
    let scale = if a > 0.0 { 1.0 / a } else { 0.0 };
    [r * scale, g * scale, b * scale]
}

/// The function B of the standard: backdrop and source colour, both straight.
#[inline(always)]
fn mix<const MODE: usize>(b: Rgb, s: Rgb) -> Rgb {
    match MODE {
        12 => set_luminosity(set_saturation(s, saturation(b)), luminosity(b)),
        13 => set_luminosity(set_saturation(b, saturation(s)), luminosity(b)),
        14 => set_luminosity(s, luminosity(b)),
        15 => set_luminosity(b, luminosity(s)),
        _ => [mix_channel::<MODE>(b[0], s[0]), mix_channel::<MODE>(b[1], s[1]), mix_channel::<MODE>(b[2], s[2])],
    }
}

#[inline(always)]
fn mix_channel<const MODE: usize>(b: f32, s: f32) -> f32 {
    match MODE {
        1 => b * s,
        2 => b + s - b * s,
        3 => hard_light(s, b),
        4 => min(b, s),
        5 => max(b, s),
        6 => {
            let bright = min(1.0, b / max(1.0 - s, EDGE));
            if b < EDGE { 0.0 } else { bright }
        }
        7 => {
            let dark = 1.0 - min(1.0, (1.0 - b) / max(s, EDGE));
            if 1.0 - b < EDGE { 1.0 } else { dark }
        }
        8 => hard_light(b, s),
        9 => {
            let low = ((16.0 * b - 12.0) * b + 4.0) * b;
            let target = if b <= 0.25 { low } else { maths::sqrt(b) };
            let dark = b - (1.0 - 2.0 * s) * b * (1.0 - b);
            let light = b + (2.0 * s - 1.0) * (target - b);
            if s <= 0.5 { dark } else { light }
        }
        10 => (b - s).abs(),
        11 => b + s - 2.0 * b * s,
        _ => s,
    }
}

#[inline(always)]
fn hard_light(b: f32, s: f32) -> f32 {
    let twice = 2.0 * s;
    let above = twice - 1.0;
    if s <= 0.5 { b * twice } else { b + above - b * above }
}

/// Lum of the standard. Its weights are those of its own time, not of Rec. 709.
#[inline(always)]
fn luminosity([r, g, b]: Rgb) -> f32 {
    0.3 * r + 0.59 * g + 0.11 * b
}

/// Sat of the standard.
#[inline(always)]
fn saturation([r, g, b]: Rgb) -> f32 {
    max(max(r, g), b) - min(min(r, g), b)
}

/// SetSat of the standard: the smallest channel becomes 0, the largest `wanted`, the third keeps its place between.
#[inline(always)]
fn set_saturation([r, g, b]: Rgb, wanted: f32) -> Rgb {
    let low = min(min(r, g), b);
    let scale = wanted / max(saturation([r, g, b]), NEAR_GREY);
    [(r - low) * scale, (g - low) * scale, (b - low) * scale]
}

/// SetLum of the standard, with ClipColor: shifted to the luminosity `wanted`, then drawn towards it into 0..1.
#[inline(always)]
fn set_luminosity(color: Rgb, wanted: f32) -> Rgb {
    let shift = wanted - luminosity(color);
    let [r, g, b] = color.map(|value| value + shift);
    let low = min(min(r, g), b);
    let high = max(max(r, g), b);
    // Beyond 0..1, where the standard has no answer, `wanted` is kept and the colour lost.
    let from_below = if low < 0.0 { max(wanted, 0.0) / max(wanted - low, EDGE) } else { 1.0 };
    let from_above = if high > 1.0 { max(1.0 - wanted, 0.0) / max(high - wanted, EDGE) } else { 1.0 };
    let draw = |value: f32| wanted + (value - wanted) * from_below * from_above;
    [draw(r), draw(g), draw(b)]
}

#[inline(always)]
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

impl Node {
    /// Lays `other` over this picture; `mode` is one of [`MODES`].
    pub fn blend(&self, other: &Node, mode: &str, opacity: f32) -> Node {
        self.apply_with("blend", &[other], &[("mode", mode.into()), ("opacity", opacity.into())])
    }

    /// The same where `mask` is white; where it is black this picture stays.
    pub fn blend_masked(&self, other: &Node, mask: &Node, mode: &str, opacity: f32) -> Node {
        self.apply_with("blend", &[other, mask], &[("mode", mode.into()), ("opacity", opacity.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::testing::{AT, assert_near};

    fn blend<const MODE: usize>(backdrop: Rgba, source: Rgba, opacity: f32) -> Rgba {
        Mode::<MODE>(Blend { mode: Choice(MODE as u32), opacity }).pixel([backdrop, source], AT)
    }

    fn opaque<const MODE: usize>(b: [f32; 3], s: [f32; 3]) -> [f32; 3] {
        let [r, g, b, a] = blend::<MODE>([b[0], b[1], b[2], 1.0], [s[0], s[1], s[2], 1.0], 1.0);
        assert_eq!(a, 1.0);
        [r, g, b]
    }

    fn channel<const MODE: usize>(b: f32, s: f32) -> f32 {
        opaque::<MODE>([b; 3], [s; 3])[0]
    }

    #[track_caller]
    fn near(found: f32, expected: f32) {
        assert!((found - expected).abs() < 1e-6, "found {found}, expected {expected}");
    }

    #[test]
    fn separable_modes() {
        assert_eq!(channel::<0>(0.25, 0.75), 0.75);
        near(channel::<1>(0.5, 0.5), 0.25);
        near(channel::<2>(0.5, 0.5), 0.75);
        near(channel::<3>(0.25, 0.5), 0.25);
        near(channel::<3>(0.75, 0.5), 0.75);
        near(channel::<4>(0.25, 0.75), 0.25);
        near(channel::<5>(0.25, 0.75), 0.75);
        near(channel::<6>(0.25, 0.5), 0.5);
        near(channel::<7>(0.75, 0.5), 0.5);
        near(channel::<8>(0.5, 0.25), 0.25);
        near(channel::<8>(0.5, 0.75), 0.75);
        near(channel::<9>(0.5, 0.5), 0.5);
        near(channel::<9>(0.5, 0.0), 0.25);
        near(channel::<9>(0.64, 1.0), 0.8);
        near(channel::<9>(0.25, 1.0), 0.5);
        near(channel::<9>(0.125, 1.0), (16.0 * 0.125 - 12.0) * 0.125 * 0.125 + 0.5);
        near(channel::<10>(0.25, 0.75), 0.5);
        near(channel::<11>(0.5, 0.25), 0.5);
    }

    #[test]
    fn dodge_and_burn_at_their_ends() {
        for almost in [1.0, 1.0 - 1e-7, 1.0 + 1e-7] {
            assert_eq!(channel::<6>(0.0, almost), 0.0);
            near(channel::<6>(0.5, almost), 1.0);
            assert_eq!(channel::<7>(almost, 0.0), 1.0);
            assert_eq!(channel::<7>(almost, 1e-7), 1.0);
        }
        near(channel::<7>(0.5, 0.0), 0.0);
        near(channel::<6>(1.0 / 65535.0, 1.0), 1.0);
        near(channel::<7>(65534.0 / 65535.0, 0.0), 0.0);
    }

    #[test]
    fn non_separable_modes() {
        let (b, s) = ([0.2, 0.4, 0.9], [0.7, 0.1, 0.3]);
        let close = |found: f32, wanted: f32| near(found, wanted);
        close(luminosity(opaque::<12>(b, s)), luminosity(b));
        close(luminosity(opaque::<13>(b, s)), luminosity(b));
        close(luminosity(opaque::<14>(b, s)), luminosity(b));
        close(luminosity(opaque::<15>(b, s)), luminosity(s));
        close(saturation(opaque::<13>(b, [0.3, 0.6, 0.4])), 0.3);
        // A grey source takes all colour away; a grey backdrop has none that could be saturated.
        opaque::<12>(b, [0.5; 3]).into_iter().for_each(|value| close(value, luminosity(b)));
        opaque::<14>(b, [0.5; 3]).into_iter().for_each(|value| close(value, luminosity(b)));
        opaque::<13>([0.4; 3], s).into_iter().for_each(|value| close(value, 0.4));
        // Rounding errors are not a hue.
        opaque::<12>(b, [0.5, 0.5 + 1e-7, 0.5])
            .into_iter()
            .for_each(|value| assert!((value - luminosity(b)).abs() < 2e-3));
        // Clipped: luminosity 0.95 with the hue of blue.
        let clipped = opaque::<15>([0.0, 0.0, 1.0], [0.95; 3]);
        close(luminosity(clipped), 0.95);
        assert!(clipped.iter().all(|value| (-1e-6..=1.0 + 1e-6).contains(value)), "{clipped:?}");
    }

    #[test]
    fn compositing() {
        // Half-transparent red over half-transparent blue, both premultiplied.
        let (blue, red) = ([0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 0.0, 0.5]);
        assert_near(blend::<0>(blue, red, 1.0), [0.5, 0.0, 0.25, 0.75], 1e-7);
        assert_near(blend::<1>(blue, red, 1.0), [0.25, 0.0, 0.25, 0.75], 1e-7);
        assert_near(blend::<0>(blue, red, 0.5), [0.25, 0.0, 0.375, 0.625], 1e-7);
        let nothing = [0.0; 4];
        assert_near(blend::<12>(blue, nothing, 1.0), blue, 0.0);
        assert_near(blend::<6>(nothing, red, 1.0), red, 0.0);
        assert_near(blend::<7>(nothing, nothing, 1.0), nothing, 0.0);
        assert_near(blend::<9>(blue, red, 0.0), blue, 0.0);
    }

    #[test]
    fn an_opaque_backdrop_stays_opaque() {
        for alpha in [0.0, 0.1, 0.3, 0.7, 1.0] {
            assert_eq!(blend::<8>([0.3, 0.3, 0.3, 1.0], [0.2 * alpha, 0.0, 0.0, alpha], 0.9)[3], 1.0);
        }
    }

    #[test]
    fn the_mask_scales_the_source() {
        let source = [0.5, 0.25, 0.0, 0.5];
        assert_eq!(BlendMasked {}.pixel([source, [1.0, 1.0, 1.0, 1.0]], AT), source);
        assert_eq!(BlendMasked {}.pixel([source, [0.5, 0.5, 0.5, 1.0]], AT), [0.25, 0.125, 0.0, 0.25]);
        assert_eq!(BlendMasked {}.pixel([source, [0.5, 0.5, 0.5, 0.5]], AT), [0.25, 0.125, 0.0, 0.25]);
        assert_eq!(BlendMasked {}.pixel([source, [9.0, 9.0, 9.0, 1.0]], AT), source);
        assert_eq!(BlendMasked {}.pixel([source, [-1.0, -1.0, -1.0, 1.0]], AT), [0.0; 4]);
    }

    #[test]
    fn sixteen_modes() {
        assert_eq!(MODES.len(), 16);
    }
}
