//! The bound on frames in flight. A caller that meets it waits here, on its own thread, or is told that the device is busy;
//! the worker never waits. Knows nothing of devices.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};

/// Counts permits out.
pub(super) struct Bound {
    most: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

/// The right to have one frame in flight; given back when dropped.
pub(super) struct Permit(Arc<Bound>);

impl Bound {
    pub(super) fn new(most: usize) -> Arc<Bound> {
        Arc::new(Bound { most: most.max(1), taken: Mutex::new(0), freed: Condvar::new() })
    }

    /// A permit, at once or (`wait`) as soon as there is one.
    pub(super) fn take(self: &Arc<Self>, wait: bool) -> Result<Permit> {
        let mut taken = self.taken.lock();
        while *taken >= self.most {
            if !wait {
                return Err(Error::Busy { in_flight: *taken, bound: self.most });
            }
            self.freed.wait(&mut taken);
        }
        *taken += 1;
        Ok(Permit(Arc::clone(self)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_waiting_ends() {
        let bound = Bound::new(2);
        let first = bound.take(false).unwrap();
        let _second = bound.take(true).unwrap();
        assert!(matches!(bound.take(false), Err(Error::Busy { in_flight: 2, bound: 2 })));
        let waiter = std::thread::spawn({
            let bound = Arc::clone(&bound);
            move || bound.take(true).map(drop)
        });
        drop(first);
        waiter.join().unwrap().unwrap();
        assert!(bound.take(false).is_ok());
    }
}
