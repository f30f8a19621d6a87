//! Contradictions between the unions and the structural schemas of a custom resource definition.

use std::collections::BTreeMap;

use fieldmanager_value::{List, MAX_DEPTH, Map, Str, Value};

use super::CustomResource;
use super::condition::schema_path;
use crate::{FieldError, FieldPath};

const EXTENSION: &str = "x-kubernetes-unions";

/// A declared union with its version and the path of its struct below the root schema.
struct Written {
    version: usize,
    at: FieldPath,
    structure: String,
    discriminator: Option<Str>,
    members: Vec<Str>,
}

/// A struct of a schema: its fields, and whether it keeps undeclared ones.
struct Struct {
    fields: Vec<Str>,
    keeps_unknown: bool,
}

#[derive(Default)]
struct Found {
    unions: Vec<Written>,
    structs: Vec<BTreeMap<String, Struct>>,
    errors: Vec<FieldError>,
}

impl CustomResource {
    /// The contradictions between unions and structural schemas: a union field that is not a property and is pruned, a
    /// required member, a discriminator that is not a string, a member that another version prunes. The paths point to
    /// the union.
    ///
    /// The API server ignores unions, so [`violations`](Self::violations) reports none of these.
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
    ///         properties: {cash: {type: string}, card: {type: string}}
    ///         required: [cash]
    ///         x-kubernetes-unions: [{fields-to-discriminateBy: {cash: Cash, card: Card}}]
    /// ")?)?;
    /// assert_eq!(
    ///     shop.union_violations()[0].to_string(),
    ///     "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-unions[0]: Invalid value: \"cash\": \
    ///      is required: a member of a union must be optional",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn union_violations(&self) -> Vec<FieldError> {
        // All versions are walked first, since a union of one version is compared with the structs of all others.
        let mut found = Found::default();
        for (at, version) in self.versions.iter().enumerate() {
            found.structs.push(BTreeMap::new());
            if let Some(schema) = &version.schema {
                found.schema(
                    at,
                    schema,
                    &schema_path(at),
                    "",
                    self.preserve_unknown_fields,
                    MAX_DEPTH,
                );
            }
        }

        let names: Vec<&Str> = self.versions.iter().map(|version| &version.name).collect();
        // An object that is converted to a version without a field loses it there, so a member would be cleared without
        // a request.
        for union in &found.unions {
            for (other, structs) in found
                .structs
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != union.version)
            {
                // A struct that keeps unknown fields loses none, and one that the other version does not have is no
                // contradiction here.
                let Some(structure) = structs
                    .get(&union.structure)
                    .filter(|other| !other.keeps_unknown)
                else {
                    continue;
                };

                for field in union.members.iter().chain(&union.discriminator) {
                    let here = found
                        .structs
                        .get(union.version)
                        .and_then(|structs| structs.get(&union.structure));
                    // A field that the union's own version does not declare is reported there already.
                    let is_here = here.is_some_and(|here| here.fields.contains(field));

                    if is_here && !structure.fields.contains(field) {
                        let version = names.get(other).map_or("", |name| name.as_str());
                        let detail = format!(
                            "is pruned in version `{version}`, which does not have the field"
                        );
                        found.errors.push(FieldError::invalid(
                            union.at.clone(),
                            field.clone(),
                            detail,
                        ));
                    }
                }
            }
        }

        found.errors
    }
}

