//! The integration tests of this crate. They are one program, because every program links the crate again.

mod authoring_cost;
mod folders;
mod hidden;
mod modules;
mod page;
mod programs;
mod properties;
