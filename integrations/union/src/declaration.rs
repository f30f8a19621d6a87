use schemars::Schema;
use serde_json::{Map, Value, json};

/// The schema extension that declares unions.
pub const EXTENSION: &str = "x-kubernetes-unions";

/// A member of a union in its wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the field.
    pub field: &'static str,
    /// The value of the discriminator that selects the member.
    pub value: &'static str,
    /// Whether the member may be selected without being set.
    pub optional: bool,
}

/// A union declared with `#[derive(KubeUnion)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The name of the discriminator field, if the union has one.
    pub discriminator: Option<&'static str>,
    /// Whether the discriminator follows the members. Otherwise the value of the discriminator takes precedence.
    pub deducing: bool,
    /// The members, in declaration order.
    pub members: &'static [Member],
    /// All values of the discriminator. Values without a member select none.
    pub values: &'static [&'static str],
    /// Whether the discriminator may be absent, in which case no member is set.
    pub absent: bool,
}

impl Declaration {
    /// The values that select no member.
    fn empty_values(&self) -> impl Iterator<Item = &'static str> {
        // The extension lists values, among which the empty string stands for an absent discriminator.
        let missing = self.absent && !self.values.contains(&"");
        let values = self.values.iter().copied().chain(missing.then_some(""));
        values.filter(|value| self.members.iter().all(|member| member.value != *value))
    }

    /// Adds `x-kubernetes-unions` to the schema of the type. A respecting union is declared by a map on the property of
    /// its discriminator; a deducing union, or one without a discriminator, by a list on the struct.
    ///
    /// A schema without the property of the discriminator is not changed.
    ///
    /// ```
    /// use fieldmanager_union::{Declaration, Member};
    /// use schemars::json_schema;
    ///
    /// let members = &[Member { field: "git", value: "Git", optional: false }];
    /// let union = Declaration { discriminator: None, deducing: true, members, values: &[], absent: true };
    /// let mut schema = json_schema!({"type": "object", "properties": {"git": {"type": "string"}}});
    /// union.extend(&mut schema);
    /// let unions = schema.get("x-kubernetes-unions");
    /// assert_eq!(unions, Some(&serde_json::json!([{"fields-to-discriminateBy": {"git": "Git"}}])));
    /// ```
    pub fn extend(&self, schema: &mut Schema) {
        match self.discriminator {
            Some(discriminator) if !self.deducing => {
                if let Some(property) = property(schema, discriminator) {
                    property.insert(EXTENSION.into(), self.on_discriminator());
                }
            }
            discriminator => {
                let mut entry = Map::new();
                if let Some(discriminator) = discriminator {
                    entry.insert("discriminator".into(), discriminator.into());
                }
                let fields: Map<String, Value> = self
                    .members
                    .iter()
                    .map(|member| (member.field.into(), member.value.into()))
                    .collect();
                entry.insert("fields-to-discriminateBy".into(), fields.into());

                // The schema may already declare other unions.
                let unions = schema
                    .ensure_object()
                    .entry(EXTENSION)
                    .or_insert_with(|| json!([]));
                if let Value::Array(unions) = unions {
                    unions.push(entry.into());
                }
            }
        }
    }

    /// Like [`extend`](Self::extend), but also restricts the discriminator to its values. Used for sum types, whose
    /// discriminator has no type of its own.
    pub fn extend_sum(&self, schema: &mut Schema) {
        if let Some(property) = self.discriminator.and_then(|name| property(schema, name)) {
            property.insert("enum".into(), json!(self.values));
        }
        self.extend(schema);
    }

    fn on_discriminator(&self) -> Value {
        let mut members = Map::new();
        for Member {
            field,
            value,
            optional,
        } in self.members
        {
            let member = if *optional {
                json!({"name": field, "optional": true})
            } else {
                json!({"name": field})
            };
            members.insert((*value).into(), member);
        }
        members.extend(self.empty_values().map(|value| (value.into(), Value::Null)));

        json!({"fieldMembers": members})
    }
}

fn property<'a>(schema: &'a mut Schema, name: &str) -> Option<&'a mut Map<String, Value>> {
    schema
        .as_object_mut()?
        .get_mut("properties")?
        .get_mut(name)?
        .as_object_mut()
}
