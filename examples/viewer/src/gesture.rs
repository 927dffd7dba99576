//! Fingers on glass become gestures. A plain state machine over touches with their times; it reads no clock.

/// What a finger did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Down,
    Move,
    Up,
    /// The system took the touch away.
    Cancel,
}

/// One report of one finger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Which finger.
    pub finger: u64,
    pub phase: Phase,
    /// Position in pixels.
    pub x: f32,
    pub y: f32,
    /// Milliseconds since any fixed moment.
    pub time: u64,
}

/// The direction of a drag; it stays what it was at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Across,
    /// Up is positive.
    Along,
}

/// What is meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gesture {
    Tap,
    LongPress,
    /// One finger moved, by this part of the screen's width or height since the last report.
    Drag(Direction, f32),
    /// Two fingers are down (true), or no longer.
    Compare(bool),
}

/// A finger that rests for this long presses; as Android's own default.
const LONG_PRESS: u64 = 500;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Idle,
    /// One finger, so far at rest: where and since when.
    Pressed {
        finger: u64,
        x: f32,
        y: f32,
        time: u64,
    },
    Dragging {
        finger: u64,
        direction: Direction,
        at: f32,
    },
    Comparing,
    /// The gesture is over; fingers are still down.
    Done,
}

/// Recognises gestures.
#[derive(Debug)]
pub struct Fingers {
    state: State,
    down: Vec<u64>,
    width: f32,
    height: f32,
    slop: f32,
}

impl Fingers {
    /// For a screen of this size, in pixels. `slop` is how far a finger may stray and still press: about 8 pixels at 160
    /// dots per inch.
    pub fn new(width: u32, height: u32, slop: f32) -> Self {
        let side = |value: u32| value.max(1) as f32;
        Fingers { state: State::Idle, down: Vec::new(), width: side(width), height: side(height), slop }
    }

    /// The screen has another size. A drag goes on by the new measure.
    pub fn resize(&mut self, width: u32, height: u32) {
        (self.width, self.height) = (width.max(1) as f32, height.max(1) as f32);
    }

    /// When [`Fingers::wake`] wants to be called, if nothing else happens before.
    pub fn deadline(&self) -> Option<u64> {
        match self.state {
            State::Pressed { time, .. } => Some(time + LONG_PRESS),
            _ => None,
        }
    }

    /// Time has passed.
    pub fn wake(&mut self, now: u64) -> Option<Gesture> {
        let due = self.deadline().is_some_and(|deadline| now >= deadline);
        due.then(|| {
            self.state = State::Done;
            Gesture::LongPress
        })
    }

    /// A finger reports.
    pub fn touch(&mut self, touch: Touch) -> Option<Gesture> {
        match touch.phase {
            Phase::Down => self.finger_down(touch),
            Phase::Move => self.finger_moved(touch),
            Phase::Up => self.finger_up(touch),
            Phase::Cancel => {
                self.down.clear();
                let before = std::mem::replace(&mut self.state, State::Idle);
                (before == State::Comparing).then_some(Gesture::Compare(false))
            }
        }
    }

    fn finger_down(&mut self, touch: Touch) -> Option<Gesture> {
        if !self.down.contains(&touch.finger) {
            self.down.push(touch.finger);
        }
        match (self.state, self.down.len()) {
            (_, 1) => {
                self.state = State::Pressed { finger: touch.finger, x: touch.x, y: touch.y, time: touch.time };
                None
            }
            (State::Pressed { .. } | State::Dragging { .. }, 2) => {
                self.state = State::Comparing;
                Some(Gesture::Compare(true))
            }
            _ => None,
        }
    }

    fn finger_moved(&mut self, touch: Touch) -> Option<Gesture> {
        match &mut self.state {
            State::Pressed { finger, x, y, time } if *finger == touch.finger => {
                if touch.time >= *time + LONG_PRESS {
                    self.state = State::Done;
                    return Some(Gesture::LongPress);
                }
                let (across, along) = (touch.x - *x, touch.y - *y);
                if across.hypot(along) <= self.slop {
                    return None;
                }
                // From here on, not from where the finger came down: the value does not jump by the slop.
                let (direction, at) = if across.abs() >= along.abs() {
                    (Direction::Across, touch.x)
                } else {
                    (Direction::Along, touch.y)
                };
                self.state = State::Dragging { finger: touch.finger, direction, at };
                None
            }
            State::Dragging { finger, direction, at } if *finger == touch.finger => {
                let part = match direction {
                    Direction::Across => (touch.x - *at) / self.width,
                    Direction::Along => (*at - touch.y) / self.height,
                };
                *at = if *direction == Direction::Across { touch.x } else { touch.y };
                let direction = *direction;
                (part != 0.0).then_some(Gesture::Drag(direction, part))
            }
            _ => None,
        }
    }

