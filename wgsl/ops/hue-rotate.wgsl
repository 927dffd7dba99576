// Colours turned about the grey axis.
fn hue_rotate(color: vec4f, u: HueRotate) -> vec4f {
    return vec4f(dot(color.rgb, u.r), dot(color.rgb, u.g), dot(color.rgb, u.b), color.a);
}
