//! The desktop viewer's panel: sliders made from the registry's declarations, the device, the passes and their times. And
//! what the mouse does on it. Knows nothing of windows: positions in, events out.

use crate::app::{App, Compare, Event};
use crate::canvas::{Area, Canvas, LETTER, text_width, wrap};
use crate::document::{Document, Setting, shown};
use crate::screen::{self, PALE, WHITE};
use cyanotype::op::{Argument, Extent, ParameterKind};

/// Width of the panel in pixels.
pub const WIDTH: i32 = 360;

const LINE: i32 = 12;
const ROW: i32 = 28;
const MARGIN: i32 = 8;
const BACKGROUND: u32 = 0x12_2036;
const TRACK: u32 = 0x2c_4468;
const BAR: u32 = 0x4a_86c8;

/// One control.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// "node.parameter".
    pub path: String,
    pub kind: Kind,
    /// Where it is drawn; the mouse works on all of it.
    pub area: Area,
    value: Argument,
    label: String,
}

/// What a control does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number on a scale.
    Slider(Scale),
    /// One channel of a colour.
    Channel(usize),
    /// A click changes it.
    Switch,
    /// A click takes the next option.
    Choice(&'static [&'static str]),
    /// Only shown: lists and files have no range.
    Text,
}

/// A range as a slider shows it. Where the range is wide (a sigma goes to 16384) the places near the default, which is
/// where people work, get most of the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    least: f32,
    most: f32,
    default: f32,
    whole: bool,
}

impl Scale {
    /// The exponent of the curve: straight up to a range of 4, steeper by one for each factor of ten.
    fn bend(self) -> f32 {
        1.0 + ((self.most - self.least) / 4.0).max(1.0).log10()
    }

    /// Where the default lies on the way.
    fn middle(self) -> f32 {
        if self.default <= self.least {
            0.0
        } else if self.default >= self.most {
            1.0
        } else {
            ((self.default - self.least) / (self.most - self.least)).clamp(0.2, 0.8)
        }
    }

    /// The value at a part of the way, 0 to 1.
    pub fn value(self, part: f32) -> f32 {
        let (part, middle) = (part.clamp(0.0, 1.0), self.middle());
        let value = if part == 0.0 {
            self.least
        } else if part == 1.0 {
            self.most
        } else if part >= middle {
            self.default + (self.most - self.default) * ((part - middle) / (1.0 - middle).max(1e-6)).powf(self.bend())
        } else {
            self.default - (self.default - self.least) * ((middle - part) / middle).powf(self.bend())
        };
        let value = value.clamp(self.least, self.most);
        if self.whole { (value + 0.5).floor() } else { value }
    }

    /// The part of the way at which a value lies.
    pub fn part(self, value: f32) -> f32 {
        let (middle, bend) = (self.middle(), self.bend().recip());
        if value >= self.default {
            middle + (1.0 - middle) * ((value - self.default) / (self.most - self.default).max(1e-6)).powf(bend)
        } else {
            middle - middle * ((self.default - value) / (self.default - self.least).max(1e-6)).powf(bend)
        }
    }

    fn argument(self, part: f32) -> Argument {
        let value = self.value(part);
        if self.whole { Argument::Integer(value as i32) } else { Argument::Float(value) }
    }
}

/// What the mouse holds.
#[derive(Debug, Clone, PartialEq)]
enum Held {
    Nothing,
    Control(String, usize),
    Divider,
}

/// The window's content besides the application: its size, what the mouse holds, how far the panel is scrolled.
#[derive(Debug)]
pub struct Panel {
    width: i32,
    height: i32,
    held: Held,
    scroll: i32,
}

impl Panel {
    pub fn new(width: u32, height: u32) -> Self {
        let mut panel = Panel { width: 0, height: 0, held: Held::Nothing, scroll: 0 };
        panel.resize(width, height);
        panel
    }

    /// The window has another size.
    pub fn resize(&mut self, width: u32, height: u32) {
        self.width = i32::try_from(width).unwrap_or(i32::MAX);
        self.height = i32::try_from(height).unwrap_or(i32::MAX);
    }

    /// Where the picture is shown.
    pub fn picture_area(&self) -> Area {
        Area::new(0, 0, (self.width - WIDTH).max(1), self.height.max(1))
    }

