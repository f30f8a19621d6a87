//! The integration tests of this crate. They are one program, because every program links the crate again.

mod json_differential;
mod stack;
mod stack_text;
mod yaml_go;
mod yaml_round_trip;
