// Each channel a weighted sum of the three, plus an offset.
fn color_matrix(color: vec4f, u: ColorMatrix) -> vec4f {
    let input = vec4f(color.rgb, 1.0);
    return vec4f(dot(input, u.r), dot(input, u.g), dot(input, u.b), color.a);
}
