//! The integration tests of this crate. They are one program, because every program links the crate again.

mod errors;
mod reports;
mod scenarios;
mod setup;
mod stack;
