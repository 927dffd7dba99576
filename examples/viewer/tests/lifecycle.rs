//! What the application promises, played against a simulated engine in random orders: pauses, rotations, lost surfaces,
//! lost devices, memory shortage, and answers that come late.

use cyanotype::op::Extent;
use cyanotype::{BackendChoice, Description, Error, Image, PixelFormat};
use cyanotype_viewer::app::{Answer, App, Compare, Effect, Event, Frame, Request, Rung};
use cyanotype_viewer::document::looks;
use cyanotype_viewer::gesture::{Direction, Gesture};
use proptest::prelude::*;
use std::collections::VecDeque;

const UPRIGHT: Extent = Extent { width: 1080, height: 2280 };
const LYING: Extent = Extent { width: 2280, height: 1080 };

fn ladder() -> Vec<Rung> {
    [BackendChoice::Vulkan, BackendChoice::Gl].map(|backend| Rung { backend, by_name: false }).to_vec()
}

fn app() -> App {
    App::new(looks().unwrap(), ladder())
}

fn picture() -> Image {
    Image::new(Description::new(1, 1, PixelFormat::Rgba8), vec![1, 2, 3, 255]).unwrap()
}

fn frame(request: &Request) -> Frame {
    Frame {
        opening: request.opening,
        revision: request.revision,
        picture: picture(),
        original: picture(),
        passes: Vec::new(),
        total: 1.0,
        on_device: true,
    }
}

/// An engine that does what it is told when it is asked to step, and can be made to fail.
#[derive(Default)]
struct Engine {
    waiting: VecDeque<Effect>,
    open: bool,
    /// Failures to come, one for each frame.
    failures: VecDeque<Error>,
    /// Backends that cannot be opened.
    missing: Vec<BackendChoice>,
    drawn: Vec<Request>,
    presented: usize,
}

impl Engine {
    fn take(&mut self, app: &App, active: bool, surface: Option<Extent>, effects: Vec<Effect>) {
        for effect in effects {
            match &effect {
                Effect::Present => {
                    assert!(surface.is_some(), "presented without a surface");
                    self.presented += 1;
                    continue;
                }
                Effect::Draw(request) => {
                    assert!(active, "drawn while paused");
                    assert_eq!(Some(request.bounds), surface, "drawn for another surface");
                    let drawing = self.waiting.iter().any(|waiting| matches!(waiting, Effect::Draw(_)));
                    assert!(!drawing, "two frames at once");
                    assert_eq!(request.document.name(), app.document().unwrap().name());
                }
                Effect::Open { .. } => assert!(active && surface.is_some(), "opened out of sight"),
                _ => {}
            }
            self.waiting.push_back(effect);
        }
    }

    /// Carries out one thing; says what it answers.
    fn step(&mut self) -> Option<Answer> {
        match self.waiting.pop_front()? {
            Effect::Open { opening, rung } if self.missing.contains(&rung.backend) => {
                Some(Answer::NotOpened { opening, reason: "no adapter".into() })
            }
            Effect::Open { opening, rung } => {
                self.open = true;
                Some(Answer::Opened { opening, device: rung.backend.to_string() })
            }
            Effect::Draw(request) if !self.open => {
                Some(Answer::NotDrawn { opening: request.opening, error: Error::DeviceLost("it was closed".into()) })
            }
            Effect::Draw(request) => Some(match self.failures.pop_front() {
                Some(error) => {
                    self.open &= !matches!(error, Error::DeviceLost(_));
                    Answer::NotDrawn { opening: request.opening, error }
                }
                None => {
                    let answer = Answer::Drawn(Box::new(frame(&request)));
                    self.drawn.push(request);
                    answer
                }
            }),
            Effect::Save(request) if self.open => Some(Answer::Saved(request.document.name().into())),
            Effect::Save(request) => {
                Some(Answer::NotSaved { opening: request.opening, error: Error::DeviceLost("it was closed".into()) })
            }
            Effect::Close => {
                self.open = false;
                None
            }
            Effect::Trim | Effect::Present => None,
        }
    }
}

