// One pass of a radix sort by four bits, the least significant first (Merrill and Grimshaw 2011, in its plain form). A
// workgroup has a block of WORKGROUP * ITEMS neighbouring items, an invocation ITEMS neighbours of those. COUNT 1: how
// often each digit occurs in each block, all blocks of digit 0 first; what is before an entry in that order is where a
// block's items with that digit go, COUNT 0. Before this file: WORKGROUP, ITEMS, COUNT, Item, `key`.

struct Uniforms {
    length: u32,
    blocks: u32,
    shift: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<Item>;

// For each digit and invocation, digit 0 first.
var<workgroup> places: array<u32, 16 * WORKGROUP>;

fn digit_of(item: Item) -> u32 {
    return (key(item) >> uniforms.shift) & 15u;
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let block = id.y * count.x + id.x;
    for (var digit = 0u; digit < 16u; digit++) {
        places[digit * WORKGROUP + local] = 0u;
    }
    let first = (block * WORKGROUP + local) * ITEMS;
    for (var item = 0u; item < ITEMS; item++) {
        if first + item < uniforms.length {
            places[digit_of(input[first + item]) * WORKGROUP + local] += 1u;
        }
    }
    workgroupBarrier();
    // One invocation for each digit: where each invocation's items with it begin, counted from the block's.
    if local < 16u {
        var sum = 0u;
        for (var other = 0u; other < WORKGROUP; other++) {
            let place = local * WORKGROUP + other;
            let found = places[place];
            places[place] = sum;
            sum += found;
        }
        if block < uniforms.blocks {
            finish_digit(local, block, sum);
        }
    }
    workgroupBarrier();
    place_items(first, block, local);
}
