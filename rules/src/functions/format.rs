//! Named formats of strings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::validation::is_uuid;

use super::function::{Function, global, member, one, size, traversal};
use crate::value::{Outcome, Val, no_overload};
use crate::{time, url};

macro_rules! formats {
    ($($name:literal),* $(,)?) => {
        /// The names of the formats.
        const NAMES: &[&str] = &[$($name),*];

        pub(crate) const ALL: &[Function] = &[
            $(global(concat!("format.", $name), 0, one, |_, _| Ok(Val::Format($name))),)*
            global("format.named", 1, one, |a, _| match a {
                [Val::String(text)] => Ok(match NAMES.iter().find(|name| **name == text.as_str()) {
                    Some(name) => Val::some(Val::Format(name)),
                    None => Val::Optional(None),
                }),
                _ => no_overload(),
            }),
            member("validate", 2, cost, |a, _| validate(a)),
        ];
    };
}

formats![
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

/// The sizes of the expressions for UUIDs and times.
const UUID: u64 = 70;
const DATE_TIME: u64 = 71;

/// The cost of an expression of the size that the API server has for a format.
fn cost(arguments: &[Val<'_>]) -> u64 {
    let [Val::Format(name), _] = arguments else { return 1 };
    let size_of_expression: u64 = match *name {
        "dns1123Label" | "dns1035Label" | "dns1123LabelPrefix" | "dns1035LabelPrefix" => 30,
        "dns1123Subdomain" | "dns1123SubdomainPrefix" | "qualifiedName" => 60,
        "labelValue" => 40,
        "uri" => 1103,
        "byte" => 84,
        "uuid" => UUID,
        _ => DATE_TIME,
    };
    traversal(size(arguments, 1).saturating_add(1)).saturating_mul(size_of_expression.div_ceil(4))
}

fn validate<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Format(name), Val::String(text)] = arguments else { return no_overload() };
    let unless = |is_valid: bool, message: &str| {
        if is_valid { Vec::new() } else { vec![message.to_owned()] }
    };
    let faults = match *name {
        "dns1123Label" => NameSyntax::Label.faults(text, false),
        "dns1123Subdomain" => NameSyntax::Subdomain.faults(text, false),
        "dns1035Label" => NameSyntax::Label1035.faults(text, false),
        "dns1123LabelPrefix" => NameSyntax::Label.faults(text, true),
        "dns1123SubdomainPrefix" => NameSyntax::Subdomain.faults(text, true),
        "dns1035LabelPrefix" => NameSyntax::Label1035.faults(text, true),
        "qualifiedName" => qualified_name(text),
        "labelValue" => label_value(text),
        "uri" => match url::parse(text) {
            Ok(_) => Vec::new(),
            Err(why) => {
                vec![format!("parse {}: {why}", fieldmanager_value::internal::go_format::quote(text))]
            }
        },
        "uuid" => unless(is_uuid(text, None), "does not match the UUID format"),
        "byte" => unless(!text.is_empty() && STANDARD.decode(text.as_bytes()).is_ok(), "invalid base64"),
        "date" => unless(time::date(text).is_ok(), "invalid date"),
        _ => unless(!text.is_empty() && time::date_time(text).is_ok(), "invalid datetime"),
    };
    if faults.is_empty() {
        return Ok(Val::Optional(None));
    }
    Ok(Val::some(Val::list(faults.into_iter().map(Val::text).collect())))
}
