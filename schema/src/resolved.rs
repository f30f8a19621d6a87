//! The resolved form of a schema: references are ids, fields are found without allocation.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use fieldmanager_value::{Str, Value};

use crate::definition::{AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, Union};
use crate::error::{Error, Fault};
use crate::parse::Reader;
use crate::{UNTYPED_ATOMIC, UNTYPED_DEDUCED, write};

/// A type of one schema, by number. It means nothing to another schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

/// A schema: named types with every reference resolved. Cloning is O(1).
///
/// Two schemas are equal when their definitions are.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    types: Vec<TypeDef>,
    by_name: HashMap<Str, TypeId>,
    atoms: Vec<Atom>,
    plain: bool,
}

/// What a type may be, with references resolved. See [`AtomDef`].
#[derive(Clone, Debug)]
pub struct Atom {
    /// A scalar.
    pub scalar: Option<Scalar>,
    /// A list.
    pub list: Option<ListType>,
    /// A map.
    pub map: Option<MapType>,
    /// The name of the type, or of the type that it is written in.
    pub name: Str,
    /// Whether the type is written in place rather than named.
    pub inlined: bool,
}

/// A list type.
#[derive(Clone, Debug)]
pub struct ListType {
    /// The type of the items.
    pub element: TypeId,
    /// Whether the whole has one set of owners; otherwise the list is associative.
    pub atomic: bool,
    /// For an associative list of maps, the fields whose values identify an item. A set has none.
    pub keys: Vec<KeyField>,
}

/// A field whose value is a part of the key of an item.
#[derive(Clone, Debug)]
pub struct KeyField {
    /// Its name.
    pub name: Str,
    /// The value of an item that does not have the field.
    pub default: Option<Value>,
}

/// A map or struct type.
#[derive(Clone, Debug)]
pub struct MapType {
    /// Sorted by name.
    fields: Vec<Field>,
    /// The type of fields that are not declared; without it there may be none.
    pub element: Option<TypeId>,
    /// Whether the whole has one set of owners.
    pub atomic: bool,
    /// Groups of fields of which one may be set.
    pub unions: Vec<Union>,
    /// Whether the type declares nothing and takes everything, as an object without a schema does.
    pub untyped: bool,
}

/// A declared field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Str,
    /// The type of its value.
    pub ty: TypeId,
    /// The value that an object without the field is taken to have.
    pub default: Option<Value>,
}

impl MapType {
    /// The declared field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The declared fields, sorted by name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The type of the field of a name, be it declared or not; none if no such field is accepted.
    pub fn type_of(&self, name: &str) -> Option<TypeId> {
        self.field(name).map(|field| field.ty).or(self.element)
    }

    /// The declared fields whose names are most like the given one, at most three, the best first. For
    /// messages about fields that are not declared.
    pub fn nearest_fields(&self, name: &str) -> Vec<&str> {
        let lower = name.to_lowercase();
        let mut near: Vec<(f64, &str)> = self
            .fields
            .iter()
            .map(|field| {
                let likeness = strsim::jaro_winkler(&lower, &field.name.to_lowercase());
                (likeness, field.name.as_str())
            })
            .filter(|(likeness, _)| *likeness > 0.85)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        near.truncate(3);
        near.into_iter().map(|(_, name)| name).collect()
    }
}

impl Schema {
    /// Reads a schema from a YAML or JSON text in the Go package's format.
    ///
    /// # Errors
    ///
    /// [`Error::Text`] if it is not YAML, [`Error::Invalid`] with every fault of the schema.
    pub fn from_yaml(text: &str) -> Result<Schema, Error> {
        Self::from_value(&Value::from_yaml(text)?)
    }

    /// Reads a schema from a document in the Go package's format.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every fault: unknown fields and names, duplicates, and what
    /// [`from_definitions`](Self::from_definitions) refuses.
    pub fn from_value(document: &Value) -> Result<Schema, Error> {
        let mut reader = Reader::default();
        let types = reader.schema(document);
        if reader.faults.is_empty() {
            Self::from_definitions(types)
        } else {
            Err(Error::Invalid(reader.faults))
        }
    }

