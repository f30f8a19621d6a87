#![doc = include_str!("../README.md")]

pub use fieldmanager_derive::KubeUnion;

mod declaration;
mod discriminator;
mod wire;

pub use declaration::{Declaration, EXTENSION, Member};
pub use discriminator::Discriminator;
pub use wire::ReadError;

/// Types that declare a union: what [`derive(KubeUnion)`](macro@KubeUnion) implements.
pub trait KubeUnion {
    /// The union.
    const UNION: Declaration;

    /// Writes the union into the schema of the type. It is to be named in `#[schemars(transform = ...)]` of a struct,
    /// since one derive cannot change what another writes; the derive refuses a struct that does not have the attribute.
    fn kube_union(schema: &mut schemars::Schema) {
        Self::UNION.extend(schema);
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
