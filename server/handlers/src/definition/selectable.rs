//! The fields by which objects can be selected.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::resolve_field;
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::Value;

use super::members::{maps, open_api, text};

/// The most fields of a version.
pub(super) const MOST: usize = 8;

/// The selectable fields of a version, or of all versions.
pub(super) struct Fields<'v> {
    pub(super) fields: Option<&'v Value>,
    pub(super) path: FieldPath,
    /// Whether there may be more of them than a new definition may have.
    pub(super) may_be_many: bool,
}

impl Fields<'_> {
    /// Adds the faults. `missing` is the error if there is no schema.
    pub(super) fn check(
        &self,
        validation: Option<&Value>,
        has_schema: bool,
        missing: &str,
        errors: &mut Vec<FieldError>,
    ) {
        if maps(self.fields).next().is_none() {
            return;
        }
        if !has_schema {
            errors.push(FieldError::invalid(self.path.clone(), "", missing));
            return;
        }

        let schema = match validation
            .and_then(open_api)
            .map(Structural::from_value)
            .transpose()
        {
            Ok(schema) => schema,
            // The faults of a schema that cannot be read are reported elsewhere.
            Err(_) => return,
        };
        let mut known = BTreeSet::new();

        for (at, field) in maps(self.fields).enumerate() {
            let (found, path) = (
                text(field, "jsonPath"),
                self.path.index(at).child("jsonPath"),
            );
            if found.is_empty() {
                errors.push(FieldError::required(path, ""));
                continue;
            }

            // A schema that is not known resolves no path.
            let Some(schema) = &schema else { continue };

            let resolved = match resolve_field(found, schema, false) {
                Ok(resolved) => resolved,
                Err(error) => {
                    errors.push(FieldError::invalid(
                        path,
                        found,
                        format!("is an invalid path: {error}"),
                    ));
                    continue;
                }
            };
            // All objects can be selected by their name and namespace without a declaration.
            if resolved.first == "metadata" {
                let detail = "must not point to fields in metadata";
                errors.push(FieldError::invalid(path.clone(), found, detail));
            }

            let type_name = resolved.schema.generic.type_name.as_str();
            if !matches!(type_name, "string" | "boolean" | "integer") {
                let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                              with formats are allowed.";
                errors.push(FieldError::invalid(path.clone(), found, detail));
            }

            // Two spellings of the same path count as one field.
            if !known.insert(resolved.path) {
                errors.push(FieldError::duplicate(path, found));
            }
        }

        if known.len() > MOST && !self.may_be_many {
            errors.push(FieldError::too_many(self.path.clone(), known.len(), MOST));
        }
    }
}
