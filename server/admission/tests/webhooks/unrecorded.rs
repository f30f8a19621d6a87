//! Unrecorded.
