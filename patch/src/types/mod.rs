//! Which lists are merged, by which key, and which maps are replaced: by type.

mod lookup;
mod model;
mod openapi;
mod table;

pub use model::{PatchRule, PatchSchema, PatchTypes, Strategy, TypesError};
