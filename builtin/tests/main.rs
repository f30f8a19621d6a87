//! The integration tests of this crate. They are one program, because every program links the crate again.

mod convert;
mod cost;
mod decode;
mod pods;
mod stack;