    /// The same as the application's surface.
    pub fn surface(&self) -> Extent {
        let area = self.picture_area();
        Extent { width: area.width as u32, height: area.height as u32 }
    }

    fn area(&self) -> Area {
        Area::new((self.width - WIDTH).max(1), 0, WIDTH, self.height)
    }

    /// The button for the next document.
    fn title(&self) -> Area {
        let area = self.area();
        Area::new(area.x, 0, area.width, ROW)
    }

    fn status_lines(&self, app: &App) -> Vec<String> {
        let columns = ((WIDTH - 2 * MARGIN) / LETTER) as usize;
        let mut lines = wrap(&app.status(), columns);
        lines.extend(app.message().map(|message| wrap(message, columns)).unwrap_or_default());
        lines
    }

    /// The controls of the current document, from top to bottom.
    pub fn controls(&self, app: &App) -> Vec<Control> {
        let top = ROW + self.status_lines(app).len() as i32 * LINE + MARGIN - self.scroll;
        let area = self.area();
        let controls = app.document().map(controls_of).unwrap_or_default().into_iter().enumerate();
        let place =
            |index: usize| Area::new(area.x + MARGIN, top + index as i32 * ROW, area.width - 2 * MARGIN, ROW - 4);
        controls.map(|(index, control)| Control { area: place(index), ..control }).collect()
    }

    /// The mouse button goes down.
    pub fn press(&mut self, app: &App, x: i32, y: i32) -> Vec<Event> {
        self.held = Held::Nothing;
        if self.title().contains(x, y) {
            let (position, count) = app.position();
            let step = if x < self.area().x + WIDTH / 2 { count.saturating_sub(1) } else { 1 };
            return vec![Event::Select((position + step) % count.max(1))];
        }
        if self.picture_area().contains(x, y) {
            self.held = Held::Divider;
            return self.drag(app, x, y);
        }
        let Some(control) = self.controls(app).into_iter().find(|control| control.area.contains(x, y)) else {
            return Vec::new();
        };
        match control.kind {
            Kind::Slider(_) => self.held = Held::Control(control.path, 0),
            Kind::Channel(channel) => self.held = Held::Control(control.path, channel),
            Kind::Switch => {
                let on = control.value == Argument::Switch(true);
                return vec![Event::Set(control.path, Argument::Switch(!on))];
            }
            Kind::Choice(options) => {
                let at = options.iter().position(|option| Argument::from(*option) == control.value).unwrap_or(0);
                let next = options.get((at + 1) % options.len().max(1)).copied().unwrap_or_default();
                return vec![Event::Set(control.path, next.into())];
            }
            Kind::Text => {}
        }
        self.drag(app, x, y)
    }

    /// The mouse moves.
    pub fn drag(&mut self, app: &App, x: i32, _: i32) -> Vec<Event> {
        match &self.held {
            Held::Nothing => Vec::new(),
            Held::Divider => {
                let picture = screen::picture_area(app, self.picture_area()).unwrap_or(self.picture_area());
                let part = (x - picture.x) as f32 / picture.width.max(1) as f32;
                vec![Event::Compare(Compare::Split(part.clamp(0.0, 1.0)))]
            }
            Held::Control(path, channel) => {
                let same = |control: &Control| {
                    control.path == *path && !matches!(control.kind, Kind::Channel(other) if other != *channel)
                };
                let Some(control) = self.controls(app).into_iter().find(same) else { return Vec::new() };
                let part = (x - control.area.x) as f32 / (control.area.width - 1).max(1) as f32;
                match (control.kind, control.value) {
                    (Kind::Slider(scale), _) => vec![Event::Set(control.path, scale.argument(part))],
                    (Kind::Channel(channel), Argument::Color(mut color)) => {
                        if let Some(value) = color.get_mut(channel) {
                            *value = part.clamp(0.0, 1.0);
                        }
                        vec![Event::Set(control.path, Argument::Color(color))]
                    }
                    _ => Vec::new(),
                }
            }
        }
    }

    /// The mouse button goes up.
    pub fn release(&mut self) {
        self.held = Held::Nothing;
    }

    /// The wheel turns, by pixels; down is positive.
    pub fn scroll(&mut self, app: &App, by: i32) {
        let bottom = self.controls(app).last().map_or(0, |control| control.area.y + control.area.height) + self.scroll;
        self.scroll = (self.scroll + by).clamp(0, (bottom - ROW).max(0));
    }

