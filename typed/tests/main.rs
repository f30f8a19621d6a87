//! The integration tests of this crate. They are one program, because every program links the crate again.

mod common;
mod compare;
mod field_set;
mod merge;
mod meta_schema;
mod reconcile;
mod remove_extract;
mod stack;
mod unions_properties;
mod unions_update;
mod unions_validate;
mod validate;
