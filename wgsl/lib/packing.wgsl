// Runs of sixteen pixels in a row of packed pixels.
fn runs_in(width: u32) -> u32 {
    return (width + 15u) / 16u;
}

// Integers and halfs in words, four samples at a time.
fn unpack_bytes(word: u32) -> vec4f {
    return vec4f(vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u)) * (1.0 / 255.0);
}

fn unpack_shorts(low: u32, high: u32) -> vec4f {
    return vec4f(vec4u(low & 65535u, low >> 16u, high & 65535u, high >> 16u)) * (1.0 / 65535.0);
}

fn unpack_halfs(low: u32, high: u32) -> vec4f {
    return half_to_float(vec4u(low, low >> 16u, high, high >> 16u));
}

// NaN becomes 0 here, by its bits: comparisons with it differ between drivers.
fn to_unit(value: vec4f) -> vec4f {
    let is_number = (bitcast<vec4u>(value) & vec4u(0x7fffffffu)) <= vec4u(0x7f800000u);
    return clamp(select(vec4f(0.0), value, is_number), vec4f(0.0), vec4f(1.0));
}

fn pack_bytes(value: vec4f) -> u32 {
    let bytes = vec4u(to_unit(value) * 255.0 + 0.5);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

fn pack_shorts(value: vec4f) -> vec2u {
    let shorts = vec4u(to_unit(value) * 65535.0 + 0.5);
    return vec2u(shorts.x | (shorts.y << 16u), shorts.z | (shorts.w << 16u));
}

fn pack_halfs(value: vec4f) -> vec2u {
    let halfs = float_to_half(value);
    return vec2u(halfs.x | (halfs.y << 16u), halfs.z | (halfs.w << 16u));
}

fn pack_floats(value: vec4f) -> vec4u {
    return bitcast<vec4u>(sanitize(value));
}
