//! Checks `metadata`, of an object at the root or embedded in another one.

use std::collections::BTreeSet;

use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::internal::{Escape, write_json, write_string};
use fieldmanager_value::{Map, Value};

use super::trail::Trail;
use crate::{FieldError, FieldErrorKind, FieldPath, dns, validate_managed_fields};

/// The maximum total size of annotations, keys and values together.
const ANNOTATIONS: usize = 256 * 1024;

/// The detail of an error about a field that was changed and must not be.
const IMMUTABLE: &str = "field is immutable";

/// The syntax of the name of an object, which depends on its kind.
///
/// ```
/// use fieldmanager_structural::internal::NameSyntax;
/// assert!(NameSyntax::PathSegment.faults("A b", false).is_empty());
/// assert!(NameSyntax::Subdomain.faults("a.b", false).is_empty());
/// assert_eq!(NameSyntax::Label.faults("a.b", false), ["must not contain dots"]);
/// assert!(NameSyntax::Label.faults("a-", true).is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSyntax {
    /// Anything that a URL path can have as a segment.
    PathSegment,
    /// A subdomain of RFC 1123.
    Subdomain,
    /// A label of RFC 1123.
    Label,
    /// A label of RFC 1035.
    Label1035,
}

impl NameSyntax {
    /// The faults of a name, or with `is_prefix`, of a prefix to which the API server appends characters.
    pub fn faults(self, name: &str, is_prefix: bool) -> Vec<String> {
        // As in the API server, the last two characters of a prefix that ends in a dash are replaced.
        let masked = match name
            .strip_suffix('-')
            .map(|rest| (rest, rest.chars().next_back()))
        {
            Some((rest, Some(last))) if is_prefix => {
                let kept = rest.get(..rest.len() - last.len_utf8()).unwrap_or_default();
                Some(format!("{kept}a"))
            }
            _ => None,
        };
        let masked = masked.as_deref().unwrap_or(name);

        match self {
            NameSyntax::PathSegment => dns::path_segment(name, is_prefix),
            NameSyntax::Subdomain => dns::subdomain_1123(masked),
            NameSyntax::Label => dns::label_1123(masked),
            NameSyntax::Label1035 => dns::label_1035(masked),
        }
    }
}

/// The faults of the metadata of an object that is created. `metadata` was decoded, so its values have the types of
/// `ObjectMeta`; `path` is its path.
///
/// Behaviour: `ValidateObjectMetaAccessor` of `k8s.io/apimachinery/pkg/api/validation`. Labels and annotations are
/// checked in the order of their names; the order of the API server is random.
///
/// ```
/// use fieldmanager_structural::FieldPath;
/// use fieldmanager_structural::internal::{NameSyntax, validate_object_meta};
/// use fieldmanager_value::Value;
/// let metadata = Value::from_yaml("{namespace: n}")?;
/// let path = FieldPath::root("metadata");
/// let errors = validate_object_meta(Some(&metadata), true, NameSyntax::Subdomain, &path);
/// assert_eq!(errors[0].to_string(), "metadata.name: Required value: name or generateName is required");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_object_meta(
    metadata: Option<&Value>,
    is_namespaced: bool,
    syntax: NameSyntax,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::Map(Map::new());
    let metadata = metadata.unwrap_or(&empty);
    MetadataCheck {
        metadata,
        trail: &Trail::Root(path),
        errors: &mut errors,
    }
    .created(is_namespaced, syntax);
    errors
}

