// Functions that WGSL leaves undefined somewhere, with src/maths.rs's answers there. Drivers may assume that no float is NaN
// or infinite, so these are found by their bits, and constants stay finite.

// The largest number, which stands for infinity.
const LARGEST: f32 = 0x1.fffffep+127f;

// The smallest normal number; drivers may take smaller ones for 0.
const SMALLEST: f32 = 0x1p-126f;

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

// Rounded to a whole number, halves upwards. WGSL's round takes halves to even.
fn round_half_up(value: f32) -> f32 {
    return floor(value + 0.5);
}

// As round_half_up, for four.
fn round_half_up4(value: vec4f) -> vec4f {
    return floor(value + 0.5);
}

// value^exponent. A base of 0 or less gives 0, or the largest number if the exponent is negative; exponent 0 gives 1.
fn safe_pow(value: f32, exponent: f32) -> f32 {
    // exp2 and log2 are what pow is defined by, and each is given only what it is defined for.
    let power = exp2(clamp(exponent * log2(clamp(value, SMALLEST, LARGEST)), -126.0, 127.9999));
    let nothing = select(0.0, LARGEST, exponent < 0.0);
    return select(select(nothing, power, value > 0.0), 1.0, exponent == 0.0);
}

// As safe_pow, for red, green and blue.
fn safe_pow3(value: vec3f, exponent: f32) -> vec3f {
    let power = exp2(clamp(exponent * log2(clamp(value, vec3f(SMALLEST), vec3f(LARGEST))), vec3f(-126.0), vec3f(127.9999)));
    let nothing = vec3f(select(0.0, LARGEST, exponent < 0.0));
    return select(select(nothing, power, value > vec3f(0.0)), vec3f(1.0), exponent == 0.0);
}
