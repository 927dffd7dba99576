// For radix.wgsl: counting.

@group(0) @binding(2) var<storage, read_write> counts: array<u32>;

fn finish_digit(digit: u32, block: u32, sum: u32) {
    counts[digit * uniforms.blocks + block] = sum;
}

fn place_items(first: u32, block: u32, local: u32) {}
