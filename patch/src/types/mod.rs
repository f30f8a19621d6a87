//! The merge strategies and merge keys of types.

mod lookup;
mod model;
mod openapi;
mod table;

pub(crate) use model::{PatchRule, Strategy};
pub use model::{PatchSchema, PatchTypes, TypesError};
pub use table::{read_types, write_types};
