//! Built-in kinds.

use std::collections::BTreeMap;

use fieldmanager_builtin as facts;
use fieldmanager_fieldpath::{ApiVersion, Filter};
use fieldmanager_managedfields::{ConvertError, FieldManager, FieldManagerBuilder, ObjectConverter};
use fieldmanager_openapi::Types;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::{Checked, Decoded, Kind};
use crate::body::fields_of;
use crate::definition;
use crate::request::Subresource;

/// A built-in kind at one version.
#[derive(Clone)]
pub(crate) struct Builtin {
    kind: facts::Kind,
}

impl Builtin {
    /// The facts about a kind; `None` if it is not built in.
    pub(crate) fn of(kind: &GroupVersionKind) -> Option<Self> {
        Some(Builtin { kind: facts::Kind::of(kind)? })
    }

    /// The name of the resource in paths.
    pub(crate) fn plural(&self) -> &'static str {
        self.kind.resource().map_or("", |resource| resource.plural.as_str())
    }

    /// Whether objects are in namespaces.
    pub(crate) fn is_namespaced(&self) -> bool {
        self.kind.resource().is_some_and(|resource| resource.is_namespaced)
    }

    /// Whether the resource has a subresource.
    pub(crate) fn has(&self, subresource: Subresource) -> bool {
        self.kind.resource().is_some_and(|resource| resource.subresource(subresource.segment()).is_some())
    }

    /// The versions of the kind.
    pub(crate) fn versions(&self) -> impl Iterator<Item = ApiVersion> {
        self.kind.versions().map(|kind| ApiVersion::from(kind.gvk().api_version()))
    }

    /// The fields that a request to a subresource resets.
    pub(crate) fn reset_filters(&self, subresource: Subresource) -> BTreeMap<ApiVersion, Filter> {
        self.kind.reset_fields(subresource.segment())
    }

    /// A field manager for a subresource, without reset fields.
    pub(crate) fn field_manager(&self, types: Types, subresource: Subresource) -> FieldManagerBuilder {
        let applied = self.clone();
        FieldManager::builder(self.kind.gvk().clone())
            .types(types)
            .subresource(subresource.segment())
            .empty_object(fields_of(&self.kind.zero()))
            .converter(Versions(self.kind))
            .defaulter(move |object| applied.applied(object))
    }

    /// Whether objects define custom resources.
    fn is_definition(&self) -> bool {
        let gvk = self.kind.gvk();
        gvk.group == "apiextensions.k8s.io" && gvk.kind == "CustomResourceDefinition"
    }

    /// An object that an apply made, in canonical form and with defaults.
    fn applied(&self, object: &Value) -> Value {
        match self.kind.from_unstructured(object) {
            Ok(decoded) => self.defaulted(&decoded.object),
            Err(_) => object.clone(),
        }
    }
}

/// Converts between the versions of a kind.
struct Versions(facts::Kind);

impl ObjectConverter for Versions {
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let missing = |version: &ApiVersion| ConvertError::MissingVersion { version: version.clone() };
        let kind = |api_version: &str| {
            facts::Kind::of(&GroupVersionKind::from_api_version_kind(api_version, &self.0.gvk().kind))
        };
        let from = kind(text("apiVersion")).ok_or_else(|| missing(&text("apiVersion").into()))?;
        let to = kind(version.as_str()).ok_or_else(|| missing(version))?;
        from.convert(object, &to)
            .map_err(|error| ConvertError::Failed { version: version.clone(), message: error.to_string() })
    }
}

impl Kind for Builtin {
    fn decode(&self, object: &Value) -> Result<Decoded, String> {
        let decoded = self.kind.decode(object).map_err(|error| error.to_string())?;
        Ok(Decoded { object: decoded.object, unknown: super::unknown_fields(&decoded.unknown) })
    }

    fn decode_patched(&self, object: &Value) -> Result<Decoded, String> {
        let decoded = self.kind.from_unstructured(object).map_err(|error| error.to_string())?;
        Ok(Decoded { object: decoded.object, unknown: super::unknown_fields(&decoded.unknown) })
    }

    fn defaulted(&self, object: &Value) -> Value {
        facts::defaulted(self.kind.gvk(), object)
    }

    fn read(&self, stored: &Value) -> Value {
        let version = ApiVersion::from(self.kind.gvk().api_version());
        let own = stored.get("apiVersion").and_then(Value::as_str) == Some(version.as_str());
        let object = match own {
            true => stored.clone(),
            false => Versions(self.kind).convert(stored, &version).unwrap_or_else(|_| stored.clone()),
        };
        match self.kind.decode(&object) {
            Ok(decoded) => self.defaulted(&decoded.object),
            Err(_) => object,
        }
    }

    fn stored(&self, object: &Value) -> Value {
        // A status without stored versions gets the default when it is read back.
        match self.is_definition() {
            true => self.defaulted(object),
            false => object.clone(),
        }
    }

    fn tracks(&self, _: &str) -> bool {
        true
    }

    fn prepare_create(&self, object: &Value) -> Value {
        facts::prepare_create(self.kind.gvk(), object)
    }

    fn prepare_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Value {
        facts::prepare_update(self.kind.gvk(), subresource.segment(), object, live)
    }

    fn validate_create(&self, object: &Value) -> Checked {
        let errors = facts::validate_create(self.kind.gvk(), object);
        match self.is_definition() {
            true => definition::validate_create(object, errors),
            false => errors.into(),
        }
    }

    fn validate_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Checked {
        match (self.is_definition(), subresource) {
            (true, Subresource::Status) => definition::validate_status(object, live),
            (true, _) => definition::validate_update(object, live),
            (false, _) => facts::validate_update(self.kind.gvk(), subresource.segment(), object, live).into(),
        }
    }

    fn deprecation(&self) -> Option<&str> {
        // The only deprecated kind that Kubernetes 1.37 serves and that can be written.
        let gvk = self.kind.gvk();
        (gvk.group.is_empty() && &*gvk.kind == "Endpoints")
            .then_some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    fn warnings(&self, subresource: Subresource, object: &Value, live: Option<&Value>) -> Vec<String> {
        if self.is_definition() && subresource == Subresource::Object {
            return definition::warnings(object, live);
        }
        facts::warnings(self.kind.gvk(), object, live)
    }

    fn allows_unconditional_update(&self) -> bool {
        self.kind.resource().is_some_and(|resource| resource.allows_unconditional_update)
    }

    fn allows_create_on_update(&self) -> bool {
        self.kind.resource().is_some_and(|resource| resource.allows_create_on_update)
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn missing_kind(&self, _: &Value) -> Option<String> {
        None
    }

    fn refuses(&self, declared: &GroupVersionKind) -> Option<String> {
        if declared.group == self.kind.gvk().group && declared.kind == self.kind.gvk().kind {
            return match facts::Kind::of(declared) {
                Some(_) => None,
                None => Some(not_registered(declared)),
            };
        }
        Some(match facts::Kind::of(declared) {
            None => not_registered(declared),
            Some(_) => {
                let own = self.kind.gvk();
                format!(
                    "converting ({}.{}) to ({}.{}): unknown conversion",
                    declared.version, declared.kind, own.group, own.kind
                )
            }
        })
    }
}

fn not_registered(kind: &GroupVersionKind) -> String {
    format!(
        "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
        kind.kind,
        kind.api_version()
    )
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Builtin").field(self.kind.gvk()).finish()
    }
}
