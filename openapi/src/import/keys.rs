//! List keys that the items do not declare.

use ahash::AHashMap;
use fieldmanager_schema::internal::{AtomDef, ListDef, MapDef, Relationship, TypeDef, TypeRef};
use fieldmanager_value::Str;
use fieldmanager_value::internal::level;

use super::Fault;

/// Makes lists atomic whose items do not declare a field for each key, and returns warnings.
///
/// Published documents contain such lists: in those of Kubernetes before 1.28, `CSIStorageCapacityList.items` has the
/// key `name`. With the key, every object that has an item would be invalid.
pub(super) fn drop_unknown(types: &mut [TypeDef]) -> Vec<Fault> {
    let fields: AHashMap<Str, Option<DeclaredFields>> = types
        .iter()
        .map(|def| (def.name.clone(), DeclaredFields::from_atom(&def.atom)))
        .collect();
    let mut walk = KeyWalk {
        fields,
        definition: Str::default(),
        path: String::new(),
        warnings: Vec::new(),
    };
    for def in types {
        walk.definition = def.name.clone();
        walk.atom(&mut def.atom);
    }

    walk.warnings
}

/// The fields of a struct. `None` stands for a struct that accepts any field.
struct DeclaredFields(Vec<Str>);

impl DeclaredFields {
    fn from_atom(atom: &AtomDef) -> Option<Self> {
        let map = atom.map.as_deref().filter(|map| map.element.is_none())?;
        Some(DeclaredFields(
            map.fields.iter().map(|field| field.name.clone()).collect(),
        ))
    }
}

struct KeyWalk {
    fields: AHashMap<Str, Option<DeclaredFields>>,
    definition: Str,
    path: String,
    warnings: Vec<Fault>,
}

impl KeyWalk {
    fn atom(&mut self, atom: &mut AtomDef) {
        level(|| {
            if let Some(list) = &mut atom.list {
                self.list(list);
            }
            if let Some(map) = &mut atom.map {
                self.map(map);
            }
        })
    }

    fn at(&mut self, steps: &[&str], reference: &mut TypeRef) {
        // A named type is checked at its definition.
        if reference.named.is_some() {
            return;
        }
        let length = self.path.len();
        self.path.extend(steps.iter().copied());
        self.atom(&mut reference.inlined);
        self.path.truncate(length);
    }

    fn map(&mut self, map: &mut MapDef) {
        for field in &mut map.fields {
            self.at(&[".properties.", &field.name], &mut field.ty);
        }
        if let Some(element) = &mut map.element {
            self.at(&[".additionalProperties"], element);
        }
    }

    fn list(&mut self, list: &mut ListDef) {
        let own;

        // The items are of a named or an inlined type. If they accept undeclared fields, no key is unknown.
        let known = match &list.element.named {
            Some(name) => self.fields.get(name).and_then(Option::as_ref),
            None => {
                own = DeclaredFields::from_atom(&list.element.inlined);
                own.as_ref()
            }
        };
        let unknown = known.and_then(|known| list.keys.iter().find(|key| !known.0.contains(key)));

        // Items without their key cannot be identified, so the list gets one owner.
        if let (Some(key), Some(known)) = (unknown, known) {
            let names: Vec<&str> = known.0.iter().map(Str::as_str).collect();
            self.warnings.push(Fault {
                definition: self.definition.to_string(),
                path: format!("{}.x-kubernetes-list-map-keys", self.path),
                message: format!(
                    "key `{key}` is not a field of the items, the list is treated as atomic: {}",
                    if names.is_empty() {
                        "there are no fields".to_owned()
                    } else {
                        format!("fields are {}", names.join(", "))
                    }
                ),
            });
            list.keys.clear();
            list.relationship = Some(Relationship::Atomic);
        }
        self.at(&[".items"], &mut list.element);
    }
}
