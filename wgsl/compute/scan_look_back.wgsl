// The sum of the blocks before a block, found while they are made (decoupled look-back: Merrill and Garland 2016). Each
// block tells its own sum as soon as it has it, and the sum up to its end once it knows that; a block adds up the sums told
// by those before it until it meets one of the latter kind. Workgroups take blocks in the order in which they start, so
// whatever is waited for has begun. Devices need not run it while others wait, so nobody waits for long: who has looked
// SPINS times sums the late block itself (decoupled fallback: Smith, Levien and Owens 2025). Late are only blocks under way,
// as many as the device runs at once: on llvmpipe, which leaves loops after 65535 rounds in all, as many as it has threads.
//
// Integers only: sums of floats would depend on who was late. Before scan.wgsl; needs SPINS.

// How many blocks are taken; then two words for each block. A word is a kind, and half of a sum: WGSL's atomics say nothing
// of the order in which others see two of them, but halves of one kind belong together.
@group(0) @binding(3) var<storage, read_write> state: array<atomic<u32>>;

const OF_BLOCK = 1u;
const UP_TO_ITS_END = 2u;

var<workgroup> taken: u32;
// Kind and sum.
var<workgroup> told: vec2u;

fn block_of(workgroup: u32, local: u32) -> u32 {
    if local == 0u {
        taken = atomicAdd(&state[0], 1u);
    }
    return workgroupUniformLoad(&taken);
}

// The greater word wins: a block's own sum, which several may tell, never replaces the sum up to its end.
fn tell(block: u32, kind: u32, sum: u32) {
    atomicMax(&state[1u + 2u * block], (kind << 16u) | (sum & 0xffffu));
    atomicMax(&state[2u + 2u * block], (kind << 16u) | (sum >> 16u));
}

// What a block has told; kind 0 if it has not yet.
fn hear(block: u32) -> vec2u {
    for (var spin = 0u; spin < SPINS; spin++) {
        let low = atomicLoad(&state[1u + 2u * block]);
        let high = atomicLoad(&state[2u + 2u * block]);
        let kind = low >> 16u;
        if kind != 0u && kind == high >> 16u {
            return vec2u(kind, (low & 0xffffu) | (high << 16u));
        }
    }
    return vec2u(0u);
}

// The sum of a block, by the whole workgroup.
fn total_of(block: u32, local: u32) -> u32 {
    let first = (block * WORKGROUP + local) * ITEMS;
    var total = Element();
    for (var item = 0u; item < ITEMS; item++) {
        let vector = load(first + item);
        total += (vector.x + vector.y) + (vector.z + vector.w);
    }
    totals[local] = total;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if local < half {
            totals[local] += totals[local + half];
        }
        workgroupBarrier();
    }
    return u32(totals[0]);
}

fn before(block: u32, local: u32, total: Element) -> Element {
    // All have taken what they need from the workgroup's memory.
    workgroupBarrier();
    if local == 0u {
        tell(block, select(OF_BLOCK, UP_TO_ITS_END, block == 0u), u32(total));
    }
    var sum = 0u;
    for (var at = block; at > 0u; at--) {
        let earlier = at - 1u;
        if local == 0u {
            told = hear(earlier);
        }
        let heard = workgroupUniformLoad(&told);
        var found = heard.y;
        if heard.x == 0u {
            found = total_of(earlier, local);
            if local == 0u {
                tell(earlier, OF_BLOCK, found);
            }
        }
        sum += found;
        if heard.x == UP_TO_ITS_END {
            break;
        }
    }
    if local == 0u && block > 0u {
        tell(block, UP_TO_ITS_END, sum + u32(total));
    }
    return Element(sum);
}
