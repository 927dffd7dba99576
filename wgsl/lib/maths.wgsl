// Arithmetic where the built-in functions differ between drivers or are undefined.

// max(base, 0)^exponent; 0^exponent is 0 and anything^0 is 1.
fn safe_pow(base: f32, exponent: f32) -> f32 {
    let positive = base > 0.0;
    let power = pow(select(1.0, base, positive), exponent);
    return select(select(0.0, 1.0, exponent == 0.0), power, positive);
}

fn safe_pow3(base: vec3f, exponent: f32) -> vec3f {
    let positive = base > vec3f(0.0);
    let power = pow(select(vec3f(1.0), base, positive), vec3f(exponent));
    return select(vec3f(select(0.0, 1.0, exponent == 0.0)), power, positive);
}

// The curve of IEC 61966-2-1, odd about zero.
fn srgb_to_linear3(value: vec3f) -> vec3f {
    let size = abs(value);
    let high = safe_pow3((size + 0.055) / 1.055, 2.4);
    return sign(value) * select(high, size / 12.92, size <= vec3f(0.04045));
}

fn linear_to_srgb3(light: vec3f) -> vec3f {
    let size = abs(light);
    let high = 1.055 * safe_pow3(size, 1.0 / 2.4) - 0.055;
    return sign(light) * select(high, size * 12.92, size <= vec3f(0.0031308));
}

fn luma709(color: vec3f) -> f32 {
    return dot(color, vec3f(0.2126, 0.7152, 0.0722));
}

fn luma601(color: vec3f) -> f32 {
    return dot(color, vec3f(0.299, 0.587, 0.114));
}

// By its bits: comparisons with NaN differ between drivers.
fn is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}

// NaN becomes 0, infinities the largest numbers.
fn sanitize(value: vec4f) -> vec4f {
    let bits = bitcast<vec4u>(value);
    let size = bits & vec4u(0x7fffffffu);
    let largest = (bits & vec4u(0x80000000u)) | vec4u(0x7f7fffffu);
    let finite = select(bits, largest, size == vec4u(0x7f800000u));
    return bitcast<vec4f>(select(finite, vec4u(0u), size > vec4u(0x7f800000u)));
}

// floor(value + 0.5): the built-in rounds halves to even.
fn round_half_up(value: f32) -> f32 {
    return floor(value + 0.5);
}
