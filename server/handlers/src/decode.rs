//! The object of the body of a create or an update.

use fieldmanager_builtin::ProtobufError;
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::body::{self, Body, Given, Media};
use crate::edited::Edited;
use crate::kind::{Form, Origin};
use crate::metadata;
use crate::part::Part;
use crate::request::FieldValidation;
use crate::state::Write;
use crate::status;
use crate::strict;

impl Write<'_> {
    /// The object of a body, decoded and with defaults.
    pub(crate) fn object_of(&mut self, given: Given<'_>) -> Result<Edited, Status> {
        let Part {
            gvk, kind, policy, ..
        } = self.part;
        let is_map = policy.form == Form::Map;
        let media = Media::of(self.request.content_type, !is_map)?;

        // The scheme of custom resources lacks the kind of the subresource.
        let is_unknown = policy.form != self.resource.object.policy.form;
        let unknown = || {
            let kind = format!("{}.{}", gvk.version, gvk.kind);
            Status::bad_request(format!(
                "no kind is registered for the type {kind} in scheme \"pkg/runtime/scheme.go:111\""
            ))
        };
        let unrecognized = |error: String| {
            if is_unknown {
                return unknown();
            }
            let summary = body::summary(&given.bytes());
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {error} ({summary})",
                gvk.kind
            ))
        };

        let cannot = |declared: &GroupVersionKind, error: &str| {
            if is_unknown {
                return unknown();
            }
            Status::bad_request(format!(
                "{} in version {} cannot be handled as a {}: {error}",
                declared.kind,
                status::quoted(&declared.version),
                gvk.kind
            ))
        };

        // A body that cannot be parsed is quoted in the answer; one whose kind is known is answered by that kind.
        let body = match (given, media) {
            (Given::Object(object), _) => Body::from(object.clone()),
            (Given::Text(bytes), Media::Json) => body::read_json(bytes).map_err(|error| {
                unrecognized(format!(
                    "couldn't get version/kind; json parse error: {error}"
                ))
            })?,
            (Given::Text(bytes), Media::Yaml) => {
                body::read_yaml(bytes).map_err(|error| unrecognized(format!("yaml: {error}")))?
            }
            (Given::Text(bytes), Media::Protobuf) => {
                body::read_protobuf(bytes, gvk).map_err(|error| match &error {
                    ProtobufError::Object { kind, reason } => cannot(kind, reason),
                    ProtobufError::UnknownKind(unknown) => cannot(
                        unknown,
                        &kind.refuses(unknown).unwrap_or_else(|| error.to_string()),
                    ),
                    _ => unrecognized(error.to_string()),
                })?
            }
        };

        let mut declared = body::declared_kind(&body.value, gvk).map_err(unrecognized)?;

        // Evictions are also accepted at the version that is no longer served, which has the same fields.
        if gvk.kind == "Eviction" && declared.kind == "Eviction" && declared.group == gvk.group {
            declared.version = match &*declared.version {
                "v1beta1" => gvk.version.clone(),
                _ => declared.version,
            };
        }

        // Custom resources must name their kind, while built-in kinds take that of the resource.
        if let Some(error) = self.missing_kind(&body, given) {
            return Err(match self.request.validation() {
                FieldValidation::Ignore => Status::bad_request(format!(
                    "{0} in version {1} cannot be handled as a {0}: {error}",
                    gvk.kind,
                    status::quoted(&gvk.version)
                )),
                _ => unrecognized(error),
            });
        }

        // A map is decoded without a default for the version.
        let named = body
            .value
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if is_map && named.is_empty() {
            (declared.group, declared.version) = Default::default();
        }
        if let Some(error) = kind.refuses(&declared) {
            return Err(cannot(&declared, &error));
        }

        if is_map && body.value.get("apiVersion").is_some_and(Value::is_null) {
            return Err(cannot(
                &declared,
                ".apiVersion accessor error: <nil> is of the type <nil>, expected string",
            ));
        }

        let typed = body::with_kind(&body.value, &declared);
        let decoded = kind
            .decode(&typed, Origin::Json)
            .map_err(|error| cannot(&declared, &error))?;

        // The faults of YAML come first and share one text; those of decoding follow one by one.
        let faults = self.strict_faults(&body, decoded.unknown);
        let (yaml, others) = faults.split_at(body.duplicates.len().min(faults.len()));
        self.report_strict(&faults, |_| {
            let yaml = (!yaml.is_empty()).then(|| body::yaml_faults(yaml));
            let all: Vec<String> = yaml.into_iter().chain(others.iter().cloned()).collect();
            cannot(
                &declared,
                &format!("strict decoding error: {}", all.join(", ")),
            )
        })?;

        // The version is compared after decoding: a malformed object of another version is refused for its faults.
        let named = if is_map {
            named.to_owned()
        } else {
            declared.api_version().to_string()
        };

        if named != *gvk.api_version() {
            return Err(Status::bad_request(format!(
                "the API version in the data ({named}) does not match the expected API version ({})",
                gvk.api_version()
            )));
        }
        Ok(self.decoded(&body.value, &decoded.object))
    }

    /// A decoded object with its defaults.
    pub(crate) fn decoded(&self, document: &Value, object: &Value) -> Edited {
        let Part { kind, policy, .. } = self.part;
        let unseen = kind.unseen(document, object, &[object]);
        let defaulted = kind.defaulted(object);
        let object = match policy.form {
            Form::Struct => metadata::with_reset_of(defaulted, document),
            Form::Map => defaulted,
        };

        Edited {
            object,
            unseen,
            keeps_live: false,
        }
    }

    /// Why a custom resource that names no kind is refused, with its text.
    fn missing_kind(&self, body: &Body<'_>, given: Given<'_>) -> Option<String> {
        let error = self.part.kind.missing_kind(&body.value)?;
        match body.json {
            Some(_) => Some(format!(
                "Object 'Kind' is missing in '{}'",
                String::from_utf8_lossy(&given.bytes())
            )),
            None => Some(error),
        }
    }

    /// What strict field validation finds in a body.
    fn strict_faults(&self, body: &Body<'_>, unknown: Vec<String>) -> Vec<String> {
        if self.request.validation() == FieldValidation::Ignore {
            return Vec::new();
        }
        match &body.json {
            // Most bodies have no such fault, and are not walked.
            Some(_) if !body.has_repeats && unknown.is_empty() => unknown,
            Some(text) if self.part.policy.form == Form::Struct => strict::faults(text, &unknown),
            // The unknown fields of custom resources are found after decoding.
            Some(text) => strict::faults(text, &[])
                .into_iter()
                .chain(unknown)
                .collect(),
            None => body.duplicates.iter().cloned().chain(unknown).collect(),
        }
    }
}
