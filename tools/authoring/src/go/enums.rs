//! The values of a discriminator.

use std::collections::BTreeSet;

use super::model::{GoField, GoTypeExpr};
use super::packages::{FileScope, GoTypes, MAX_HOPS, TypeKey};

const KUBEBUILDER_ENUM: &str = "kubebuilder:validation:Enum";

/// The known values of a field.
pub(super) enum Values {
    /// A string with these values. The second list has untyped constants declared beside typed ones, which are values
    /// if a member names them.
    Closed(Vec<String>, Vec<String>),
    /// A string without a list of values.
    Open,
    /// A type in a package that was not read. Contains the type, for messages.
    NotRead(String),
    /// Any other type. Contains a description, for messages.
    NotString(String),
}

/// The type as in the source.
fn written(ty: &GoTypeExpr) -> String {
    match ty {
        GoTypeExpr::Named(name) => name.clone(),
        GoTypeExpr::Qualified(package, name) => format!("{package}.{name}"),
        GoTypeExpr::Pointer(inner) => format!("*{}", written(inner)),
        GoTypeExpr::List(item) => format!("[]{}", written(item)),
        GoTypeExpr::Map(item) => format!("map of {}", written(item)),
        GoTypeExpr::Struct(_) => "struct".to_owned(),
        GoTypeExpr::Other => "a type that is not a string".to_owned(),
    }
}

pub(super) fn of_field(types: &GoTypes, scope: FileScope, field: &GoField) -> Values {
    let keys = names(types, scope, field.ty.pointee());
    let constants = keys
        .iter()
        .find_map(|key| Some((key, types.constants.get(key)?)));
    let of_type = keys
        .iter()
        .filter_map(|key| types.declaration(key))
        .flat_map(|(_, decl)| &decl.markers);
    let listed_by = field
        .markers
        .iter()
        .chain(of_type)
        .find(|marker| marker.name == KUBEBUILDER_ENUM);

    match types.underlying(scope, &field.ty).1 {
        GoTypeExpr::Named(name) if name == "string" => {}
        // The constants were read, even if the declaration was not.
        GoTypeExpr::Named(_) | GoTypeExpr::Qualified(..) if constants.is_some() => {}
        GoTypeExpr::Qualified(..) if listed_by.is_none() => {
            return Values::NotRead(written(&field.ty));
        }
        GoTypeExpr::Qualified(..) => {}
        _ => return Values::NotString(written(&field.ty)),
    }

    if let Some(marker) = listed_by {
        return Values::Closed(listed(&marker.rest), Vec::new());
    }
    let Some((key, values)) = constants else {
        return Values::Open;
    };

    let mut distinct: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    distinct.extend(
        values
            .iter()
            .filter(|value| seen.insert(value.as_str()))
            .cloned(),
    );

    Values::Closed(distinct, types.beside.get(key).cloned().unwrap_or_default())
}

/// The names of a type, starting with the one in the field.
fn names(types: &GoTypes, mut scope: FileScope, ty: &GoTypeExpr) -> Vec<TypeKey> {
    let mut keys = Vec::new();
    let mut next = types.key(scope, ty);
    while let Some(key) = next.filter(|key| keys.len() < MAX_HOPS && !keys.contains(key)) {
        next = types.declaration(&key).and_then(|(declared, decl)| {
            scope = declared;
            types.key(scope, decl.ty.pointee())
        });
        keys.push(key);
    }
    keys
}

/// Parses `=A;B` or `={A,B}`, with or without quotes.
fn listed(rest: &str) -> Vec<String> {
    let text = rest.trim_start_matches([':', '=']);
    let braced = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let (text, separator) = braced.map_or((text, ';'), |text| (text, ','));
    text.split(separator)
        .map(|value| value.trim().trim_matches(['"', '`']).to_owned())
        .collect()
}
