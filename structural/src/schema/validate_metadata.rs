//! Validates the identity and the metadata of resources.

use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::trail::Trail;
use super::walk::check;
use super::{Error, Structural, object_meta};
use crate::{FieldError, FieldPath, dns, validate_managed_fields};

/// The maximum total size of annotations, keys and values together.
const ANNOTATIONS: usize = 256 * 1024;

impl Structural {
    /// The faults of `apiVersion`, `kind` and `metadata` of the embedded resources in the object, as reported by
    /// `Validate` in `schema/objectmeta` of the API server. With `is_resource_root`, the object itself is a resource.
    /// `path` is the path of the object.
    ///
    /// `apiVersion` and `kind` are required and must have valid syntax. `metadata` is validated as for an object that
    /// is created, except that a name is not required.
    ///
    /// Errors are in the order of the object; those of the API server are in random order.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let object = Value::from_yaml("{kind: Shop, metadata: {name: a/b}}")?;
    /// let errors = Structural::default().validate_metadata(&FieldPath::empty(), &object, true)?;
    /// let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    /// assert_eq!(
    ///     errors,
    ///     ["apiVersion: Required value", r#"metadata.name: Invalid value: "a/b": may not contain '/'"#]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_metadata(
        &self,
        path: &FieldPath,
        object: &Value,
        is_resource_root: bool,
    ) -> Result<Vec<FieldError>, Error> {
        let mut errors = Vec::new();
        let is_resource = is_resource_root || self.extensions.embedded_resource;
        value(object, self, is_resource, &Trail::Root(path), 0, &mut errors)?;
        Ok(errors)
    }
}

