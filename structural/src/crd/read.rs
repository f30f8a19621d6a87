//! Reads a custom resource definition from a document.

use fieldmanager_value::{List, Map, Str, Value};

use super::{CrdError, CustomResource, Names, ScalePaths, Scope, Version};
use crate::internal::ObjectExt as _;
use crate::{FieldError, FieldErrorKind, FieldPath};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "CustomResourceDefinition";

/// Whether a document declares itself a custom resource definition of any version of `apiextensions.k8s.io`.
///
/// ```
/// use fieldmanager_structural::internal::is_definition;
/// use fieldmanager_value::Value;
/// let kind = "kind: CustomResourceDefinition";
/// assert!(is_definition(&Value::from_yaml(&format!("{{apiVersion: apiextensions.k8s.io/v1beta1, {kind}}}"))?));
/// assert!(!is_definition(&Value::from_yaml(&format!("{{apiVersion: v1, {kind}}}"))?));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn is_definition(document: &Value) -> bool {
    document
        .complete_kind()
        .is_some_and(|kind| kind.group == "apiextensions.k8s.io" && kind.kind == KIND)
}

impl CustomResource {
    /// Reads a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`. Fields that do not describe objects, such as
    /// printer columns, are ignored. Null is equivalent to absent.
    ///
    /// This does not check the rules for schemas: see [`violations`](Self::violations).
    ///
    /// # Errors
    ///
    /// [`CrdError::NotCrd`], and [`CrdError::Fields`] with every field that is missing or has a wrong value.
    ///
    /// ```
    /// use fieldmanager_structural::crd::{CustomResource, Scope};
    /// use fieldmanager_value::Value;
    /// let shop = CustomResource::from_value(&Value::from_yaml("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: example.com
    ///   names: {kind: Shop, plural: shops}
    ///   scope: Cluster
    ///   versions:
    ///   - name: v1
    ///     served: true
    ///     storage: true
    ///     subresources:
    ///       scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    /// ")?)?;
    /// assert_eq!((shop.scope, shop.names.list_kind.as_str()), (Scope::Cluster, "ShopList"));
    /// let scale = shop.version("v1")?.scale.as_ref();
    /// assert_eq!(scale.map(|scale| scale.spec_replicas.as_str()), Some(".spec.replicas"));
    /// assert_eq!(
    ///     shop.version("v2").unwrap_err().to_string(),
    ///     "there is no version `v2`: the only one is v1",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(document: &Value) -> Result<Self, CrdError> {
        // Another object would have most fields missing, so its kind is reported instead of them.
        match document.complete_kind() {
            Some(kind) if kind.api_version() == API_VERSION && kind.kind == KIND => {}
            Some(kind) => {
                let found = format!("{} of {}", kind.kind, kind.api_version());
                return Err(CrdError::NotCrd { found });
            }
            None => {
                return Err(CrdError::NotCrd {
                    found: format!("a {} without apiVersion and kind", document.kind()),
                });
            }
        }

        // Faults are collected, so that one error names all fields that cannot be read.
        let mut reader = Reader::default();
        let path = FieldPath::root("spec");
        let empty = Map::new();
        let spec = reader.map(
            document.as_map().unwrap_or(&empty),
            "spec",
            &FieldPath::default(),
            true,
        );
        let read = spec.map(|spec| CustomResource {
            group: reader.name(spec, "group", &path),
            names: reader.names(spec, &path),
            scope: reader.scope(spec, &path),
            preserve_unknown_fields: reader.flag(spec, "preserveUnknownFields", &path),
            versions: reader.versions(spec, &path),
            converts_by_webhook: spec
                .get("conversion")
                .and_then(|conversion| conversion.get("strategy")?.as_str())
                == Some("Webhook"),
        });

        match read {
            Some(read) if reader.errors.is_empty() => Ok(read),
            _ => Err(CrdError::Fields(reader.errors)),
        }
    }
}

/// Reads fields and collects their faults.
#[derive(Default)]
struct Reader {
    errors: Vec<FieldError>,
}

impl Reader {
    fn wrong_type(&mut self, path: FieldPath, value: &Value, expected: &str) {
        self.errors.push(FieldError {
            path,
            kind: FieldErrorKind::TypeInvalid,
            value: Some(value.clone()),
            detail: format!("expected {expected}, got {}", value.kind()),
        });
    }

