// One pass of Stockham's Fourier transform: butterflies of RADIX values, in natural order throughout, over BATCH signals one
// after the other. Pass by pass `length` falls and `stride` grows by the radix. Roots of unity come from a table that the
// host made in double precision: sines of devices are worth a few digits. Before this file: WORKGROUP, RADIX.

struct Uniforms {
    // Values of a signal; its butterflies; butterflies in all.
    size: u32,
    each: u32,
    total: u32,
    stride: u32,
    // 1 or -1, and what to scale by, as bits of floats.
    sign: u32,
    scale: u32,
    first: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> output: array<vec2f>;
@group(0) @binding(3) var<storage, read> roots: array<vec2f>;

fn times(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn root(at: u32) -> vec2f {
    let value = roots[at];
    return vec2f(value.x, bitcast<f32>(uniforms.sign) * value.y);
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let number = uniforms.first + (id.y * count.x + id.x) * WORKGROUP + local;
    if number >= uniforms.total {
        return;
    }
    let start = (number / uniforms.each) * uniforms.size;
    let place = number % uniforms.each;
    let stride = uniforms.stride;
    let q = place % stride;
    let p = place / stride;
    // Butterfly p reads values a RADIX-th of the signal apart.
    let source = start + place;
    let goal = start + q + stride * RADIX * p;
    let scale = bitcast<f32>(uniforms.scale);
    let turn = p * stride;
    if RADIX == 2u {
        let a = input[source];
        let b = input[source + uniforms.each];
        output[goal] = (a + b) * scale;
        output[goal + stride] = times(a - b, root(turn)) * scale;
    } else if RADIX == 4u {
        let a = input[source];
        let b = input[source + uniforms.each];
        let c = input[source + 2u * uniforms.each];
        let d = input[source + 3u * uniforms.each];
        let even = a + c;
        let odd = b + d;
        let even_less = a - c;
        let less = b - d;
        // Times -i, or i for the inverse.
        let odd_less = bitcast<f32>(uniforms.sign) * vec2f(less.y, -less.x);
        output[goal] = (even + odd) * scale;
        output[goal + stride] = times(even_less + odd_less, root(turn)) * scale;
        output[goal + 2u * stride] = times(even - odd, root(2u * turn)) * scale;
        output[goal + 3u * stride] = times(even_less - odd_less, root(3u * turn)) * scale;
    } else {
        for (var j = 0u; j < RADIX; j++) {
            var sum = vec2f();
            for (var k = 0u; k < RADIX; k++) {
                // `each` is a RADIX-th of the size.
                sum += times(input[source + k * uniforms.each], root(((j * k) % RADIX) * uniforms.each));
            }
            output[goal + j * stride] = times(sum, root(j * turn)) * scale;
        }
    }
}
