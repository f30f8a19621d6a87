//! Go source: types, constants and markers.

mod enums;
mod kubernetes;
mod lookup;
mod marker;
mod model;
mod packages;
mod read;
mod unions;

pub(crate) use model::{Fields, Type};
pub use packages::{GoFile, GoTypes};
pub(crate) use packages::{Scope, TypeKey};
pub(crate) use unions::{Declared, Form, Member};