    /// Resolves definitions.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every fault: references to unknown types, associative lists with keys whose
    /// items are no maps or have no such fields, lists without a relationship, overrides of the relationship
    /// of a scalar, and unions that share members or discriminator values.
    pub fn from_definitions(types: Vec<TypeDef>) -> Result<Schema, Error> {
        let mut builder = Builder::default();
        for (i, def) in types.iter().enumerate() {
            let id = TypeId(u32::try_from(i).unwrap_or(u32::MAX));
            builder.by_name.insert(def.name.clone(), id);
            builder.atoms.push(None);
        }
        for (i, def) in types.iter().enumerate() {
            builder.type_name = def.name.clone();
            builder.path = format!(".types[name={}]", Value::String(def.name.clone()));
            let atom = builder.atom(&def.atom, false);
            if let Some(slot) = builder.atoms.get_mut(i) {
                *slot = Some(atom);
            }
        }
        builder.finish(types)
    }

    /// The type of a name.
    pub fn type_named(&self, name: &str) -> Option<Type> {
        let id = *self.0.by_name.get(name)?;
        Some(Type { schema: self.clone(), id })
    }

    /// The names of the types, in the order of the schema.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.0.types.iter().map(|def| def.name.as_str())
    }

    /// What a type may be.
    ///
    /// An id of another schema gives an atom of this one that has nothing to do with it, or one that
    /// accepts no value; it never panics.
    pub fn atom(&self, id: TypeId) -> &Atom {
        usize::try_from(id.0).ok().and_then(|at| self.0.atoms.get(at)).unwrap_or(&NOTHING)
    }

    /// Whether no type may be a map as well as an associative list. Then the field set of a value needs no
    /// reconciliation with the type it was made by.
    pub fn is_plain(&self) -> bool {
        self.0.plain
    }

    /// The definitions of the schema.
    pub fn definitions(&self) -> &[TypeDef] {
        &self.0.types
    }

    /// The schema as a document, in the Go package's format.
    pub fn to_value(&self) -> Value {
        write::schema(&self.0.types)
    }

    /// Whether both are the same schema in memory, so that ids of one mean the same to the other.
    pub fn ptr_eq(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The type whose structure is deduced from the value: maps are separable, lists atomic.
    ///
    /// ```
    /// let any = fieldmanager_schema::Schema::deduced();
    /// assert!(any.atom().list.as_ref().unwrap().atomic);
    /// assert!(!any.atom().map.as_ref().unwrap().atomic);
    /// ```
    pub fn deduced() -> Type {
        static DEDUCED: LazyLock<Option<Type>> = LazyLock::new(|| {
            let schema = Schema::from_definitions(untyped()).ok()?;
            schema.type_named(UNTYPED_DEDUCED)
        });
        DEDUCED.clone().unwrap_or_else(|| Type {
            schema: Schema(Arc::new(Inner {
                types: Vec::new(),
                by_name: HashMap::new(),
                atoms: Vec::new(),
                plain: true,
            })),
            id: TypeId(0),
        })
    }
}

/// An atom that accepts nothing.
static NOTHING: LazyLock<Atom> =
    LazyLock::new(|| Atom { scalar: None, list: None, map: None, name: Str::default(), inlined: true });

/// The definitions of the two untyped types.
fn untyped() -> Vec<TypeDef> {
    let reference = |name: &str| TypeRef { named: Some(name.into()), ..TypeRef::default() };
    let def = |name: &str, relationship| TypeDef {
        name: name.into(),
        atom: AtomDef {
            scalar: Some(Scalar::Untyped),
            list: Some(Box::new(ListDef {
                element: reference(UNTYPED_ATOMIC),
                relationship: Some(Relationship::Atomic),
                keys: Vec::new(),
            })),
            map: Some(Box::new(MapDef {
                element: Some(reference(name)),
                relationship: Some(relationship),
                ..MapDef::default()
            })),
        },
    };
    vec![def(UNTYPED_ATOMIC, Relationship::Atomic), def(UNTYPED_DEDUCED, Relationship::Separable)]
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.0.types == other.0.types
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.type_names()).finish()
    }
}

/// A type together with its schema. Cloning is O(1).
#[derive(Clone)]
pub struct Type {
    schema: Schema,
    id: TypeId,
}

impl Type {
    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The type's number in its schema.
    pub fn id(&self) -> TypeId {
        self.id
    }

