//! The desktop viewer: a window around the [application](cyanotype_viewer). Knows winit and softbuffer, decides nothing.
//!
//! `cargo run --release --manifest-path examples/viewer/Cargo.toml -- photo.jpg --graph 'exposure 0.5 | unsharp 2 0.8'`

use cyanotype::BackendChoice;
use cyanotype_viewer::app::{Answer, App, Compare, Effect, Event};
use cyanotype_viewer::canvas::Canvas;
use cyanotype_viewer::document::{Document, looks};
use cyanotype_viewer::engine::{Command, Engine, ladder};
use cyanotype_viewer::panel::Panel;
use cyanotype_viewer::screen;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop, OwnedDisplayHandle};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowId};

const HELP: &str = "\
Shows a picture through a graph, live.

Usage: cyanotype-viewer [OPTIONS] [PICTURE]

  --graph TEXT      a graph of your own, in text form, before the looks; may be repeated
  --backend NAME    vulkan, gl, metal, dx12 or cpu; by default what CYANOTYPE_BACKEND says, else the best
  --size WxH        size of the window, 1280x800
  --save FOLDER     where 's' saves results, the present folder

A file dropped on the window is opened. Drag on the picture: before and after; on a slider: its value.
Keys: left and right for another look, tab for the whole picture, space for the original, s to save, q to quit.
";

struct Options {
    graphs: Vec<String>,
    backend: Option<BackendChoice>,
    size: (u32, u32),
    save: PathBuf,
    photo: Option<PathBuf>,
}

