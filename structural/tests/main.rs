//! The integration tests of this crate. They are one program, because every program links the crate again.

mod allocations;
mod cost;
mod crd;
mod lists;
mod metadata;
mod patterns;
mod properties;
mod rules;
mod schema;
mod stack;
mod validation;
mod walks;