fn value(
    object: &Value,
    schema: &Structural,
    is_resource: bool,
    trail: &Trail<'_>,
    depth: usize,
    errors: &mut Vec<FieldError>,
) -> Result<(), Error> {
    level(|| {
        if let (Value::Map(map), true) = (object, is_resource) {
            resource(map, trail, errors);
        }
        let mut below = |found: &Value, schema: &Structural, trail: &Trail<'_>| {
            value(found, schema, schema.extensions.embedded_resource, trail, depth + 1, errors)
        };
        match object {
            Value::Map(map) => {
                check(depth)?;
                for (name, found) in map {
                    if let Some(property) = schema.properties.get(name.as_str()) {
                        below(found, property, &Trail::Child(trail, name))?;
                    } else if let Some(schema) = schema.field(name).schema() {
                        below(found, schema, &Trail::Key(trail, name))?;
                    }
                }
            }
            Value::List(list) => {
                check(depth)?;
                if let Some(items) = &schema.items {
                    for (at, item) in list.iter().enumerate() {
                        below(item, items, &Trail::Index(trail, at))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })
}

fn resource(map: &Map, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = || trail.at(name);
        match map.get(name) {
            None => errors.push(FieldError::required(path(), "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(path(), "", "must not be empty"));
            }
            Some(Value::String(text)) => {
                let fault = if name == "kind" { kind(text) } else { group_version(text) };
                errors.extend(fault.map(|fault| FieldError::invalid(path(), text.clone(), fault)));
            }
            Some(other) => errors.push(FieldError::invalid(path(), other.clone(), "must be a string")),
        }
    }
    if let Some(metadata) = map.get("metadata") {
        let trail = Trail::Child(trail, "metadata");
        match object_meta::decode(metadata) {
            Err(fault) => errors.push(FieldError::invalid(trail.path(), metadata.clone(), fault)),
            Ok(decoded) => {
                let decoded = decoded.edit.as_ref().unwrap_or(metadata);
                Metadata { map: decoded, trail: &trail, errors }.check();
            }
        }
    }
}

fn kind(text: &str) -> Option<String> {
    let faults = dns::label_1035(&text.to_lowercase());
    let fault = || format!("may have mixed case, but should otherwise match: {}", faults.join(","));
    (!faults.is_empty()).then(fault)
}

fn group_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

/// Decoded metadata, whose values have the right types.
struct Metadata<'a> {
    map: &'a Value,
    trail: &'a Trail<'a>,
    errors: &'a mut Vec<FieldError>,
}

impl Metadata<'_> {
    fn check(&mut self) {
        self.names();
        if let Some(generation) =
            self.map.get("generation").filter(|value| value.as_i64().is_some_and(|i| i < 0))
        {
            self.invalid("generation", generation.clone(), "must be greater than or equal to 0".to_owned());
        }
        for (key, value) in texts(self.map.get("labels")) {
            for fault in dns::qualified_name(key) {
                self.invalid("labels", key.into(), fault);
            }
            for fault in dns::label_value(value) {
                self.invalid("labels", value.into(), fault);
            }
        }
        let mut size = 0;
        for (key, value) in texts(self.map.get("annotations")) {
            size += key.len() + value.len();
            for fault in dns::qualified_name(&key.to_lowercase()) {
                self.invalid("annotations", key.into(), fault);
            }
        }
        if size > ANNOTATIONS {
            self.errors.push(FieldError::too_long(self.trail.at("annotations"), ANNOTATIONS));
        }
        self.owners();
        self.finalizers();
        let entries = self.map.get("managedFields");
        self.errors.extend(validate_managed_fields(entries, &self.trail.at("managedFields")));
    }

    fn invalid(&mut self, name: &str, value: Value, fault: String) {
        self.errors.push(FieldError::invalid(self.trail.at(name), value, fault));
    }

    fn names(&mut self) {
        for (name, is_prefix) in [("generateName", true), ("name", false)] {
            let Some(text) = self.map.get(name).and_then(Value::as_str) else { continue };
            for fault in dns::path_segment(text, is_prefix) {
                self.invalid(name, text.into(), fault);
            }
        }
        if let Some(namespace) = self.map.get("namespace").and_then(Value::as_str) {
            for fault in dns::label_1123(namespace) {
                self.invalid("namespace", namespace.into(), fault);
            }
        }
    }

    fn owners(&mut self) {
        let list = self.map.get("ownerReferences");
        let here = Trail::Child(self.trail, "ownerReferences");
        let mut controller: Option<String> = None;
        for (at, owner) in list.and_then(Value::as_list).into_iter().flatten().enumerate() {
            let here = Trail::Index(&here, at);
            let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
            let api_version = text("apiVersion");
            for name in ["apiVersion", "kind", "name", "uid"] {
                if text(name).is_empty() {
                    self.errors.push(FieldError::required(here.at(name), "must not be empty"));
                }
            }
            let version = api_version.rsplit('/').next().unwrap_or_default();
            if !api_version.is_empty() && (group_version(api_version).is_some() || version.is_empty()) {
                let detail = "must be <group>/<version> or <version>";
                self.errors.push(FieldError::invalid(here.at("apiVersion"), api_version, detail));
            }
            if matches!(api_version, "v1" | "/v1") && text("kind") == "Event" {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                self.errors.push(FieldError::invalid(here.path(), owner.clone(), detail));
            }
            if owner.get("controller") == Some(&Value::Bool(true)) {
                let this = format!("{}/{}", text("kind"), text("name"));
                match &controller {
                    None => controller = Some(this),
                    Some(first) => {
                        let detail = format!(
                            "Only one reference can have Controller set to true. Found \"true\" in references for \
                             {first} and {this}"
                        );
                        self.invalid("ownerReferences", list.cloned().unwrap_or_default(), detail);
                    }
                }
            }
        }
    }

    fn finalizers(&mut self) {
        let Some(list) = self.map.get("finalizers") else { return };
        let (mut orphans, mut deletes) = (false, false);
        for finalizer in list.as_list().into_iter().flatten().filter_map(Value::as_str) {
            orphans |= finalizer == "orphan";
            deletes |= finalizer == "foregroundDeletion";
            for fault in dns::qualified_name(finalizer) {
                self.invalid("finalizers", finalizer.into(), fault);
            }
        }
        if orphans && deletes {
            let detail = "finalizer orphan and foregroundDeletion cannot be both set".to_owned();
            self.invalid("finalizers", list.clone(), detail);
        }
    }
}

fn texts(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let map = map.and_then(Value::as_map);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}
