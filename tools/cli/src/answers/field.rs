//! The fields that people name.

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_harness::internal::find_path;
use fieldmanager_schema::Type;
use fieldmanager_value::{Map, Value};

/// The path that a person means: a JSON pointer, or a path whose names are those of an object where it has them, so that
/// they may have dots, as in `.metadata.labels.app.kubernetes.io/name`.
///
/// # Errors
///
/// A message if the text is no path.
pub(crate) fn path_of(text: &str, objects: &[&Value]) -> Result<Path, String> {
    if let Some(pointer) = text.strip_prefix('/') {
        let parts = pointer.split('/').map(|part| match part.parse() {
            Ok(index) => PathElement::Index(index),
            Err(_) => PathElement::Field(part.replace("~1", "/").replace("~0", "~").into()),
        });
        return Ok(parts.collect());
    }
    let dotted = if text.starts_with(['.', '[']) {
        text.to_owned()
    } else {
        format!(".{text}")
    };
    let parsed: Result<Path, _> = dotted.parse();
    let known = |path: &Path| {
        objects
            .iter()
            .any(|object| find_path(object, path).is_some())
    };
    if !parsed.as_ref().is_ok_and(known)
        && let Some(path) = objects.iter().find_map(|object| along(&dotted, object))
    {
        return Ok(path);
    }
    parsed.map_err(|error| format!("`{text}` is not a path: {error}"))
}

/// The path along the names of an object; `None` where it has no such name.
fn along(text: &str, object: &Value) -> Option<Path> {
    let mut elements: Vec<PathElement> = Vec::new();
    let (mut rest, mut value) = (text, object);
    while !rest.is_empty() {
        let (element, length) = match (rest.strip_prefix('.'), value) {
            (Some(names), Value::Map(fields)) => {
                let ends = |name: &str| {
                    names
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                let name = fields
                    .iter()
                    .map(|(name, _)| name)
                    .filter(|name| ends(name.as_str()))
                    .max_by_key(|name| name.len())?;
                (PathElement::Field(name.clone()), name.len() + 1)
            }
            (None, _) => {
                let end = rest.find(']')? + 1;
                let path: Path = rest.get(..end)?.parse().ok()?;
                (path.iter().next()?.clone(), end)
            }
            _ => return None,
        };
        let path: Path = std::iter::once(element.clone()).collect();
        value = find_path(value, &path)?;
        elements.push(element);
        rest = rest.get(length..)?;
    }
    Some(elements.into_iter().collect())
}

/// A path in which the items of associative lists have their keys in place of indices.
pub(crate) fn keyed(path: &Path, object: &Value, ty: Option<&Type>) -> Path {
    let mut elements: Vec<PathElement> = Vec::new();
    let mut value = Some(object);
    let mut atom = ty.map(Type::atom);
    for element in path.iter() {
        let list = atom
            .and_then(|atom| atom.list.as_ref())
            .filter(|list| !list.atomic);
        let item = match element {
            PathElement::Index(index) => usize::try_from(*index)
                .ok()
                .and_then(|index| value?.as_list()?.get(index)),
            _ => None,
        };
        let key = list.zip(item).map(|(list, item)| {
            let named = list.keys.iter();
            let named = named.filter_map(|key| {
                Some((
                    key.name.clone(),
                    item.get(&key.name).or(key.default.as_ref())?.clone(),
                ))
            });
            let key: Map = named.collect();
            if list.keys.is_empty() {
                PathElement::Value(item.clone())
            } else {
                PathElement::Key(key)
            }
        });
        // An index of an atomic list stays one.
        let element = key.unwrap_or_else(|| element.clone());

        let id = atom.and_then(|atom| match &element {
            PathElement::Field(name) => atom.map.as_ref()?.type_of(name),
            _ => atom.list.as_ref().map(|list| list.element),
        });
        atom = ty.zip(id).map(|(ty, id)| ty.schema().atom(id));
        elements.push(element);
        let so_far: Path = elements.iter().cloned().collect();
        value = find_path(object, &so_far);
    }

    elements.into_iter().collect()
}
