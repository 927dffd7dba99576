// The steepness of each channel, from the window's columns and rows weighted 1, 2, 1.
fn sobel(window: array<vec4f, 9>, u: Sobel) -> vec4f {
    let x = (window[2] - window[0]).rgb + 2.0 * (window[5] - window[3]).rgb + (window[8] - window[6]).rgb;
    let y = (window[6] - window[0]).rgb + 2.0 * (window[7] - window[1]).rgb + (window[8] - window[2]).rgb;
    let value = u.magnitude * sqrt(x * x + y * y) + u.x * x + u.y * y + u.offset;
    // Multiplied by alpha: the window is premultiplied, and so is what comes of it.
    let alpha = window[4].a;
    return vec4f(value * alpha, alpha);
}
