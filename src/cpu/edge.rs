//! Edge modes along one axis, as runs of neighbouring coordinates, so that whole runs are evaluated and copied at once.

use crate::op::Edge;
use std::ops::Range;

/// Neighbouring coordinates of a padded row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Where the run begins in the padded row.
    pub at: usize,
    pub length: usize,
    pub origin: Origin,
}

/// What a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The pixels from this coordinate on.
    Forward(u32),
    /// The pixels from this coordinate backwards.
    Backward(u32),
    /// One pixel again and again.
    Repeat(u32),
    /// The constant colour.
    Constant,
}

impl Run {
    /// The coordinates that the run holds, in rising order; empty for the constant.
    pub fn source(&self) -> Range<u32> {
        let length = self.length as u32; // a run is no longer than the padded row, whose ends are i32 coordinates
        match self.origin {
            Origin::Forward(first) => first..first + length,
            Origin::Backward(last) => last + 1 - length..last + 1,
            Origin::Repeat(only) => only..only + 1,
            Origin::Constant => 0..0,
        }
    }
}

/// Splits the coordinates `range`, of which some may lie outside of `0..size`, into runs.
pub(super) fn runs(edge: Edge, range: Range<i64>, size: u32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut coordinate = range.start;
    while coordinate < range.end {
        let at = (coordinate - range.start) as usize;
        // Inside, the rest of the picture is one run; there is no need to look at each coordinate.
        if (0..i64::from(size)).contains(&coordinate) {
            let end = range.end.min(i64::from(size));
            let length = (end - coordinate) as usize;
            runs.push(Run { at, length, origin: Origin::Forward(coordinate as u32) });
            coordinate = end;
            continue;
        }
        let resolved = edge.resolve(coordinate, size);
        let extended = runs.last_mut().is_some_and(|run| extend(run, resolved));
        if !extended {
            let origin = match (resolved, edge) {
                (None, _) => Origin::Constant,
                // A mirrored run may turn out to go backwards; `extend` sees to that.
                (Some(source), Edge::Clamp) => Origin::Repeat(source),
                (Some(source), _) => Origin::Forward(source),
            };
            runs.push(Run { at, length: 1, origin });
        }
        coordinate += 1;
    }
    runs
}

/// Makes the run longer by one coordinate if that continues it.
fn extend(run: &mut Run, resolved: Option<u32>) -> bool {
    let length = run.length as u32;
    let origin = match (run.origin, resolved) {
        (Origin::Constant, None) => Origin::Constant,
        (Origin::Repeat(only), Some(next)) if next == only => Origin::Repeat(only),
        (Origin::Forward(first), Some(next)) if next == first + length => Origin::Forward(first),
        (Origin::Forward(first), Some(next)) if length == 1 && next + 1 == first => Origin::Backward(first),
        (Origin::Forward(first), Some(next)) if length == 1 && next == first => Origin::Repeat(first),
        (Origin::Backward(first), Some(next)) if next + length == first => Origin::Backward(first),
        _ => return false,
    };
    run.origin = origin;
    run.length += 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_what_resolve_says() {
        let modes = [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Constant([0.0; 4])];
        for edge in modes {
            for size in [1, 2, 3, 7] {
                for range in [0..1, -3..4, -20..31, 2..3, 8..30, -9..-2, -1..8] {
                    let mut held = Vec::new();
                    for run in runs(edge, range.clone(), size) {
                        assert_eq!(run.at, held.len());
                        for index in 0..run.length as u32 {
                            held.push(match run.origin {
                                Origin::Forward(first) => Some(first + index),
                                Origin::Backward(first) => Some(first - index),
                                Origin::Repeat(only) => Some(only),
                                Origin::Constant => None,
                            });
                        }
                        let source = run.source();
                        let within = |coordinate: &Option<u32>| coordinate.is_none_or(|c| source.contains(&c));
                        assert!(held[run.at..].iter().all(within));
                    }
                    let expected: Vec<_> = range.clone().map(|coordinate| edge.resolve(coordinate, size)).collect();
                    assert_eq!(held, expected, "{edge:?} {size} {range:?}");
                }
            }
        }
    }

    #[test]
    fn few_runs() {
        assert_eq!(runs(Edge::Clamp, -5..15, 10).len(), 3);
        assert_eq!(runs(Edge::Mirror, -5..15, 10).len(), 3);
        assert_eq!(runs(Edge::Wrap, -5..15, 10).len(), 3);
        assert_eq!(runs(Edge::Constant([0.0; 4]), -5..15, 10).len(), 3);
        assert_eq!(runs(Edge::Clamp, 20..40, 10).len(), 1);
    }
}
