// The sums of blocks are there already, scanned. Before scan.wgsl.

@group(0) @binding(3) var<storage, read> sums: array<Element>;

fn block_of(workgroup: u32, local: u32) -> u32 {
    return workgroup;
}

fn before(block: u32, local: u32, total: Element) -> Element {
    return sums[min(block, arrayLength(&sums) - 1u)];
}
