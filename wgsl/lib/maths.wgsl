// The largest number, which stands for infinity. (This file: the functions that WGSL leaves undefined or inexact
// somewhere, with the answers that src/maths.rs gives there. Drivers may assume that no float is NaN or infinite, so
// those are found by their bits.)
const LARGEST: f32 = 0x1.fffffep+127f;

// The smallest normal number; drivers may take smaller ones for 0.
const SMALLEST: f32 = 0x1p-126f;

// One of two numbers, by vectors: OpenGL ES makes a branch of a choice by one truth, and drivers on the CPU compile loops
// with many branches badly.
fn float_select(value: f32, other: f32, take_other: bool) -> f32 {
    return select(vec2f(value), vec2f(other), vec2<bool>(take_other)).x;
}

// Whether the bits are those of a NaN.
fn is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}

// Finite numbers: NaN gives 0, the infinities the largest numbers.
fn sanitize(value: vec4f) -> vec4f {
    let bits = bitcast<vec4u>(value);
    let magnitude = bits & vec4u(0x7fffffffu);
    let bounded = (bits & vec4u(0x80000000u)) | min(magnitude, vec4u(0x7f7fffffu));
    return bitcast<vec4f>(select(bounded, vec4u(0u), magnitude > vec4u(0x7f800000u)));
}

// Rounded to a whole number, halves upwards. WGSL's round takes halves to even, and GLSL's as it likes.
fn round_half_up(value: f32) -> f32 {
    return floor(value + 0.5);
}

// As round_half_up, for four.
fn round_half_up4(value: vec4f) -> vec4f {
    return floor(value + 0.5);
}

// 2^exponent; from 127.9999 on the largest number, below -126 it is 0.
fn safe_exp2(exponent: f32) -> f32 {
    return safe_exp2_3(vec3f(exponent)).x;
}

// As safe_exp2, for three.
fn safe_exp2_3(exponent: vec3f) -> vec3f {
    let power = exp2(clamp(exponent, vec3f(-126.0), vec3f(127.9999)));
    let bounded = select(power, vec3f(LARGEST), exponent >= vec3f(127.9999));
    return select(bounded, vec3f(0.0), exponent < vec3f(-126.0));
}

// The base-2 logarithm; 0 and negative numbers give -126.
fn safe_log2(value: f32) -> f32 {
    return log2(clamp(value, SMALLEST, LARGEST));
}

// As safe_log2, for three.
fn safe_log2_3(value: vec3f) -> vec3f {
    return log2(clamp(value, vec3f(SMALLEST), vec3f(LARGEST)));
}

// e^exponent, within the bounds of safe_exp2.
fn safe_exp(exponent: f32) -> f32 {
    return safe_exp2(exponent * 1.44269504);
}

// The natural logarithm; 0 and negative numbers give -87.34.
fn safe_ln(value: f32) -> f32 {
    return safe_log2(value) * 0.693147181;
}

// value^exponent. Anything^0 is 1; else a base of 0 or less gives 0, or the largest number if the exponent is negative.
fn safe_pow(value: f32, exponent: f32) -> f32 {
    return safe_pow3(vec3f(value), exponent).x;
}

// As safe_pow, for red, green and blue.
fn safe_pow3(value: vec3f, exponent: f32) -> vec3f {
    let power = safe_exp2_3(exponent * safe_log2_3(value));
    let power_of_nothing = select(vec3f(0.0), vec3f(LARGEST), vec3<bool>(exponent < 0.0));
    let defined = select(power_of_nothing, power, value > vec3f(0.0));
    return select(defined, vec3f(1.0), vec3<bool>(exponent == 0.0));
}

// The square root; negative numbers give 0.
fn safe_sqrt(value: f32) -> f32 {
    return sqrt(max(value, 0.0));
}

// The cube root, odd. Numbers below 1e-37 give 0.
fn cbrt(value: f32) -> f32 {
    return cbrt3(vec3f(value)).x;
}

// As cbrt, for three.
fn cbrt3(value: vec3f) -> vec3f {
    let size = abs(value);
    let root = exp2(log2(clamp(size, vec3f(1e-37), vec3f(LARGEST))) * 0.333333333);
    // One step of Newton's, because exp2 and log2 are not as exact as a root should be.
    let better = root - (root - size / (root * root)) * 0.333333333;
    return select(vec3f(0.0), better, size > vec3f(1e-37)) * sign(value);
}

// Sine and cosine of an angle in radians. WGSL promises its own to 2^-11 only, a whole pixel in a warp; these are exact
// to 1e-6 for angles up to a thousand.
fn sin_cos(angle: f32) -> vec2f {
    // Quarter turns, taken off in three parts whose products are exact.
    let quarters = floor(clamp(angle, -1e6, 1e6) * 0.636619772 + 0.5);
    let rest = clamp(((angle - quarters * 1.5703125) - quarters * 0.0004837513) - quarters * 7.54979e-8, -1.0, 1.0);
    let square = rest * rest;
    let sine = ((-0.00019515283 * square + 0.00833216) * square - 0.16666655) * square * rest + rest;
    let cosine = (((0.000024433157 * square - 0.0013887316) * square + 0.041666646) * square - 0.5) * square + 1.0;
    // An odd quarter swaps the two; the signs change every other quarter.
    let count = i32(quarters);
    let swapped = select(vec2f(sine, cosine), vec2f(cosine, sine), vec2<bool>((count & 1) == 1));
    let signs = vec2f(1.0) - vec2f(vec2i(count, count + 1) & vec2i(2));
    return swapped * signs;
}

