// Source over backdrop, by W3C Compositing and Blending Level 1. Both come premultiplied.
fn blend(first: vec4f, second: vec4f, u: Blend) -> vec4f {
    let source = second * u.opacity;
    let alpha = first.a + source.a * (1.0 - first.a);
    if u.mode == 0u {
        return vec4f(source.rgb + first.rgb * (1.0 - source.a), alpha);
    }
    let mixed = blend_mix(blend_straight(first), blend_straight(source), u.mode);
    return vec4f(
        source.rgb * (1.0 - first.a) + mixed * (source.a * first.a) + first.rgb * (1.0 - source.a),
        alpha,
    );
}

fn blend_straight(color: vec4f) -> vec3f {
    return select(vec3f(0.0), color.rgb * (1.0 / max(color.a, SMALLEST)), vec3<bool>(color.a > 0.0));
}

// Jumps stand this far off the exact 0 and 1, so that rounding does not decide.
const blend_edge: f32 = 2e-6;

// Chroma up to which a colour counts, more and more, as grey.
const blend_near_grey: f32 = 1e-4;

// Backdrop b and source s, both straight.
fn blend_mix(b: vec3f, s: vec3f, mode: u32) -> vec3f {
    switch mode {
        case 1u: {
            return b * s;
        }
        case 2u: {
            return b + s - b * s;
        }
        case 3u: {
            return blend_hard_light(s, b);
        }
        case 4u: {
            return min(b, s);
        }
        case 5u: {
            return max(b, s);
        }
        case 6u: {
            let bright = min(vec3f(1.0), b / max(1.0 - s, vec3f(blend_edge)));
            return select(bright, vec3f(0.0), b < vec3f(blend_edge));
        }
        case 7u: {
            let dark = 1.0 - min(vec3f(1.0), (1.0 - b) / max(s, vec3f(blend_edge)));
            return select(dark, vec3f(1.0), 1.0 - b < vec3f(blend_edge));
        }
        case 8u: {
            return blend_hard_light(b, s);
        }
        case 9u: {
            let low = ((16.0 * b - 12.0) * b + 4.0) * b;
            let goal = select(sqrt(max(b, vec3f(0.0))), low, b <= vec3f(0.25));
            let dark = b - (1.0 - 2.0 * s) * b * (1.0 - b);
            let light = b + (2.0 * s - 1.0) * (goal - b);
            return select(light, dark, s <= vec3f(0.5));
        }
        case 10u: {
            return abs(b - s);
        }
        case 11u: {
            return b + s - 2.0 * b * s;
        }
        case 12u: {
            return blend_set_luminosity(blend_set_saturation(s, blend_saturation(b)), blend_luminosity(b));
        }
        case 13u: {
            return blend_set_luminosity(blend_set_saturation(b, blend_saturation(s)), blend_luminosity(b));
        }
        case 14u: {
            return blend_set_luminosity(s, blend_luminosity(b));
        }
        case 15u: {
            return blend_set_luminosity(b, blend_luminosity(s));
        }
        default: {
            return s;
        }
    }
}

fn blend_hard_light(b: vec3f, s: vec3f) -> vec3f {
    let above = 2.0 * s - 1.0;
    return select(b + above - b * above, b * (2.0 * s), s <= vec3f(0.5));
}

fn blend_luminosity(color: vec3f) -> f32 {
    return 0.3 * color.r + 0.59 * color.g + 0.11 * color.b;
}

fn blend_saturation(color: vec3f) -> f32 {
    return max(max(color.r, color.g), color.b) - min(min(color.r, color.g), color.b);
}

// The smallest channel becomes 0, the largest `wanted`, the third keeps its place between.
fn blend_set_saturation(color: vec3f, wanted: f32) -> vec3f {
    let low = min(min(color.r, color.g), color.b);
    return (color - low) * (wanted / max(blend_saturation(color), blend_near_grey));
}

// Shifted to the luminosity `wanted`, then drawn towards it into 0..1.
fn blend_set_luminosity(color: vec3f, wanted: f32) -> vec3f {
    let shifted = color + (wanted - blend_luminosity(color));
    let low = min(min(shifted.r, shifted.g), shifted.b);
    let high = max(max(shifted.r, shifted.g), shifted.b);
    // From below, and from above.
    let room = max(vec2f(wanted, 1.0 - wanted), vec2f(0.0));
    let reach = max(vec2f(wanted - low, high - wanted), vec2f(blend_edge));
    let drawn = select(vec2f(1.0), room / reach, vec2<bool>(0.0 > low, high > 1.0));
    return wanted + (shifted - wanted) * drawn.x * drawn.y;
}
