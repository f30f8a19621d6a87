//! The merge strategies and merge keys of types.

mod lookup;
mod model;
mod openapi;
mod table;

pub use model::{PatchRule, PatchSchema, PatchTypes, Strategy, TypesError};
