//! Tables of the fields that have rules or lead to such fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fieldmanager_value::{Map, Value};

use super::model::{
    PatchSchema, PatchTypes, RawRule, RuleSource, SchemaNode, TypesDocument, TypesError,
    api_version, expect_map,
};
use super::openapi::{resolve, target};

const STRATEGY: &str = "x-kubernetes-patch-strategy";
const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";

/// The maximum nesting of schemas.
const MAX_INLINE: usize = 32;

/// A field of the table. Fields that are not in the table have no rule.
pub(super) fn look_up<'t>(
    types: &'t PatchTypes,
    fields: &'t Value,
    name: &str,
) -> (RawRule<'t>, PatchSchema<'t>) {
    let Some(field) = fields.get(name) else {
        return (RawRule::default(), PatchSchema::free());
    };
    let text = |name: &str| field.get(name).and_then(Value::as_str);
    let rule = RawRule {
        strategies: text("strategy"),
        merge_key: text("key").unwrap_or_default(),
    };
    let below = match text("type") {
        Some(name) => types.0.definitions.get(name),
        None => field.get("fields"),
    };

    (
        rule,
        below.map_or(PatchSchema::free(), |fields| PatchSchema {
            node: SchemaNode::At(types, fields),
        }),
    )
}

/// The type of a field.
enum Below<'t> {
    Nowhere,
    Type(&'t str),
    Fields(&'t Map),
}

impl PatchTypes {
    fn document(&self, types: Map) -> Value {
        let mut kinds = Vec::new();
        for ((api_version, kind), name) in &self.0.kinds {
            if types.contains(name) {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                kinds.push(Value::Map(Map::from_iter([
                    ("group", group),
                    ("version", version),
                    ("kind", kind),
                    ("type", name),
                ])));
            }
        }

        let mut document = Map::single("types", types);
        if !kinds.is_empty() {
            document.insert("kinds", Value::from(kinds));
        }
        Value::Map(document)
    }

    /// The definitions that have a rule or lead to one.
    fn useful(&self) -> BTreeSet<&str> {
        // A definition is useful if it refers to a useful one, so the search repeats until nothing is added.
        let mut useful: BTreeSet<&str> = BTreeSet::new();
        loop {
            let before = useful.len();
            for (name, schema) in &self.0.definitions {
                if !useful.contains(name.as_str())
                    && let Some(all) = properties(schema)
                    && self.any_rule(all, &useful, 0)
                {
                    useful.insert(name);
                }
            }

            if useful.len() == before {
                return useful;
            }
        }
    }

    fn any_rule(&self, properties: &Map, useful: &BTreeSet<&str>, depth: usize) -> bool {
        depth < MAX_INLINE
            && properties.iter().any(|(_, property)| {
                property.get(STRATEGY).is_some()
                    || property.get(MERGE_KEY).is_some()
                    || match self.below(property) {
                        Below::Nowhere => false,
                        Below::Type(name) => useful.contains(name),
                        Below::Fields(fields) => self.any_rule(fields, useful, depth + 1),
                    }
            })
    }

    fn fields(&self, properties: &Map, useful: &BTreeSet<&str>, depth: usize) -> Option<Value> {
        // Deeper inline schemas have no rules, as in the search for useful definitions.
        if depth >= MAX_INLINE {
            return None;
        }
        let mut fields = Vec::new();
        for (name, property) in properties {
            // A field is in the table if it has a rule of its own or leads to a rule.
            let mut field = Map::new();
            for (short, long) in [("strategy", STRATEGY), ("key", MERGE_KEY)] {
                if let Some(text) = property.get(long).filter(|value| value.as_str().is_some()) {
                    field.insert(short, text.clone());
                }
            }

            match self.below(property) {
                Below::Type(name) if useful.contains(name) => {
                    drop(field.insert("type", Value::from(name)))
                }
                Below::Fields(inline) => {
                    if let Some(inline) = self.fields(inline, useful, depth + 1) {
                        field.insert("fields", inline);
                    }
                }
                Below::Nowhere | Below::Type(_) => {}
            }

            if !field.is_empty() {
                fields.push((name.clone(), Value::Map(field)));
            }
        }

        if fields.is_empty() {
            None
        } else {
            Some(Value::Map(Map::from_iter(fields)))
        }
    }

    fn below<'t>(&'t self, property: &'t Value) -> Below<'t> {
        // A list has the rules of its items, and a reference may be wrapped in `allOf`.
        let schema = property.get("items").unwrap_or(property);
        let first = schema
            .get("allOf")
            .and_then(Value::as_list)
            .and_then(|all| all.get(0));
        let schema = first.unwrap_or(schema);

        // Without the definition there are no rules below.
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let exists = match self.0.form {
                RuleSource::V3 => resolve(self, schema).is_ok(),
                _ => target(self, reference).is_ok(),
            };
            let name = reference.rsplit('/').next().unwrap_or_default();
            return if exists {
                Below::Type(name)
            } else {
                Below::Nowhere
            };
        }

        properties(schema).map_or(Below::Nowhere, Below::Fields)
    }
}

