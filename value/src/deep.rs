//! Stack management for recursive walks.

/// The stack that one level of a walk may use before the next check, in bytes.
const LEVEL: usize = 64 * 1024;
/// The size of a newly allocated stack segment, in bytes.
const SEGMENT: usize = 1024 * 1024;

/// Runs one level of a recursive walk, on a new stack segment if the current one is nearly full.
///
/// Values read from JSON or YAML nest at most [`MAX_DEPTH`](crate::MAX_DEPTH) levels. A program can build deeper
/// values, and dropping them must not overflow the stack.
#[inline]
pub fn level<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(LEVEL, SEGMENT, walk)
}

/// The stack reserved for a third-party walk over a value of [`MAX_DEPTH`](crate::MAX_DEPTH) levels, in bytes.
const ROOM: usize = if cfg!(debug_assertions) {
    8 << 20
} else {
    1 << 20
};

/// Runs a recursive function that does not check the stack itself, such as one of a third-party crate, with enough
/// stack for [`MAX_DEPTH`](crate::MAX_DEPTH) levels.
pub fn with_room<R>(walk: impl FnOnce() -> R) -> R {
    with_stack(ROOM, walk)
}

/// Runs a recursive function that does not check the stack itself with this many bytes of stack.
pub fn with_stack<R>(bytes: usize, walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(bytes, bytes, walk)
}

/// Drops a list or a map as one level of a walk. Not inlined, to keep the drop code of scalars small.
#[inline(never)]
pub(crate) fn drop_level<T>(node: T) {
    level(|| drop(node));
}