    fn map<'v>(
        &mut self,
        of: &'v Map,
        name: &str,
        path: &FieldPath,
        required: bool,
    ) -> Option<&'v Map> {
        match of.get(name) {
            Some(Value::Map(map)) => return Some(map),
            None | Some(Value::Null) if required => {
                self.errors.push(FieldError::required(path.child(name), ""));
            }
            None | Some(Value::Null) => {}
            Some(other) => self.wrong_type(path.child(name), other, "map"),
        }
        None
    }

    fn list<'v>(&mut self, of: &'v Map, name: &str, path: &FieldPath) -> Option<&'v List> {
        match of.get(name) {
            Some(Value::List(list)) => return Some(list),
            None | Some(Value::Null) => {}
            Some(other) => self.wrong_type(path.child(name), other, "list"),
        }
        None
    }

    fn flag(&mut self, of: &Map, name: &str, path: &FieldPath) -> bool {
        match of.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.wrong_type(path.child(name), other, "boolean");
                false
            }
        }
    }

    /// Reads a string. An empty string is equivalent to an absent one.
    fn text(&mut self, of: &Map, name: &str, path: &FieldPath) -> Option<Str> {
        match of.get(name) {
            Some(Value::String(text)) => {
                return Some(text.into()).filter(|text: &Str| !text.is_empty());
            }
            None | Some(Value::Null) => {}
            Some(other) => self.wrong_type(path.child(name), other, "string"),
        }
        None
    }

    /// Reads a required string. If it is missing, adds an error and returns an empty string.
    fn name(&mut self, of: &Map, name: &str, path: &FieldPath) -> Str {
        // A value of a wrong type is reported by `text` already, so it is not reported as missing too.
        let before = self.errors.len();
        match self.text(of, name, path) {
            Some(text) => text,
            None => {
                if self.errors.len() == before {
                    self.errors.push(FieldError::required(path.child(name), ""));
                }
                Str::default()
            }
        }
    }

    fn texts(&mut self, of: &Map, name: &str, path: &FieldPath) -> Vec<Str> {
        let mut out = Vec::new();
        for (at, item) in self
            .list(of, name, path)
            .into_iter()
            .flat_map(List::iter)
            .enumerate()
        {
            match item {
                Value::String(text) => out.push(text.into()),
                other => self.wrong_type(path.child(name).index(at), other, "string"),
            }
        }

        out
    }

    fn names(&mut self, spec: &Map, path: &FieldPath) -> Names {
        let empty = Map::new();
        let found = self.map(spec, "names", path, true);
        let (names, path) = (found.unwrap_or(&empty), path.child("names"));
        if found.is_none() {
            // One error is enough if the whole map is missing.
            return Names::default();
        }

        // The API server fills in these names when a definition is created, so a manifest may omit them.
        let kind = self.name(names, "kind", &path);
        let singular = self.text(names, "singular", &path);
        let list_kind = self.text(names, "listKind", &path);
        Names {
            plural: self.name(names, "plural", &path),
            singular: singular.unwrap_or_else(|| kind.to_lowercase().into()),
            list_kind: list_kind.unwrap_or_else(|| format!("{kind}List").into()),
            kind,
            short_names: self.texts(names, "shortNames", &path),
            categories: self.texts(names, "categories", &path),
        }
    }

    fn scope(&mut self, spec: &Map, path: &FieldPath) -> Scope {
        let scope = self.name(spec, "scope", path);
        match scope.as_str() {
            "Cluster" => return Scope::Cluster,
            "Namespaced" | "" => {}
            other => {
                let error = FieldError::not_supported(
                    path.child("scope"),
                    other,
                    &["Cluster", "Namespaced"],
                );
                self.errors.push(error);
            }
        }

        Scope::Namespaced
    }

    fn versions(&mut self, spec: &Map, path: &FieldPath) -> Vec<Version> {
        let before = self.errors.len();
        let path = path.child("versions");
        let list = self.list(spec, "versions", &FieldPath::root("spec"));
        let mut out: Vec<Version> = Vec::new();
        for (at, item) in list.into_iter().flat_map(List::iter).enumerate() {
            let path = path.index(at);
            let Value::Map(item) = item else {
                self.wrong_type(path, item, "map");
                continue;
            };
            let version = self.one_version(item, &path);

            // A missing name is reported as such, so two of them are not duplicates.
            if !version.name.is_empty() && out.iter().any(|other| other.name == version.name) {
                self.errors.push(FieldError::duplicate(
                    path.child("name"),
                    version.name.clone(),
                ));
            }
            out.push(version);
        }

        // A list of a wrong type has an error already, so it is not reported as missing.
        if out.is_empty() && self.errors.len() == before {
            self.errors
                .push(FieldError::required(path, "a list of versions"));
        }
        out
    }

    fn one_version(&mut self, version: &Map, path: &FieldPath) -> Version {
        let schema = self
            .map(version, "schema", path, false)
            .and_then(|schema| self.map(schema, "openAPIV3Schema", &path.child("schema"), false));
        let subresources = self.map(version, "subresources", path, false);
        let sub_path = path.child("subresources");
        let status = subresources.is_some_and(|subresources| {
            self.map(subresources, "status", &sub_path, false).is_some()
        });
        let scale =
            subresources.and_then(|subresources| self.map(subresources, "scale", &sub_path, false));

        Version {
            name: self.name(version, "name", path),
            served: self.flag(version, "served", path),
            storage: self.flag(version, "storage", path),
            deprecated: self.flag(version, "deprecated", path),
            deprecation_warning: self.text(version, "deprecationWarning", path),
            schema: schema.map(|schema| Value::Map(schema.clone())),
            status,
            scale: scale.map(|scale| self.scale(scale, &sub_path.child("scale"))),
        }
    }

    fn scale(&mut self, scale: &Map, path: &FieldPath) -> ScalePaths {
        ScalePaths {
            spec_replicas: self.name(scale, "specReplicasPath", path),
            status_replicas: self.name(scale, "statusReplicasPath", path),
            label_selector: self.text(scale, "labelSelectorPath", path),
        }
    }
}