    /// What the type may be.
    pub fn atom(&self) -> &Atom {
        self.schema.atom(self.id)
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.atom().name
    }
}

/// The same type of the same schema, in memory.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.schema.ptr_eq(&other.schema)
    }
}

impl Eq for Type {}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Default)]
struct Builder {
    by_name: HashMap<Str, TypeId>,
    /// The first ones are the named types in order; none until it is resolved.
    atoms: Vec<Option<Atom>>,
    /// Types that are another type with its relationship overridden.
    overrides: HashMap<(TypeId, Relationship), TypeId>,
    pending_overrides: Vec<(TypeId, TypeId, Relationship, Str, String)>,
    faults: Vec<Fault>,
    type_name: Str,
    path: String,
}

impl Builder {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            type_name: Some(self.type_name.to_string()),
            path: self.path.clone(),
            message: message.into(),
        });
    }

    fn at<T>(&mut self, step: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(step);
        let out = f(self);
        self.path.truncate(length);
        out
    }

    fn push(&mut self, atom: Option<Atom>) -> TypeId {
        let id = TypeId(u32::try_from(self.atoms.len()).unwrap_or(u32::MAX));
        self.atoms.push(atom);
        id
    }

    fn type_ref(&mut self, reference: &TypeRef) -> TypeId {
        let base = match &reference.named {
            Some(name) => match self.by_name.get(name) {
                Some(id) => *id,
                None => {
                    let mut near: Vec<&Str> = self.by_name.keys().collect();
                    near.retain(|known| strsim::jaro_winkler(known, name) > 0.9);
                    near.sort();
                    let hint = near.first().map(|n| format!(", did you mean `{n}`"));
                    self.fault(format!("unknown type `{name}`{}", hint.unwrap_or_default()));
                    return TypeId(u32::MAX);
                }
            },
            None => {
                let atom = self.atom(&reference.inlined, true);
                self.push(Some(atom))
            }
        };
        let Some(relationship) = reference.relationship else {
            return base;
        };
        if let Some(id) = self.overrides.get(&(base, relationship)) {
            return *id;
        }
        let id = self.push(None);
        self.overrides.insert((base, relationship), id);
        let place = (self.type_name.clone(), self.path.clone());
        self.pending_overrides.push((id, base, relationship, place.0, place.1));
        id
    }

    fn atom(&mut self, def: &AtomDef, inlined: bool) -> Atom {
        let list = def.list.as_deref();
        let map = def.map.as_deref();
        Atom {
            scalar: def.scalar,
            list: list.map(|list| self.at(".list", |b| b.list(list))),
            map: map.map(|map| self.at(".map", |b| b.map(map))),
            name: self.type_name.clone(),
            inlined,
        }
    }

    fn list(&mut self, def: &ListDef) -> ListType {
        let element = self.at(".elementType", |b| b.type_ref(&def.element));
        if !matches!(def.relationship, Some(Relationship::Atomic | Relationship::Associative)) {
            self.fault("a list needs an elementRelationship, atomic or associative");
        }
        ListType {
            element,
            atomic: def.relationship == Some(Relationship::Atomic),
            keys: def.keys.iter().map(|name| KeyField { name: name.clone(), default: None }).collect(),
        }
    }

    fn map(&mut self, def: &MapDef) -> MapType {
        let mut fields: Vec<Field> = def.fields.iter().map(|field| self.field(field)).collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        for pair in fields.windows(2) {
            if let [a, b] = pair
                && a.name == b.name
            {
                self.fault(format!("field `{}` is there twice", a.name));
            }
        }
        self.unions(&def.unions);
        let untyped_element = |element: &TypeRef| match &element.named {
            Some(name) => *name == UNTYPED_DEDUCED,
            None => element.inlined.scalar == Some(Scalar::Untyped),
        };
        MapType {
            untyped: fields.is_empty() && def.element.as_ref().is_some_and(untyped_element),
            fields,
            element: def.element.as_ref().map(|element| self.at(".elementType", |b| b.type_ref(element))),
            atomic: def.relationship == Some(Relationship::Atomic),
            unions: def.unions.clone(),
        }
    }

    fn field(&mut self, def: &FieldDef) -> Field {
        let step = format!(".fields[name={}].type", Value::String(def.name.clone()));
        Field {
            name: def.name.clone(),
            ty: self.at(&step, |b| b.type_ref(&def.ty)),
            default: def.default.clone(),
        }
    }

    fn unions(&mut self, unions: &[Union]) {
        let mut members: Vec<&Str> = Vec::new();
        for (i, union) in unions.iter().enumerate() {
            let mut values: Vec<&Str> = Vec::new();
            for field in &union.fields {
                let step = format!(".unions[{i}].fields[fieldName={}]", Value::String(field.field.clone()));
                if members.contains(&&field.field) {
                    self.at(&step, |b| b.fault("a field may belong to one union only"));
                }
                members.push(&field.field);
                if union.discriminator.is_some() {
                    if values.contains(&&field.value) {
                        let message = format!("two fields have the discriminator value `{}`", field.value);
                        self.at(&step, |b| b.fault(message));
                    }
                    values.push(&field.value);
                }
            }
        }
    }

    fn resolve_overrides(&mut self) {
        for (id, base, relationship, type_name, path) in std::mem::take(&mut self.pending_overrides) {
            (self.type_name, self.path) = (type_name, path);
            let Some(mut atom) = self.get(base).cloned() else {
                continue;
            };
            let atomic = relationship == Relationship::Atomic;
            if let Some(map) = &mut atom.map {
                map.atomic = atomic;
            } else if let Some(list) = &mut atom.list {
                list.atomic = atomic;
                if relationship == Relationship::Separable {
                    self.fault("elementRelationship of a list must be atomic or associative");
                }
            } else {
                self.fault("elementRelationship is set on a type that is neither map nor list");
            }
            if let Some(slot) = usize::try_from(id.0).ok().and_then(|at| self.atoms.get_mut(at)) {
                *slot = Some(atom);
            }
        }
    }

    fn get(&self, id: TypeId) -> Option<&Atom> {
        self.atoms.get(usize::try_from(id.0).ok()?)?.as_ref()
    }

    /// Checks the keys of associative lists and finds their defaults.
    fn resolve_keys(&mut self) {
        let mut defaults = Vec::new();
        let mut faults = Vec::new();
        for (i, atom) in self.atoms.iter().enumerate() {
            let Some((atom, list)) = atom.as_ref().and_then(|a| Some((a, a.list.as_ref()?))) else {
                continue;
            };
            if list.atomic || list.keys.is_empty() {
                continue;
            }
            let mut fault = |message: String| {
                faults.push(Fault {
                    type_name: Some(atom.name.to_string()),
                    path: ".list.keys".into(),
                    message,
                });
            };
            let Some(element) = self.get(list.element) else {
                continue;
            };
            let Some(map) = &element.map else {
                fault("an associative list with keys needs items that are maps".into());
                continue;
            };
            for (k, key) in list.keys.iter().enumerate() {
                match map.field(&key.name) {
                    Some(field) => defaults.push((i, k, field.default.clone())),
                    None if map.element.is_some() => {}
                    None => {
                        let names: Vec<&str> = map.fields.iter().map(|f| f.name.as_str()).collect();
                        fault(format!(
                            "key `{}` is no field of the items, those are {}",
                            key.name,
                            names.join(", ")
                        ));
                    }
                }
            }
        }
        self.faults.extend(faults);
        for (i, k, default) in defaults {
            let list = self.atoms.get_mut(i).and_then(Option::as_mut);
            let list = list.and_then(|atom| atom.list.as_mut());
            if let Some(key) = list.and_then(|list| list.keys.get_mut(k)) {
                key.default = default;
            }
        }
    }

    fn finish(mut self, types: Vec<TypeDef>) -> Result<Schema, Error> {
        self.resolve_overrides();
        self.resolve_keys();
        if !self.faults.is_empty() {
            return Err(Error::Invalid(self.faults));
        }
        let atoms = self.atoms.into_iter();
        let atoms: Vec<Atom> = atoms.map(|atom| atom.unwrap_or_else(|| NOTHING.clone())).collect();
        let mixed = |atom: &Atom| atom.map.is_some() && atom.list.as_ref().is_some_and(|list| !list.atomic);
        Ok(Schema(Arc::new(Inner { types, by_name: self.by_name, plain: !atoms.iter().any(mixed), atoms })))
    }
}