/// The faults of the metadata of an object that replaces another one. Both were decoded.
///
/// Behaviour: `ValidateObjectMetaAccessorUpdate` of `k8s.io/apimachinery/pkg/api/validation`.
///
/// ```
/// use fieldmanager_structural::FieldPath;
/// use fieldmanager_structural::internal::validate_object_meta_update;
/// use fieldmanager_value::Value;
/// let old = Value::from_yaml("{name: a, resourceVersion: '1', uid: x}")?;
/// let new = Value::from_yaml("{name: a, resourceVersion: '1', uid: z}")?;
/// let errors = validate_object_meta_update(Some(&new), Some(&old), &FieldPath::root("metadata"));
/// assert_eq!(errors[0].to_string(), r#"metadata.uid: Invalid value: "z": field is immutable"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_object_meta_update(
    metadata: Option<&Value>,
    old: Option<&Value>,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::Map(Map::new());
    let (metadata, old) = (metadata.unwrap_or(&empty), old.unwrap_or(&empty));
    MetadataCheck {
        metadata,
        trail: &Trail::Root(path),
        errors: &mut errors,
    }
    .updated(old);
    errors
}

/// The warnings about the finalizers of an object that the old object does not have.
///
/// Behaviour: `WarningsOnCreate` and `WarningsOnUpdate` of `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.
///
/// ```
/// use fieldmanager_structural::internal::finalizer_warnings;
/// use fieldmanager_value::Value;
/// let metadata = Value::from_yaml("{finalizers: [a, orphan, example.com/b]}")?;
/// assert_eq!(finalizer_warnings(Some(&metadata), None), [
///     "metadata.finalizers: \"a\": prefer a domain-qualified finalizer name to avoid accidental conflicts with \
///      other finalizer writers"
/// ]);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn finalizer_warnings(metadata: Option<&Value>, old: Option<&Value>) -> Vec<String> {
    let old: BTreeSet<&str> = finalizers(old).collect();
    let added: BTreeSet<&str> = finalizers(metadata)
        .filter(|name| !old.contains(name))
        .collect();
    let mut out = Vec::new();

    // Only new finalizers are reported, since the others were reported when they were added.
    for name in added {
        let quoted = quote(name);
        for fault in dns::qualified_name(name) {
            out.push(format!("metadata.finalizers: {quoted}: {fault}"));
        }
        if !name.contains('/') && !matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
            let path = if name.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            out.push(format!(
                "metadata.finalizers: {quoted}: prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            ));
        }
    }

    out
}

fn finalizers(metadata: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = metadata
        .and_then(|metadata| metadata.get("finalizers"))
        .and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn group_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

/// A check of decoded metadata, whose values have the right types.
pub(super) struct MetadataCheck<'a> {
    pub(super) metadata: &'a Value,
    pub(super) trail: &'a Trail<'a>,
    pub(super) errors: &'a mut Vec<FieldError>,
}

impl<'a> MetadataCheck<'a> {
    /// Checks the metadata of an embedded resource.
    pub(super) fn embedded(&mut self) {
        for (name, is_prefix) in [("generateName", true), ("name", false)] {
            let Some(text) = self.text(name) else {
                continue;
            };
            self.name(name, text, NameSyntax::PathSegment, is_prefix);
        }

        if let Some(namespace) = self.text("namespace") {
            self.name("namespace", namespace, NameSyntax::Label, false);
        }
        self.generation();
        self.labels_and_annotations();
        self.owners();
        self.finalizers();
        self.managed_fields();
    }

    /// Checks the metadata of an object that is created.
    fn created(&mut self, is_namespaced: bool, syntax: NameSyntax) {
        if let Some(prefix) = self.text("generateName") {
            self.name("generateName", prefix, syntax, true);
        }
        // The name is generated from `generateName` before this check, so it must be there.
        match self.text("name") {
            Some(name) => self.name("name", name, syntax, false),
            None => {
                let detail = "name or generateName is required";
                self.errors
                    .push(FieldError::required(self.trail.at("name"), detail));
            }
        }

        match self.text("namespace") {
            Some(namespace) if is_namespaced => {
                self.name("namespace", namespace, NameSyntax::Label, false)
            }
            None if is_namespaced => self
                .errors
                .push(FieldError::required(self.trail.at("namespace"), "")),
            Some(_) => {
                let detail = "not allowed on this type";
                self.errors
                    .push(FieldError::forbidden(self.trail.at("namespace"), detail));
            }
            None => {}
        }

        self.generation();
        self.labels_and_annotations();
        self.owners();
        self.finalizers();
        self.managed_fields();
    }

