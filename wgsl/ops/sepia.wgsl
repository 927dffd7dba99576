// Brown tones.
fn sepia(color: vec4f, u: Sepia) -> vec4f {
    return vec4f(dot(color.rgb, u.r), dot(color.rgb, u.g), dot(color.rgb, u.b), color.a);
}