impl Found {
    fn schema(
        &mut self,
        version: usize,
        schema: &Value,
        path: &FieldPath,
        structure: &str,
        keeps: bool,
        depth: usize,
    ) {
        // Schemas that nest too deeply are refused elsewhere, so the walk ends silently at the limit.
        let (Value::Map(map), Some(depth)) = (schema, depth.checked_sub(1)) else {
            return;
        };
        // A struct below one that keeps unknown fields counts as keeping them too.
        let keeps =
            keeps || map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let properties = map.get("properties").and_then(Value::as_map);
        let first = self.unions.len();
        self.add_unions(version, map, properties, path, structure);
        let fields: Vec<Str> = properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();

        // `additionalProperties` accepts every name, so a member need not be a property there.
        let required = map.get("required").and_then(Value::as_list);
        self.contradictions(
            first,
            properties,
            required,
            keeps || map.contains("additionalProperties"),
        );

        if let Some(structs) = self.structs.get_mut(version) {
            structs.insert(
                structure.to_owned(),
                Struct {
                    fields,
                    keeps_unknown: keeps,
                },
            );
        }

        for (name, property) in properties.into_iter().flatten() {
            let below = format!("{structure}.{}", name.as_str());
            self.schema(
                version,
                property,
                &path.child("properties").key(name.clone()),
                &below,
                keeps,
                depth,
            );
        }

        // The path of a struct has the same form in all versions, so that structs of two versions are found by it.
        for name in ["items", "additionalProperties"] {
            if let Some(inner) = map.get(name) {
                self.schema(
                    version,
                    inner,
                    &path.child(name),
                    &format!("{structure}[{name}]"),
                    keeps,
                    depth,
                );
            }
        }
    }

    /// Adds the unions of a struct: the list form on the struct, the object form on its properties.
    fn add_unions(
        &mut self,
        version: usize,
        map: &Map,
        properties: Option<&Map>,
        path: &FieldPath,
        structure: &str,
    ) {
        let structure = structure.to_owned();
        for (i, entry) in map
            .get(EXTENSION)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .enumerate()
        {
            // Documents use two names for the members of a union in list form.
            let fields = entry
                .get("fields-to-discriminateBy")
                .or_else(|| entry.get("fields"));
            self.unions.push(Written {
                version,
                at: path.child(EXTENSION).index(i),
                structure: structure.clone(),
                discriminator: entry
                    .get("discriminator")
                    .and_then(Value::as_str)
                    .map(Str::from),
                members: fields
                    .and_then(Value::as_map)
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.clone())
                    .collect(),
            });
        }

        for (name, property) in properties.into_iter().flatten() {
            let Some(members) = property
                .get(EXTENSION)
                .and_then(|union| union.get("fieldMembers"))
            else {
                continue;
            };

            // In the object form, the property with the extension is the discriminator, and its values name the
            // members.
            let members = members.as_map().into_iter().flatten();
            let members =
                members.filter_map(|(_, member)| member.get("name").and_then(Value::as_str));
            self.unions.push(Written {
                version,
                at: path.child("properties").key(name.clone()).child(EXTENSION),
                structure: structure.clone(),
                discriminator: Some(name.clone()),
                members: members.map(Str::from).collect(),
            });
        }
    }

    /// Adds the contradictions between a struct and its own unions.
    fn contradictions(
        &mut self,
        first: usize,
        properties: Option<&Map>,
        required: Option<&List>,
        keeps: bool,
    ) {
        let property = |name: &Str| properties.and_then(|properties| properties.get(name));
        // The unions from `first` on are those of this struct.
        for union in self.unions.iter().skip(first) {
            let mut invalid = |field: &Str, detail: &str| {
                self.errors
                    .push(FieldError::invalid(union.at.clone(), field.clone(), detail));
            };
            for member in &union.members {
                if property(member).is_none() && !keeps {
                    invalid(
                        member,
                        "is not a property of the struct and is pruned: a member must be a property",
                    );
                }

                // Of a union at most one member is set, so a required member would exclude all others.
                if required.is_some_and(|required| {
                    required.iter().any(|name| name.as_str() == Some(member))
                }) {
                    invalid(member, "is required: a member of a union must be optional");
                }

                if union.discriminator.as_ref() == Some(member) {
                    invalid(
                        member,
                        "is both discriminator and member of the union: it must be one of them",
                    );
                }
            }

            // A discriminator says which member is set, so it must be a string that is not pruned.
            let Some(name) = &union.discriminator else {
                continue;
            };
            match property(name).map(|property| property.get("type").and_then(Value::as_str)) {
                None if keeps => {}
                None => invalid(
                    name,
                    "is not a property of the struct and is pruned: a discriminator must be a property",
                ),
                Some(Some("string")) => {}
                Some(found) => {
                    let found = found.unwrap_or("no type");
                    invalid(
                        name,
                        &format!("has the type {found}: a discriminator must be a string"),
                    );
                }
            }
        }
    }
}
