#![doc = include_str!("../README.md")]

pub use fieldmanager_derive::KubeUnion;

mod declaration;
mod discriminator;
mod wire;

pub use declaration::{Declaration, EXTENSION, Member};
pub use discriminator::Discriminator;
pub use wire::ReadError;

/// A type that declares unions. Implemented by [`derive(KubeUnion)`](macro@KubeUnion).
pub trait KubeUnion {
    /// The unions of the type: one for an enum, one or several for a struct.
    const UNIONS: &'static [Declaration];

    /// Adds the unions to the schema of the type. A struct must refer to this function in `#[schemars(transform =
    /// ...)]`, because a derive cannot change the output of another one. The derive rejects a struct without this
    /// attribute.
    fn kube_union(schema: &mut schemars::Schema) {
        for union in Self::UNIONS {
            union.extend(schema);
        }
    }
}

/// Used by generated code. Not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::discriminator::{Message, has_value, value_without_member};
    pub use crate::wire::Selected;
    pub use schemars;
    pub use serde;
}

/// Compiles and runs the Rust examples of the guide to unions.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/unions.md")]
struct Guide;
