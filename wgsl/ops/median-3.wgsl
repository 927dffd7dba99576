// The middle of 9 values, channel by channel: the exchanges of NETWORK_9 in src/ops/median.rs, without the halves that
// nothing reads.
fn median_3(window: array<vec4f, 9>) -> vec4f {
    var p0 = window[0];
    var p1 = window[1];
    var p2 = window[2];
    var p3 = window[3];
    var p4 = window[4];
    var p5 = window[5];
    var p6 = window[6];
    var p7 = window[7];
    var p8 = window[8];
    var low: vec4f;
    low = min(p1, p2); p2 = max(p1, p2); p1 = low;
    low = min(p4, p5); p5 = max(p4, p5); p4 = low;
    low = min(p7, p8); p8 = max(p7, p8); p7 = low;
    low = min(p0, p1); p1 = max(p0, p1); p0 = low;
    low = min(p3, p4); p4 = max(p3, p4); p3 = low;
    low = min(p6, p7); p7 = max(p6, p7); p6 = low;
    low = min(p1, p2); p2 = max(p1, p2); p1 = low;
    low = min(p4, p5); p5 = max(p4, p5); p4 = low;
    low = min(p7, p8); p8 = max(p7, p8); p7 = low;
    p3 = max(p0, p3);
    p5 = min(p5, p8);
    low = min(p4, p7); p7 = max(p4, p7); p4 = low;
    p6 = max(p3, p6);
    p4 = max(p1, p4);
    p2 = min(p2, p5);
    p4 = min(p4, p7);
    low = min(p4, p2); p2 = max(p4, p2); p4 = low;
    p4 = max(p6, p4);
    p4 = min(p4, p2);
    return p4;
}
