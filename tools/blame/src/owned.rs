//! Tracks ownership while descending into an object.

use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::internal::{ListType, TypeId};
use fieldmanager_schema::{Type, UNTYPED_DEDUCED};
use fieldmanager_value::{Map, Value};

/// The ownership of one entry at and below a place in the object.
#[derive(Clone, Copy)]
struct Share<'s> {
    owner: usize,
    /// Whether the entry owns the place itself.
    member: bool,
    /// Whether the entry owns everything below the place as well, because the place is atomic.
    whole: bool,
    below: Option<&'s Set>,
}

/// A place in an object: its type, if known, and what each entry owns there.
#[derive(Clone)]
pub(crate) struct OwnedPlace<'s> {
    ty: Option<(&'s Type, TypeId)>,
    shares: Vec<Share<'s>>,
}

impl<'s> OwnedPlace<'s> {
    pub(crate) fn root(ty: Option<&'s Type>, sets: &'s [Set]) -> Self {
        let share = |(owner, set)| Share {
            owner,
            member: false,
            whole: false,
            below: Some(set),
        };
        OwnedPlace {
            ty: ty.map(|ty| (ty, ty.id())),
            shares: sets.iter().enumerate().map(share).collect(),
        }
    }

    pub(crate) fn owners(&self) -> Vec<usize> {
        self.shares
            .iter()
            .filter(|share| share.member)
            .map(|share| share.owner)
            .collect()
    }

    /// Descends into a field of a map.
    pub(crate) fn field(&self, name: &str, value: &Value) -> Self {
        let ty = self
            .ty
            .and_then(|(ty, id)| Some((ty, ty.schema().atom(id).map.as_ref()?.type_of(name)?)));
        self.child(&[PathElement::field(name)], ty, value)
    }

    /// How the items of a list are identified: by the type, or by the paths of the entries.
    pub(crate) fn items(&self) -> ItemIdentity<'s> {
        let typed = self.known().and_then(|(ty, id)| {
            let list = ty.schema().atom(id).list.as_ref()?;
            Some((list, (ty, list.element)))
        });
        match typed {
            Some((list, element)) => ItemIdentity {
                list: Some(list),
                element: Some(element),
                keys: Vec::new(),
            },
            None => ItemIdentity {
                list: None,
                element: None,
                keys: self.key_names(),
            },
        }
    }

    /// Descends into an item of a list. Returns the path element of the item as well.
    pub(crate) fn item(
        &self,
        items: &ItemIdentity<'s>,
        at: usize,
        value: &Value,
    ) -> (Self, PathElement) {
        let elements = items.elements(at, value);
        let place = self.child(&elements, items.element, value);
        // The path of a line has the element that managed fields contain, if any entry does.
        let owned = elements
            .iter()
            .find(|element| self.shares.iter().any(|share| share.get(element).is_some()));
        let index = PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX));
        let name = owned
            .or(elements.first().filter(|_| items.list.is_some()))
            .cloned()
            .unwrap_or(index);

        (place, name)
    }

    fn child(
        &self,
        elements: &[PathElement],
        ty: Option<(&'s Type, TypeId)>,
        value: &Value,
    ) -> Self {
        let mut shares = Vec::new();
        // The owner of a whole value owns everything below it. Any other owner needs a path element of the child in its
        // set.
        for share in &self.shares {
            if share.whole {
                shares.push(*share);
            } else if let Some((member, below)) =
                elements.iter().find_map(|element| share.get(element))
            {
                shares.push(Share {
                    owner: share.owner,
                    member,
                    whole: false,
                    below: Some(below),
                });
            }
        }

        let mut place = OwnedPlace { ty, shares };
        place.spread(value);
        place
    }

    /// Marks the shares whose entry owns the whole value.
    fn spread(&mut self, value: &Value) {
        let atomic = match (self.known(), value) {
            (Some((ty, id)), Value::Map(_)) => ty
                .schema()
                .atom(id)
                .map
                .as_ref()
                .is_some_and(|map| map.atomic),
            (Some((ty, id)), Value::List(_)) => ty
                .schema()
                .atom(id)
                .list
                .as_ref()
                .is_some_and(|list| list.atomic),
            // The type is unknown: without an entry below an owned value, the value is atomic.
            (None, Value::Map(_) | Value::List(_)) => {
                self.shares.iter().all(|share| share.is_leaf())
            }
            _ => false,
        };

        // Without a member at the place itself, a set has only fields below it, which do not make it the owner.
        for share in self
            .shares
            .iter_mut()
            .filter(|share| share.member && atomic)
        {
            share.whole = true;
        }
    }

    /// The type, unless it accepts any value.
    fn known(&self) -> Option<(&'s Type, TypeId)> {
        self.ty.filter(|(ty, id)| {
            let atom = ty.schema().atom(*id);
            atom.inlined || atom.name != UNTYPED_DEDUCED
        })
    }

    /// The combinations of key fields by which entries identify items here, without duplicates.
    fn key_names(&self) -> Vec<Vec<&'s str>> {
        let mut found: Vec<Vec<&str>> = Vec::new();
        for set in self.shares.iter().filter_map(|share| share.below) {
            for (element, _) in set.nodes() {
                if let PathElement::Key(fields) = element {
                    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                    if !found.contains(&names) {
                        found.push(names);
                    }
                }
            }
        }

        found
    }
}

impl<'s> Share<'s> {
    fn get(&self, element: &PathElement) -> Option<(bool, &'s Set)> {
        self.below?
            .get(element)
            .map(|node| (node.is_member(), node.children()))
    }

    fn is_leaf(&self) -> bool {
        self.whole || self.below.is_none_or(Set::is_empty)
    }
}

/// How the items of a list are identified.
pub(crate) struct ItemIdentity<'s> {
    list: Option<&'s ListType>,
    element: Option<(&'s Type, TypeId)>,
    /// Without a type: the key fields found in paths.
    keys: Vec<Vec<&'s str>>,
}

impl ItemIdentity<'_> {
    /// The path elements that may identify an item.
    fn elements(&self, at: usize, item: &Value) -> Vec<PathElement> {
        let index = PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX));
        // Without a type, the form of a path element is unknown, so every form that entries use here is tried.
        let Some(list) = self.list else {
            let key = |names: &Vec<&str>| -> Option<PathElement> {
                let fields: Option<Map> = names
                    .iter()
                    .map(|name| Some(((*name).into(), item.get(name)?.clone())))
                    .collect::<Option<Vec<(fieldmanager_value::Str, Value)>>>()
                    .map(|fields| fields.into_iter().collect());
                fields.map(PathElement::Key)
            };
            let value = item.is_scalar().then(|| PathElement::Value(item.clone()));
            return self
                .keys
                .iter()
                .filter_map(key)
                .chain(value)
                .chain([index])
                .collect();
        };

        // A type allows only one form.
        if list.atomic {
            return vec![index];
        }
        if list.keys.is_empty() {
            return vec![PathElement::Value(item.clone())];
        }

        // A key field that the item lacks has the default of the schema in its path.
        let field = |key: &fieldmanager_schema::internal::KeyField| {
            let value = item.get(&key.name).or(key.default.as_ref())?;
            Some((key.name.clone(), value.clone()))
        };
        vec![PathElement::Key(
            list.keys.iter().filter_map(field).collect(),
        )]
    }
}
