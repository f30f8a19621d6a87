//! The checks of the spec of a definition.

use fieldmanager_structural::internal::{
    has_default, has_extension, label_1035, subdomain_1123, version_structs,
};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::members::{flag, member, open_api, text};
use super::ratchet::Ratchet;
use super::schema::SchemaCheck;
use super::spec::Spec;
use super::{conversion, names, parts, schema, selectable};
use crate::kind::Checked;

impl<'v> Spec<'v> {
    /// The faults of the spec.
    pub(super) fn validate(&self, ratchet: &Ratchet, out: &mut Checked) {
        let path = FieldPath::root("spec");
        self.group(&path, &mut out.errors);
        self.scope(&path, &mut out.errors);
        let prunes = !self.preserves_unknown_fields();
        self.missing_schemas(
            &path.child("versions"),
            ratchet.schemas,
            prunes,
            &mut out.errors,
        );
        let has_defaults = self.schemas().any(has_default);

        if has_defaults && !prunes {
            out.errors.push(FieldError::invalid(
                path.child("preserveUnknownFields"),
                true,
                "must be false in order to use defaults in the schema",
            ));
        }

        // Only an old definition may keep schemas that are not structural, and only while it uses nothing that needs
        // structure.
        let is_structural =
            ratchet.structural || prunes || has_defaults || self.schemas().any(has_extension);
        let check = SchemaCheck {
            ratchet,
            is_structural,
        };
        for (at, version) in self.versions.iter().enumerate() {
            self.version(version, &path.child("versions").index(at), &check, out);
        }

        self.versions_together(&path, &mut out.errors);
        for name in ["plural", "singular", "kind", "listKind"] {
            if self.name(name).is_empty() {
                out.errors
                    .push(FieldError::required(path.child("names").child(name), ""));
            }
        }

        names::check(self.map("names"), &path.child("names"), &mut out.errors);

        // Parts that are equal in all versions are at the top in the internal version, and are checked there.
        let has_status = self.versions.iter().any(|version| {
            member(version, "subresources").is_some_and(|all| has_status(Some(all)))
        });
        let validation = self.top("schema");
        let name = self
            .versions
            .first()
            .map_or("", |version| text(version, "name"));
        let version = schema::Version { name, has_status };
        schema::check(validation, &path.child("validation"), version, &check, out);
        parts::subresources(
            self.top("subresources"),
            &path.child("subresources"),
            &mut out.errors,
        );

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
            errors.push(FieldError::invalid(
                path,
                group,
                "should be a domain with at least one dot",
            ));
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
                errors.push(FieldError::required(
                    path,
                    "because otherwise all fields are pruned",
                ));
            }
        }
    }

    fn version(
        &self,
        version: &'v Map,
        path: &FieldPath,
        check: &SchemaCheck<'_>,
        out: &mut Checked,
    ) {
        let name = text(version, "name");
        let faults = label_1035(name);
        if !faults.is_empty() {
            out.errors.push(FieldError::invalid(
                path.child("name"),
                name,
                faults.join(","),
            ));
        }

        parts::deprecation(version, &path.child("deprecationWarning"), &mut out.errors);
        let own = |name: &str| self.own(version, name);
        // The first version of the name counts.
        let named = self
            .versions
            .iter()
            .find(|other| text(other, "name") == name);
        let has_status = has_status(named.and_then(|named| member(named, "subresources")));
        let named = schema::Version { name, has_status };
        schema::check(own("schema"), &path.child("schema"), named, check, out);
        parts::subresources(
            own("subresources"),
            &path.child("subresources"),
            &mut out.errors,
        );

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

        fields.check(
            schema,
            schema.and_then(open_api).is_some(),
            missing,
            &mut out.errors,
        );
    }

    /// The faults that concern several versions.
    fn versions_together(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        let mut names: Vec<&str> = self
            .versions
            .iter()
            .map(|version| text(version, "name"))
            .collect();
        let first = names.first().copied().unwrap_or_default();
        let is_list = self
            .fields
            .and_then(|fields| member(fields, "versions"))
            .is_some();

        // The whole list is printed only for a fault.
        let shown = || {
            if is_list {
                version_structs(&self.versions, &self.shared)
            } else {
                "null".to_owned()
            }
        };

        let here = || path.child("versions");
        names.sort_unstable();
        if names
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a == b))
        {
            errors.push(FieldError::invalid_shown(
                here(),
                &shown(),
                "must contain unique version names",
            ));
        }

        if self
            .versions
            .iter()
            .filter(|version| flag(version, "storage"))
            .count()
            != 1
        {
            let detail = "must have exactly one version marked as storage version";
            errors.push(FieldError::invalid_shown(here(), &shown(), detail));
        }

        // The internal version has the name of the first version in `spec.version` too.
        let faults = label_1035(first);
        if !first.is_empty() && !faults.is_empty() {
            errors.push(FieldError::invalid(
                path.child("version"),
                first,
                faults.join(","),
            ));
        }
    }
}

fn has_status(subresources: Option<&Value>) -> bool {
    subresources
        .and_then(|all| all.get("status"))
        .is_some_and(|status| !status.is_null())
}
