//! The integration tests of this crate. They are one program, because every program links the crate again.

mod decode;
mod oracle;
mod server;
mod types;
