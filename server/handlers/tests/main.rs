//! The integration tests of this crate. They are one program, because every program links the crate again.

mod common;
mod custom;
mod definitions;
mod kinds;
mod requests;
mod stack;
