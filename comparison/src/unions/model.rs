//! The part of a schema that the rules need, and the places in an object where unions apply.

use std::collections::BTreeMap;

use crate::json::{flag, items, member, strings, text, unset, with_each};
use serde_json::{Map, Value};

/// A union of a schema file, extensions included.
#[derive(Clone, Debug, Default)]
pub(super) struct Union {
    /// The field that names the member that is set.
    pub discriminator: Option<String>,
    /// `deduceInvalidDiscriminator`.
    pub deduce: bool,
    /// The members, each with the value that selects it.
    pub members: Vec<(String, String)>,
    /// Values that select no member.
    pub empty: Vec<String>,
    /// Whether other values are invalid.
    pub closed: bool,
}

impl Union {
    fn new(union: &Value) -> Self {
        let member = |field: &Value| {
            let value = text(field, "discriminatorValue").to_owned();
            (text(field, "fieldName").to_owned(), value)
        };
        let discriminator = union.get("discriminator").and_then(Value::as_str);
        Self {
            discriminator: discriminator.map(str::to_owned),
            deduce: flag(union, "deduceInvalidDiscriminator"),
            members: items(union, "fields").iter().map(member).collect(),
            empty: strings(union, "emptyMembers").map(str::to_owned).collect(),
            closed: flag(union, "closed"),
        }
    }
}

/// The members of a struct.
pub(super) type Fields = Map<String, Value>;

/// One union of one struct of an object.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The path of the struct, as conflicts write it.
    pub path: String,
    /// The path of the struct as FieldsV1 elements.
    pub owned: Vec<String>,
    /// The union.
    pub union: Union,
    /// The struct before the step.
    pub before: Option<Fields>,
    /// The struct of the request.
    pub requested: Fields,
    /// For an apply, the struct that the request was merged into.
    pub merged: Option<Fields>,
}

/// The types of a schema file.
#[derive(Clone, Debug, Default)]
pub(super) struct Types<'a>(BTreeMap<&'a str, &'a Value>);

#[derive(Clone, Default)]
struct At {
    path: String,
    owned: Vec<String>,
}

/// The result of a walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The unions of the request.
    pub list: Vec<Place>,
    /// Whether a struct with unions became null, at which the v4 code panics.
    pub nulled: bool,
}

impl<'a> Types<'a> {
    /// The types of a schema.
    pub(super) fn new(schema: &'a Value) -> Self {
        let types = items(schema, "types").iter();
        Self(
            types
                .filter_map(|ty| Some((ty.get("name")?.as_str()?, ty)))
                .collect(),
        )
    }