/// The application with its engine, and what the window would know.
struct Play {
    app: App,
    engine: Engine,
    active: bool,
    surface: Option<Extent>,
}

impl Play {
    fn new() -> Play {
        Play { app: app(), engine: Engine::default(), active: false, surface: None }
    }

    fn started() -> Play {
        let mut play = Play::new();
        play.happen(Event::Resumed);
        play.happen(Event::Surface(UPRIGHT));
        play.rest();
        play
    }

    fn happen(&mut self, event: Event) {
        match &event {
            Event::Resumed => self.active = true,
            Event::Paused => self.active = false,
            Event::Surface(extent) => self.surface = Some(*extent),
            Event::SurfaceLost => self.surface = None,
            _ => {}
        }
        let effects = self.app.handle(event);
        self.engine.take(&self.app, self.active, self.surface, effects);
    }

    fn step(&mut self) {
        if let Some(answer) = self.engine.step() {
            self.happen(Event::Engine(answer));
        }
    }

    /// Until nothing is left to do. That this ends is a promise as well: nothing is tried for ever.
    fn rest(&mut self) {
        for _ in 0..200 {
            if self.engine.waiting.is_empty() {
                return;
            }
            self.step();
        }
        panic!("it never comes to rest: {:?}", self.app);
    }

    fn drawn(&self) -> usize {
        self.engine.drawn.len()
    }
}

#[test]
fn a_start_shows_the_first_look_on_the_first_device() {
    let mut play = Play::new();
    play.happen(Event::Surface(UPRIGHT));
    assert!(play.engine.waiting.is_empty(), "nothing before it is in front");
    play.happen(Event::Resumed);
    play.rest();
    assert_eq!(play.drawn(), 1);
    assert_eq!(play.app.status(), "vulkan (the first choice)");
    assert!(play.app.is_up_to_date());
}

#[test]
fn devices_that_are_not_there_are_passed_over_with_their_reasons() {
    let mut play = Play::new();
    play.engine.missing = vec![BackendChoice::Vulkan, BackendChoice::Gl];
    play.happen(Event::Resumed);
    play.happen(Event::Surface(UPRIGHT));
    play.rest();
    assert_eq!(play.app.status(), "cpu (since vulkan: no adapter; gl: no adapter)");
    assert!(play.app.is_up_to_date());
}

#[test]
fn a_rotation_draws_once_for_the_new_size_and_keeps_the_values() {
    let mut play = Play::started();
    play.happen(Event::Gesture(Gesture::Drag(Direction::Across, 0.1)));
    play.rest();
    let before = play.drawn();
    // Android reports a rotation several times over.
    for _ in 0..3 {
        play.happen(Event::Surface(LYING));
    }
    play.rest();
    assert_eq!(play.drawn(), before + 1);
    let last = play.engine.drawn.last().unwrap();
    assert_eq!(last.bounds, LYING);
    assert_eq!(last.document.get("light.stops").unwrap().to_string(), "0.55");
}

#[test]
fn a_surface_that_comes_back_shows_the_frame_at_once() {
    let mut play = Play::started();
    let (drawn, opened) = (play.drawn(), play.app.status());
    play.happen(Event::Paused);
    play.happen(Event::SurfaceLost);
    play.rest();
    let presented = play.engine.presented;
    play.happen(Event::Resumed);
    play.happen(Event::Surface(UPRIGHT));
    assert!(play.engine.presented > presented);
    assert!(play.engine.waiting.is_empty(), "neither opened nor drawn again");
    assert_eq!((play.drawn(), play.app.status()), (drawn, opened));
}

#[test]
fn a_frame_that_arrives_without_a_surface_is_kept() {
    let mut play = Play::started();
    play.happen(Event::Gesture(Gesture::Tap));
    play.happen(Event::SurfaceLost);
    play.rest();
    play.happen(Event::Surface(UPRIGHT));
    assert!(play.app.is_up_to_date());
    assert!(play.engine.waiting.is_empty());
}

