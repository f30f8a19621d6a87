//! Objects of built-in kinds: decoded into their Go types, converted between versions, and read
//! from protobuf.

mod check;
mod generate;
mod protobuf;
mod record;

pub use check::Decode;
pub use protobuf::Protobuf;
pub use record::{record, replay};
