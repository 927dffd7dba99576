//! The engine with a real device: the backend that `CYANOTYPE_BACKEND` names, else the CPU.

use super::*;
use crate::app::{App, Effect, Event};
use crate::document::{Document, looks};
use crate::gesture::{Direction, Gesture};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

const BOUNDS: Extent = Extent { width: 90, height: 200 };

/// Half floats between passes have 11 bits: a small part of a level, which counts where a value lies at the edge of
/// rounding.
const TOLERANCE: u8 = 1;

fn named() -> BackendChoice {
    let name = std::env::var("CYANOTYPE_BACKEND").ok().filter(|name| !name.is_empty());
    name.map_or(BackendChoice::Cpu, |name| name.parse().unwrap())
}

fn photo() -> Image {
    Image::decode(include_bytes!("../../../../assets/chelsea.png")).unwrap()
}

struct Bench {
    engine: Engine,
    answers: Receiver<Answer>,
}

impl Bench {
    fn new() -> Bench {
        let (sender, answers) = channel();
        let engine = Engine::start(move |answer| drop(sender.send(answer))).unwrap();
        engine.send(Command::DecodePhoto(include_bytes!("../../../../assets/chelsea.png").to_vec()));
        let bench = Bench { engine, answers };
        assert!(matches!(bench.answer(), Answer::Photo { width: 451, height: 300 }));
        bench
    }

    fn opened() -> Bench {
        let bench = Bench::new();
        bench.open(1);
        bench
    }

    fn open(&self, opening: u64) {
        self.engine.send(Command::Open { opening, rung: Rung { backend: named(), by_name: true } });
        match self.answer() {
            Answer::Opened { opening: found, device } => {
                assert_eq!(found, opening);
                assert!(device.starts_with(named().name()), "{device}");
            }
            other => panic!("{other:?}"),
        }
    }

    fn answer(&self) -> Answer {
        // A software driver may take a minute for a pipeline.
        self.answers.recv_timeout(Duration::from_secs(120)).unwrap()
    }

    fn frame(&self, request: Request) -> Box<Frame> {
        self.engine.send(Command::Draw(request));
        match self.answer() {
            Answer::Drawn(frame) => frame,
            other => panic!("{other:?}"),
        }
    }
}

fn request(document: &Document) -> Request {
    Request { opening: 1, revision: 7, document: document.clone(), bounds: BOUNDS }
}

/// What the CPU makes of a graph, with the resize written out.
fn expected(graph: &str) -> Image {
    let graph = Graph::parse(&format!("{graph} | resize 90 60 -> screen:rgba8")).unwrap();
    let photo = photo();
    let program = Context::cpu().compile(&graph, &[("in", photo.description())]).unwrap();
    program.run(&[("in", &photo)]).unwrap().image("screen").unwrap()
}

fn assert_same(found: &Image, expected: &Image) {
    assert_eq!((found.width(), found.height()), (expected.width(), expected.height()));
    let pairs =
        found.tight_bytes().iter().zip(expected.tight_bytes().iter()).map(|(one, other)| one.abs_diff(*other)).max();
    assert!(pairs.unwrap() <= TOLERANCE, "differs by {pairs:?}");
}

#[test]
fn frames_are_what_the_cpu_makes_and_values_enter_compiled_programs() {
    let bench = Bench::opened();
    let mut document = Document::new("test", "exposure 0.4 as light | saturation 1.5").unwrap();
    let frame = bench.frame(request(&document));
    assert_eq!((frame.opening, frame.revision), (1, 7));
    assert_same(&frame.picture, &expected("exposure 0.4 | saturation 1.5"));
    assert_same(&frame.original, &expected("exposure 0"));
    assert!(!frame.passes.is_empty());

    document.set_text("light.stops", "-1").unwrap();
    assert_same(&bench.frame(request(&document)).picture, &expected("exposure -1 | saturation 1.5"));
}

#[test]
fn a_lost_device_is_told_and_another_draws_the_same() {
    if named() == BackendChoice::Cpu {
        // The CPU cannot be lost: told again and again, it draws.
        let bench = Bench::opened();
        bench.engine.send(Command::Lose);
        bench.frame(request(&looks().unwrap()[0]));
        return;
    }
    let bench = Bench::opened();
    let document = Document::new("test", "gamma 1.5").unwrap();
    bench.frame(request(&document));
    bench.engine.send(Command::Lose);
    bench.engine.send(Command::Draw(request(&document)));
    assert!(matches!(bench.answer(), Answer::NotDrawn { opening: 1, error: Error::DeviceLost(_) }));
    bench.open(2);
    assert_same(&bench.frame(request(&document)).picture, &expected("gamma 1.5"));
}

