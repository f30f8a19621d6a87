//! The integration tests of this crate. They are one program, because every program links the crate again.

mod forbidden;
mod rbac;
