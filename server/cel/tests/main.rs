//! The integration tests of this crate. They are one program, because every program links the crate again.

mod checks;
mod costs;
mod environment;
mod mutations;
mod rules;
mod stack;
mod work;
