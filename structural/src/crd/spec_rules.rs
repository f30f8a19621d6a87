//! The rules for custom resource definitions, and the structural schemas of their versions.

use fieldmanager_value::{Str, Value};

use super::condition::schema_path;
use super::rules;
use super::schema_rules::SchemaRules;
use super::{CrdError, CustomResource, Version};
use crate::{Error, FieldError, FieldPath, Structural, dns};

impl CustomResource {
    /// The structural schema of a version; `None` if the version has no schema. The schema may violate the rules of
    /// structural schemas, which [`violations`](Self::violations) reports.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`], and [`CrdError::Structural`] if the schema has a keyword that structural schemas
    /// do not support, such as `$ref`.
    ///
    /// ```
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let versions = "[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer, default: 1}}}}}}}]";
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// let schema = shop.structural("v1")?.ok_or("it has one")?;
    /// let object = Value::from_yaml("{spec: {size: 7}}")?;
    /// let object = schema.default_object(&schema.prune(&object, true)?.object)?;
    /// assert_eq!(object.to_json(), r#"{"spec":{"replicas":1}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn structural(&self, version: &str) -> Result<Option<Structural>, CrdError> {
        let version = self.version(version)?;
        let Some(schema) = &version.schema else {
            return Ok(None);
        };
        Structural::from_value(schema)
            .map(Some)
            .map_err(|source| CrdError::Structural {
                version: version.name.clone(),
                source,
            })
    }

    /// The errors with which the API server refuses to create the definition, as far as names, versions, subresources
    /// and schemas are concerned. Rules in CEL are not compiled, and defaults are not validated.
    ///
    /// Behaviour: `ValidateCustomResourceDefinition` of
    /// `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation`.
    ///
    /// ```
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
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
    ///     schema:
    ///       openAPIV3Schema:
    ///         type: object
    ///         properties: {owners: {type: array, items: {type: string}, uniqueItems: true}}
    /// ")?)?;
    /// assert_eq!(
    ///     shop.violations()[0].to_string(),
    ///     "spec.versions[0].schema.openAPIV3Schema.properties[owners].uniqueItems: Forbidden: \
    ///      uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn violations(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let spec = FieldPath::root("spec");
        // A group must be a domain with a dot, which its syntax alone does not require.
        if let Some(detail) = subdomain_fault(&self.group) {
            errors.push(FieldError::invalid(
                spec.child("group"),
                self.group.clone(),
                detail,
            ));
        } else if !self.group.contains('.') {
            let detail = "should be a domain with at least one dot";
            errors.push(FieldError::invalid(
                spec.child("group"),
                self.group.clone(),
                detail,
            ));
        }

        // Missing schemas are reported before all other faults of versions.
        for (at, _) in self
            .versions
            .iter()
            .enumerate()
            .filter(|(_, version)| version.schema.is_none())
        {
            errors.push(FieldError::required(schema_path(at), ""));
        }

        for (at, version) in self.versions.iter().enumerate() {
            let path = spec.child("versions").index(at);
            if let Some(detail) = label_fault(&version.name) {
                errors.push(FieldError::invalid(
                    path.child("name"),
                    version.name.clone(),
                    detail,
                ));
            }

            // Whether the version has the subresource `status` decides which keywords its root may have.
            if let Some(schema) = &version.schema {
                schema_violations(schema, &schema_path(at), version.status, &mut errors);
            }
            scale_paths(version, &path.child("subresources"), &mut errors);
        }

        self.storage_version(&spec, &mut errors);
        self.check_names(&spec.child("names"), &mut errors);
        // Defaults need pruning, which the flag turns off. They are a fault besides the flag itself, which a new
        // definition may not set.
        let schemas = || {
            self.versions
                .iter()
                .filter_map(|version| version.schema.as_ref())
        };

        if self.preserve_unknown_fields && schemas().any(rules::has_default) {
            errors.push(FieldError::invalid(
                spec.child("preserveUnknownFields"),
                true,
                "must be false in order to use defaults in the schema",
            ));
        }

        if self.preserve_unknown_fields {
            errors.push(FieldError::invalid(
                spec.child("preserveUnknownFields"),
                true,
                "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
            ));
        }

        errors
    }

    fn storage_version(&self, spec: &FieldPath, errors: &mut Vec<FieldError>) {
        let stored: Vec<Str> = self
            .versions
            .iter()
            .filter(|version| version.storage)
            .map(|version| version.name.clone())
            .collect();

        if stored.len() != 1 {
            let detail = "must have exactly one version marked as storage version";
            errors.push(FieldError::invalid(
                spec.child("versions"),
                Value::from(stored),
                detail,
            ));
        }
    }

    fn check_names(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        let names = &self.names;
        for (field, name) in [("plural", &names.plural), ("singular", &names.singular)] {
            if let Some(detail) = label_fault(name) {
                errors.push(FieldError::invalid(path.child(field), name.clone(), detail));
            }
        }

        // A kind may have mixed case, so its syntax is checked in lower case.
        for (field, name) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
            if let Some(detail) = label_fault(&name.to_lowercase()) {
                let detail = format!("may have mixed case, but should otherwise match: {detail}");
                errors.push(FieldError::invalid(path.child(field), name.clone(), detail));
            }
        }

        // A client distinguishes an object from a list by the kind.
        if names.kind == names.list_kind {
            let detail = "kind and listKind may not be the same";
            errors.push(FieldError::invalid(
                path.child("listKind"),
                names.list_kind.clone(),
                detail,
            ));
        }

        // Short names and categories are used like plural names, so they have the same syntax.
        for (field, list) in [
            ("shortNames", &names.short_names),
            ("categories", &names.categories),
        ] {
            for (at, name) in list.iter().enumerate() {
                if let Some(detail) = label_fault(name) {
                    errors.push(FieldError::invalid(
                        path.child(field).index(at),
                        name.clone(),
                        detail,
                    ));
                }
            }
        }
    }
}

