//! Resolution of definitions.

use std::sync::Arc;

use ahash::RandomState;
use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, Str};
use hashbrown::HashMap;

use crate::UNTYPED_DEDUCED;
use crate::definition::{
    AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, Union,
};
use crate::error::{Error, Fault};
use crate::names::FieldNames;
use crate::place::{Location, LocationStep};
use crate::resolved::{
    Atom, Field, KeyField, ListType, MapType, NOTHING, ResolvedSchema, Schema, TypeId,
};
use crate::similar::{FAULTS_WITH_SUGGESTIONS, similar_names};

/// Resolves definitions; see `resolve_definitions`.
pub(crate) fn schema(types: Vec<TypeDef>) -> Result<Schema, Error> {
    let mut builder = SchemaBuilder::default();
    // Every name gets its id first, so that a type may refer to itself and to a later one.
    for (i, def) in types.iter().enumerate() {
        let id = TypeId(u32::try_from(i).unwrap_or(u32::MAX));
        builder.push(None);
        if builder.by_name.insert(def.name.clone(), id).is_some() {
            builder.type_name = def.name.clone();
            builder.place = type_place(def);
            builder.fault("duplicate name");
        }
    }

    for (i, def) in types.iter().enumerate() {
        builder.type_name = def.name.clone();
        builder.place = type_place(def);
        let atom = builder.atom(&def.atom, false);
        builder.record_place(i, &atom);
        if let Some(slot) = builder.atoms.get_mut(i) {
            *slot = Some(atom);
        }
    }

    builder.finish(types)
}

fn type_place(def: &TypeDef) -> Location {
    Location::from([
        LocationStep::Text(".types"),
        LocationStep::Item("name", def.name.clone()),
    ])
}

#[derive(Default)]
struct SchemaBuilder {
    by_name: HashMap<Str, TypeId, RandomState>,
    /// The named types in order, followed by inlined ones. `None` until resolved.
    atoms: Vec<Option<Atom>>,
    /// The places of the lists with keys among them.
    places: HashMap<usize, Location, RandomState>,
    /// Types that override the relationship of another type.
    overrides: HashMap<(TypeId, Relationship), TypeId, RandomState>,
    pending_overrides: Vec<(TypeId, TypeId, Relationship, Str, Location)>,
    faults: Vec<Fault>,
    type_name: Str,
    place: Location,
    /// The number of atoms around the current one.
    depth: usize,
}

