//! The integration tests of this crate. They are one program, because every program links the crate again.

mod builtin;
mod common;
mod cost;
mod laws;
mod retain_keys;
mod rfc;
mod stack;
mod strategic;
