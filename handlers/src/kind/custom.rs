//! Custom resources.

use fieldmanager_structural::crd::{CustomResource, Version};
use fieldmanager_structural::{FieldError, GroupVersionKind};
use fieldmanager_value::{Map, Str, Value};

use super::{Decoded, Kind};
use crate::custom::{Decoder, Validator};
use crate::metadata;
use crate::request::Subresource;

/// A custom resource at one version.
pub(crate) struct Custom {
    decoder: Decoder,
    validator: Validator,
    /// Whether the version has the subresource `status`.
    has_status: bool,
    /// The warning about a deprecated version.
    deprecation: Option<String>,
}

impl Custom {
    /// The kind at a version. The error is a message.
    pub(crate) fn new(definition: &CustomResource, version: &str) -> Result<Self, String> {
        let declared = definition.version(version).map_err(|error| error.to_string())?;
        let decoder = Decoder::new(definition, version).map_err(|error| error.to_string())?;
        let validator = Validator::new(definition, version).map_err(|error| error.to_string())?;
        Ok(Custom {
            decoder,
            validator,
            has_status: declared.status,
            deprecation: deprecation(definition, declared),
        })
    }

    /// An object that an apply made, decoded and with defaults.
    pub(crate) fn applied(&self, object: &Value) -> Value {
        match self.decoder.decode(object) {
            Ok(decoded) => decoded.object,
            // Validation reports the fault.
            Err(_) => object.clone(),
        }
    }
}

impl Kind for Custom {
    fn decode(&self, object: &Value) -> Result<Decoded, String> {
        let decoded = self.decoder.decode(object).map_err(|error| error.to_string())?;
        Ok(Decoded { object: decoded.object, unknown: super::unknown_fields(&decoded.unknown) })
    }

    fn defaulted(&self, object: &Value) -> Value {
        // The decoder fills in defaults.
        object.clone()
    }

    fn read(&self, stored: &Value) -> Value {
        self.decoder.read_stored(stored).unwrap_or_else(|_| stored.clone())
    }

    fn prepare_create(&self, object: &Value) -> Value {
        let object = if self.has_status { with_field(object, "status", None) } else { object.clone() };
        metadata::with_generation(&object, 1)
    }

    fn prepare_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Value {
        if subresource == Subresource::Status {
            return with_status_of(object, live);
        }
        let object = match self.has_status {
            true => with_field(object, "status", live.get("status").cloned()),
            false => object.clone(),
        };
        match same_apart_from_metadata(&object, live) {
            true => object,
            false => metadata::with_generation(&object, metadata::generation(live) + 1),
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        self.validator.validate_create(object)
    }

    fn validate_update(&self, subresource: Subresource, object: &Value, live: &Value) -> Vec<FieldError> {
        match subresource {
            Subresource::Status => self.validator.validate_status_update(object, live),
            _ => self.validator.validate_update(object, live),
        }
    }

    fn warnings(&self, object: &Value, live: Option<&Value>) -> Vec<String> {
        self.validator.warnings(object, live)
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn allows_create_on_update(&self) -> bool {
        false
    }

    fn is_builtin(&self) -> bool {
        false
    }

    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    fn missing_kind(&self, object: &Value) -> Option<String> {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        kind.is_empty().then(|| format!("Object 'Kind' is missing in '{}'", object.to_json()))
    }

    fn refuses(&self, _: &GroupVersionKind) -> Option<String> {
        // Validation reports another kind.
        None
    }
}

/// The warning about a deprecated version, which names the highest version that is not deprecated.
///
/// Behaviour: `defaultDeprecationWarning` of `k8s.io/apiextensions-apiserver/pkg/apiserver`.
fn deprecation(definition: &CustomResource, version: &Version) -> Option<String> {
    if !version.deprecated {
        return None;
    }
    if let Some(text) = &version.deprecation_warning {
        return Some(text.to_string());
    }
    let (group, kind) = (&definition.group, &definition.names.kind);
    let text = format!("{group}/{} {kind} is deprecated", version.name);
    let newer = definition.versions.iter().filter(|other| other.served && !other.deprecated);
    let newer = newer.map(|other| (priority(&other.name), &other.name));
    let newest = newer.filter(|(rank, _)| *rank > priority(&version.name)).max();
    Some(match newest {
        Some((_, name)) => format!("{text}; use {group}/{name} {kind}"),
        None => text,
    })
}

/// The rank of a version: a release is above beta, beta above alpha, and all are above names of another form.
///
/// Behaviour: `CompareKubeAwareVersionStrings` of `k8s.io/apimachinery/pkg/version`.
fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<&str>) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, rest) = rest.split_at_checked(end)?;
        let major: u64 = major.parse().ok()?;
        Some(match rest {
            "" => (3, major, 0),
            _ => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
                (Some(minor), _) => (2, major, minor.parse().ok()?),
                (_, Some(minor)) => (1, major, minor.parse().ok()?),
                _ => return None,
            },
        })
    };
    match parsed() {
        Some((stage, major, minor)) => (stage, major, minor, std::cmp::Reverse("")),
        None => (0, 0, 0, std::cmp::Reverse(version)),
    }
}

fn with_field(object: &Value, name: &str, value: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    if fields.get(name) == value.as_ref() {
        return object.clone();
    }
    Value::Map(fields.with_edits(vec![(Str::from(name), value)]))
}

/// The live object with the status and the managed fields of a request.
///
/// Behaviour: `PrepareForUpdate` of `statusStrategy` in `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.
fn with_status_of(object: &Value, live: &Value) -> Value {
    let new = with_field(live, "status", object.get("status").cloned());
    let managed = metadata::field(object, "managedFields").cloned();
    let version = metadata::field(object, "resourceVersion").cloned();
    metadata::with(&new, vec![("managedFields", managed), ("resourceVersion", version)])
}

fn same_apart_from_metadata(a: &Value, b: &Value) -> bool {
    let rest = |object: &Value| {
        let fields = object.as_map().cloned().unwrap_or_default();
        Map::with_edits(&fields, vec![("metadata".into(), None)])
    };
    rest(a) == rest(b)
}
