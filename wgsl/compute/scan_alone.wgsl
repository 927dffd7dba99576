// There is one block. Before scan.wgsl.

fn block_of(workgroup: u32, local: u32) -> u32 {
    return workgroup;
}

fn before(block: u32, local: u32, total: Element) -> Element {
    return Element();
}