    /// Another document begins at the top.
    pub fn scroll_to_top(&mut self) {
        self.scroll = 0;
    }

    /// Draws all of the window.
    pub fn draw(&self, app: &App, canvas: &mut Canvas) {
        screen::picture(app, canvas, self.picture_area());
        let area = self.area();
        canvas.fill(area, BACKGROUND);
        let x = area.x + MARGIN;

        let controls = self.controls(app);
        for control in &controls {
            draw_control(canvas, control);
        }
        let mut y = controls.last().map_or(ROW, |control| control.area.y + control.area.height) + MARGIN;
        if let Some(frame) = app.frame() {
            canvas.text(&format!("frame {:.1} ms", frame.total), x, y, 1, WHITE);
            for (index, (label, time)) in frame.passes.iter().enumerate() {
                y += LINE;
                let time = time.map_or("not measured".to_string(), |time| format!("{time:.2} ms"));
                let room = ((WIDTH - 2 * MARGIN) / LETTER) as usize - time.len() - 4;
                let label: String = label.chars().take(room).collect();
                canvas.text(&format!("{} {label}", index + 1), x, y, 1, PALE);
                canvas.text(&time, area.x + WIDTH - MARGIN - text_width(&time, 1), y, 1, WHITE);
            }
            y += 2 * LINE;
        }
        for hint in [
            "drag on the picture: before | after",
            "tab: whole picture, space: the original",
            "s: save, drop a file to open it",
        ] {
            canvas.text(hint, x, y, 1, BAR);
            y += LINE;
        }

        // Last, so that what is scrolled up goes under it.
        let lines = self.status_lines(app);
        canvas.fill(Area::new(area.x, 0, WIDTH, ROW + lines.len() as i32 * LINE), BACKGROUND);
        canvas.fill(self.title(), TRACK);
        let (position, count) = app.position();
        let name = app.document().map_or("", Document::name);
        let waiting = if app.is_up_to_date() { "" } else { " ..." };
        let title = format!("{}/{count} {name}{waiting}", position + 1);
        canvas.text("<", x, 6, 2, PALE);
        canvas.text(&title, area.x + (WIDTH - text_width(&title, 1)) / 2, 10, 1, WHITE);
        canvas.text(">", area.x + WIDTH - MARGIN - 2 * LETTER, 6, 2, PALE);
        for (index, line) in lines.iter().enumerate() {
            canvas.text(line, x, ROW + 4 + index as i32 * LINE, 1, PALE);
        }
    }
}

fn controls_of(document: &Document) -> Vec<Control> {
    document.settings().into_iter().flat_map(controls_for).collect()
}

fn controls_for(setting: Setting) -> Vec<Control> {
    let Setting { path, declared, value } = setting;
    let kinds = match declared.kind {
        ParameterKind::Float { min, max, default } => {
            vec![Kind::Slider(Scale { least: min, most: max, default, whole: false })]
        }
        ParameterKind::Integer { min, max, default } => {
            let scale = Scale { least: min as f32, most: max as f32, default: default as f32, whole: true };
            vec![Kind::Slider(scale)]
        }
        ParameterKind::Switch { .. } => vec![Kind::Switch],
        ParameterKind::Choice { options, .. } => vec![Kind::Choice(options)],
        ParameterKind::Color { .. } => (0..4).map(Kind::Channel).collect(),
        ParameterKind::Floats { .. } | ParameterKind::File { .. } => vec![Kind::Text],
    };
    let unit = if declared.unit.is_empty() { String::new() } else { format!(" {}", declared.unit) };
    let control = |kind| {
        let label = match (kind, &value) {
            (Kind::Channel(channel), Argument::Color(color)) => {
                let name = ["red", "green", "blue", "alpha"].get(channel).copied().unwrap_or_default();
                format!("{path} {name} {:.3}", color.get(channel).copied().unwrap_or_default())
            }
            _ => format!("{path} {}{unit}", shown(&value)),
        };
        Control { path: path.clone(), kind, area: Area::default(), value: value.clone(), label }
    };
    kinds.into_iter().map(control).collect()
}