impl SchemaBuilder {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            type_name: Some(self.type_name.to_string()),
            path: self.place.to_string(),
            message: message.into(),
        });
    }

    fn at<T, const N: usize>(
        &mut self,
        steps: [LocationStep; N],
        f: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let depth = self.place.depth();
        steps.into_iter().for_each(|step| self.place.push(step));
        let out = f(self);
        self.place.truncate(depth);
        out
    }

    fn push(&mut self, atom: Option<Atom>) -> TypeId {
        let id = TypeId(u32::try_from(self.atoms.len()).unwrap_or(u32::MAX));
        self.atoms.push(atom);
        id
    }

    /// Records the place of an atom that later checks may report on.
    fn record_place(&mut self, at: usize, atom: &Atom) {
        if atom
            .list
            .as_ref()
            .is_some_and(|list| !list.atomic && !list.keys.is_empty())
        {
            self.places.insert(at, self.place.clone());
        }
    }

    /// The known type with the most similar name.
    fn suggestion(&self, name: &str) -> Option<&str> {
        if self.faults.len() >= FAULTS_WITH_SUGGESTIONS {
            return None;
        }
        let known = self
            .by_name
            .keys()
            .map(|known| (known.as_str(), known.as_str()));
        similar_names(name, known, 0.9).first().copied()
    }

    fn type_ref(&mut self, reference: &TypeRef) -> TypeId {
        // An inlined type becomes an atom of its own, after the named ones.
        let base = match &reference.named {
            Some(name) => match self.by_name.get(name) {
                Some(id) => *id,
                None => {
                    let hint = self
                        .suggestion(name)
                        .map(|known| format!(", did you mean `{known}`"));
                    self.fault(format!("unknown type `{name}`{}", hint.unwrap_or_default()));
                    return TypeId(u32::MAX);
                }
            },
            None => {
                let atom = self.atom(&reference.inlined, true);
                self.record_place(self.atoms.len(), &atom);
                self.push(Some(atom))
            }
        };

        let Some(relationship) = reference.relationship else {
            return base;
        };

        // References with the same override share one atom.
        if let Some(id) = self.overrides.get(&(base, relationship)) {
            return *id;
        }

        // The base may not be resolved yet, so the override is completed when all types are known.
        let id = self.push(None);
        self.overrides.insert((base, relationship), id);
        self.pending_overrides.push((
            id,
            base,
            relationship,
            self.type_name.clone(),
            self.place.clone(),
        ));

        id
    }

    fn atom(&mut self, def: &AtomDef, inlined: bool) -> Atom {
        let mut list = def.list.as_deref();
        let mut map = def.map.as_deref();
        // Dropping the kinds after the fault ends the recursion.
        if self.depth >= MAX_DEPTH && (list.is_some() || map.is_some()) {
            self.fault(format!(
                "inlined types are nested deeper than {MAX_DEPTH} levels"
            ));
            (list, map) = (None, None);
        }

        self.depth += 1;
        let atom = Atom {
            scalar: def.scalar,
            list: list
                .map(|list| level(|| self.at([LocationStep::Text(".list")], |b| b.list(list)))),
            map: map.map(|map| level(|| self.at([LocationStep::Text(".map")], |b| b.map(map)))),
            name: self.type_name.clone(),
            inlined,
        };
        self.depth -= 1;

        atom
    }

    fn list(&mut self, def: &ListDef) -> ListType {
        let element = self.at([LocationStep::Text(".elementType")], |b| {
            b.type_ref(&def.element)
        });
        if !matches!(
            def.relationship,
            Some(Relationship::Atomic | Relationship::Associative)
        ) {
            self.fault("a list needs an elementRelationship, atomic or associative");
        }

        ListType {
            element,
            atomic: def.relationship == Some(Relationship::Atomic),
            keys: def
                .keys
                .iter()
                .map(|name| KeyField {
                    name: name.clone(),
                    default: None,
                })
                .collect(),
        }
    }

    fn map(&mut self, def: &MapDef) -> MapType {
        let mut fields: Vec<Field> = def.fields.iter().map(|field| self.field(field)).collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        // After sorting, duplicates are neighbours.
        for pair in fields.windows(2) {
            if let [a, b] = pair
                && a.name == b.name
            {
                self.fault(format!("duplicate field `{}`", a.name));
            }
        }

        self.unions(&def.unions);
        // Such a map stands for an object without a schema; its field sets are never reconciled.
        let untyped_element = |element: &TypeRef| match &element.named {
            Some(name) => *name == UNTYPED_DEDUCED,
            None => element.inlined.scalar == Some(Scalar::Untyped),
        };
        MapType {
            names: FieldNames::new(fields.iter().map(|field| &field.name)),
            untyped: fields.is_empty() && def.element.as_ref().is_some_and(untyped_element),
            fields,
            element: def.element.as_ref().map(|element| {
                self.at([LocationStep::Text(".elementType")], |b| {
                    b.type_ref(element)
                })
            }),
            atomic: def.relationship == Some(Relationship::Atomic),
            unions: def.unions.clone(),
        }
    }

    fn field(&mut self, def: &FieldDef) -> Field {
        let steps = [
            LocationStep::Text(".fields"),
            LocationStep::Item("name", def.name.clone()),
            LocationStep::Text(".type"),
        ];
        Field {
            name: def.name.clone(),
            ty: self.at(steps, |b| b.type_ref(&def.ty)),
            default: def.default.clone(),
        }
    }

    fn unions(&mut self, unions: &[Union]) {
        let mut members: Vec<&Str> = Vec::new();
        for (i, union) in unions.iter().enumerate() {
            let mut values: Vec<&Str> = Vec::new();
            for field in &union.fields {
                let steps = || {
                    let name = field.field.clone();
                    [
                        LocationStep::Text(".unions"),
                        LocationStep::Index(i),
                        LocationStep::Text(".fields"),
                        LocationStep::Item("fieldName", name),
                    ]
                };
                if members.contains(&&field.field) {
                    self.at(steps(), |b| b.fault("a field may belong to one union only"));
                }

                members.push(&field.field);
                // Two members with one value would leave open which of them the discriminator selects.
                if union.discriminator.is_some() {
                    if values.contains(&&field.value) {
                        let message =
                            format!("two fields have the discriminator value `{}`", field.value);
                        self.at(steps(), |b| b.fault(message));
                    }
                    values.push(&field.value);
                }
            }
        }
    }

    fn resolve_overrides(&mut self) {
        for (id, base, relationship, type_name, place) in
            std::mem::take(&mut self.pending_overrides)
        {
            // Faults are reported at the reference, not at the type that it names.
            (self.type_name, self.place) = (type_name, place);
            let Some(mut atom) = self.get(base).cloned() else {
                continue;
            };
            let atomic = relationship == Relationship::Atomic;

            // For a type that accepts both kinds, the override is about the map.
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

            // The override may make a list associative, so its keys are checked later too.
            let at = usize::try_from(id.0).unwrap_or(usize::MAX);
            self.record_place(at, &atom);
            if let Some(slot) = self.atoms.get_mut(at) {
                *slot = Some(atom);
            }
        }
    }

    fn get(&self, id: TypeId) -> Option<&Atom> {
        self.atoms.get(usize::try_from(id.0).ok()?)?.as_ref()
    }

    /// Checks the keys of associative lists and resolves their defaults.
    fn resolve_keys(&mut self) {
        let mut defaults = Vec::new();
        let mut faults = Vec::new();
        for (i, atom) in self.atoms.iter().enumerate() {
            let Some((atom, list)) = atom.as_ref().and_then(|a| Some((a, a.list.as_ref()?))) else {
                continue;
            };
            let place = self.places.get(&i);
            // A set has no keys: its items are matched by value.
            if list.atomic || list.keys.is_empty() {
                continue;
            }

            let mut fault = |message: String| {
                faults.push(Fault {
                    type_name: Some(atom.name.to_string()),
                    path: format!("{}.list.keys", place.cloned().unwrap_or_default()),
                    message,
                });
            };
            // An unknown type of the items is reported at its reference.
            let Some(element) = self.get(list.element) else {
                continue;
            };
            let Some(map) = &element.map else {
                fault("an associative list with keys needs items that are maps".into());
                continue;
            };

            // A key of undeclared fields has no default. A key that the items do not accept could identify none of
            // them.
            for (k, key) in list.keys.iter().enumerate() {
                match map.field(&key.name) {
                    Some(field) => defaults.push((i, k, field.default.clone())),
                    None if map.element.is_some() => {}
                    None => {
                        let names: Vec<&str> = map.fields.iter().map(|f| f.name.as_str()).collect();
                        fault(format!(
                            "key `{}` is not a field of the items, expected one of {}",
                            key.name,
                            names.join(", ")
                        ));
                    }
                }
            }
        }

        // The walk borrows the atoms, so the defaults are stored after it.
        self.faults.extend(faults);
        for (i, k, default) in defaults {
            let list = self.atoms.get_mut(i).and_then(Option::as_mut);
            let list = list.and_then(|atom| atom.list.as_mut());
            if let Some(key) = list.and_then(|list| list.keys.get_mut(k)) {
                key.default = default;
            }
        }
    }

    /// Removes unions whose discriminator is not a field of the struct or does not accept strings. Such a discriminator
    /// cannot be set, and an object must remain valid despite a mistake in the schema. The definitions keep these
    /// unions.
    fn drop_unusable_unions(&mut self) {
        // The second walk changes atoms, so what it needs to know about others is computed first.
        let accepts_strings =
            |atom: &Atom| matches!(atom.scalar, Some(Scalar::String | Scalar::Untyped));
        let strings: Vec<bool> = self
            .atoms
            .iter()
            .map(|atom| atom.as_ref().is_some_and(accepts_strings))
            .collect();

        for map in self
            .atoms
            .iter_mut()
            .flatten()
            .filter_map(|atom| atom.map.as_mut())
        {
            let mut unions = std::mem::take(&mut map.unions);
            unions.retain(|union| {
                union.discriminator.as_ref().is_none_or(|name| {
                    let ty = map.type_of(name).and_then(|ty| usize::try_from(ty.0).ok());
                    ty.and_then(|at| strings.get(at))
                        .copied()
                        .unwrap_or_default()
                })
            });
            map.unions = unions;
        }
    }

    fn finish(mut self, types: Vec<TypeDef>) -> Result<Schema, Error> {
        // Overrides come first: the other steps look at resolved atoms only.
        self.resolve_overrides();
        self.resolve_keys();
        self.drop_unusable_unions();
        if !self.faults.is_empty() {
            return Err(Error::Invalid(self.faults));
        }

        // Without faults every atom is resolved.
        let atoms = self.atoms.into_iter();
        let atoms: Vec<Atom> = atoms
            .map(|atom| atom.unwrap_or_else(|| NOTHING.clone()))
            .collect();
        let mixed =
            |atom: &Atom| atom.map.is_some() && atom.list.as_ref().is_some_and(|list| !list.atomic);
        Ok(Schema(Arc::new(ResolvedSchema {
            types,
            by_name: self.by_name,
            plain: !atoms.iter().any(mixed),
            with_unions: with_unions(&atoms, false),
            with_atomic_unions: with_unions(&atoms, true),
            atoms,
        })))
    }
}

