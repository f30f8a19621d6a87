//! The integration tests of this crate. They are one program, because every program links the crate again.

mod prune;
mod stack;
mod unions_apply;
mod unions_kubernetes;
mod unions_matrix;
mod unions_properties;
mod updater;
