//! Ranges of costs and sizes.

/// The cost of a byte of a string.
pub(super) const TEXT: f64 = 0.1;

/// The least and the greatest cost or size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Range {
    pub(super) const fn new(min: u64, max: u64) -> Self {
        Range { min, max }
    }

    pub(super) const fn fixed(value: u64) -> Self {
        Range::new(value, value)
    }

    pub(super) fn each(self, other: Range, with: impl Fn(u64, u64) -> u64) -> Self {
        Range::new(with(self.min, other.min), with(self.max, other.max))
    }

    pub(super) fn plus(self, other: Range) -> Self {
        self.each(other, u64::saturating_add)
    }

    pub(super) fn times(self, other: Range) -> Self {
        self.each(other, u64::saturating_mul)
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        let scale = |value: u64| (value as f64 * factor).ceil() as u64;
        Range::new(scale(self.min), scale(self.max))
    }

    pub(super) fn union(self, other: Range) -> Self {
        Range::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// The cost of comparing two values of these sizes.
    pub(super) fn compared(self, other: Range) -> Self {
        let max = self.max.min(other.max);
        Range::new(u64::from(max > 0), max).read()
    }

    /// The cost of visiting the bytes of a text.
    pub(super) fn read(self) -> Self {
        self.scaled(TEXT)
    }
}

/// The sizes of the keys and of the values of a list or a map.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) is_list: bool,
    pub(super) key: Range,
    pub(super) value: Range,
}

impl Entries {
    pub(super) fn union(self, other: Entries) -> Self {
        Entries {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}
