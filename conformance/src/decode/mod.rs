//! Objects of built-in kinds: decoded into their Go types, converted between versions, and read
//! from protobuf.

mod check;
mod generate;
mod protobuf;

pub use check::Decode;
pub(crate) use check::judge as decoded;
pub use protobuf::Protobuf;
pub(crate) use protobuf::judge as from_protobuf;
