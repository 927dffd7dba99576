// The hue turned about the grey axis. Each row sums to 1, so it is a weighted mean, exact on grey.
fn hue_rotate(color: vec4f, u: HueRotate) -> vec4f {
    let rgb = color.rgb;
    return vec4f(weighted_luma(rgb, u.r), weighted_luma(rgb, u.g), weighted_luma(rgb, u.b), color.a);
}