#[test]
fn changes_while_a_frame_is_drawn_are_drawn_together() {
    let mut play = Play::started();
    let before = play.drawn();
    for _ in 0..50 {
        play.happen(Event::Gesture(Gesture::Drag(Direction::Across, 0.004)));
    }
    play.rest();
    assert_eq!(play.drawn(), before + 2, "the first change, then all others");
    assert!(play.app.is_up_to_date());
}

#[test]
fn a_lost_device_is_opened_again_and_given_up_when_it_is_lost_each_time() {
    let mut play = Play::started();
    play.engine.failures.push_back(Error::DeviceLost("gone".into()));
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert_eq!(play.app.status(), "vulkan (the first choice)");
    assert!(play.app.is_up_to_date());

    play.engine.failures.extend(vec![Error::DeviceLost("gone".into()); 3]);
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert_eq!(play.app.status(), "gl (since vulkan: was lost 3 times in a row)");
    assert!(play.app.is_up_to_date());
}

#[test]
fn a_device_that_fails_is_replaced_and_a_wrong_graph_is_not_its_fault() {
    let mut play = Play::started();
    play.engine.failures.push_back(Error::Device("a pipeline does not compile".into()));
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert_eq!(play.app.status(), "gl (since vulkan: device error: a pipeline does not compile)");
    assert!(play.app.is_up_to_date());

    play.engine.failures.push_back(Error::BadGraph("it has no output".into()));
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert!(play.app.status().starts_with("gl "));
    assert_eq!(play.app.message(), Some("bad graph: it has no output"));
    assert!(!play.app.is_up_to_date());
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert!(play.app.is_up_to_date());
    assert_eq!(play.app.message(), None);
}

#[test]
fn memory_shortage_first_forgets_then_steps_down() {
    let mut play = Play::started();
    play.engine.failures.push_back(Error::OutOfMemory("48 MB".into()));
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert!(play.app.status().starts_with("vulkan"));
    assert!(play.app.is_up_to_date());
    play.engine.failures.extend(vec![Error::OutOfMemory("48 MB".into()); 2]);
    play.happen(Event::Gesture(Gesture::Tap));
    play.rest();
    assert_eq!(play.app.status(), "gl (since vulkan: out of memory: 48 MB)");
    assert!(play.app.is_up_to_date());

    // Out of sight it lets go of everything, and makes it again when it comes back.
    play.happen(Event::Paused);
    play.happen(Event::LowMemory);
    play.rest();
    assert!(!play.engine.open);
    assert!(play.app.frame().is_none());
    play.happen(Event::Resumed);
    play.rest();
    assert!(play.app.is_up_to_date());
}

#[test]
fn a_closed_device_whose_opening_is_answered_late_is_not_taken_for_open() {
    let mut play = Play::new();
    play.happen(Event::Resumed);
    play.happen(Event::Surface(UPRIGHT));
    // The opening is still waiting when memory runs short out of sight.
    play.happen(Event::Paused);
    play.happen(Event::LowMemory);
    play.step();
    assert_eq!(play.app.status(), "no device");
    play.happen(Event::Resumed);
    play.rest();
    assert!(play.app.is_up_to_date());
    assert!(play.engine.open);
}

#[test]
fn a_long_press_saves_and_says_where() {
    let mut play = Play::started();
    play.happen(Event::Gesture(Gesture::LongPress));
    assert_eq!(play.app.message(), Some("saving ..."));
    play.rest();
    assert_eq!(play.app.message(), Some("saved Daylight"));
    play.happen(Event::Gesture(Gesture::Tap));
    assert_eq!(play.app.message(), None);
}

#[test]
fn two_fingers_show_the_original_until_they_leave_or_the_application_does() {
    let mut play = Play::started();
    let drawn = play.drawn();
    play.happen(Event::Gesture(Gesture::Compare(true)));
    assert_eq!(play.app.compare(), Compare::Original);
    play.happen(Event::Gesture(Gesture::Compare(false)));
    assert_eq!(play.app.compare(), Compare::Off);
    play.happen(Event::Gesture(Gesture::Compare(true)));
    play.happen(Event::Paused);
    assert_eq!(play.app.compare(), Compare::Off);
    play.rest();
    assert_eq!(play.drawn(), drawn, "comparing draws nothing");
}

