//! Faults of operations.

use fieldmanager_value::{Kind, MAX_DEPTH, Value};

/// The fault of an operation of a JSON patch that does not apply.
///
/// ```
/// use fieldmanager_patch::json_patch::OperationFault;
/// let fault = OperationFault::Missing { path: "/spec".into() };
/// assert_eq!(fault.to_string(), "there is no value at `/spec`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationFault {
    /// The operation has no name, or an unknown one.
    #[error("unexpected kind `{found}`: expected add, remove, replace, move, copy or test")]
    Kind {
        /// The name.
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
        /// The kind of the value.
        found: Kind,
    },
    /// A pointer does not start with a slash.
    #[error("`{path}` is no JSON pointer: expected it to start with `/`")]
    Pointer {
        /// The pointer.
        path: String,
    },
    /// The operation cannot have the whole document as its target.
    #[error("the path is the whole document: expected one that names a member or an item")]
    Root,
    /// The parent of the target does not exist.
    #[error("doc is missing path: there is no map or list that could hold `{path}`")]
    NoParent {
        /// The pointer.
        path: String,
    },
    /// The value does not exist.
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
        /// The length of the list.
        length: usize,
    },
    /// The new document is neither a map nor a list.
    #[error("replace operation value must be object or array: got {found}")]
    RootValue {
        /// The kind of the value.
        found: Kind,
    },
    /// The value differs from the expected one.
    #[error("testing value `{path}` failed: expected {wanted}, got {found}")]
    Test {
        /// The pointer.
        path: String,
        /// The value in the patch.
        wanted: Value,
        /// The value in the document.
        found: Value,
    },
    /// The copies of the patch are too large.
    #[error(
        "unable to complete the copy, the accumulated size increase of copy is {size}, exceeding the limit {limit}"
    )]
    CopySize {
        /// Their size in bytes of JSON.
        size: usize,
        /// The maximum size.
        limit: usize,
    },
    /// The document would nest too deeply.
    #[error("nesting is deeper than {MAX_DEPTH} levels")]
    TooDeep,
}
