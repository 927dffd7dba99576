// White where the luma reaches a value. As green plus differences the luma of grey is exactly that grey.
fn threshold(color: vec4f, u: Threshold) -> vec4f {
    let luma = color.g + 0.2126 * (color.r - color.g) + 0.0722 * (color.b - color.g);
    return vec4f(vec3f(select(0.0, 1.0, luma >= u.value)), color.a);
}