fn draw_control(canvas: &mut Canvas, control: &Control) {
    let area = control.area;
    let part = match (control.kind, &control.value) {
        (Kind::Slider(scale), Argument::Float(value)) => Some(scale.part(*value)),
        (Kind::Slider(scale), Argument::Integer(value)) => Some(scale.part(*value as f32)),
        (Kind::Channel(channel), Argument::Color(color)) => color.get(channel).copied(),
        _ => None,
    };
    canvas.fill(area, if control.kind == Kind::Text { BACKGROUND } else { TRACK });
    if let Some(part) = part {
        let width = (part.clamp(0.0, 1.0) * (area.width - 1) as f32).round() as i32 + 1;
        canvas.fill(Area { width, ..area }, BAR);
    }
    let room = (area.width / LETTER - 1).max(0) as usize;
    let label: String = control.label.chars().take(room).collect();
    canvas.text(&label, area.x + LETTER / 2, area.y + (area.height - LETTER) / 2, 1, WHITE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_the_registry_has_a_control_and_scales_go_both_ways() {
        let mut sliders = 0;
        for operator in cyanotype::ops::ALL {
            for declared in operator.parameters {
                let value = declared.default().unwrap_or(Argument::Floats(Vec::new()));
                let controls = controls_for(Setting { path: format!("x.{}", declared.name), declared, value });
                assert!(!controls.is_empty(), "{} {}", operator.name, declared.name);
                for control in controls {
                    let Kind::Slider(scale) = control.kind else { continue };
                    sliders += 1;
                    assert_eq!(scale.value(0.0), scale.least, "{} {}", operator.name, declared.name);
                    assert_eq!(scale.value(1.0), scale.most, "{} {}", operator.name, declared.name);
                    for step in 0..=100 {
                        let value = scale.value(step as f32 / 100.0);
                        // What a slider gives is what the operator takes, and its bar ends where the mouse was.
                        assert!(declared.check(operator.name, scale.argument(step as f32 / 100.0)).is_ok());
                        let again = scale.value(scale.part(value));
                        let tolerance = (value - scale.default).abs() * 1e-3 + 1e-5; // powf there and back in f32
                        assert!(
                            (again - value).abs() <= tolerance,
                            "{} {}: {value} {again}",
                            operator.name,
                            declared.name
                        );
                    }
                }
            }
        }
        assert!(sliders > 40, "{sliders}");
    }

    #[test]
    fn the_mouse_sets_what_it_holds_until_released() {
        let document = Document::new("test", "exposure 0 as light | gaussian-blur 2 edge=clamp as blur").unwrap();
        let mut app = App::new(vec![document], Vec::new());
        let mut panel = Panel::new(900, 600);
        let controls = panel.controls(&app);
        let slider = controls.iter().find(|control| control.path == "light.stops").unwrap().area;
        let value = |events: &[Event]| match events {
            [Event::Set(path, Argument::Float(value))] if path == "light.stops" => *value,
            other => panic!("{other:?}"),
        };
        let y = slider.y + 5;
        assert_eq!(value(&panel.press(&app, slider.x, y)), -20.0);
        // Held: also outside of the slider.
        assert_eq!(value(&panel.drag(&app, slider.x + 10_000, y + 300)), 20.0);
        panel.release();
        assert!(panel.drag(&app, slider.x, y).is_empty());

        let edge = controls.iter().find(|control| control.path == "blur.edge").unwrap().area;
        let events = panel.press(&app, edge.x + 3, edge.y + 3);
        assert!(
            matches!(&events[..], [Event::Set(path, Argument::Choice(mode))] if path == "blur.edge" && mode == "mirror")
        );
        for event in events {
            app.handle(event);
        }
        assert_eq!(app.document().unwrap().get("blur.edge").unwrap(), Argument::Choice("mirror".into()));
    }

    #[test]
    fn drawing_stays_in_the_window_whatever_its_size() {
        for (width, height) in [(1, 1), (200, 40), (900, 600), (3000, 50)] {
            let document =
                Document::new("test", "checkerboard | blend @in").or_else(|_| Document::new("test", "invert")).unwrap();
            let app = App::new(vec![document], Vec::new());
            let mut canvas = Canvas::new(width, height);
            Panel::new(width, height).draw(&app, &mut canvas);
            screen::phone(&app, &mut canvas, Area::new(0, 0, width as i32, height as i32), 3);
        }
    }
}
