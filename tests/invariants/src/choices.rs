//! Choices, taken one after another from bytes.

/// A row of choices. Bytes that are used up are zeros, so that every row of bytes makes something, and a shorter one
/// something smaller.
pub(crate) struct Choices<'b>(&'b [u8]);

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Choices(bytes)
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number below `n`, which is at most 256.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// True once in `n` times; false when the bytes are used up.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }

    /// One of several.
    pub(crate) fn pick<T: Copy + Default>(&mut self, of: &[T]) -> T {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}
