//! The spec of a definition, with the parts that the internal version has at the top.

use fieldmanager_structural::internal::{
    has_default, has_extension, label_1035, subdomain_1123, version_structs,
};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{List, Map, Value};

use super::ratchet::Ratchet;
use super::schema::SchemaCheck;
use super::{conversion, names, parts, schema, selectable};
use crate::kind::Checked;

/// The members of a version that move to the top if they are equal in all versions.
pub(super) const SHARED: [&str; 4] =
    ["additionalPrinterColumns", "schema", "selectableFields", "subresources"];

/// The spec of a definition.
pub(super) struct Spec<'v> {
    fields: Option<&'v Map>,
    pub(super) versions: Vec<&'v Map>,
    /// The members that are equal in all versions.
    shared: Vec<&'static str>,
}

/// The value of a member unless it is null.
pub(super) fn member<'v>(map: &'v Map, name: &str) -> Option<&'v Value> {
    map.get(name).filter(|value| !value.is_null())
}

/// The string of a member; empty if there is none.
pub(super) fn text<'v>(map: &'v Map, name: &str) -> &'v str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a member is true.
pub(super) fn flag(map: &Map, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

/// The items of a member that are maps.
pub(super) fn maps(value: Option<&Value>) -> impl Iterator<Item = &Map> {
    value.and_then(Value::as_list).into_iter().flat_map(List::iter).filter_map(Value::as_map)
}

impl<'v> Spec<'v> {
    pub(super) fn of(object: &'v Value) -> Self {
        let fields = object.get("spec").and_then(Value::as_map);
        let versions: Vec<&Map> = maps(fields.and_then(|fields| fields.get("versions"))).collect();
        let shared = match versions.split_first() {
            None => Vec::new(),
            Some((first, others)) => {
                let is_shared =
                    |name: &&str| others.iter().all(|version| member(version, name) == member(first, name));
                SHARED.into_iter().filter(is_shared).collect()
            }
        };
        Spec { fields, versions, shared }
    }

    /// The string of a member.
    pub(super) fn text(&self, name: &str) -> &'v str {
        self.fields.map_or("", |fields| text(fields, name))
    }

    /// A member that is a map.
    pub(super) fn map(&self, name: &str) -> Option<&'v Map> {
        self.fields.and_then(|fields| fields.get(name)).and_then(Value::as_map)
    }

    /// One of the names.
    pub(super) fn name(&self, name: &str) -> &'v str {
        self.map("names").map_or("", |names| text(names, name))
    }

    pub(super) fn preserves_unknown_fields(&self) -> bool {
        self.fields.is_some_and(|fields| flag(fields, "preserveUnknownFields"))
    }

    /// A member that all versions share.
    pub(super) fn top(&self, name: &str) -> Option<&'v Value> {
        let is_shared = self.shared.iter().any(|shared| *shared == name);
        self.versions.first().filter(|_| is_shared).and_then(|version| member(version, name))
    }

    /// A member of a version that not all versions share.
    pub(super) fn own(&self, version: &'v Map, name: &str) -> Option<&'v Value> {
        let is_shared = self.shared.iter().any(|shared| *shared == name);
        member(version, name).filter(|_| !is_shared)
    }

    /// The schemas of all versions.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'v Value> {
        let shared = self.top("schema").and_then(open_api);
        let own = self.versions.iter().filter_map(|version| self.own(version, "schema").and_then(open_api));
        shared.into_iter().chain(own)
    }

    /// The faults of the spec.
    pub(super) fn validate(&self, ratchet: &Ratchet, out: &mut Checked) {
        let path = FieldPath::root("spec");
        self.group(&path, &mut out.errors);
        self.scope(&path, &mut out.errors);
        let prunes = !self.preserves_unknown_fields();
        self.missing_schemas(&path.child("versions"), ratchet.schemas, prunes, &mut out.errors);
        let has_defaults = self.schemas().any(has_default);
        if has_defaults && !prunes {
            out.errors.push(FieldError::invalid(
                path.child("preserveUnknownFields"),
                true,
                "must be false in order to use defaults in the schema",
            ));
        }
        let is_structural = ratchet.structural || prunes || has_defaults || self.schemas().any(has_extension);
        let check = SchemaCheck { ratchet, is_structural };
        for (at, version) in self.versions.iter().enumerate() {
            self.version(version, &path.child("versions").index(at), &check, out);
        }
        self.versions_together(&path, &mut out.errors);
        for name in ["plural", "singular", "kind", "listKind"] {
            if self.name(name).is_empty() {
                out.errors.push(FieldError::required(path.child("names").child(name), ""));
            }
        }
        names::check(self.map("names"), &path.child("names"), &mut out.errors);
        let has_status = self
            .versions
            .iter()
            .any(|version| member(version, "subresources").is_some_and(|all| has_status(Some(all))));
        let validation = self.top("schema");
        schema::check(validation, &path.child("validation"), has_status, &check, out);
        parts::subresources(self.top("subresources"), &path.child("subresources"), &mut out.errors);
        parts::columns(
            self.top("additionalPrinterColumns"),
            &path.child("additionalPrinterColumns"),
            &mut out.errors,
        );
        let missing = "may only be set when validations.schema is included";
        let fields = selectable::Fields {
            fields: self.top("selectableFields"),
            path: path.child("selectableFields"),
            may_be_many: ratchet.allows_many(""),
        };
        fields.check(validation, validation.is_some(), missing, &mut out.errors);
        conversion::check(self.map("conversion"), prunes, ratchet, &mut out.errors);
    }

    fn group(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        let (path, group) = (path.child("group"), self.text("group"));
        let faults = subdomain_1123(group);
        if group.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !faults.is_empty() {
            errors.push(FieldError::invalid(path, group, faults.join(",")));
        } else if !group.contains('.') {
            errors.push(FieldError::invalid(path, group, "should be a domain with at least one dot"));
        }
    }

    fn scope(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        match self.text("scope") {
            "" => errors.push(FieldError::required(path.child("scope"), "")),
            "Cluster" | "Namespaced" => {}
            other => {
                let known = &["Cluster", "Namespaced"];
                errors.push(FieldError::not_supported(path.child("scope"), other, known));
            }
        }
    }

    fn missing_schemas(
        &self,
        versions: &FieldPath,
        is_required: bool,
        prunes: bool,
        errors: &mut Vec<FieldError>,
    ) {
        if self.top("schema").and_then(open_api).is_some() {
            return;
        }
        for (at, version) in self.versions.iter().enumerate() {
            if self.own(version, "schema").and_then(open_api).is_some() {
                continue;
            }
            let path = versions.index(at).child("schema").child("openAPIV3Schema");
            if is_required {
                errors.push(FieldError::required(path, ""));
            } else if prunes && flag(version, "served") {
                errors.push(FieldError::required(path, "because otherwise all fields are pruned"));
            }
        }
    }

    fn version(&self, version: &'v Map, path: &FieldPath, check: &SchemaCheck<'_>, out: &mut Checked) {
        let name = text(version, "name");
        let faults = label_1035(name);
        if !faults.is_empty() {
            out.errors.push(FieldError::invalid(path.child("name"), name, faults.join(",")));
        }
        parts::deprecation(version, &path.child("deprecationWarning"), &mut out.errors);
        let own = |name: &str| self.own(version, name);
        // The first version of the name counts.
        let named = self.versions.iter().find(|other| text(other, "name") == name);
        let has_status = has_status(named.and_then(|named| member(named, "subresources")));
        schema::check(own("schema"), &path.child("schema"), has_status, check, out);
        parts::subresources(own("subresources"), &path.child("subresources"), &mut out.errors);
        parts::columns(
            own("additionalPrinterColumns"),
            &path.child("additionalPrinterColumns"),
            &mut out.errors,
        );
        let missing = "may only be set when `version.schema.openAPIV3Schema` is not included";
        let fields = selectable::Fields {
            fields: own("selectableFields"),
            path: path.child("selectableFields"),
            may_be_many: check.ratchet.allows_many(name),
        };
        let schema = own("schema");
        fields.check(schema, schema.and_then(open_api).is_some(), missing, &mut out.errors);
    }

    /// The faults that concern several versions.
    fn versions_together(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        let mut names: Vec<&str> = self.versions.iter().map(|version| text(version, "name")).collect();
        let first = names.first().copied().unwrap_or_default();
        let shown = || version_structs(&self.versions, &self.shared);
        let here = || path.child("versions");
        names.sort_unstable();
        if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            errors.push(FieldError::invalid_shown(here(), &shown(), "must contain unique version names"));
        }
        if self.versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
            let detail = "must have exactly one version marked as storage version";
            errors.push(FieldError::invalid_shown(here(), &shown(), detail));
        }
        let faults = label_1035(first);
        if !first.is_empty() && !faults.is_empty() {
            errors.push(FieldError::invalid(path.child("version"), first, faults.join(",")));
        }
    }
}

/// The schema of a version.
pub(super) fn open_api(validation: &Value) -> Option<&Value> {
    validation.get("openAPIV3Schema").filter(|schema| !schema.is_null())
}

fn has_status(subresources: Option<&Value>) -> bool {
    subresources.and_then(|all| all.get("status")).is_some_and(|status| !status.is_null())
}