/// For each atom, whether it or one of its descendants has a union. Atomic parts are included only if `atomic` is set.
fn with_unions(atoms: &[Atom], atomic: bool) -> Vec<bool> {
    // The parents of each atom: the search starts from the structs with unions and proceeds upwards.
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); atoms.len()];
    let mut found = vec![false; atoms.len()];
    let mut open = Vec::new();
    for (i, atom) in atoms.iter().enumerate() {
        // Normalization does not descend into atomic lists and maps, which have one owner as a whole. Validation does.
        let map = atom.map.as_ref().filter(|map| atomic || !map.atomic);
        let list = atom.list.as_ref().filter(|list| atomic || !list.atomic);
        let fields = map
            .into_iter()
            .flat_map(|map| map.fields.iter().map(|field| field.ty).chain(map.element));

        for child in fields.chain(list.map(|list| list.element)) {
            let child = usize::try_from(child.0).ok();
            if let Some(parents) = child.and_then(|child| parents.get_mut(child)) {
                parents.push(i);
            }
        }

        if map.is_some_and(|map| !map.unions.is_empty()) {
            open.push(i);
        }
    }

    // Each atom is visited once, so that recursive types end.
    while let Some(i) = open.pop() {
        if let Some(found) = found.get_mut(i).filter(|found| !**found) {
            *found = true;
            open.extend(parents.get(i).into_iter().flatten());
        }
    }
    found
}
