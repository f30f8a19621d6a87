//! Reads unions in the two forms of KEP-1027.

use fieldmanager_schema::internal::{Union, UnionField};
use fieldmanager_value::{Map, Str, Value};

use super::imported::UnionForm;
use super::options::ListUnions;

pub(super) const EXTENSION: &str = "x-kubernetes-unions";

/// The unions of a struct, with faults and warnings and their paths below the struct.
#[derive(Default)]
pub(super) struct FoundUnions {
    pub(super) unions: Vec<Union>,
    pub(super) faults: Vec<(String, String)>,
    pub(super) warnings: Vec<(String, String)>,
    /// The path and the form of each union.
    pub(super) origins: Vec<(String, UnionForm)>,
}

/// Reads the unions of a struct: the list form on the struct, and the object form on its properties.
pub(super) fn read_struct(schema: &Map, properties: Option<&Map>, list: ListUnions) -> FoundUnions {
    let mut found = FoundUnions::default();
    // A list at a struct declares its unions. A map at a property declares the union whose discriminator it is.
    match schema.get(EXTENSION) {
        None => {}
        Some(Value::List(entries)) => {
            for (i, entry) in entries.iter().enumerate() {
                let path = format!(".{EXTENSION}[{i}]");
                if let Some(mut union) = found.list_entry(&path, entry) {
                    union.deduce = union.discriminator.is_some() && list == ListUnions::Deducing;
                    found.keep(&path, UnionForm::List, union, properties);
                }
            }
        }
        Some(other) => found.fault(
            format!(".{EXTENSION}"),
            format!(
                "a struct has a list of unions, got {}: the other form belongs to the discriminator",
                other.kind()
            ),
        ),
    }

    for (name, property) in properties.into_iter().flatten() {
        let path = format!(".properties.{name}.{EXTENSION}");
        match property.get(EXTENSION) {
            // A list on a property that is a struct declares unions of that struct.
            None | Some(Value::List(_)) => {}
            Some(Value::Map(union)) => {
                if let Some(mut union) = found.object(&path, union) {
                    union.discriminator = Some(name.clone());
                    union.closed = true;
                    found.keep(&path, UnionForm::Object, union, properties);
                }
            }
            // The property may be a struct, which is converted on its own.
            Some(_)
                if matches!(
                    property.get("type").and_then(Value::as_str),
                    None | Some("object")
                ) => {}
            Some(other) => found.fault(
                path,
                format!(
                    "expected a list of unions or a map with `fieldMembers`, got {}",
                    other.kind()
                ),
            ),
        }
    }

    found
}

impl FoundUnions {
    fn fault(&mut self, path: String, message: String) {
        self.faults.push((path, message));
    }

    /// Reads `{discriminator, fields-to-discriminateBy: {field: value}}`; `fields` is the name in the older proposal.
    /// `required: true` is an extension: exactly one member must be set.
    fn list_entry(&mut self, path: &str, entry: &Value) -> Option<Union> {
        const FIELDS: &str = "fields-to-discriminateBy";
        let Value::Map(entry) = entry else {
            self.fault(
                path.to_owned(),
                format!("a union must be a map, got {}", entry.kind()),
            );
            return None;
        };

        let mut union = Union::default();

        // A union without a discriminator only limits how many members are set.
        match entry.get("discriminator") {
            None => {}
            Some(Value::String(name)) => union.discriminator = Some(name.into()),
            Some(other) => {
                self.fault(
                    format!("{path}.discriminator"),
                    format!("expected string, got {}", other.kind()),
                );
                return None;
            }
        }

        // A wrong flag does not hide the faults that follow.
        match entry.get("required") {
            None => {}
            Some(Value::Bool(required)) => union.required = *required,
            Some(other) => self.fault(
                format!("{path}.required"),
                format!("expected boolean, got {}", other.kind()),
            ),
        }

        // The older proposal has another name for the map. With both names it is open which one counts.
        let (name, fields) = match (entry.get(FIELDS), entry.get("fields")) {
            (Some(_), Some(_)) => {
                self.fault(
                    path.to_owned(),
                    format!("`{FIELDS}` and `fields` are the same, give one of them"),
                );
                return None;
            }
            (None, None) => return Some(union),
            (Some(fields), None) => (FIELDS, fields),
            (None, Some(fields)) => ("fields", fields),
        };

        let Value::Map(fields) = fields else {
            let message = format!(
                "expected a map from fields to discriminator values, got {}",
                fields.kind()
            );
            self.fault(format!("{path}.{name}"), message);
            return None;
        };

        // A wrong value drops only its own member, so that the others are checked too.
        for (field, value) in fields {
            match value {
                Value::String(value) => {
                    union.fields.push(UnionField {
                        field: field.clone(),
                        value: value.into(),
                        optional: false,
                    });
                }
                other => {
                    let message = format!(
                        "a discriminator value must be a string, got {}",
                        other.kind()
                    );
                    self.fault(format!("{path}.{name}.{field}"), message);
                }
            }
        }

        Some(union)
    }

