//! What the handlers ask about the kind of an object: the same questions for built-in kinds and custom resources.

pub(crate) mod builtin;
pub(crate) mod custom;
pub(crate) mod deprecated;
pub(crate) mod unions;

use fieldmanager_managedfields::Time;
use fieldmanager_structural::{FieldError, GroupVersionKind};
use fieldmanager_value::Value;

use crate::request::Subresource;
use crate::status::quoted;

/// The version in which Go reads an object that names none.
pub(crate) const INTERNAL: &str = "__internal";

/// An object that was decoded for a kind.
pub(crate) struct Decoded {
    /// The object with the fields that the kind has, in canonical form, without defaults.
    pub(crate) object: Value,
    /// The faults that strict field validation refuses, such as `unknown field "spec.foo"`.
    pub(crate) unknown: Vec<String>,
}

/// What validation finds in an object.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) errors: Vec<FieldError>,
    /// The kind that the answer to an invalid object names, if it is not that of the resource.
    pub(crate) named: Option<GroupVersionKind>,
    /// The warnings that are sent with any answer.
    pub(crate) warnings: Vec<String>,
    /// The warnings that are sent with the answer to a valid object.
    pub(crate) notes: Vec<String>,
}

impl From<Vec<FieldError>> for Checked {
    fn from(errors: Vec<FieldError>) -> Self {
        Checked {
            errors,
            ..Checked::default()
        }
    }
}

/// The facts in the document of a request that the object lacks which it makes.
#[derive(Default)]
pub(crate) struct Unseen {
    /// Whether the document has an empty list or map that raises the generation: a few kinds compare it with an absent one,
    /// which is what the store returns for it.
    pub(crate) has_empty: bool,
    /// The status at the version at which objects are stored. `None` if the status of the defaulted object is converted to
    /// the same.
    pub(crate) status: Option<Value>,
}

/// How the server holds the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In a struct of Go. A document without a version has that of the resource.
    Struct,
    /// As a map of any fields, which has no version if the document has none.
    Map,
}

/// What the resource of a kind allows, and says of its version.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) form: Form,
    /// Whether an update needs no `resourceVersion`.
    pub(crate) allows_unconditional_update: bool,
    /// Whether an update creates an object that does not exist.
    pub(crate) allows_create_on_update: bool,
    /// The warning of each request to the version; `None` if it is not deprecated.
    pub(crate) deprecation: Option<String>,
    /// Whether the server converts objects, and says itself why it cannot.
    pub(crate) converts_by_webhook: bool,
    /// The versions of which managed fields can be converted; `None` if those of others are dropped. Otherwise the server
    /// keeps no record of a request that has such entries.
    pub(crate) tracked: Option<Vec<String>>,
}

/// Where an object to decode is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The body of a request, or a patch of JSON.
    Json,
    /// A strategic merge patch: the converter of unstructured objects decodes what it made.
    Unstructured,
}

/// An object that a request writes.
pub(crate) struct Change<'a> {
    pub(crate) subresource: Subresource,
    pub(crate) object: &'a Value,
    /// The live object; `None` if the request creates one.
    pub(crate) live: Option<&'a Value>,
    pub(crate) now: Time,
}

/// The decoding, defaults and validation of a kind at one version.
pub(crate) trait Kind: Send + Sync {
    /// Decodes an object. The error is that of the decoder of the API server, without context.
    fn decode(&self, object: &Value, origin: Origin) -> Result<Decoded, String>;

    /// Why the configuration of an apply cannot be converted to the type of the kind, although it fits the schema: a
    /// quantity, a time or a base64 string that is malformed.
    fn malformed(&self, _config: &Value) -> Option<String> {
        None
    }

    /// The facts in a document that the object lacks. `sources` are the objects that the request made it from: a field that
    /// none of them has is of the defaults.
    fn unseen(&self, _document: &Value, _object: &Value, _sources: &[&Value]) -> Unseen {
        Unseen::default()
    }

    /// Fills in the defaults of a decoded object.
    fn defaulted(&self, object: &Value) -> Value;

    /// The stored object at the version of the kind, decoded and with defaults.
    fn read(&self, stored: &Value) -> Value;

    /// The object of an answer, which is what is read back after the object was stored, and the object for the store if
    /// that is another one.
    fn stored(&self, object: &Value) -> (Value, Option<Value>);

    /// Drops what a client cannot set or change, and sets the generation.
    fn prepare(&self, change: &Change<'_>) -> Value;

    /// Whether an update that changes nothing at the version of the request changes the object at the version at which it is
    /// stored, so that the generation rises: the conversion back gives another spec.
    fn changes_stored(&self, _stored: &Value, _object: &Value) -> bool {
        false
    }

    /// Why the allocators of the server refuse an updated object with the code 500, before it is validated.
    fn allocation_fault(&self, _object: &Value) -> Option<String> {
        None
    }

    /// The faults and warnings of a new or changed object, with the faults of unions if these have an effect.
    fn check(&self, change: &Change<'_>, unions: bool) -> Checked;

    /// Why the decoder refuses an object that names no kind; `None` if the kind is that of the resource then.
    fn missing_kind(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Why the decoder refuses an object that names a kind; `None` if it does not.
    fn refuses(&self, _declared: &GroupVersionKind) -> Option<String> {
        None
    }
}

/// The faults of strict field validation for the paths of unknown fields.
pub(crate) fn unknown_fields(paths: &[String]) -> Vec<String> {
    paths
        .iter()
        .map(|path| format!("unknown field {}", quoted(path)))
        .collect()
}
