// How many elements fall into each bin. Each workgroup counts in memory of its own and adds what it has at the end, so that
// a million elements do not queue for one counter. Before this file: WORKGROUP, ITEMS, BINS, LOCAL (1 where the bins fit
// workgroup memory, and LOCAL_BINS is BINS), and `bin_of`, at least BINS for an element that does not count.

// As in reduce.wgsl.
const ROW = min(WORKGROUP, 8u);

struct Uniforms {
    length: u32,
    vectors: u32,
    // The lowest edge and bins per unit, as bits of floats.
    low: u32,
    scale: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> input: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

var<workgroup> private_counts: array<atomic<u32>, LOCAL_BINS>;

fn add(element: u32, index: u32) {
    let bin = bin_of(element);
    if index < uniforms.length && bin < BINS {
        if LOCAL == 1u {
            atomicAdd(&private_counts[bin], 1u);
        } else {
            atomicAdd(&counts[bin], 1u);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) id: vec3u,
    @builtin(num_workgroups) count: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var bin = local; bin < LOCAL_BINS; bin += WORKGROUP) {
        atomicStore(&private_counts[bin], 0u);
    }
    workgroupBarrier();
    let first = (id.y * count.x + id.x) * WORKGROUP * ITEMS + (local / ROW) * ROW * ITEMS + local % ROW;
    for (var item = 0u; item < ITEMS; item++) {
        let at = first + item * ROW;
        if at < uniforms.vectors {
            let vector = input[at];
            add(vector.x, 4u * at);
            add(vector.y, 4u * at + 1u);
            add(vector.z, 4u * at + 2u);
            add(vector.w, 4u * at + 3u);
        }
    }
    workgroupBarrier();
    if LOCAL == 1u {
        for (var bin = local; bin < LOCAL_BINS; bin += WORKGROUP) {
            let found = atomicLoad(&private_counts[bin]);
            if found > 0u {
                atomicAdd(&counts[bin], found);
            }
        }
    }
}
