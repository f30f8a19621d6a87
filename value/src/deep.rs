//! Walks over values of any depth, and walks whose levels take so much stack that 256 of them do not fit a small one.

/// How much stack a level of a walk may take before it is checked again.
const LEVEL: usize = 64 * 1024;
/// How much is allocated when the stack is at its end.
const SEGMENT: usize = 1024 * 1024;

/// Does a level of a recursive walk over a value on a stack that has room for it.
///
/// What is read from JSON or YAML nests at most [`MAX_DEPTH`](crate::MAX_DEPTH) levels, but a program can make values
/// of any depth, and at least dropping them cannot fail.
#[inline]
pub fn level<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(LEVEL, SEGMENT, walk)
}

/// How much stack the walks of other packages over values of [`MAX_DEPTH`](crate::MAX_DEPTH) levels may take.
const ROOM: usize = if cfg!(debug_assertions) { 8 << 20 } else { 1 << 20 };

/// Runs a function that does not check the stack at each level, such as one of another package, with room for
/// [`MAX_DEPTH`](crate::MAX_DEPTH) levels.
pub fn with_room<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(ROOM, ROOM, walk)
}

/// Drops a list or a map as a level of a walk. Not inlined, since every drop of a scalar would be larger by it.
#[inline(never)]
pub(crate) fn drop_level<T>(node: T) {
    level(|| drop(node));
}
