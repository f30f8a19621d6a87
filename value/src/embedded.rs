//! Tables that are part of the program.

use std::fmt::Display;

/// The table that was read from a text or file of the program. A program whose table cannot be read must not run without
/// it, as it would accept what the table refuses.
///
/// # Panics
///
/// If the table cannot be read. The tests of each crate read all of its tables, so no released program panics.
#[expect(
    clippy::panic,
    reason = "the text is part of the program, and tests read it"
)]
pub fn embedded<T, E: Display>(name: &str, read: Result<T, E>) -> T {
    match read {
        Ok(table) => table,
        Err(error) => panic!("the table `{name}` of this program cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "the table `kinds` of this program cannot be read: no kinds")]
    fn table_that_cannot_be_read_is_an_error() {
        super::embedded("kinds", Err::<(), _>("no kinds"))
    }
}
