//! Pixels in memory and the few things that are drawn on them: rectangles, text, pictures. Knows nothing of windows.

use cyanotype::{Image, PixelFormat};
use font8x8::legacy::BASIC_LEGACY;

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

impl Area {
    pub const fn new(x: i32, y: i32, width: i32, height: i32) -> Self {
        Area { x, y, width, height }
    }

    /// Whether a point lies in it.
    pub fn contains(self, x: i32, y: i32) -> bool {
        x >= self.x && y >= self.y && x < self.x + self.width && y < self.y + self.height
    }

    /// What two have in common; empty where they have nothing.
    pub fn intersection(self, other: Area) -> Area {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = (self.x + self.width).min(other.x + other.width);
        let bottom = (self.y + self.height).min(other.y + other.height);
        Area::new(x, y, (right - x).max(0), (bottom - y).max(0))
    }

    /// A rectangle of this size in its middle.
    pub fn centred(self, width: i32, height: i32) -> Area {
        Area::new(self.x + (self.width - width) / 2, self.y + (self.height - height) / 2, width, height)
    }
}

/// Width and height of a letter at scale 1.
pub const LETTER: i32 = 8;

/// A picture in memory, one word `0x00RRGGBB` for each pixel.
#[derive(Debug, Clone)]
pub struct Canvas {
    width: i32,
    height: i32,
    pixels: Vec<u32>,
}

impl Canvas {
    /// A black one.
    pub fn new(width: u32, height: u32) -> Self {
        let side = |value: u32| i32::try_from(value).unwrap_or(i32::MAX).clamp(0, 1 << 14);
        let (width, height) = (side(width), side(height));
        Canvas { width, height, pixels: vec![0; (width * height) as usize] }
    }

    /// All of it.
    pub fn area(&self) -> Area {
        Area::new(0, 0, self.width, self.height)
    }

    /// The pixels, row by row.
    pub fn pixels(&self) -> &[u32] {
        &self.pixels
    }

    /// One row; empty outside.
    pub fn row(&self, y: usize) -> &[u32] {
        self.pixels.chunks_exact(self.width.max(1) as usize).nth(y).unwrap_or_default()
    }

    fn row_part(&mut self, y: i32, x: i32, width: i32) -> &mut [u32] {
        let start = (y * self.width + x) as usize;
        self.pixels.get_mut(start..start + width as usize).unwrap_or_default()
    }

    /// Fills a rectangle with a colour.
    pub fn fill(&mut self, area: Area, color: u32) {
        let area = area.intersection(self.area());
        for y in area.y..area.y + area.height {
            self.row_part(y, area.x, area.width).fill(color);
        }
    }

    /// Darkens a rectangle, so that text on it can be read.
    pub fn shade(&mut self, area: Area) {
        let area = area.intersection(self.area());
        for y in area.y..area.y + area.height {
            for pixel in self.row_part(y, area.x, area.width) {
                *pixel = (*pixel >> 2) & 0x003f_3f3f;
            }
        }
    }

    /// Lays a picture with its upper left corner at (x, y), no further than `within`. Transparent pixels show black.
    /// Only `Rgba8` is drawn: it is what the engine is asked for.
    pub fn picture(&mut self, picture: &Image, x: i32, y: i32, within: Area) {
        if picture.format() != PixelFormat::Rgba8 {
            return;
        }
        let whole = Area::new(x, y, picture.width() as i32, picture.height() as i32);
        let area = whole.intersection(within).intersection(self.area());
        for row in area.y..area.y + area.height {
            let (source, _) = picture.row((row - y) as u32).as_chunks::<4>();
            let target = self.row_part(row, area.x, area.width);
            for (target, &[red, green, blue, alpha]) in target.iter_mut().zip(source.iter().skip((area.x - x) as usize))
            {
                let over = |value: u8| (u32::from(value) * u32::from(alpha) + 127) / 255;
                *target = over(red) << 16 | over(green) << 8 | over(blue);
            }
        }
    }

    /// Writes one line. Letters that the font lacks show as '?'.
    pub fn text(&mut self, text: &str, x: i32, y: i32, scale: i32, color: u32) {
        for (index, letter) in text.chars().enumerate() {
            let glyph = BASIC_LEGACY.get(letter as usize).unwrap_or(&BASIC_LEGACY['?' as usize]);
            let left = x + index as i32 * LETTER * scale;
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                    let dot = Area::new(left + column * scale, y + row as i32 * scale, scale, scale);
                    self.fill(dot, color);
                }
            }
        }
    }
}

/// Width in pixels of a line of text.
pub fn text_width(text: &str, scale: i32) -> i32 {
    text.chars().count() as i32 * LETTER * scale
}

/// Breaks text into lines of at most `columns` letters, between words where that can be done.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let mut word: Vec<char> = word.chars().collect();
            if !line.is_empty() && line.chars().count() + 1 + word.len() > columns {
                lines.push(std::mem::take(&mut line));
            }
            while word.len() > columns {
                lines.push(word.drain(..columns).collect());
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use cyanotype::Description;

    #[test]
    fn what_lies_outside_is_cut_off() {
        let mut canvas = Canvas::new(4, 3);
        canvas.fill(Area::new(-5, -5, 100, 100), 1);
        assert!(canvas.pixels().iter().all(|pixel| *pixel == 1));
        canvas.fill(Area::new(3, 2, 9, 9), 2);
        assert_eq!(canvas.pixels().iter().filter(|pixel| **pixel == 2).count(), 1);
        canvas.fill(Area::new(40, 2, 9, 9), 3);
        canvas.text("far away", -1000, 2, 3, 3);
        assert!(!canvas.pixels().contains(&3));
    }

    #[test]
    fn a_picture_keeps_its_colours_and_its_bounds() {
        let bytes = vec![10, 20, 30, 255, 200, 100, 50, 255, 1, 2, 3, 255, 255, 255, 255, 0];
        let picture = Image::new(Description::new(2, 2, PixelFormat::Rgba8), bytes).unwrap();
        let mut canvas = Canvas::new(4, 4);
        canvas.fill(canvas.area(), 0x777777);
        canvas.picture(&picture, 1, 1, Area::new(2, 0, 2, 4));
        assert_eq!(canvas.row(1), [0x777777, 0x777777, 0xc86432, 0x777777]);
        assert_eq!(canvas.row(2), [0x777777, 0x777777, 0, 0x777777]);
        canvas.picture(&picture, -1, -1, canvas.area());
        assert_eq!(canvas.row(0), [0, 0x777777, 0x777777, 0x777777]);
    }

    #[test]
    fn letters_are_drawn_and_unknown_ones_replaced() {
        let drawn = |text: &str| {
            let mut canvas = Canvas::new(16, 8);
            canvas.text(text, 0, 0, 1, 0xffffff);
            canvas.pixels().to_vec()
        };
        assert_ne!(drawn("ab"), drawn("ba"));
        assert_eq!(drawn("\u{4e00}"), drawn("?"));
        assert_eq!(text_width("ab", 2), 32);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }
}