    fn atom(&self, reference: &'a Value) -> &'a Value {
        let named = reference.get("namedType").and_then(Value::as_str);
        named
            .and_then(|name| self.0.get(name).copied())
            .unwrap_or(reference)
    }

    /// The unions in a request, by the structs that it has.
    pub(super) fn places(
        &self,
        ty: &str,
        before: &Value,
        requested: &Value,
        merged: Option<&Value>,
    ) -> Places {
        let mut found = Places::default();
        if let Some(atom) = self.0.get(ty) {
            self.walk(
                &mut found,
                &At::default(),
                atom,
                Some(before),
                requested,
                merged,
            );
        }

        found
    }

    fn walk(
        &self,
        found: &mut Places,
        at: &At,
        atom: &'a Value,
        before: Option<&Value>,
        requested: &Value,
        merged: Option<&Value>,
    ) {
        let atomic =
            |ty: &Value| ty.get("elementRelationship").and_then(Value::as_str) == Some("atomic");
        // A union is normalized in a granular struct alone: an atomic one is replaced as a whole.
        if let Some(map) = atom.get("map").filter(|map| !atomic(map)) {
            let old = before.and_then(Value::as_object);
            let unions: Vec<Union> = items(map, "unions").iter().map(Union::new).collect();
            // A struct with unions that loses its fields to null makes the v4 code panic.
            let Some(fields) = requested.as_object() else {
                let filled = old.is_some_and(|old| !old.is_empty());
                found.nulled |= !unions.is_empty() && filled && requested.is_null();
                return;
            };

            found.list.extend(unions.into_iter().map(|union| Place {
                path: at.path.clone(),
                owned: at.owned.clone(),
                union,
                before: old.cloned(),
                requested: fields.clone(),
                merged: merged.and_then(Value::as_object).cloned(),
            }));
            // Structs that the request lacks have nothing to normalize.
            let definitions = items(map, "fields").iter();

            for field in definitions {
                let name = text(field, "name");
                let (Some(ty), Some(value)) = (field.get("type"), fields.get(name)) else {
                    continue;
                };
                let mut at = at.clone();
                at.path = format!("{}.{name}", at.path);
                at.owned.push(format!("f:{name}"));
                let old = old.and_then(|old| old.get(name));
                let merged = merged.and_then(|merged| merged.get(name));
                self.walk(found, &at, self.atom(ty), old, value, merged);
            }
        } else if let Some(list) = atom.get("list").filter(|list| !atomic(list))
            && let Some(element) = list
                .get("elementType")
                .filter(|_| list.get("keys").is_some())
        {
            // Items are found by their key, which is `name` in all generated schemas.
            let target = merged.unwrap_or(requested).as_array();
            for item in requested.as_array().into_iter().flatten() {
                let Some(name) = item.get("name").and_then(Value::as_str) else {
                    continue;
                };
                let same = |other: &Value| other.get("name").and_then(Value::as_str) == Some(name);
                let of =
                    |list: Option<&'_ Vec<Value>>| list.and_then(|list| list.iter().position(same));
                let Some(position) = of(target) else {
                    continue;
                };

                let mut at = at.clone();
                at.path = format!("{}[name={name:?}]", at.path);
                at.owned.push(format!("k:{{\"name\":{name:?}}}"));
                let old = before.and_then(Value::as_array);
                let old = old.and_then(|old| old.iter().find(|item| same(item)));
                let merged = merged.and_then(|merged| merged.get(position));
                self.walk(found, &at, self.atom(element), old, item, merged);
            }
        }
    }
}

/// The struct at a path of FieldsV1 elements.
pub(super) fn struct_at<'a>(object: &'a mut Value, path: &[String]) -> Option<&'a mut Fields> {
    let mut at = object;
    for element in path {
        at = match element.split_once(':')? {
            ("k", key) => {
                let key: Value = serde_json::from_str(key).ok()?;
                at.as_array_mut()?
                    .iter_mut()
                    .find(|item| item.get("name") == key.get("name"))?
            }
            (_, name) => at.get_mut(name)?,
        };
    }

    at.as_object_mut()
}

/// Whether all unions of a schema are valid: their fields must exist.
pub(super) fn is_sound(schema: &Value) -> bool {
    items(schema, "types").iter().all(|ty| {
        let map = member(ty, "map");
        let fields = items(map, "fields").iter();
        let names: Vec<&str> = fields.map(|field| text(field, "name")).collect();
        items(map, "unions").iter().map(Union::new).all(|union| {
            let members = union.members.iter().map(|(name, _)| name);
            // A cut may remove a field that a union names, and such a schema is refused.
            let mut all = members.chain(&union.discriminator);
            all.all(|name| names.contains(&name.as_str()))
                && union.members.iter().all(|(_, value)| !value.is_empty())
        })
    })
}

/// A schema without the extensions of unions that the v4 code does not have.
pub(super) fn for_v4(schema: &Value) -> Value {
    const KNOWN: [&str; 3] = ["discriminator", "deduceInvalidDiscriminator", "fields"];
    with_each(schema, |part| {
        let unions = part.get_mut("unions").and_then(Value::as_array_mut);
        for union in unions.into_iter().flatten() {
            if let Value::Object(members) = union {
                members.retain(|name, _| KNOWN.contains(&name.as_str()));
            }
            let fields = union.get_mut("fields").and_then(Value::as_array_mut);
            for field in fields.into_iter().flatten() {
                unset(field, "optional");
            }
        }
    })
}

/// A schema without unions.
pub(super) fn without_unions(schema: &Value) -> Value {
    with_each(schema, |part| drop(unset(part, "unions")))
}
