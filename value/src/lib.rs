//! Persistent immutable value trees.
//!
//! A [`Value`] represents a Kubernetes object or a part of it: null, boolean, integer, float, string, list or map.
//! Cloning is O(1), an edited copy shares every unchanged part with the original, and comparison checks pointer
//! identity first. Comparing two objects that share structure therefore costs in proportion to their differences.
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
//! Values, their order, and their JSON and YAML encodings. It knows no schemas and no Kubernetes objects.
//!
//! # Numbers
//!
//! An integer that fits in an `i64` is kept as an integer; any other number is a float, as in the JSON decoder of the
//! Kubernetes apiserver. Integers and floats compare by their exact mathematical value. The JSON and YAML readers
//! reject NaN and infinities.

mod de;
mod deep;
mod embedded;
mod error;
mod escape;
mod go_format;
mod go_json;
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
mod sorted;
mod string;
mod text;
mod untrusted;
mod value;
mod work;
mod yaml;
mod yaml_events;
mod yaml_scalar;
mod yaml_writer;

/// Items shared by the crates of this workspace. Not part of the public API.
#[doc(hidden)]
pub mod internal {
    pub use crate::deep::{level, with_room, with_stack};
    pub use crate::embedded::embedded;
    pub use crate::escape::{Escape, write_string};
    pub use crate::json::{from_json_with_repeats, write_json};
    pub use crate::list::{for_each_difference, keeps_memo, memo_or_else, set_memo};
    pub use crate::map::{differences, join, seek};
    pub use crate::number::write_number;
    pub use crate::string::is_plain_name;
    pub use crate::text::{is_plain_text, shared_text};
    pub use crate::untrusted::escape_untrusted;
    pub use crate::work::{Stopped, Work, proceed};
    pub use crate::yaml::from_yaml_with_duplicates;
    pub use crate::yaml_events::{mark_position, yaml_events};

    /// Strings and numbers as Go's `fmt` and `strconv` write them.
    pub mod go_format {
        pub use crate::go_format::{is_print, quote, write_float, write_quoted};
    }

    /// The messages of Go's JSON scanner.
    pub mod go_json {
        pub use crate::go_json::error;
    }

    /// The sorted map behind [`Map`](crate::Map).
    pub mod sorted {
        pub use crate::sorted::{Differences, Iter, Join, Joined, Seek, SortedMap};
    }
}

pub use de::from_value;
pub use error::{Error, TextPosition};
pub use list::List;
pub use map::Map;
pub use ser::to_value;
pub use string::Str;
pub use text::Text;
pub use value::{Kind, Value};

/// The maximum nesting depth of lists and maps in a document or a serialized type.
///
/// This limit bounds every recursive walk of the library, so hostile input returns [`Error::TooDeep`] instead of
/// overflowing the stack. Kubernetes objects stay well below it: the deepest known custom resource definition nests
/// fewer than 60 levels.
///
/// ```
/// use fieldmanager_value::{MAX_DEPTH, Value};
/// let lists = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
/// assert!(Value::from_json(&lists(MAX_DEPTH)).is_ok());
/// assert!(Value::from_json(&lists(MAX_DEPTH + 1)).is_err());
/// ```
pub const MAX_DEPTH: usize = 256;
