//! Selects the parts of a document that objects use.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_schema::internal::{AtomDef, TypeDef, TypeRef};
use fieldmanager_value::Str;

type Kinds = Vec<(GroupVersionKind, Str)>;

/// The prefix of the types shared by all APIs. No object of these types is stored, although requests and responses have
/// a kind (`DeleteOptions`, `WatchEvent`).
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.";

/// Keeps the kinds of objects and the types that they use. Lists of objects are removed.
pub(crate) fn needed(definitions: Vec<TypeDef>, kinds: Kinds) -> (Vec<TypeDef>, Kinds) {
    let by_name: BTreeMap<Str, TypeDef> = definitions
        .into_iter()
        .map(|def| (def.name.clone(), def))
        .collect();
    let is_object = |name: &Str| !name.starts_with(META) && !by_name.get(name).is_some_and(is_list);
    let kinds: Kinds = kinds
        .into_iter()
        .filter(|(_, name)| is_object(name))
        .collect();
    let mut reached: BTreeSet<&Str> = BTreeSet::new();
    let mut open: Vec<&Str> = kinds.iter().map(|(_, name)| name).collect();

    // Types refer to each other in circles, so each is followed once.
    while let Some(name) = open.pop() {
        if let Some((name, def)) = by_name.get_key_value(name)
            && reached.insert(name)
        {
            references(&def.atom, &mut open);
        }
    }

    let types = by_name
        .iter()
        .filter(|(name, _)| reached.contains(name))
        .map(|(_, def)| def.clone())
        .collect();
    (types, kinds)
}

/// Whether a type is a list of objects, which has its own metadata.
fn is_list(def: &TypeDef) -> bool {
    let fields = def
        .atom
        .map
        .as_ref()
        .map(|map| map.fields.as_slice())
        .unwrap_or_default();
    // Kinds whose names end in `List` need not be lists, so the type of the metadata decides.
    let metadata = fields.iter().find(|field| field.name == "metadata");
    metadata
        .and_then(|field| field.ty.named.as_ref())
        .is_some_and(|name| name.ends_with(".ListMeta"))
}

fn references<'d>(atom: &'d AtomDef, out: &mut Vec<&'d Str>) {
    let mut reference = |to: &'d TypeRef| {
        out.extend(&to.named);
        references(&to.inlined, out);
    };
    if let Some(list) = &atom.list {
        reference(&list.element);
    }

    if let Some(map) = &atom.map {
        map.fields
            .iter()
            .map(|field| &field.ty)
            .chain(&map.element)
            .for_each(reference);
    }
}
