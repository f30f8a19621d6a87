//! The integration tests of this crate. They are one program, because every program links the crate again.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::result_large_err,
    reason = "a failed test panics"
)]

mod plugins;
mod pod_security;
mod policies;
mod request;
mod webhooks;