/// The table as a document, which [`read_types`] reads.
///
/// It contains the fields with a strategy or merge key, and the fields that lead to them. Other fields have no rules,
/// neither themselves nor below them, so an unknown field is not an error with a table.
///
/// ```
/// use fieldmanager_patch::internal::write_types;
/// use fieldmanager_patch::PatchTypes;
/// use fieldmanager_value::Value;
/// let types = PatchTypes::from_openapi(&Value::from_yaml("
/// definitions:
///   shop:
///     properties:
///       name: {type: string}
///       tags: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
///   plain: {properties: {name: {type: string}}}
/// ")?)?;
/// assert_eq!(write_types(&types).to_json(), r#"{"types":{"shop":{"tags":{"strategy":"merge"}}}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_types(types: &PatchTypes) -> Value {
    if types.0.form == RuleSource::Table {
        return types.document(types.0.definitions.clone());
    }
    // A definition without a rule is left out, because an absent type has no rule either.
    let useful = types.useful();
    let mut written = Vec::new();

    for (name, schema) in &types.0.definitions {
        if useful.contains(name.as_str())
            && let Some(fields) = properties(schema).and_then(|all| types.fields(all, &useful, 0))
        {
            written.push((name.clone(), fields));
        }
    }

    types.document(written.into_iter().collect())
}

/// The rules of a table.
///
/// # Errors
///
/// [`TypesError::NotTable`] and [`TypesError::WrongType`].
///
/// ```
/// use fieldmanager_patch::internal::{read_types, write_types};
/// use fieldmanager_patch::PatchTypes;
/// use fieldmanager_value::Value;
/// let table = Value::from_yaml("
/// types: {shop: {goods: {strategy: merge, key: name}}}
/// kinds: [{group: '', version: v1, kind: Shop, type: shop}]
/// ")?;
/// let types = read_types(&table)?;
/// assert_eq!(write_types(&types), table);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_types(table: &Value) -> Result<PatchTypes, TypesError> {
    let types = expect_map(".types", table.get("types").ok_or(TypesError::NotTable)?)?;
    for (name, fields) in types {
        check_fields(&format!(".types.{name}"), fields, 0)?;
    }
    // A table without kinds is valid: its types are found by name.
    let mut kinds = BTreeMap::new();
    let list = table.get("kinds").and_then(Value::as_list);

    for (at, claim) in list.into_iter().flatten().enumerate() {
        let text = |field: &'static str| {
            let found = claim.get(field).unwrap_or(&Value::Null);
            found.as_str().ok_or_else(|| TypesError::WrongType {
                path: format!(".kinds[{at}].{field}"),
                expected: "a string",
                found: found.kind(),
            })
        };
        kinds.insert(
            (
                api_version(text("group")?, text("version")?),
                text("kind")?.into(),
            ),
            text("type")?.into(),
        );
    }

    Ok(PatchTypes(Arc::new(TypesDocument {
        form: RuleSource::Table,
        definitions: types.clone(),
        kinds,
    })))
}

fn properties(schema: &Value) -> Option<&Map> {
    schema.get("properties").and_then(Value::as_map)
}

fn check_fields(path: &str, fields: &Value, depth: usize) -> Result<(), TypesError> {
    for (name, field) in expect_map(path, fields)? {
        let path = format!("{path}.{name}");
        for (part, value) in expect_map(&path, field)? {
            let path = format!("{path}.{part}");
            match part.as_str() {
                "fields" if depth < MAX_INLINE => check_fields(&path, value, depth + 1)?,
                "strategy" | "key" | "type" if value.as_str().is_some() => {}
                _ => {
                    let expected = "the strings strategy, key and type, or fields";
                    return Err(TypesError::WrongType {
                        path,
                        expected,
                        found: value.kind(),
                    });
                }
            }
        }
    }

    Ok(())
}
