//! Go source: types, constants and markers.

mod enums;
mod kubernetes;
mod lookup;
mod marker;
mod model;
mod packages;
mod read;
mod unions;

pub(crate) use model::{GoFields, GoTypeExpr};
pub(crate) use packages::{FileScope, TypeKey};
pub use packages::{GoFile, GoTypes};
pub(crate) use unions::{Declared, UnionForm, UnionMember};
