#![doc = include_str!("../README.md")]

pub use fieldmanager_derive::KubeUnion;

mod declaration;
mod discriminator;
mod wire;

pub use declaration::{Declaration, EXTENSION, Member};
pub use discriminator::Discriminator;
pub use wire::ReadError;

/// Types that declare unions: what [`derive(KubeUnion)`](macro@KubeUnion) implements.
pub trait KubeUnion {
    /// The unions: one of an enum, one or several of a struct.
    const UNIONS: &'static [Declaration];

    /// Writes the unions into the schema of the type. Name it in `#[schemars(transform = ...)]` of a struct: one derive
    /// cannot change what another writes, and the derive refuses a struct that does not have the attribute.
    fn kube_union(schema: &mut schemars::Schema) {
        for union in Self::UNIONS {
            union.extend(schema);
        }
    }
}

/// For the code that the derive writes. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::discriminator::{Message, has_value, value_without_member};
    pub use crate::wire::Selected;
    pub use schemars;
    pub use serde;
}

/// Compiles and runs the Rust examples of the guide to unions.
#[cfg(doctest)]
#[doc = include_str!("../../docs/unions.md")]
struct Guide;
