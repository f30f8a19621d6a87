//! Why an operation does not apply.

use fieldmanager_value::{Kind, MAX_DEPTH, Value};

/// Why an operation of a JSON patch cannot be applied.
///
/// ```
/// use fieldmanager_patch::json_patch::OperationFault;
/// let fault = OperationFault::Missing { path: "/spec".into() };
/// assert_eq!(fault.to_string(), "there is no value at `/spec`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationFault {
    /// The operation has no name, or none that is known.
    #[error("unexpected kind `{found}`: expected add, remove, replace, move, copy or test")]
    Kind {
        /// What it says.
        found: String,
    },
    /// A member that the operation needs is missing or null.
    #[error("missing `{name}`: expected a JSON pointer")]
    NoMember {
        /// The member.
        name: &'static str,
    },
    /// A member is not a string.
    #[error("`{name}` is a {found}: expected a JSON pointer")]
    MemberType {
        /// The member.
        name: &'static str,
        /// What it is.
        found: Kind,
    },
    /// A pointer does not start with a slash.
    #[error("`{path}` is no JSON pointer: expected it to start with `/`")]
    Pointer {
        /// The pointer.
        path: String,
    },
    /// The document as a whole cannot be the target of such an operation.
    #[error("the path is the whole document: expected one that names a member or an item")]
    Root,
    /// The map or list that is to hold the value is not there.
    #[error("doc is missing path: there is no map or list that could hold `{path}`")]
    NoParent {
        /// The pointer.
        path: String,
    },
    /// There is no such value.
    #[error("there is no value at `{path}`")]
    Missing {
        /// The pointer.
        path: String,
    },
    /// A list has no such item.
    #[error("`{path}` is no item of the list: expected an index below {length}")]
    Index {
        /// The pointer.
        path: String,
        /// How many items the list has.
        length: usize,
    },
    /// The document is to be replaced by something that is no document.
    #[error("replace operation value must be object or array: got {found}")]
    RootValue {
        /// What it is.
        found: Kind,
    },
    /// The value differs from the expected one.
    #[error("testing value `{path}` failed: expected {wanted}, got {found}")]
    Test {
        /// The pointer.
        path: String,
        /// What the patch says.
        wanted: Value,
        /// What is there.
        found: Value,
    },
    /// The copies of the patch are too large.
    #[error(
        "unable to complete the copy, the accumulated size increase of copy is {size}, exceeding the limit {limit}"
    )]
    CopySize {
        /// How large they would be, in bytes of JSON.
        size: usize,
        /// How large they may be.
        limit: usize,
    },
    /// The document would nest too deep.
    #[error("nesting is deeper than {MAX_DEPTH} levels")]
    TooDeep,
}
