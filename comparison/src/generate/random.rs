//! The random choices of the generators.

/// A seeded generator of random choices; the same seed makes the same choices.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Callers count seeds upwards; mixing makes neighbouring seeds independent.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(fastrand::Rng::with_seed(mixed ^ (mixed >> 31)))
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.0.u32(0..100) < percent
    }

    /// A number below `limit`; 0 if there is none.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            self.0.usize(0..limit)
        }
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// One of the items; `None` only if there are no items.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// One of the names.
    pub(crate) fn name(&mut self, names: &[&'static str]) -> &'static str {
        self.pick(names).copied().unwrap_or("a")
    }

    /// A copy of one of the items; the default value if there are none.
    pub(crate) fn of<T: Clone + Default>(&mut self, items: &[T]) -> T {
        self.pick(items).cloned().unwrap_or_default()
    }

    /// One of the items, with the probability of its weight; `otherwise` if all weights are zero.
    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(u32, T)], otherwise: T) -> T {
        let total: u32 = items.iter().map(|(weight, _)| weight).sum();
        let mut point = if total == 0 { 0 } else { self.0.u32(0..total) };
        for (weight, item) in items {
            if point < *weight {
                return *item;
            }
            point -= weight;
        }
        otherwise
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}