    /// Checks the metadata of an object that replaces one with the metadata `old`.
    fn updated(&mut self, old: &Value) {
        // An object that is being deleted waits for its finalizers, so none may be added.
        if old
            .get("deletionTimestamp")
            .is_some_and(|time| !time.is_null())
        {
            let known: BTreeSet<&str> = finalizers(Some(old)).collect();
            let added: BTreeSet<&str> = finalizers(Some(self.metadata))
                .filter(|name| !known.contains(name))
                .collect();
            if !added.is_empty() {
                let names: Vec<String> = added.into_iter().map(quote).collect();
                let detail = format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{}}}",
                    names.join(", ")
                );
                self.errors
                    .push(FieldError::forbidden(self.trail.at("finalizers"), detail));
            }
        }

        // Without it, an update could overwrite a change that its client did not see.
        if self.text("resourceVersion").is_none() {
            self.invalid(
                "resourceVersion",
                "".into(),
                "must be specified for an update".to_owned(),
            );
        }

        self.generation();
        // Controllers compare the generation with the one that they observed, so it never decreases.
        let generation = |metadata: &Value| {
            metadata
                .get("generation")
                .and_then(Value::as_i64)
                .unwrap_or(0)
        };
        if generation(self.metadata) < generation(old) {
            let detail = "must not be decremented".to_owned();
            self.invalid("generation", generation(self.metadata).into(), detail);
        }

        // These identify the object: with another value, it would be another object. An absent string is an empty one.
        for name in ["name", "namespace", "uid"] {
            let text = |metadata: &Value| metadata.get(name).cloned().unwrap_or_else(|| "".into());
            if text(self.metadata) != text(old) {
                self.invalid(name, text(self.metadata), IMMUTABLE.to_owned());
            }
        }

        // The API server sets these itself; an absent time or number is null.
        for name in [
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            let value = |metadata: &Value| metadata.get(name).cloned().unwrap_or_default();
            if value(self.metadata) != value(old) {
                self.invalid(name, value(self.metadata), IMMUTABLE.to_owned());
            }
        }

        self.labels_and_annotations();
        self.owners();
        self.managed_fields();
    }

    /// The string in a field, unless it is empty.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.metadata
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    fn name(&mut self, field: &str, name: &str, syntax: NameSyntax, is_prefix: bool) {
        for fault in syntax.faults(name, is_prefix) {
            self.invalid(field, name.into(), fault);
        }
    }

    fn generation(&mut self) {
        let generation = self.metadata.get("generation");
        if let Some(generation) = generation.filter(|value| value.as_i64().is_some_and(|i| i < 0)) {
            self.invalid(
                "generation",
                generation.clone(),
                "must be greater than or equal to 0".to_owned(),
            );
        }
    }

    fn labels_and_annotations(&mut self) {
        for (key, value) in texts(self.metadata.get("labels")) {
            for fault in dns::qualified_name(key) {
                self.invalid("labels", key.into(), fault);
            }
            for fault in dns::label_value(value) {
                self.invalid("labels", value.into(), fault);
            }
        }

        // The value of an annotation may be any text; only the size of all of them is limited.
        let mut size = 0;
        for (key, value) in texts(self.metadata.get("annotations")) {
            size += key.len() + value.len();
            for fault in dns::qualified_name(&key.to_lowercase()) {
                self.invalid("annotations", key.into(), fault);
            }
        }

        if size > ANNOTATIONS {
            self.errors.push(FieldError::too_long(
                self.trail.at("annotations"),
                ANNOTATIONS,
            ));
        }
    }

    fn managed_fields(&mut self) {
        let entries = self.metadata.get("managedFields");
        self.errors.extend(validate_managed_fields(
            entries,
            &self.trail.at("managedFields"),
        ));
    }

    fn invalid(&mut self, name: &str, value: Value, fault: String) {
        self.errors
            .push(FieldError::invalid(self.trail.at(name), value, fault));
    }

    fn owners(&mut self) {
        let list = self.metadata.get("ownerReferences");
        let here = Trail::Child(self.trail, "ownerReferences");
        let mut controller: Option<String> = None;
        for (at, owner) in list
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let here = Trail::Index(&here, at);
            // Absent fields are empty strings, as decoded metadata has them.
            let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
            let api_version = text("apiVersion");
            for name in ["apiVersion", "kind", "name", "uid"] {
                if text(name).is_empty() {
                    self.errors
                        .push(FieldError::required(here.at(name), "must not be empty"));
                }
            }

            // The syntax of an empty `apiVersion` is not checked, since it is reported as missing.
            let version = api_version.rsplit('/').next().unwrap_or_default();
            if !api_version.is_empty()
                && (group_version(api_version).is_some() || version.is_empty())
            {
                let detail = "must be <group>/<version> or <version>";
                self.errors.push(FieldError::invalid(
                    here.at("apiVersion"),
                    api_version,
                    detail,
                ));
            }

            // As in the API server, an Event may not own an object.
            if matches!(api_version, "v1" | "/v1") && text("kind") == "Event" {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                self.errors
                    .push(in_struct_order(here.path(), &owner_json(owner), detail));
            }

            // An object has at most one controller: each further one is a fault that shows the whole list.
            if owner.get("controller") == Some(&Value::Bool(true)) {
                let this = format!("{}/{}", text("kind"), text("name"));
                match &controller {
                    None => controller = Some(this),
                    Some(first) => {
                        let detail = format!(
                            "Only one reference can have Controller set to true. Found \"true\" in references for \
                             {first} and {this}"
                        );
                        let owners = list.and_then(Value::as_list).into_iter().flatten();
                        let owners: Vec<String> = owners.map(owner_json).collect();
                        let json = format!("[{}]", owners.join(","));
                        self.errors.push(in_struct_order(
                            self.trail.at("ownerReferences"),
                            &json,
                            &detail,
                        ));
                    }
                }
            }
        }
    }

    fn finalizers(&mut self) {
        let Some(list) = self.metadata.get("finalizers") else {
            return;
        };
        let (mut orphans, mut deletes) = (false, false);
        for finalizer in list
            .as_list()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            orphans |= finalizer == "orphan";
            deletes |= finalizer == "foregroundDeletion";
            for fault in dns::qualified_name(finalizer) {
                self.invalid("finalizers", finalizer.into(), fault);
            }
        }

        // The two finalizers ask the garbage collector for opposite treatments of dependents.
        if orphans && deletes {
            let detail = "finalizer orphan and foregroundDeletion cannot be both set".to_owned();
            self.invalid("finalizers", list.clone(), detail);
        }
    }
}

fn texts(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let map = map.and_then(Value::as_map);
    map.into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// An owner reference with its fields in the order of the Go struct.
fn owner_json(owner: &Value) -> String {
    let mut out = String::from("{");
    for name in [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ] {
        if let Some(value) = owner.get(name) {
            if out.len() > 1 {
                out.push(',');
            }
            write_string(&mut out, name, Escape::Go);
            out.push(':');
            write_json(value, &mut out, Escape::Go);
        }
    }
    out.push('}');

    out
}

/// An error that shows JSON whose fields are not sorted.
fn in_struct_order(path: FieldPath, json: &str, detail: &str) -> FieldError {
    let kind = FieldErrorKind::Invalid;
    FieldError {
        path,
        kind,
        value: None,
        detail: format!("{json}: {detail}"),
    }
}
