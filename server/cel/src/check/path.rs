//! The paths of values that expressions select.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The steps from a variable to a value.
///
/// Paths share their steps as slices do in Go: a path that grows overwrites a step that a longer path has there, if the
/// array has room. So the estimate of a nested comprehension can depend on the order of its selections, in API servers and
/// here.
#[derive(Clone, Default)]
pub(super) struct Path {
    steps: Rc<RefCell<Vec<Arc<str>>>>,
    length: usize,
    room: usize,
}

impl Path {
    pub(super) fn of(name: &str) -> Self {
        Path {
            steps: Rc::new(RefCell::new(vec![name.into()])),
            length: 1,
            room: 1,
        }
    }

    pub(super) fn read(&self) -> Vec<Arc<str>> {
        self.steps
            .borrow()
            .iter()
            .take(self.length)
            .cloned()
            .collect()
    }

    pub(super) fn then(&self, step: &str) -> Self {
        let length = self.length + 1;
        if self.length < self.room {
            let mut steps = self.steps.borrow_mut();
            match steps.get_mut(self.length) {
                Some(slot) => *slot = step.into(),
                None => steps.push(step.into()),
            }
            return Path {
                steps: Rc::clone(&self.steps),
                length,
                room: self.room,
            };
        }

        let mut steps = self.read();
        steps.push(step.into());
        Path {
            steps: Rc::new(RefCell::new(steps)),
            length,
            room: (self.room * 2).max(1),
        }
    }
}
