//! Go source: types, constants and markers.

mod enums;
mod kubernetes;
mod marker;
mod model;
mod packages;
mod read;
mod unions;

pub(crate) use model::{Field, Type};
pub use packages::{GoFile, GoTypes};
pub(crate) use packages::{Scope, TypeKey};
pub(crate) use unions::{Declared, Form, Member};