#[test]
fn without_a_device_or_a_picture_nothing_is_drawn() {
    let bench = Bench::new();
    let document = Document::new("test", "gamma 1.5").unwrap();
    bench.engine.send(Command::Draw(request(&document)));
    assert!(matches!(bench.answer(), Answer::NotDrawn { error: Error::DeviceLost(_), .. }));

    bench.open(1);
    bench.engine.send(Command::DecodePhoto(b"no picture".to_vec()));
    assert!(matches!(bench.answer(), Answer::NoPhoto(_)));
    // The one before stays.
    bench.frame(request(&document));

    for (graph, part) in [("histogram", "not a picture"), ("blend @other", "other")] {
        let Ok(document) = Document::new("test", graph) else { continue };
        bench.engine.send(Command::Draw(request(&document)));
        match bench.answer() {
            Answer::NotDrawn { error, .. } => assert!(error.to_string().contains(part), "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_software_rasteriser_is_taken_only_by_name() {
    let bench = Bench::new();
    let rung = Rung { backend: named(), by_name: false };
    let software =
        Context::with(&ContextOptions { backend: named(), ..ContextOptions::default() }).unwrap().device().software;
    bench.engine.send(Command::Open { opening: 1, rung });
    match bench.answer() {
        Answer::NotOpened { reason, .. } => assert!(software && reason.contains("software"), "{reason}"),
        Answer::Opened { device, .. } => assert!(!software, "{device}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn saving_is_at_full_size_and_overwrites_nothing() {
    let bench = Bench::opened();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made");
    let document = Document::new("A look/..", "invert").unwrap();
    for name in ["a-look----1.png", "a-look----2.png"] {
        bench.engine.send(Command::Save(request(&document), folder.clone()));
        let Answer::Saved(path) = bench.answer() else { panic!("not saved") };
        assert_eq!(path, folder.join(name));
        let saved = Image::open(&path).unwrap();
        assert_eq!((saved.width(), saved.height()), (451, 300));
        let [red, ..] = saved.pixel(17, 5);
        let [before, ..] = photo().pixel(17, 5);
        assert!((red + before - 1.0).abs() < 1.5 / 255.0);
    }
}

#[test]
fn programs_are_bounded_and_forgotten_when_told() {
    let mut worker = Worker {
        answer: |_| (),
        context: Some(Context::cpu()),
        photo: Some(photo()),
        programs: HashMap::new(),
        clock: 0,
    };
    let document = Document::new("test", "gamma 1.5").unwrap();
    for width in 10..10 + 2 * PROGRAMS_KEPT as u32 {
        worker.draw(&Request { bounds: Extent { width, height: 50 }, ..request(&document) }).unwrap();
        assert!(worker.programs.len() <= PROGRAMS_KEPT);
    }
    worker.carry_out(Command::Trim);
    assert_eq!(worker.programs.len(), 1);
    worker.draw(&request(&document)).unwrap();
}

#[test]
fn what_fits_keeps_the_aspect() {
    let fit = |width, height, most_width, most_height| {
        let picture = Description::new(width, height, PixelFormat::Rgb8);
        let size = super::fit(picture, Extent { width: most_width, height: most_height });
        (size.width, size.height)
    };
    assert_eq!(fit(600, 400, 1080, 2280), (1080, 720));
    assert_eq!(fit(600, 400, 2280, 1080), (1620, 1080));
    assert_eq!(fit(4000, 3000, 100, 100), (100, 75));
    assert_eq!(fit(65535, 1, 100, 100), (100, 1));
    assert_eq!(fit(1, 65535, 0, 0), (1, 1));
}

/// The application and the engine together, as the window and the activity connect them, with a device that is lost under
/// it and a surface that turns: in the end the screen shows what is wanted.
#[test]
fn the_application_lives_through_losses_and_rotations() {
    let bench = Bench::new();
    let mut app = App::new(looks().unwrap(), vec![Rung { backend: named(), by_name: true }]);
    let turned = Extent { width: BOUNDS.height, height: BOUNDS.width };
    let handle = |app: &mut App, event: Event| {
        for effect in app.handle(event) {
            match effect {
                Effect::Open { opening, rung } => bench.engine.send(Command::Open { opening, rung }),
                Effect::Draw(request) => bench.engine.send(Command::Draw(request)),
                Effect::Trim => bench.engine.send(Command::Trim),
                Effect::Close => bench.engine.send(Command::Close),
                Effect::Save(_) | Effect::Present => {}
            }
        }
    };
    handle(&mut app, Event::Resumed);
    handle(&mut app, Event::Surface(BOUNDS));
    for step in 0..6 {
        if step % 2 == 1 {
            bench.engine.send(Command::Lose);
        }
        handle(&mut app, Event::Gesture(Gesture::Drag(Direction::Across, 0.1)));
        handle(&mut app, Event::Surface(if step % 3 == 0 { turned } else { BOUNDS }));
        if step == 3 {
            handle(&mut app, Event::Paused);
            handle(&mut app, Event::SurfaceLost);
            handle(&mut app, Event::LowMemory);
            handle(&mut app, Event::Resumed);
            handle(&mut app, Event::Surface(turned));
        }
        while !app.is_up_to_date() {
            match bench.answers.recv_timeout(Duration::from_secs(120)) {
                Ok(answer) => handle(&mut app, Event::Engine(answer)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => panic!("no answer: {app:?}"),
            }
        }
    }
    assert!(app.status().starts_with(named().name()), "{}", app.status());
    let stops = app.document().unwrap().get("light.stops").unwrap();
    assert_eq!(app.frame().unwrap().picture.width(), 90);
    assert_same(&app.frame().unwrap().picture, &expected(&format!("exposure {stops} | contrast 1.1 | saturation 1.2")));
}
