// For radix.wgsl: moving the items. Items of one digit keep their order, which is what makes the passes add up.

@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<Item>;

fn finish_digit(digit: u32, block: u32, sum: u32) {}

fn place_items(first: u32, block: u32, local: u32) {
    for (var item = 0u; item < ITEMS; item++) {
        if first + item < uniforms.length {
            let value = input[first + item];
            let digit = digit_of(value);
            let place = digit * WORKGROUP + local;
            output[starts[digit * uniforms.blocks + block] + places[place]] = value;
            places[place] += 1u;
        }
    }
}
