//! The integration tests of this crate. They are one program, because every program links the crate again.

mod builtin;
mod crd_end_to_end;
mod custom_resource;
mod import;
mod stack;
