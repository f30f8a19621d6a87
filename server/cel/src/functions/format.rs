//! Named formats of strings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_structural::internal::is_uuid;
use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_value::internal::go_format::quote;

use super::function::{Run, size, traversal, unary};
use crate::value::{Outcome, Val, no_overload};
use crate::{time, url};

/// Finds the faults of a string.
type Check = fn(&str) -> Vec<String>;

/// The formats: their names, the sizes of their expressions in the API server, and their checks.
const FORMATS: [(&str, u64, Check); 13] = [
    ("dns1123Label", 30, |text| {
        NameSyntax::Label.faults(text, false)
    }),
    ("dns1123Subdomain", 60, |text| {
        NameSyntax::Subdomain.faults(text, false)
    }),
    ("dns1035Label", 30, |text| {
        NameSyntax::Label1035.faults(text, false)
    }),
    ("qualifiedName", 60, qualified_name),
    ("dns1123LabelPrefix", 30, |text| {
        NameSyntax::Label.faults(text, true)
    }),
    ("dns1123SubdomainPrefix", 60, |text| {
        NameSyntax::Subdomain.faults(text, true)
    }),
    ("dns1035LabelPrefix", 30, |text| {
        NameSyntax::Label1035.faults(text, true)
    }),
    ("labelValue", 40, label_value),
    ("uri", 1103, uri),
    ("uuid", 70, |text| {
        unless(is_uuid(text, None), "does not match the UUID format")
    }),
    ("byte", 84, |text| {
        unless(
            !text.is_empty() && STANDARD.decode(text).is_ok(),
            "invalid base64",
        )
    }),
    ("date", 71, |text| {
        unless(time::date(text).is_ok(), "invalid date")
    }),
    ("datetime", 71, |text| {
        unless(
            !text.is_empty() && time::date_time(text).is_ok(),
            "invalid datetime",
        )
    }),
];

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name.strip_prefix("format.") {
        None if name == "validate" => |a, _| validate(a),
        None => return None,
        Some("named") => |a, _| {
            unary(a, |name: &str| {
                named(name).map_or(Val::Optional(None), Val::some)
            })
        },
        Some(_) => |_, call| {
            let format = call.name.strip_prefix("format.").and_then(named);
            format.map_or_else(no_overload, Ok)
        },
    })
}

fn find(name: &str) -> Option<(&'static str, u64, Check)> {
    FORMATS.into_iter().find(|(known, ..)| *known == name)
}

fn named<'a>(name: &str) -> Option<Val<'a>> {
    find(name).map(|(name, ..)| Val::Format(name))
}

/// The cost of an expression of the size that the API server has for a format.
pub(super) fn cost(arguments: &[Val<'_>]) -> u64 {
    let [Val::Format(name), _] = arguments else {
        return 1;
    };
    let size_of_expression = find(name).map_or(0, |(_, size, _)| size);
    traversal(size(arguments, 1).saturating_add(1)).saturating_mul(size_of_expression.div_ceil(4))
}

fn validate<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Format(name), Val::String(text)] = arguments else {
        return no_overload();
    };
    let faults = find(name).map_or_else(Vec::new, |(_, _, check)| check(text));
    if faults.is_empty() {
        return Ok(Val::Optional(None));
    }
    Ok(Val::some(Val::list(
        faults.into_iter().map(Val::text).collect(),
    )))
}

fn unless(is_valid: bool, message: &str) -> Vec<String> {
    if is_valid {
        Vec::new()
    } else {
        vec![message.to_owned()]
    }
}

fn uri(text: &str) -> Vec<String> {
    let fault = url::parse(text).err();
    fault
        .into_iter()
        .map(|why| format!("parse {}: {why}", quote(text)))
        .collect()
}
