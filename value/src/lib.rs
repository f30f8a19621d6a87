//! Persistent immutable value trees.
//!
//! A [`Value`] is what a Kubernetes object is made of: null, boolean, integer, float, string, list and
//! map. Cloning one is O(1), an edit shares every untouched part with the original, and equality starts
//! with pointer identity, so that comparing two objects that share structure costs what differs and not
//! what is there.
//!
//! ```
//! use fieldmanager_value::Value;
//!
//! let live = Value::from_json(r#"{"spec": {"replicas": 1, "paused": false}}"#)?;
//! let mut new = live.clone();                       // shares everything
//! if let Value::Map(fields) = &mut new {
//!     fields.insert("kind", "Deployment");          // `spec` is still shared
//! }
//! assert!(new.get("spec").unwrap().ptr_eq(live.get("spec").unwrap()));
//! assert_eq!(Value::from(1), Value::from(1.0));     // numbers compare as numbers
//! # Ok::<(), fieldmanager_value::Error>(())
//! ```
//!
//! # What this crate knows
//!
//! Values, their order, and their JSON and YAML texts. It knows no schema and no Kubernetes object.
//!
//! # Numbers
//!
//! An integer that fits an `i64` stays an integer; any other number is a float, as in the JSON decoder of
//! the Kubernetes apiserver. Integers and floats compare by their exact mathematical value. JSON and YAML
//! texts cannot bring in NaN or an infinity: they are refused.

mod de;
mod deep;
mod error;
mod escape;
#[doc(hidden)]
pub mod go_format;
mod intern;
mod json;
mod lineage;
mod list;
mod map;
mod names;
mod number;
mod order;
mod reader;
mod ser;
pub mod sorted;
mod string;
mod text;
mod value;
mod yaml;
mod yaml_scalar;
mod yaml_writer;

/// What the crates of this workspace share and no program should use.
#[doc(hidden)]
pub mod internal {
    pub use crate::deep::{level, with_room};
}

pub use de::from_value;
pub use error::{Error, TextPosition};
pub use escape::{Escape, write_string};
pub use list::{List, ListBuilder};
pub use map::{Map, MapBuilder};
pub use number::write_number;
pub use ser::to_value;
pub use string::Str;
pub use text::Text;
pub use value::{Kind, Value};

/// The deepest nesting of lists and maps that a text or a serialized type may have.
///
/// Every recursive walk of the library is bounded by this limit, so that hostile input is an error
/// ([`Error::TooDeep`]) and never a stack overflow. Kubernetes objects stay far below it: the deepest
/// nesting seen in a real custom resource definition is under 60.
///
/// ```
/// use fieldmanager_value::{MAX_DEPTH, Value};
/// let lists = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
/// assert!(Value::from_json(&lists(MAX_DEPTH)).is_ok());
/// assert!(Value::from_json(&lists(MAX_DEPTH + 1)).is_err());
/// ```
pub const MAX_DEPTH: usize = 256;
