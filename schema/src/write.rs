//! Conversion of definitions to a document.

use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use crate::definition::{
    AtomDef, FieldDef, ListDef, MapDef, Relationship, TypeDef, TypeRef, Union, UnionField,
};

/// Collects the fields of a document, without those at their default.
#[derive(Default)]
struct Members(Map);

impl Members {
    fn put(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name, value);
        }
        self
    }

    fn flag(self, name: &str, flag: bool) -> Self {
        self.put(name, flag.then_some(true))
    }

    fn list<T>(self, name: &str, items: &[T], write: impl Fn(&T) -> Value) -> Self {
        let list = (!items.is_empty()).then(|| items.iter().map(write).collect::<List>());
        self.put(name, list)
    }

    fn atom(self, atom: &AtomDef) -> Self {
        self.put("scalar", atom.scalar.map(|s| s.name()))
            .put("list", atom.list.as_deref().map(|def| level(|| list(def))))
            .put("map", atom.map.as_deref().map(|def| level(|| map(def))))
    }

    fn relationship(self, relationship: Option<Relationship>) -> Self {
        self.put("elementRelationship", relationship.map(Relationship::name))
    }
}

impl From<Members> for Value {
    fn from(members: Members) -> Value {
        Value::Map(members.0)
    }
}

pub(crate) fn schema(types: &[TypeDef]) -> Value {
    let write = |def: &TypeDef| {
        Members::default()
            .put("name", Some(&def.name).cloned())
            .atom(&def.atom)
            .into()
    };
    Members::default().list("types", types, write).into()
}

fn type_ref(reference: &TypeRef) -> Value {
    Members::default()
        .put("namedType", reference.named.clone())
        .atom(&reference.inlined)
        .relationship(reference.relationship)
        .flag("nullable", reference.nullable)
        .into()
}

fn string(string: &Str) -> Value {
    Value::from(string)
}

fn list(list: &ListDef) -> Value {
    Members::default()
        .put("elementType", Some(type_ref(&list.element)))
        .relationship(list.relationship)
        .list("keys", &list.keys, string)
        .into()
}

fn map(map: &MapDef) -> Value {
    Members::default()
        .list("fields", &map.fields, field)
        .list("unions", &map.unions, union)
        .put("elementType", map.element.as_ref().map(type_ref))
        .relationship(map.relationship)
        .into()
}

fn field(field: &FieldDef) -> Value {
    Members::default()
        .put("name", Some(field.name.clone()))
        .put("type", Some(type_ref(&field.ty)))
        .put("default", field.default.clone())
        .into()
}

fn union(union: &Union) -> Value {
    let member = |field: &UnionField| {
        Members::default()
            .put("fieldName", Some(field.field.clone()))
            .put("discriminatorValue", Some(field.value.clone()))
            .flag("optional", field.optional)
            .into()
    };

    Members::default()
        .put("discriminator", union.discriminator.clone())
        .flag("deduceInvalidDiscriminator", union.deduce)
        .list("fields", &union.fields, member)
        .list("emptyMembers", &union.empty_members, string)
        .flag("closed", union.closed)
        .flag("required", union.required)
        .into()
}
