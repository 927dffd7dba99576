//! Splits long work. A dispatch that runs for seconds is killed by the driver's watchdog, freezes the display, and on some
//! drivers comes back as an empty picture; so a long one becomes several over rows (and columns) of its workgroups, and a
//! long frame several submits. Plain arithmetic on a recording; knows no graphics API.

use crate::plan::recording::Dispatch;

/// How much work may go together, in pixels times cheap operators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkBounds {
    /// In one dispatch.
    pub dispatch: f64,
    /// In one submit.
    pub submit: f64,
}

impl Default for WorkBounds {
    /// A slow device (a phone of ten years ago, two cores under a software rasteriser) does some 2e9 pixel-operators a
    /// second: 50 ms per dispatch, within which a display can still be served, and half a second per submit, well below
    /// the shortest known watchdog (2 s on Windows) and the longest wait of a GL fence (2.1 s).
    fn default() -> WorkBounds {
        WorkBounds { dispatch: 1e8, submit: 1e9 }
    }
}

/// Most parts of one dispatch: an absurd estimate of its cost must not become a million dispatches.
const MOST_PARTS: u64 = 1024;

/// One call of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Index of the first workgroup; goes to words 0 and 1 of the uniforms.
    pub(super) first: [u32; 2],
    /// Number of workgroups.
    pub(super) groups: [u32; 2],
    /// Where its uniforms lie in the frame's uniform buffer.
    pub(super) uniforms: u64,
    /// Whether what was recorded before is submitted first.
    pub(super) submit_before: bool,
}

/// The calls of a whole recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// For each dispatch its parts.
    pub(super) dispatches: Vec<Vec<Part>>,
    /// Size of the uniform buffer.
    pub(super) uniform_bytes: u64,
}

/// Splits `dispatches`. `workgroups` is the most along one dimension, `alignment` that of a uniform binding.
pub(super) fn schedule<'a>(
    dispatches: impl Iterator<Item = &'a Dispatch>,
    bounds: WorkBounds,
    workgroups: u32,
    alignment: u32,
) -> Schedule {
    let alignment = u64::from(alignment.max(1));
    let mut uniform_bytes = 0_u64;
    let mut submitted = 0.0;
    let dispatches = dispatches
        .map(|dispatch| {
            let cost = if dispatch.group_cost > 0.0 { dispatch.group_cost } else { 1.0 };
            let mut parts = split(dispatch.groups, cost, bounds.dispatch, workgroups);
            for part in &mut parts {
                let work = cost * f64::from(part.groups[0]) * f64::from(part.groups[1]);
                part.submit_before = submitted > 0.0 && submitted + work > bounds.submit;
                submitted = if part.submit_before { work } else { submitted + work };
                part.uniforms = uniform_bytes;
                uniform_bytes += (dispatch.uniforms.len() as u64 * 4).next_multiple_of(alignment);
            }
            parts
        })
        .collect();
    Schedule { dispatches, uniform_bytes: uniform_bytes.max(16) }
}

/// Cuts a grid of groups into rectangles of equal height, the last perhaps lower.
fn split([columns, rows]: [u32; 2], cost: f64, bound: f64, workgroups: u32) -> Vec<Part> {
    if columns == 0 || rows == 0 {
        return Vec::new();
    }
    let total = u64::from(columns) * u64::from(rows);
    // `as` saturates: a bound of infinity allows everything, NaN nothing.
    let allowed = ((bound / cost) as u64).max(total.div_ceil(MOST_PARTS)).max(1);
    let most =
        |along: u32, groups: u64| u32::try_from(groups.max(1)).unwrap_or(u32::MAX).min(along).min(workgroups.max(1));
    let width = most(columns, allowed);
    let height = most(rows, allowed / u64::from(width));
    let height = rows.div_ceil(rows.div_ceil(height));
    let starts = |end: u32, step: u32| (0..end).step_by(step as usize);
    starts(rows, height)
        .flat_map(|y| starts(columns, width).map(move |x| [x, y]))
        .map(|[x, y]| Part {
            first: [x, y],
            groups: [width.min(columns - x), height.min(rows - y)],
            uniforms: 0,
            submit_before: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(groups: [u32; 2], group_cost: f64) -> Dispatch {
        Dispatch {
            label: String::new(),
            wgsl: "".into(),
            trusted: true,
            bindings: Vec::new(),
            groups,
            group_cost,
            uniforms: vec![0; 8],
            table: None,
            workgroup_memory: 0,
        }
    }

    /// Every group exactly once.
    fn assert_covers(groups: [u32; 2], parts: &[Part]) {
        let mut seen = vec![0; (groups[0] * groups[1]) as usize];
        for part in parts {
            for y in part.first[1]..part.first[1] + part.groups[1] {
                for x in part.first[0]..part.first[0] + part.groups[0] {
                    seen[(y * groups[0] + x) as usize] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&count| count == 1), "{groups:?}: {parts:?}");
    }

    #[test]
    fn parts_cover_the_grid_and_keep_the_bounds() {
        for groups in [[1, 1], [7, 5], [100, 1], [1, 100], [33, 31]] {
            for bound in [0.0, 1.0, 9.0, 64.0, 1e9, f64::INFINITY, f64::NAN] {
                for workgroups in [1, 4, 65535] {
                    let parts = split(groups, 1.0, bound, workgroups);
                    assert_covers(groups, &parts);
                    for part in parts {
                        assert!(part.groups[0] <= workgroups && part.groups[1] <= workgroups);
                        assert!(u64::from(part.groups[0]) * u64::from(part.groups[1]) <= (bound as u64).max(2));
                    }
                }
            }
        }
        assert!(split([0, 3], 1.0, 1.0, 65535).is_empty());
        assert!(split([100_000, 100_000], 1.0, 1e-300, 65535).len() <= 2 * MOST_PARTS as usize);
    }

    #[test]
    fn short_work_stays_together() {
        let dispatches = [dispatch([10, 10], 5.0), dispatch([3, 3], 5.0)];
        let one = schedule(dispatches.iter(), WorkBounds::default(), 65535, 256);
        assert_eq!(one.dispatches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
        assert!(one.dispatches.iter().flatten().all(|part| !part.submit_before));
        assert_eq!(one.uniform_bytes, 512);
    }

    #[test]
    fn long_work_is_submitted_piece_by_piece() {
        let dispatches = [dispatch([10, 10], 1.0), dispatch([10, 10], 1.0)];
        let bounds = WorkBounds { dispatch: 50.0, submit: 100.0 };
        let parts: Vec<Part> = schedule(dispatches.iter(), bounds, 65535, 64).dispatches.concat();
        assert_eq!(parts.iter().map(|part| part.submit_before).collect::<Vec<_>>(), [false, false, true, false]);
        assert_eq!(parts.iter().map(|part| part.uniforms).collect::<Vec<_>>(), [0, 64, 128, 192]);
        assert_eq!(parts[3].first, [0, 5]);
    }
}