// The angle of the point (x, y) in radians; 0 for the origin. WGSL promises its own to 4096 units in the last place
// only.
fn safe_atan2(y: f32, x: f32) -> f32 {
    let y_size = abs(y);
    let x_size = abs(x);
    let small = min(x_size, y_size);
    let large = max(x_size, y_size);
    // The angle lies in 0..45 degrees. Beyond half of that it is counted from 45 degrees on.
    let far = small > large * 0.41421357;
    let top = float_select(small, small - large, far);
    let bottom = float_select(large, small + large, far);
    let tangent = top / max(bottom, SMALLEST);
    let square = tangent * tangent;
    let poly = ((0.08053723 * square - 0.13877679) * square + 0.1997771) * square - 0.3333295;
    var angle = poly * square * tangent + tangent;
    angle = float_select(angle, angle + 0.785398163, far);
    angle = float_select(angle, 1.57079633 - angle, y_size > x_size);
    angle = float_select(angle, 3.14159265 - angle, x < 0.0);
    return float_select(angle, -angle, y < 0.0);
}

// 0 up to low, 1 from high on, a smooth cubic between; a step where the two are equal, which WGSL's does not define.
fn safe_smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let width = high - low;
    let slope = clamp((value - low) / float_select(width, 1.0, width == 0.0), 0.0, 1.0);
    let x = float_select(slope, float_select(0.0, 1.0, value > low), width == 0.0);
    return x * x * (3.0 - 2.0 * x);
}

// Light of sRGB-encoded values (IEC 61966-2-1), odd: negative values mirror positive ones.
fn srgb_to_linear3(value: vec3f) -> vec3f {
    let size = abs(value);
    let curved = safe_pow3((size + 0.055) * (1.0 / 1.055), 2.4);
    return select(size * (1.0 / 12.92), curved, size > vec3f(0.04045)) * sign(value);
}

// sRGB encoding of light, the inverse of srgb_to_linear3.
fn linear_to_srgb3(light: vec3f) -> vec3f {
    let size = abs(light);
    let power = safe_pow3(size, 1.0 / 2.4);
    // 1.055 * power - 0.055, written so that 1 gives 1.
    let curved = power + 0.055 * (power - 1.0);
    return select(size * 12.92, curved, size > vec3f(0.0031308)) * sign(light);
}

// A mean by weights that sum to 1, as green plus differences: exact on grey.
fn weighted_luma(color: vec3f, weights: vec3f) -> f32 {
    return color.g + weights.r * (color.r - color.g) + weights.b * (color.b - color.g);
}

// Luma by the weights of ITU-R BT.709.
fn luma709(color: vec3f) -> f32 {
    return weighted_luma(color, vec3f(0.2126, 0.7152, 0.0722));
}

// Hue of a colour in turns, 0..1, whose largest channel and range are given. The hue of grey is 0.
fn hue_of(color: vec3f, high: f32, range: f32) -> f32 {
    // Which channel is the largest says from which sixth to count.
    var difference = vec2f(color.r - color.g, 4.0);
    difference = select(difference, vec2f(color.b - color.r, 2.0), vec2<bool>(high == color.g));
    difference = select(difference, vec2f(color.g - color.b, 0.0), vec2<bool>(high == color.r));
    let offset = float_select(0.0, difference.x / max(range, SMALLEST), range > 0.0);
    let hue = (difference.y + offset) * (1.0 / 6.0);
    let positive = float_select(hue, hue + 1.0, hue < 0.0);
    return float_select(0.0, positive, all(vec2<bool>(1.0 > positive, range > 0.0)));
}

// Hue (in turns, 0..1), saturation and value of a colour. Grey has hue and saturation 0.
fn rgb_to_hsv(color: vec3f) -> vec3f {
    let high = max(color.r, max(color.g, color.b));
    let range = high - min(color.r, min(color.g, color.b));
    let saturation = float_select(0.0, range / max(high, SMALLEST), high > 0.0);
    return vec3f(hue_of(color, high, range), saturation, high);
}

// The inverse of rgb_to_hsv. The hue may be any number of turns.
fn hsv_to_rgb(color: vec3f) -> vec3f {
    // Each channel is a trapezoid over the hue: how far it lies below the value, in sixths of a turn from its own
    // start.
    let sixths = fract(color.x + vec3f(5.0, 3.0, 1.0) / 6.0) * 6.0;
    return color.z - color.z * color.y * clamp(min(sixths, 4.0 - sixths), vec3f(0.0), vec3f(1.0));
}

// Hue (in turns, 0..1), saturation and lightness of a colour. Grey has hue and saturation 0.
fn rgb_to_hsl(color: vec3f) -> vec3f {
    let high = max(color.r, max(color.g, color.b));
    let low = min(color.r, min(color.g, color.b));
    // The widest range that this lightness allows: 0 for black and white, negative outside of 0..1.
    let widest = 1.0 - abs(high + low - 1.0);
    let saturation = float_select(0.0, (high - low) / max(widest, SMALLEST), widest > 0.0);
    return vec3f(hue_of(color, high, high - low), saturation, (high + low) * 0.5);
}

// The inverse of rgb_to_hsl. The hue may be any number of turns.
fn hsl_to_rgb(color: vec3f) -> vec3f {
    let reach = color.y * min(color.z, 1.0 - color.z);
    let twelfths = fract(color.x + vec3f(0.0, 8.0, 4.0) / 12.0) * 12.0;
    return color.z - reach * clamp(min(twelfths - 3.0, 9.0 - twelfths), vec3f(-1.0), vec3f(1.0));
}