fn options() -> Result<Option<Options>, Box<dyn std::error::Error>> {
    let mut arguments = pico_args::Arguments::from_env();
    if arguments.contains(["-h", "--help"]) {
        return Ok(None);
    }
    let size = |text: &str| -> Result<(u32, u32), String> {
        let sides = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        sides
            .filter(|(width, height)| (1..=16384).contains(width) && (1..=16384).contains(height))
            .ok_or_else(|| format!("'{text}' is no size such as 1280x800"))
    };
    let named = std::env::var("CYANOTYPE_BACKEND").ok().filter(|name| !name.is_empty());
    let named = arguments.opt_value_from_str("--backend")?.or(named);
    let options = Options {
        graphs: arguments.values_from_str("--graph")?,
        backend: named.map(|name: String| name.parse()).transpose()?,
        size: arguments.opt_value_from_fn("--size", size)?.unwrap_or((1280, 800)),
        save: arguments.opt_value_from_str("--save")?.unwrap_or_else(|| ".".into()),
        photo: arguments.opt_free_from_os_str(|text| Ok::<_, std::convert::Infallible>(PathBuf::from(text)))?,
    };
    match arguments.finish().first() {
        Some(unknown) => Err(format!("what is '{}'? See --help", unknown.to_string_lossy()).into()),
        None => Ok(Some(options)),
    }
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn,cyanotype_viewer=info")).init();
    match options().and_then(|options| {
        options.map_or_else(
            || {
                print!("{HELP}");
                Ok(())
            },
            run,
        )
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut documents = Vec::new();
    for (index, text) in options.graphs.iter().enumerate() {
        documents.push(Document::new(&format!("Graph {}", index + 1), text)?);
    }
    documents.extend(looks()?);

    let events = EventLoop::<Answer>::with_user_event().build()?;
    let proxy = events.create_proxy();
    // The loop is gone only when the program ends; nobody waits for the answer then.
    let engine = Engine::start(move |answer| drop(proxy.send_event(answer)))?;
    engine.send(match options.photo {
        Some(path) => Command::OpenPhoto(path),
        None => Command::DecodePhoto(include_bytes!("../../../assets/astronaut.png").to_vec()),
    });
    let display = softbuffer::Context::new(events.owned_display_handle())?;
    let mut viewer = Viewer {
        app: App::new(documents, ladder(options.backend)),
        engine,
        panel: Panel::new(options.size.0, options.size.1),
        size: options.size,
        save: options.save,
        mouse: (0, 0),
        display,
        surface: None,
        logged: None,
        failure: None,
    };
    viewer.app.handle(Event::Compare(Compare::Split(0.5)));
    events.run_app(&mut viewer)?;
    viewer.failure.map_or(Ok(()), Err)
}

type Surface = softbuffer::Surface<OwnedDisplayHandle, Arc<Window>>;

struct Viewer {
    app: App,
    engine: Engine,
    panel: Panel,
    size: (u32, u32),
    save: PathBuf,
    mouse: (i32, i32),
    display: softbuffer::Context<OwnedDisplayHandle>,
    surface: Option<(Arc<Window>, Surface)>,
    logged: Option<String>,
    failure: Option<Box<dyn std::error::Error>>,
}

impl Viewer {
    fn handle(&mut self, event: Event) {
        let document = self.app.position();
        for effect in self.app.handle(event) {
            match effect {
                Effect::Open { opening, rung } => self.engine.send(Command::Open { opening, rung }),
                Effect::Draw(request) => self.engine.send(Command::Draw(request)),
                Effect::Save(request) => self.engine.send(Command::Save(request, self.save.clone())),
                Effect::Trim => self.engine.send(Command::Trim),
                Effect::Close => self.engine.send(Command::Close),
                Effect::Present => {
                    if let Some((window, _)) = &self.surface {
                        window.request_redraw();
                    }
                }
            }
        }
        if self.app.position() != document {
            self.panel.scroll_to_top();
        }
    }

    fn handle_all(&mut self, events: Vec<Event>) {
        for event in events {
            self.handle(event);
        }
    }

    fn open_window(&mut self, events: &ActiveEventLoop) -> Result<(), Box<dyn std::error::Error>> {
        let size = PhysicalSize::new(self.size.0, self.size.1);
        let window = Window::default_attributes().with_title("Cyanotype").with_inner_size(size);
        let window = Arc::new(events.create_window(window)?);
        self.surface = Some((Arc::clone(&window), Surface::new(&self.display, Arc::clone(&window))?));
        let size = window.inner_size();
        self.resize(size);
        Ok(())
    }

    fn resize(&mut self, size: PhysicalSize<u32>) {
        self.size = (size.width.max(1), size.height.max(1));
        self.panel.resize(self.size.0, self.size.1);
        self.handle(Event::Surface(self.panel.surface()));
    }

    fn draw(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let Some((window, surface)) = &mut self.surface else { return Ok(()) };
        let sides = (NonZeroU32::new(self.size.0), NonZeroU32::new(self.size.1));
        let (Some(width), Some(height)) = sides else { return Ok(()) };
        let mut canvas = Canvas::new(width.get(), height.get());
        self.panel.draw(&self.app, &mut canvas);
        surface.resize(width, height)?;
        let mut buffer = surface.buffer_mut()?;
        for (target, source) in buffer.iter_mut().zip(canvas.pixels()) {
            *target = *source;
        }
        window.pre_present_notify();
        buffer.present()?;
        self.log_shown();
        Ok(())
    }

    /// Says what is on the window now, once for each state, where nothing is pending: for scripts that drive it.
    fn log_shown(&mut self) {
        let area = self.panel.picture_area();
        let (Some(picture), Some(document), true) =
            (screen::picture_area(&self.app, area), self.app.document(), self.app.is_up_to_date())
        else {
            return;
        };
        let values: Vec<String> =
            document.settings().iter().map(|setting| format!("{}={}", setting.path, setting.value)).collect();
        let divider = screen::divider(&self.app, area).map_or("none".into(), |x| x.to_string());
        let line = format!(
            "shown '{}' at {},{} {}x{} divider {divider} {:?} {}",
            document.name(),
            picture.x,
            picture.y,
            picture.width,
            picture.height,
            self.app.compare(),
            values.join(" "),
        );
        if self.logged.as_ref() != Some(&line) {
            log::info!("{line}");
            for control in self.panel.controls(&self.app) {
                let area = control.area;
                log::debug!("control {} at {},{} {}x{}", control.path, area.x, area.y, area.width, area.height);
            }
            for (label, time) in self.app.frame().map(|frame| frame.passes.as_slice()).unwrap_or_default() {
                log::debug!("pass {label}: {}", time.map_or("not measured".into(), |time| format!("{time:.3} ms")));
            }
            if let Some(message) = self.app.message() {
                log::info!("message: {message}");
            }
            self.logged = Some(line);
        }
    }

    fn key(&mut self, key: &Key, events: &ActiveEventLoop) {
        let (position, count) = self.app.position();
        match key.as_ref() {
            Key::Named(NamedKey::ArrowRight) => self.handle(Event::Select((position + 1) % count.max(1))),
            Key::Named(NamedKey::ArrowLeft) => {
                self.handle(Event::Select((position + count.saturating_sub(1)) % count.max(1)));
            }
            Key::Named(NamedKey::Tab) => self.toggle(Compare::Split(0.5)),
            Key::Named(NamedKey::Space) => self.toggle(Compare::Original),
            Key::Character("s") => self.handle(Event::Save),
            Key::Named(NamedKey::Escape) | Key::Character("q") => events.exit(),
            _ => {}
        }
    }

    fn toggle(&mut self, compare: Compare) {
        let same = std::mem::discriminant(&self.app.compare()) == std::mem::discriminant(&compare);
        self.handle(Event::Compare(if same { Compare::Off } else { compare }));
    }
}

impl ApplicationHandler<Answer> for Viewer {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if let Err(error) = self.open_window(events) {
            self.failure = Some(error);
            events.exit();
        }
        self.handle(Event::Resumed);
    }

    fn suspended(&mut self, _: &ActiveEventLoop) {
        self.handle(Event::Paused);
        self.surface = None;
        self.handle(Event::SurfaceLost);
    }

    fn memory_warning(&mut self, _: &ActiveEventLoop) {
        self.handle(Event::LowMemory);
    }

    fn user_event(&mut self, _: &ActiveEventLoop, answer: Answer) {
        self.handle(Event::Engine(answer));
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => self.resize(size),
            WindowEvent::RedrawRequested => {
                if let Err(error) = self.draw() {
                    self.failure = Some(error);
                    events.exit();
                }
            }
            WindowEvent::CursorMoved { position, .. } => {
                self.mouse = (position.x as i32, position.y as i32);
                let happened = self.panel.drag(&self.app, self.mouse.0, self.mouse.1);
                self.handle_all(happened);
            }
            WindowEvent::MouseInput { state: ElementState::Pressed, button: MouseButton::Left, .. } => {
                let happened = self.panel.press(&self.app, self.mouse.0, self.mouse.1);
                self.handle_all(happened);
            }
            WindowEvent::MouseInput { state: ElementState::Released, button: MouseButton::Left, .. } => {
                self.panel.release();
            }
            WindowEvent::MouseWheel { delta, .. } => {
                let by = match delta {
                    MouseScrollDelta::LineDelta(_, lines) => -lines * 40.0,
                    MouseScrollDelta::PixelDelta(position) => -position.y as f32,
                };
                self.panel.scroll(&self.app, by as i32);
                if let Some((window, _)) = &self.surface {
                    window.request_redraw();
                }
            }
            WindowEvent::KeyboardInput { event, .. } if event.state == ElementState::Pressed => {
                self.key(&event.logical_key, events);
            }
            WindowEvent::DroppedFile(path) => {
                log::info!("dropped {}", path.display());
                self.engine.send(Command::OpenPhoto(path));
            }
            _ => {}
        }
    }
}
