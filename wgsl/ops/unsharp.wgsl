// A picture and its blur: adds a multiple of what the blur took away, beyond a threshold.
fn unsharp(first: vec4f, second: vec4f, u: Unsharp) -> vec4f {
    // Straight colours are compared, in units of this pixel's alpha: an even colour stays even as alpha changes.
    let straight = vec3f(first.a / max(second.a, SMALLEST));
    let ratio = select(vec3f(0.0), straight, vec3<bool>(second.a > 0.0));
    let limit = vec3f(u.threshold * max(first.a, 0.0));
    let difference = first.rgb - second.rgb * ratio;
    let detail = difference - clamp(difference, -limit, limit);
    return vec4f(first.rgb + u.amount * detail, first.a);
}
