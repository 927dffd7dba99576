// Squares of two colours in turn. Pixel centres lie half a pixel from their borders, so rounding does not matter.
fn checkerboard(at: vec2f, u: Checkerboard) -> vec4f {
    let square = floor(at * u.frequency);
    let number = square.x + square.y;
    let is_odd = number - 2.0 * floor(number * 0.5) > 0.5;
    return color_select(u.first, u.second, is_odd);
}
