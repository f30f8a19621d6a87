//! CustomResourceDefinitions: a built-in kind with validation and storage of its own.

use fieldmanager_builtin as facts;
use fieldmanager_managedfields::Time;
use fieldmanager_structural::{FieldError, GroupVersionKind};
use fieldmanager_value::Value;

use super::builtin::Builtin;
use super::{Checked, Decoded, Kind, unions};
use crate::definition;
use crate::request::Subresource;

/// The kind of definitions. What is not about them is that of any built-in kind.
pub(crate) struct Definition(pub(crate) Builtin);

impl Definition {
    /// Whether objects of a kind define custom resources.
    pub(crate) fn is_of(kind: &GroupVersionKind) -> bool {
        kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
    }
}

impl Kind for Definition {
    fn stored(&self, object: &Value) -> Value {
        // A status without stored versions gets the default when it is read back.
        self.defaulted(object)
    }

    fn prepare_create(&self, object: &Value) -> Value {
        // Definitions are stored as JSON, which keeps empty lists.
        facts::prepare_create(self.0.gvk(), object)
    }

    fn prepare_update(&self, subresource: Subresource, object: &Value, live: &Value, _: Time) -> Value {
        facts::prepare_update(self.0.gvk(), subresource.segment(), object, live)
    }

    fn validate_create(&self, object: &Value) -> Checked {
        definition::validate_create(object, facts::validate_create(self.0.gvk(), object))
    }

    fn validate_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Checked {
        match subresource {
            Subresource::Status => definition::validate_status(object, live),
            _ => definition::validate_update(object, live),
        }
    }

    fn union_faults(&self, object: &Value, live: Option<&Value>) -> Vec<FieldError> {
        unions::declaration_faults(object, live)
    }

    fn warnings(&self, subresource: Subresource, object: &Value, live: Option<&Value>) -> Vec<String> {
        match subresource {
            Subresource::Object => definition::warnings(object, live),
            _ => Vec::new(),
        }
    }

    fn decode(&self, object: &Value) -> Result<Decoded, String> {
        self.0.decode(object)
    }

    fn decode_patched(&self, object: &Value) -> Result<Decoded, String> {
        self.0.decode_patched(object)
    }

    fn malformed(&self, config: &Value) -> Option<String> {
        self.0.malformed(config)
    }

    fn defaulted(&self, object: &Value) -> Value {
        self.0.defaulted(object)
    }

    fn read(&self, stored: &Value) -> Value {
        self.0.read(stored)
    }

    fn tracks(&self, api_version: &str) -> bool {
        self.0.tracks(api_version)
    }

    fn deprecation(&self) -> Option<&str> {
        self.0.deprecation()
    }

    fn allows_unconditional_update(&self) -> bool {
        self.0.allows_unconditional_update()
    }

    fn allows_create_on_update(&self) -> bool {
        self.0.allows_create_on_update()
    }

    fn is_builtin(&self) -> bool {
        self.0.is_builtin()
    }

    fn missing_kind(&self, object: &Value) -> Option<String> {
        self.0.missing_kind(object)
    }

    fn refuses(&self, declared: &GroupVersionKind) -> Option<String> {
        self.0.refuses(declared)
    }
}