    fn finger_up(&mut self, touch: Touch) -> Option<Gesture> {
        self.down.retain(|finger| *finger != touch.finger);
        let after = if self.down.is_empty() { State::Idle } else { State::Done };
        match std::mem::replace(&mut self.state, after) {
            State::Pressed { time, .. } if touch.time >= time + LONG_PRESS => Some(Gesture::LongPress),
            State::Pressed { .. } => Some(Gesture::Tap),
            State::Comparing => Some(Gesture::Compare(false)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(touches: &[(u64, Phase, f32, f32, u64)]) -> Vec<Gesture> {
        let mut fingers = Fingers::new(1000, 2000, 16.0);
        let touches = touches.iter();
        touches.filter_map(|&(finger, phase, x, y, time)| fingers.touch(Touch { finger, phase, x, y, time })).collect()
    }

    #[test]
    fn a_short_touch_is_a_tap_even_if_it_strays() {
        use Phase::*;
        assert_eq!(play(&[(0, Down, 5.0, 5.0, 0), (0, Move, 9.0, 9.0, 50), (0, Up, 9.0, 9.0, 90)]), [Gesture::Tap]);
    }

    #[test]
    fn a_drag_keeps_its_direction_and_does_not_tap() {
        use Phase::*;
        let seen = play(&[
            (0, Down, 100.0, 100.0, 0),
            (0, Move, 150.0, 110.0, 20),
            (0, Move, 250.0, 900.0, 40),
            (0, Up, 250.0, 900.0, 60),
        ]);
        assert_eq!(seen, [Gesture::Drag(Direction::Across, 0.1)]);
        let seen = play(&[(0, Down, 0.0, 500.0, 0), (0, Move, 0.0, 400.0, 20), (0, Move, 0.0, 200.0, 40)]);
        assert_eq!(seen, [Gesture::Drag(Direction::Along, 0.1)]);
    }

    #[test]
    fn resting_is_a_long_press_once() {
        let mut fingers = Fingers::new(1000, 2000, 16.0);
        let touch = |phase, time| Touch { finger: 0, phase, x: 5.0, y: 5.0, time };
        assert_eq!(fingers.touch(touch(Phase::Down, 100)), None);
        assert_eq!(fingers.deadline(), Some(600));
        assert_eq!(fingers.wake(599), None);
        assert_eq!(fingers.wake(600), Some(Gesture::LongPress));
        assert_eq!(fingers.deadline(), None);
        assert_eq!(fingers.touch(touch(Phase::Up, 900)), None);
        // Where nobody woke it in time, the finger's next report does.
        fingers.touch(touch(Phase::Down, 1000));
        assert_eq!(fingers.touch(touch(Phase::Up, 1700)), Some(Gesture::LongPress));
    }

    #[test]
    fn two_fingers_compare_until_one_leaves() {
        use Phase::*;
        let seen = play(&[
            (3, Down, 5.0, 5.0, 0),
            (7, Down, 50.0, 5.0, 20),
            (7, Move, 500.0, 5.0, 30),
            (3, Up, 5.0, 5.0, 40),
            (7, Move, 5.0, 5.0, 50),
            (7, Up, 5.0, 5.0, 60),
            (3, Down, 5.0, 5.0, 70),
            (3, Up, 5.0, 5.0, 80),
        ]);
        assert_eq!(seen, [Gesture::Compare(true), Gesture::Compare(false), Gesture::Tap]);
    }

    #[test]
    fn a_cancelled_comparison_ends() {
        use Phase::*;
        let seen =
            play(&[(0, Down, 5.0, 5.0, 0), (1, Down, 5.0, 5.0, 1), (0, Cancel, 0.0, 0.0, 2), (0, Up, 0.0, 0.0, 3)]);
        assert_eq!(seen, [Gesture::Compare(true), Gesture::Compare(false)]);
    }
}
