//! The [application](cyanotype_viewer) in a `NativeActivity`: Android's events in, effects out. It decides nothing.

use crate::surface::Surface;
use android_activity::input::{InputEvent, MotionAction};
use android_activity::{AndroidApp, InputStatus, MainEvent, PollEvent};
use cyanotype_viewer::app::{Answer, App, Effect, Event};
use cyanotype_viewer::canvas::{Area, Canvas};
use cyanotype_viewer::document::looks;
use cyanotype_viewer::engine::{Command, Engine, ladder};
use cyanotype_viewer::gesture::{Fingers, Phase, Touch};
use cyanotype_viewer::screen;
use std::ffi::CStr;
use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// In the APK's assets.
const PHOTO: &CStr = c"photo.png";

/// Called by the glue of android-activity on a thread of its own, for each activity that is made; in one process there may
/// be several, one after the other.
#[unsafe(no_mangle)]
fn android_main(app: AndroidApp) {
    let level = log::LevelFilter::Info;
    android_logger::init_once(android_logger::Config::default().with_max_level(level).with_tag("cyanotype"));
    std::panic::set_hook(Box::new(|panic| log::error!("{panic}")));
    match Activity::new(app) {
        Ok(activity) => activity.run(),
        Err(error) => log::error!("cannot start: {error}"),
    }
}

struct Activity {
    android: AndroidApp,
    app: App,
    engine: Engine,
    answers: Receiver<Answer>,
    surface: Option<Surface>,
    fingers: Fingers,
    started: Instant,
    /// The state saved by an earlier process has been looked at.
    restored: bool,
    present: bool,
    status: String,
}

impl Activity {
    fn new(android: AndroidApp) -> cyanotype::Result<Activity> {
        let (sender, answers) = channel();
        let waker = android.create_waker();
        let engine = Engine::start(move |answer| {
            // Nobody listens any more when the activity has ended.
            if sender.send(answer).is_ok() {
                waker.wake();
            }
        })?;
        engine.send(Command::DecodePhoto(photo(&android)));
        Ok(Activity {
            app: App::new(looks()?, ladder(None)),
            engine,
            answers,
            surface: None,
            // Eight pixels at 160 dots per inch, as Android's own.
            fingers: Fingers::new(1, 1, 8.0 * density(&android)),
            started: Instant::now(),
            restored: false,
            present: false,
            status: String::new(),
            android,
        })
    }

