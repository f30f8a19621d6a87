//! Finding the type of an object.

use std::path::Path;

use fieldmanager_schema::{Schema, Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
use fieldmanager_value::Value;

use crate::args::TypeArgs;
use crate::error::Failure;
use crate::files;

/// The type that the arguments name, or that the object's apiVersion and kind find.
pub(crate) fn of(args: &TypeArgs, object: &Value) -> Result<Type, Failure> {
    let schema = files::schema(&args.schema)?;
    let file = &args.schema;
    if let Some(name) = &args.type_name {
        return match schema.type_named(name) {
            Some(ty) => Ok(ty),
            None if name == UNTYPED_DEDUCED => Ok(Schema::deduced()),
            None => Err(unknown(&schema, file, name)),
        };
    }
    let names: Vec<&str> = candidates(&schema, object);
    match names.as_slice() {
        [name] => schema.type_named(name).ok_or_else(|| unknown(&schema, file, name)),
        [] => Err(Failure::input(
            files::name(file),
            format!(
                "no type found for {}: name one with --type (`schema types` lists them)",
                described(object)
            ),
        )),
        several => Err(Failure::input(
            files::name(file),
            format!(
                "several types may be that of {}, name one with --type: {}",
                described(object),
                several.join(", ")
            ),
        )),
    }
}

fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn described(object: &Value) -> String {
    match (text(object, "apiVersion"), text(object, "kind")) {
        ("", "") => "an object without apiVersion and kind".into(),
        (version, kind) => format!("apiVersion `{version}` and kind `{kind}`"),
    }
}

/// The types whose names say that they are of the object's kind. Those of Kubernetes end in group, version
/// and kind, like `io.k8s.api.apps.v1.Deployment`; a schema with one type leaves no choice.
fn candidates<'s>(schema: &'s Schema, object: &Value) -> Vec<&'s str> {
    let own = |name: &&str| *name != UNTYPED_ATOMIC && *name != UNTYPED_DEDUCED;
    let names: Vec<&str> = schema.type_names().filter(own).collect();
    if let [_] = names.as_slice() {
        return names;
    }
    let (group, version) = match text(object, "apiVersion").split_once('/') {
        Some((group, version)) => (group.split('.').next().unwrap_or_default(), version),
        None => ("core", text(object, "apiVersion")),
    };
    let kind = text(object, "kind");
    if kind.is_empty() {
        return Vec::new();
    }
    for suffix in [format!(".{group}.{version}.{kind}"), format!(".{version}.{kind}")] {
        let found: Vec<&str> = names.iter().copied().filter(|name| name.ends_with(&suffix)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    names.into_iter().filter(|name| name.eq_ignore_ascii_case(kind)).collect()
}

fn unknown(schema: &Schema, file: &Path, name: &str) -> Failure {
    let lower = name.to_lowercase();
    let near: Vec<&str> = schema
        .type_names()
        .filter(|known| known.to_lowercase().contains(&lower) || lower.contains(&known.to_lowercase()))
        .take(5)
        .collect();
    let hint = match near.as_slice() {
        [] => "`schema types` lists those there are".to_owned(),
        near => format!("similar are {}", near.join(", ")),
    };
    Failure::input(files::name(file), format!("there is no type `{name}`: {hint}"))
}