/// Adds the faults of the schema of one version. The error of reading it as a structural schema is added only if no
/// other fault explains it.
fn schema_violations(schema: &Value, path: &FieldPath, status: bool, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    let unreadable = match Structural::from_value(schema) {
        Ok(structural) => {
            errors.extend(structural.validate(path));
            None
        }
        Err(error) => {
            let fault = FieldError::invalid(path.clone(), "", error.to_string());
            // No walk may descend into a schema that nests too deeply.
            if matches!(error, Error::TooDeep) {
                errors.push(fault);
                return;
            }
            Some(fault)
        }
    };

    // An unreadable schema is checked as far as possible: the rules often name the keyword that made it unreadable.
    let rules = SchemaRules {
        beside_status: status,
        is_readable: unreadable.is_none(),
        ..SchemaRules::default()
    };
    errors.extend(rules::check(schema, path, rules));
    if errors.len() == before {
        errors.extend(unreadable);
    }
}

fn scale_paths(version: &Version, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(scale) = &version.scale else {
        return;
    };
    // The scale subresource copies between these paths and fixed fields: the wanted state is in `spec`, the observed
    // one in `status`, and the selector in either.
    let all: [(&str, Option<&Str>, &[&str], &str); 3] = [
        (
            "specReplicasPath",
            Some(&scale.spec_replicas),
            &[".spec."],
            ".spec",
        ),
        (
            "statusReplicasPath",
            Some(&scale.status_replicas),
            &[".status."],
            ".status",
        ),
        (
            "labelSelectorPath",
            scale.label_selector.as_ref(),
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ];

    for (name, found, prefixes, expected) in all {
        let Some(found) = found else {
            continue;
        };
        // Only the beginning of a path is checked here; one fault for each path is enough.
        let detail = if !found.starts_with('.') {
            "must be a simple json path starting with .".to_owned()
        } else if !prefixes.iter().any(|prefix| found.starts_with(prefix)) {
            format!("should be a json path under {expected}")
        } else {
            continue;
        };
        errors.push(FieldError::invalid(
            path.child("scale").child(name),
            found.clone(),
            detail,
        ));
    }
}

/// Why a name is not a label of RFC 1035; `None` if it is.
fn label_fault(name: &str) -> Option<String> {
    joined(dns::label_1035(name))
}

fn joined(faults: Vec<String>) -> Option<String> {
    (!faults.is_empty()).then(|| faults.join(","))
}

/// Why a name is not a subdomain of RFC 1123; `None` if it is.
fn subdomain_fault(name: &str) -> Option<String> {
    joined(dns::subdomain_1123(name))
}
