//! What the handlers ask about the kind of an object: the same questions for built-in kinds and custom resources.

pub(crate) mod builtin;
pub(crate) mod custom;
pub(crate) mod definition;
mod deprecated;
pub(crate) mod unions;

use fieldmanager_managedfields::Time;
use fieldmanager_rules::RuleFault;
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
    /// The warnings that are sent with any answer.
    pub(crate) warnings: Vec<String>,
    /// The rules of a definition that cannot be run, and that the API server may accept.
    pub(crate) unchecked: Vec<RuleFault>,
}

impl From<Vec<FieldError>> for Checked {
    fn from(errors: Vec<FieldError>) -> Self {
        Checked { errors, ..Checked::default() }
    }
}

/// The decoding, defaults and validation of a kind at one version.
pub(crate) trait Kind: Send + Sync {
    /// Decodes the object of a request. The error is that of the decoder of the API server, without context.
    fn decode(&self, object: &Value) -> Result<Decoded, String>;

    /// Decodes what a strategic merge patch made of an object, as the converter of unstructured objects does.
    fn decode_patched(&self, object: &Value) -> Result<Decoded, String> {
        self.decode(object)
    }

    /// Why the configuration of an apply cannot be converted to the type of the kind, although it fits the schema: a
    /// quantity, a time or a base64 string that is malformed.
    fn malformed(&self, config: &Value) -> Option<String>;

    /// Whether the document of a request has an empty list or map that raises the generation: a few kinds compare it with
    /// an absent one, which is what the store returns for it.
    fn sees_empty(&self, _document: &Value) -> bool {
        false
    }

    /// Fills in the defaults of a decoded object.
    fn defaulted(&self, object: &Value) -> Value;

    /// The stored object at the version of the kind, decoded and with defaults.
    fn read(&self, stored: &Value) -> Value;

    /// The object of an answer: what is read back after the object was stored.
    fn stored(&self, object: &Value) -> Value;

    /// Whether managed fields of a version can be converted, or are dropped if they cannot. Otherwise the server keeps no
    /// record of a request that has such entries.
    fn tracks(&self, api_version: &str) -> bool;

    /// Drops what a client cannot set when it creates an object, and sets the generation.
    fn prepare_create(&self, object: &Value) -> Value;

    /// Keeps what a request to the subresource cannot change, and raises the generation.
    fn prepare_update(&self, subresource: Subresource, object: &Value, live: &Value, now: Time) -> Value;

    /// Whether an update that changes nothing at the version of the request changes the object at the version at which it is
    /// stored, so that the generation rises: the conversion back gives another spec.
    fn changes_stored(&self, _stored: &Value, _object: &Value) -> bool {
        false
    }

    /// The status, at the version at which objects are stored, of an object that a request made. `None` if the status of the
    /// defaulted object is converted to the same. `sources` is what the request made the object from: a field that none of
    /// them has is of the defaults.
    fn stored_status(&self, _object: &Value, _sources: &[&Value]) -> Option<Value> {
        None
    }

    /// Why the allocators of the server refuse an updated object with the code 500, before it is validated.
    fn allocation_fault(&self, _object: &Value) -> Option<String> {
        None
    }

    /// The name of a new object that has neither a name nor the base of one.
    fn default_name<'u>(&self, _uid: &'u str) -> Option<&'u str> {
        None
    }

    /// What validation finds in a new object.
    fn validate_create(&self, object: &Value) -> Checked;

    /// What validation finds in an update.
    fn validate_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Checked;

    /// The faults of unions in a new or changed object. An API server without unions finds none.
    fn union_faults(&self, _object: &Value, _live: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// The warning of each request to the version; `None` if it is not deprecated.
    fn deprecation(&self) -> Option<&str>;

    /// The warnings about a new or changed object.
    fn warnings(&self, subresource: Subresource, object: &Value, live: Option<&Value>) -> Vec<String>;

    /// Whether an update needs no `resourceVersion`.
    fn allows_unconditional_update(&self) -> bool;

    /// Whether an update creates an object that does not exist.
    fn allows_create_on_update(&self) -> bool;

    /// Whether objects are decoded into Go types.
    fn is_builtin(&self) -> bool;

    /// Why the decoder refuses an object that names no kind; `None` if the kind is that of the resource then.
    fn missing_kind(&self, object: &Value) -> Option<String>;

    /// Why the decoder refuses an object that names a kind; `None` if it does not.
    fn refuses(&self, declared: &GroupVersionKind) -> Option<String>;
}

/// The faults of strict field validation for the paths of unknown fields.
pub(crate) fn unknown_fields(paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("unknown field {}", quoted(path))).collect()
}
