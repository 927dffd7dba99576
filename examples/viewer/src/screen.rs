//! Draws the application: the picture with what compares it, and, on a phone, the words around it.

use crate::app::{App, Compare};
use crate::canvas::{Area, Canvas, LETTER, text_width, wrap};
use crate::document::shown;

pub(crate) const WHITE: u32 = 0xff_ffff;
pub(crate) const PALE: u32 = 0xb8_c4d0;

/// Where the result lies: in the middle of the area.
pub fn picture_area(app: &App, area: Area) -> Option<Area> {
    let frame = app.frame()?;
    Some(area.centred(frame.picture.width() as i32, frame.picture.height() as i32))
}

/// The x of the line between original and result, if they are shown side by side.
pub fn divider(app: &App, area: Area) -> Option<i32> {
    let Compare::Split(part) = app.compare() else { return None };
    let picture = picture_area(app, area)?;
    Some(picture.x + (part.clamp(0.0, 1.0) * picture.width as f32).round() as i32)
}

/// Draws the picture into an area, the original beside or instead of it as the application says.
pub fn picture(app: &App, canvas: &mut Canvas, area: Area) {
    canvas.fill(area, 0);
    let Some(frame) = app.frame() else { return };
    let place = |picture: &cyanotype::Image| area.centred(picture.width() as i32, picture.height() as i32);
    let (result, original) = (place(&frame.picture), place(&frame.original));
    match app.compare() {
        Compare::Off => canvas.picture(&frame.picture, result.x, result.y, area),
        Compare::Original => canvas.picture(&frame.original, original.x, original.y, area),
        Compare::Split(_) => {
            let x = divider(app, area).unwrap_or(area.x);
            let left = Area { width: x - area.x, ..area };
            let right = Area { x, width: area.x + area.width - x, ..area };
            canvas.picture(&frame.original, original.x, original.y, left);
            canvas.picture(&frame.picture, result.x, result.y, right);
            canvas.fill(Area::new(x, result.y, 1, result.height), WHITE);
        }
    }
}

/// Draws a phone's screen: the picture, the look and its values above, the device and its reason below. `scale` is the
/// size of the letters, `safe` what neither a notch nor a bar of the system covers.
pub fn phone(app: &App, canvas: &mut Canvas, safe: Area, scale: i32) {
    picture(app, canvas, canvas.area());
    let line = LETTER * scale + LETTER * scale / 2;
    let columns = (safe.width / (LETTER * scale)).max(8) as usize - 2;

    let mut above = Vec::new();
    let (position, count) = app.position();
    if let Some(document) = app.document() {
        let waiting = if app.is_up_to_date() { "" } else { " ..." };
        above.push(format!("{}/{count} {}{waiting}", position + 1, document.name()));
        for drag in document.drags() {
            if let Ok(value) = document.get(&drag.path) {
                above.push(format!("{} {}", drag.path, shown(&value)));
            }
        }
    }
    if app.compare() == Compare::Original {
        above = vec!["Original".into()];
    }
    if let Some(message) = app.message() {
        above.extend(wrap(message, columns));
    }
    paragraph(canvas, &above, safe.x, safe.y, line, scale);

    let below = wrap(&app.status(), columns);
    paragraph(canvas, &below, safe.x, safe.y + safe.height - line * below.len() as i32 - line / 2, line, scale);
}

fn paragraph(canvas: &mut Canvas, lines: &[String], x: i32, y: i32, line: i32, scale: i32) {
    let width = lines.iter().map(|text| text_width(text, scale)).max().unwrap_or(0);
    canvas.shade(Area::new(x, y, width + 2 * LETTER * scale, line * lines.len() as i32 + line / 2));
    for (index, text) in lines.iter().enumerate() {
        let color = if index == 0 { WHITE } else { PALE };
        canvas.text(text, x + LETTER * scale, y + line / 2 + index as i32 * line, scale, color);
    }
}
