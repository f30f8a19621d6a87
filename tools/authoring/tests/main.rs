//! The integration tests of this crate. They are one program, because every program links the crate again.

mod faults;
mod kubernetes_api;
mod places;
mod proposals;