    /// Reads `{fieldMembers: {value: {name, optional} or null}}`.
    fn object(&mut self, path: &str, union: &Map) -> Option<Union> {
        let path = format!("{path}.fieldMembers");
        let Some(Value::Map(members)) = union.get("fieldMembers") else {
            let got = union
                .get("fieldMembers")
                .map_or("nothing".to_owned(), |other| other.kind().to_string());
            self.fault(
                path,
                format!("expected a map from discriminator values to members, got {got}"),
            );
            return None;
        };

        let mut out = Union::default();

        // A null member is a value of the discriminator without a field.
        for (value, member) in members {
            let name = match member {
                Value::Null => {
                    out.empty_members.push(value.clone());
                    continue;
                }
                Value::Map(member) => member.get("name"),
                _ => None,
            };
            let optional = member.get("optional");

            match (name, optional) {
                (Some(Value::String(name)), None | Some(Value::Bool(_))) => {
                    out.fields.push(UnionField {
                        field: name.into(),
                        value: value.clone(),
                        optional: optional == Some(&Value::Bool(true)),
                    })
                }
                _ => self.fault(
                    format!("{path}.{value}"),
                    "a member is null, or a map with a string `name` and a boolean `optional`"
                        .to_owned(),
                ),
            }
        }
        // The order of members does not depend on their values.
        out.fields.sort_by(|a, b| a.field.cmp(&b.field));

        Some(out)
    }

    /// Adds a union, and warnings about its parts that can never apply.
    fn keep(&mut self, path: &str, form: UnionForm, union: Union, properties: Option<&Map>) {
        // A mistake in a union is a warning, because objects must stay valid despite it.
        let property = |name: &Str| properties.and_then(|properties| properties.get(name));
        for field in union
            .fields
            .iter()
            .filter(|field| property(&field.field).is_none())
        {
            let message = format!("member `{}` is not a property of the struct", field.field);
            self.warnings.push((path.to_owned(), message));
        }

        if let Some(name) = &union.discriminator {
            match property(name) {
                None => {
                    let message = format!(
                        "discriminator `{name}` is not a property of the struct, the union has no effect"
                    );
                    self.warnings.push((path.to_owned(), message));
                }
                Some(discriminator) => self.check_values(path, name, &union, discriminator),
            }
        }
        self.origins.push((path.to_owned(), form));
        self.unions.push(union);
    }

    /// Warns about values that the `enum` of the discriminator does not contain, which select nothing.
    fn check_values(&mut self, path: &str, name: &Str, union: &Union, discriminator: &Value) {
        let Some(Value::List(values)) = discriminator.get("enum") else {
            return;
        };
        let accepted: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        for field in union
            .fields
            .iter()
            .filter(|field| !accepted.contains(&field.value.as_str()))
        {
            let message = format!(
                "value `{}` of member `{}` is not in the enum of `{name}`: {}",
                field.value,
                field.field,
                accepted.join(", ")
            );
            self.warnings.push((path.to_owned(), message));
        }
    }
}
