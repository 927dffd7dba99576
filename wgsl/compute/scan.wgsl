// Running sums within blocks, on top of what comes before each block. An invocation has ITEMS neighbouring vectors of four;
// their sums are scanned in workgroup memory (Hillis and Steele 1986). Before this file: WORKGROUP, ITEMS, Element, EXCLUSIVE
// (1 or 0), `block_of`, the block that a workgroup takes, and `before`, the sum of all blocks before it, which is given the
// block's own.

struct Uniforms {
    vectors: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec4<Element>>;
@group(0) @binding(2) var<storage, read_write> output: array<vec4<Element>>;

var<workgroup> totals: array<Element, WORKGROUP>;

fn load(at: u32) -> vec4<Element> {
    var vector = vec4<Element>();
    if at < uniforms.vectors {
        vector = input[at];
    }
    return vector;
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let group = block_of(id.y * count.x + id.x, local);
    let first = (group * WORKGROUP + local) * ITEMS;
    // Kept: on lavapipe loading them again takes a fifth longer.
    var vectors: array<vec4<Element>, ITEMS>;
    var total = Element();
    for (var item = 0u; item < ITEMS; item++) {
        let vector = load(first + item);
        vectors[item] = vector;
        total += (vector.x + vector.y) + (vector.z + vector.w);
    }
    totals[local] = total;
    workgroupBarrier();
    for (var step = 1u; step < WORKGROUP; step *= 2u) {
        var sum = totals[local];
        if local >= step {
            sum += totals[local - step];
        }
        workgroupBarrier();
        totals[local] = sum;
        workgroupBarrier();
    }
    // Taken first: `before` may use the memory for itself.
    let of_block = totals[WORKGROUP - 1u];
    var own = Element();
    if local > 0u {
        own = totals[local - 1u];
    }
    var running = before(group, local, of_block) + own;
    for (var item = 0u; item < ITEMS; item++) {
        let at = first + item;
        if at < uniforms.vectors {
            let vector = vectors[item];
            let x = running + vector.x;
            let y = x + vector.y;
            let z = y + vector.z;
            let w = z + vector.w;
            if EXCLUSIVE == 1u {
                output[at] = vec4<Element>(running, x, y, z);
            } else {
                output[at] = vec4<Element>(x, y, z, w);
            }
            running = w;
        }
    }
}
