//! Choices derived from bytes.

/// A sequence of choices. Exhausted bytes count as zeros, so every input yields a result, and a shorter input yields a
/// smaller one.
pub(crate) struct Choices<'b>(&'b [u8]);

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Choices(bytes)
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Returns a number below `n`, which must be at most 256.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Returns true for one in `n` bytes, and false once the bytes are exhausted.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }

    /// Returns one of several values.
    pub(crate) fn pick<T: Copy + Default>(&mut self, of: &[T]) -> T {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}