    fn run(mut self) {
        let android = self.android.clone();
        let mut ended = false;
        while !ended {
            let deadline = self.fingers.deadline();
            let timeout = deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(self.now())));
            android.poll_events(timeout, |event| {
                if let PollEvent::Main(event) = event {
                    // Handled before this returns: a window may not be used afterwards.
                    ended |= self.main_event(&event);
                }
            });
            self.input();
            let now = self.now();
            if let Some(gesture) = self.fingers.wake(now) {
                self.handle(Event::Gesture(gesture));
            }
            while let Ok(answer) = self.answers.try_recv() {
                self.handle(Event::Engine(answer));
            }
            if std::mem::take(&mut self.present) {
                self.show();
            }
        }
        log::info!("the activity ends");
    }

    /// Milliseconds since the activity began.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Says whether the activity is at its end.
    fn main_event(&mut self, event: &MainEvent) -> bool {
        match event {
            MainEvent::InitWindow { .. } => {
                self.surface = self.android.native_window().map(Surface::new);
                self.surface_changed();
            }
            MainEvent::TerminateWindow { .. } => {
                self.handle(Event::SurfaceLost);
                self.surface = None;
            }
            MainEvent::WindowResized { .. }
            | MainEvent::ConfigChanged { .. }
            | MainEvent::ContentRectChanged { .. }
            | MainEvent::InsetsChanged { .. } => self.surface_changed(),
            MainEvent::RedrawNeeded { .. } => {
                self.surface_changed();
                // Android shows the window, newly turned for instance, when this returns.
                self.show();
            }
            MainEvent::Resume { loader, .. } => {
                if !std::mem::replace(&mut self.restored, true)
                    && let Some(state) = loader.load()
                {
                    self.app.restore(&String::from_utf8_lossy(&state));
                }
                self.handle(Event::Resumed);
            }
            MainEvent::SaveState { saver, .. } => saver.store(self.app.saved_state().as_bytes()),
            MainEvent::Pause => self.handle(Event::Paused),
            MainEvent::LowMemory => self.handle(Event::LowMemory),
            MainEvent::Destroy => return true,
            _ => {}
        }
        false
    }

    fn surface_changed(&mut self) {
        if let Some(surface) = &self.surface {
            let size = surface.size();
            self.fingers.resize(size.width, size.height);
            self.handle(Event::Surface(size));
        }
    }

    fn input(&mut self) {
        let android = self.android.clone();
        let mut events = match android.input_events_iter() {
            Ok(events) => events,
            Err(error) => {
                log::error!("no input: {error}");
                return;
            }
        };
        while events.next(|event| self.input_event(event)) {}
    }

    fn input_event(&mut self, event: &InputEvent) -> InputStatus {
        let InputEvent::MotionEvent(motion) = event else { return InputStatus::Unhandled };
        let phase = match motion.action() {
            MotionAction::Down | MotionAction::PointerDown => Phase::Down,
            MotionAction::Move => Phase::Move,
            MotionAction::Up | MotionAction::PointerUp => Phase::Up,
            MotionAction::Cancel => Phase::Cancel,
            _ => return InputStatus::Unhandled,
        };
        // A move reports all fingers, everything else is about one.
        let acting = motion.pointer_index();
        let time = self.now();
        let touches: Vec<Touch> = motion
            .pointers()
            .filter(|pointer| phase == Phase::Move || pointer.pointer_index() == acting)
            .map(|pointer| {
                let finger = u64::try_from(pointer.pointer_id()).unwrap_or(0);
                Touch { finger, phase, x: pointer.x(), y: pointer.y(), time }
            })
            .collect();
        for touch in touches {
            if let Some(gesture) = self.fingers.touch(touch) {
                self.handle(Event::Gesture(gesture));
            }
        }
        InputStatus::Handled
    }

    fn handle(&mut self, event: Event) {
        for effect in self.app.handle(event) {
            match effect {
                Effect::Open { opening, rung } => self.engine.send(Command::Open { opening, rung }),
                Effect::Draw(request) => self.engine.send(Command::Draw(request)),
                Effect::Save(request) => self.engine.send(Command::Save(request, folder(&self.android))),
                Effect::Trim => self.engine.send(Command::Trim),
                Effect::Close => self.engine.send(Command::Close),
                // Once, when all that is waiting has been handled.
                Effect::Present => self.present = true,
            }
        }
        let status = self.app.status();
        if status != self.status {
            log::info!("{status}");
            self.status = status;
        }
    }

    fn show(&mut self) {
        let Some(surface) = &self.surface else { return };
        let size = surface.size();
        let mut canvas = Canvas::new(size.width, size.height);
        // Two dots for each of a letter's at 320 dots per inch.
        let safe = safe_area(&self.android, canvas.area());
        let scale = (density(&self.android) + 0.5).floor().max(1.0) as i32;
        screen::phone(&self.app, &mut canvas, safe, scale);
        if let Err(error) = surface.show(&canvas) {
            // Android tells in an event of its own that the surface is gone; until then there is nothing to do.
            log::warn!("not shown: {error}");
        }
    }
}

/// The photograph in the APK; empty, which then fails to decode and is told on the screen, where it is not there.
fn photo(android: &AndroidApp) -> Vec<u8> {
    let mut bytes = Vec::new();
    match android.asset_manager().open(PHOTO).map(|mut asset| asset.read_to_end(&mut bytes)) {
        Some(Ok(_)) => {}
        Some(Err(error)) => log::error!("asset {PHOTO:?}: {error}"),
        None => log::error!("there is no asset {PHOTO:?}"),
    }
    bytes
}

/// Dots per inch, in units of 160.
fn density(android: &AndroidApp) -> f32 {
    android.config().density().map_or(1.0, |density| (density as f32 / 160.0).clamp(0.5, 8.0))
}

/// What neither a notch nor a bar covers; all of it where Android does not say yet.
fn safe_area(android: &AndroidApp, whole: Area) -> Area {
    let rect = android.content_rect();
    let safe = Area::new(rect.left, rect.top, rect.right - rect.left, rect.bottom - rect.top).intersection(whole);
    if safe.width > 0 && safe.height > 0 { safe } else { whole }
}

/// The application's folder that a file manager or `adb pull` reaches, else its private one.
fn folder(android: &AndroidApp) -> PathBuf {
    android.external_data_path().or_else(|| android.internal_data_path()).unwrap_or_else(std::env::temp_dir)
}
