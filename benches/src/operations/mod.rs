//! Cells: an operation on an input, under a name.
//!
//! | name | operation |
//! |---|---|
//! | `table/OBJECT/OPERATION` | the table of the Go package's benchmark, all runs with the same objects |
//! | `table/OBJECT/Conflict`, `table/OBJECT/Compare` | an apply that conflicts in many fields, a comparison |
//! | `table/OBJECT/OPERATION/fresh` | the same, each run with separately parsed objects |
//! | `parse/OBJECT/WHAT` | parsing JSON: by `serde_json`, into a value, into a typed value, and writing it |
//! | `list/WHAT/N`, `map/WHAT/N` | a change to ten of N items or entries |
//! | `set/WHAT/N` | operations on a set of N paths |
//! | `fields/OBJECT/WHAT` | FieldsV1 of the set of an object, and its paths |
//! | `entries/OBJECT/WHAT` | the managed fields of an object: decoding them, and with an interner |
//! | `schema/builtin/load` | the schema of the built-in types, from its JSON |
//! | `bytes/OBJECT/WHAT` | JSON in, apply, JSON out, with managed fields |
//! | `handlers/OBJECT/PART` | the same by the handlers of requests, and parts of it |

mod bytes;
mod entries;
mod parse;
#[cfg(feature = "requests")]
mod requests;
mod schema;
mod sets;
mod sized;
mod state;
mod table;

pub use bytes::{CASES as BYTES, SharedApply, shared_apply, texts as bytes_texts};
pub use entries::OPERATIONS as ENTRIES;
pub use parse::OPERATIONS as PARSE;
#[cfg(feature = "requests")]
pub use requests::{OBJECTS as REQUESTED, PARTS};
pub(crate) use sets::reverse;
pub use sets::{ON_OBJECTS, ON_SIZES, fields_of};
pub use sized::{ON_LISTS, ON_MAPS};
pub use table::OPERATIONS as TABLE;

pub use crate::measure::Prepared;

/// The operation of a cell; `None` if there is no such cell.
pub fn prepare(cell: &str) -> Option<Prepared> {
    let parts: Vec<&str> = cell.split('/').collect();
    match parts.as_slice() {
        ["table", object, operation] => table::prepare(object, operation, true),
        ["table", object, operation, "fresh"] => table::prepare(object, operation, false),
        ["parse", object, what] => parse::prepare(object, what),
        ["list", what, n] => sized::list(what, n.parse().ok()?),
        ["map", what, n] => sized::map(what, n.parse().ok()?),
        ["set", what, n] => sets::of_size(what, n.parse().ok()?),
        ["fields", object, what] => sets::of_object(object, what),
        ["entries", object, what] => entries::prepare(object, what),
        ["schema", "builtin", "load"] => Some(schema::prepare()),
        ["bytes", object, what] => bytes::prepare(object, what),
        #[cfg(feature = "requests")]
        ["handlers", object, part] => requests::prepare(object, part),
        _ => None,
    }
}
