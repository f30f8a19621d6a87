//! The warnings about definitions.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::each_schema;
use fieldmanager_value::{Map, Value};

use super::members::text;
use super::spec::Spec;
use crate::status::quoted;

/// The formats of strings that schemas may name, without hyphens.
const STRING_FORMATS: &[&str] = &[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// The warnings about a new definition, or about what an update adds: formats that no validator knows, and sets of lists
/// or maps.
pub(crate) fn warnings(object: &Value, live: Option<&Value>) -> Vec<String> {
    let (mut formats, sets) = found(object);
    let (old_formats, old_sets) = live.map(found).unwrap_or_default();
    let old_formats: BTreeSet<String> = old_formats.into_iter().collect();
    formats.retain(|warning| !old_formats.contains(warning));
    formats.extend(
        sets.into_iter()
            .filter(|warning| !old_sets.contains(warning)),
    );
    formats
}

fn found(object: &Value) -> (Vec<String>, BTreeSet<String>) {
    let (mut formats, mut sets) = (Vec::new(), BTreeSet::new());
    for schema in Spec::of(object).schemas() {
        each_schema(schema, |schema| {
            let format = text(schema, "format");
            if !format.is_empty() && !is_known(format, text(schema, "type")) {
                formats.push(format!("unrecognized format {}", quoted(format)));
            }
            sets.extend(set_warning(schema));
        });
    }

    (formats, sets)
}

fn is_known(format: &str, type_name: &str) -> bool {
    match type_name {
        "" | "string" => STRING_FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

fn set_warning(schema: &Map) -> Option<String> {
    let items = text(schema.get("items")?.as_map()?, "type");
    (text(schema, "x-kubernetes-list-type") == "set" && matches!(items, "object" | "array")).then(|| {
        format!(
            "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL validation rules",
            quoted(items)
        )
    })
}
