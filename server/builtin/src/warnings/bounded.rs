//! Warnings about pairs, which may be as many as the square of the input.

/// The most warnings about pairs. kube-apiserver sends 4,096 characters of warnings.
pub(super) const MAX_PAIRS: usize = 1000;

/// The length of these warnings in bytes after which there is no further one.
const MAX_BYTES: usize = 256 << 10;

/// Warnings of which only the first ones are kept.
pub(super) struct Bounded<'o> {
    pub(super) all: &'o mut Vec<String>,
    left: usize,
    bytes: usize,
}

impl<'o> Bounded<'o> {
    pub(super) fn new(all: &'o mut Vec<String>) -> Self {
        Bounded {
            all,
            left: MAX_PAIRS,
            bytes: 0,
        }
    }

    /// How many more warnings are kept.
    pub(super) fn left(&self) -> usize {
        if self.bytes < MAX_BYTES { self.left } else { 0 }
    }

    pub(super) fn push(&mut self, warning: String) {
        if self.left() > 0 {
            self.left -= 1;
            self.bytes += warning.len();
            self.all.push(warning);
        }
    }
}
