//! The integration tests of this crate. They are one program, because every program links the crate again.

mod client_go;
mod corrections;
mod patches;
mod unions;
