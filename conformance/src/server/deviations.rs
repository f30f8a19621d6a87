//! Listed deviations: differences that have a reason, see `docs/deviations.md`.

use serde_json::Value as Json;

use super::kinds::Kind;
use super::request::{Answer, Step};
use crate::suite::Difference;

/// A request at which the real server panicked, and closed the connection.
pub(super) const PANIC: &str = "server-panic";

/// The rule that explains a difference.
pub(super) fn explain(
    _: &Kind,
    _: &Step<'_>,
    _: &Json,
    real: &Answer,
    _: &Answer,
    _: &Difference,
) -> Option<&'static str> {
    if real.code == 0 {
        return Some(PANIC);
    }
    None
}