#[test]
fn a_saved_state_comes_back_and_nonsense_does_no_harm() {
    let mut play = Play::started();
    for _ in 0..3 {
        play.happen(Event::Gesture(Gesture::Tap));
    }
    play.happen(Event::Gesture(Gesture::Drag(Direction::Across, -0.3)));
    let state = play.app.saved_state();
    let mut other = app();
    other.restore(&state);
    assert_eq!(other.saved_state(), state);
    assert_eq!(other.document().unwrap().name(), "Old print");
    assert_eq!(other.document().unwrap().get("tone.amount").unwrap().to_string(), "0.5");

    let before = other.saved_state();
    other.restore("document=99\n3.tone.amount=7\n3.tone.nothing=1\n9.x=1\n0.light.stops=NaN\n=\nrubbish\n-1.a.b=2");
    assert_eq!(other.saved_state(), before);
}

fn errors() -> impl Strategy<Value = Error> {
    prop_oneof![
        Just(Error::DeviceLost("lost".into())),
        Just(Error::OutOfMemory("memory".into())),
        Just(Error::Device("device".into())),
        Just(Error::BadGraph("graph".into())),
    ]
}

#[derive(Debug, Clone)]
enum Move {
    Step,
    Resume,
    Pause,
    Surface(bool),
    SurfaceLost,
    LowMemory,
    Tap,
    Drag(bool, i8),
    LongPress,
    Compare(bool),
    Fail(Error),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => Just(Move::Step),
        2 => Just(Move::Resume),
        1 => Just(Move::Pause),
        2 => any::<bool>().prop_map(Move::Surface),
        1 => Just(Move::SurfaceLost),
        1 => Just(Move::LowMemory),
        2 => Just(Move::Tap),
        3 => (any::<bool>(), any::<i8>()).prop_map(|(across, by)| Move::Drag(across, by)),
        1 => Just(Move::LongPress),
        1 => any::<bool>().prop_map(Move::Compare),
        1 => errors().prop_map(Move::Fail),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_any_order_it_comes_to_rest_with_what_is_wanted_on_the_screen(
        moves in prop::collection::vec(moves(), 0..60),
        missing in prop::sample::subsequence(vec![BackendChoice::Vulkan, BackendChoice::Gl], 0..=2),
    ) {
        let mut play = Play::new();
        play.engine.missing = missing;
        for one in moves {
            match one {
                Move::Step => play.step(),
                Move::Resume => play.happen(Event::Resumed),
                Move::Pause => play.happen(Event::Paused),
                Move::Surface(upright) => play.happen(Event::Surface(if upright { UPRIGHT } else { LYING })),
                Move::SurfaceLost => play.happen(Event::SurfaceLost),
                Move::LowMemory => play.happen(Event::LowMemory),
                Move::Tap => play.happen(Event::Gesture(Gesture::Tap)),
                Move::Drag(across, by) => {
                    let direction = if across { Direction::Across } else { Direction::Along };
                    play.happen(Event::Gesture(Gesture::Drag(direction, f32::from(by) / 100.0)));
                }
                Move::LongPress => play.happen(Event::Gesture(Gesture::LongPress)),
                Move::Compare(on) => play.happen(Event::Gesture(Gesture::Compare(on))),
                Move::Fail(error) => play.engine.failures.push_back(error),
            }
        }
        // Whatever happened: a last change, no more failures, in front and with a surface.
        play.engine.failures.clear();
        play.happen(Event::Gesture(Gesture::Tap));
        play.happen(Event::Resumed);
        play.happen(Event::Surface(UPRIGHT));
        play.rest();
        prop_assert!(play.app.is_up_to_date(), "{:?}", play.app);
        let last = play.engine.drawn.last().unwrap();
        let wanted = play.app.document().unwrap();
        prop_assert_eq!(last.document.data(), wanted.data());
        prop_assert_eq!(last.bounds, UPRIGHT);
    }
}
