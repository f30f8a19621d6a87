//! Random strategic merge patches.

use serde_json::{Map, Value as Json, json};

use super::documents::{Documents, MAX_DEPTH, TEMPLATES, odd, without_duplicates};
use super::schemas::{Field, Ty};
use crate::generate::random::Random;

/// A patch for an object of a type.
pub(super) fn patch(
    documents: &Documents<'_>,
    random: &mut Random,
    ty: usize,
    object: &Json,
    depth: usize,
) -> Map<String, Json> {
    let mut out = Map::new();
    for field in documents.types.fields(ty) {
        // Types may contain themselves, so patches end at a depth.
        let flat = depth <= MAX_DEPTH || field.is_flat();
        if !flat || !random.chance(if depth > 1 { 25 } else { 40 }) {
            continue;
        }
        let old = object.get(field.name).unwrap_or(&Json::Null);
        if random.chance(8) {
            out.insert(field.name.to_owned(), Json::Null);
            continue;
        }

        // The patch is made for the old value, so that it mentions items that exist.
        let value = match field.ty {
            _ if documents.chance_of_noise(random) => odd(random, depth),
            Ty::Struct(at) => Json::Object(patch(documents, random, at, old, depth + 1)),
            Ty::Labels => TEMPLATES.part(random, "labelsPatch", 0),
            Ty::Items(at) => items(documents, random, (field, at), old, depth),
            _ => documents.value(random, field, depth),
        };
        if matches!(field.ty, Ty::Items(_) | Ty::Texts | Ty::Numbers) {
            beside_list(documents, random, field, (old, &value), &mut out);
        }

        // Directives for a list are valid without the list.
        if random.chance(90)
            || !out
                .keys()
                .any(|name| name.ends_with(&format!("/{}", field.name)))
        {
            out.insert(field.name.to_owned(), value);
        }
    }

    if documents.noise && random.chance(2) {
        out.insert("unknown".to_owned(), odd(random, depth));
    }
    directives(documents, random, object, &mut out);
    out
}

/// `$patch` and `$retainKeys`.
fn directives(
    documents: &Documents<'_>,
    random: &mut Random,
    object: &Json,
    out: &mut Map<String, Json>,
) {
    // `$patch` takes effect on the whole map, so it is rare.
    if random.chance(3) {
        let value = random.weighted(
            &[(6, "replace"), (5, "delete"), (1, "merge"), (1, "odd")],
            "replace",
        );
        out.insert("$patch".to_owned(), value.into());
        if documents.noise && random.chance(3) {
            out.insert("$patch".to_owned(), odd(random, 2));
        }
    }

    // `$retainKeys` has to name all fields of the patch; those of the object that it does not name are removed.
    if random.chance(10) {
        let mut names: Vec<Json> = out
            .keys()
            .filter(|name| !name.starts_with('$'))
            .cloned()
            .map(Json::from)
            .collect();

        for name in object.as_object().into_iter().flat_map(Map::keys) {
            if random.chance(40) {
                names.push(name.clone().into());
            }
        }

        // A missing name is an error, and so is one of another type.
        if random.chance(8) {
            names.pop();
        }
        if random.chance(2) {
            names.push(odd(random, 2));
        }
        random.shuffle(&mut names);
        let value = documents.or_noise(random, names);
        out.insert("$retainKeys".to_owned(), value);
    }
}

fn items(
    documents: &Documents<'_>,
    random: &mut Random,
    (field, at): (&Field, usize),
    old: &Json,
    depth: usize,
) -> Json {
    let known: Vec<Json> = old.as_array().into_iter().flatten().cloned().collect();
    let mut out = Vec::new();
    let length = if random.chance(2) {
        random.between(5, 20)
    } else {
        random.below(4)
    };

    // Most items patch an existing one; others are added.
    for _ in 0..length {
        let target = random.pick(&known).cloned().unwrap_or(Json::Null);
        let mut item = patch(documents, random, at, &target, depth + 2);
        let key = match target.get(field.key) {
            Some(key) if random.chance(65) => key.clone(),
            _ => documents.key(random, field.key),
        };
        if !field.key.is_empty() && !documents.chance_of_noise(random) {
            item.insert(field.key.to_owned(), key);
        }
        // A deletion needs the key alone.
        if random.chance(12) {
            item.retain(|name, _| name == field.key);
            item.insert("$patch".to_owned(), "delete".into());
        }

        if documents.chance_of_noise(random) {
            out.push(odd(random, 1));
        }

        // The merge key is usually retained too.
        if let Some(Json::Array(names)) = item.get_mut("$retainKeys")
            && !random.chance(5)
        {
            names.push(field.key.into());
        }
        out.push(Json::Object(item));
    }

    if random.chance(3) {
        out.push(json!({"$patch": "replace"}));
    }
    if !random.chance(6) {
        without_duplicates(&mut out, field.key);
    }
    Json::Array(out)
}

/// `$setElementOrder` and `$deleteFromPrimitiveList`.
fn beside_list(
    documents: &Documents<'_>,
    random: &mut Random,
    field: &Field,
    (old, new): (&Json, &Json),
    out: &mut Map<String, Json>,
) {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    if matches!(field.ty, Ty::Texts | Ty::Numbers) && random.chance(30) {
        let mut deleted: Vec<Json> = list(old)
            .into_iter()
            .filter(|_| random.chance(30))
            .collect();
        if random.chance(20) {
            deleted.push(documents.scalar(random, field.ty));
        }

        // Adding and deleting one value contradicts itself; only noise does it.
        let kept = !documents.noise || !random.chance(30);
        if kept {
            let new = list(new);
            deleted.retain(|item| !new.contains(item));
        }
        let value = documents.or_noise(random, deleted);
        out.insert(format!("$deleteFromPrimitiveList/{}", field.name), value);
    }

    if !random.chance(30) {
        return;
    }
    let deletes = |item: &Json| item.get("$patch").is_some();
    let identity = |item: &Json| match item.get(field.key) {
        Some(key) => json!({ field.key: key }),
        None => item.clone(),
    };

    // The items of the patch in their order, with others between them.
    let mut order: Vec<Json> = list(new)
        .iter()
        .filter(|item| !deletes(item))
        .map(identity)
        .collect();

    for item in &list(old) {
        let item = identity(item);
        if random.chance(50) && !order.contains(&item) {
            let at = random.below(order.len() + 1);
            order.insert(at, item);
        }
    }

    // An order that contradicts the list, or lacks items of it, is an error.
    if random.chance(4) {
        random.shuffle(&mut order);
    }
    if random.chance(3) {
        order.truncate(random.below(2));
    }

    let name = if documents.noise && random.chance(1) {
        "$setElementOrder".to_owned()
    } else {
        format!("$setElementOrder/{}", field.name)
    };
    let value = documents.or_noise(random, order);
    out.insert(name, value);
}
