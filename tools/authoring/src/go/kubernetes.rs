//! The markers of Kubernetes' declarative validation.
//!
//! Behaviour: `cmd/validation-gen/validators` of `k8s.io/code-generator` v0.37, `union.go` and `zeroorone.go`.

use std::collections::BTreeMap;

use super::marker::{self, Marker, Tag};
use super::model::{GoField, GoTypeExpr};
use super::unions::{Declared, MarkedStruct, UnionForm, UnionMember};
use crate::fault::quoted;

const DISCRIMINATOR: &str = "k8s:unionDiscriminator";
const MEMBER: &str = "k8s:unionMember";
const ZERO_OR_ONE: &str = "k8s:zeroOrOneOfMember";

/// Tags that declare the stability level of the tag that they contain.
const LEVELS: [&str; 2] = ["k8s:alpha", "k8s:beta"];

/// A union under construction. Unions of both kinds may have the same name.
#[derive(Default)]
struct UnionGroup<'a> {
    discriminator: Option<&'a GoField>,
    members: Vec<UnionMember>,
}

pub(super) fn unions(of: &mut MarkedStruct<'_>) -> Vec<Declared> {
    // Keyed by whether a member is required, and by the name, which may be empty.
    let mut groups: BTreeMap<(bool, String), UnionGroup<'_>> = BTreeMap::new();
    for field in of.fields() {
        for marker in field
            .markers
            .iter()
            .filter(|marker| is_about_unions(marker))
        {
            let Some(tag) = tag(of, marker) else {
                continue;
            };
            check_arguments(of, marker, &tag);
            let name = tag.argument("union").unwrap_or_default().to_owned();
            let group = groups
                .entry((tag.name != ZERO_OR_ONE, name.clone()))
                .or_default();

            if tag.name == DISCRIMINATOR {
                if let Some(other) = group.discriminator.replace(field) {
                    let message = format!(
                        "`{}` is a second discriminator beside `{}`: a union has one",
                        field.name, other.name
                    );
                    of.fault(marker.at, message);
                }
                continue;
            }

            if !can_be_unset(of, field) {
                let message = format!(
                    "member `{}` is always set: expected a pointer, a list, a map or a scalar",
                    field.name
                );
                of.fault(marker.at, message);
            }
            let value = tag.argument("memberName").unwrap_or(&field.name);
            group.members.extend(of.member(field, marker.at, value));
        }
    }

    let mut unions = Vec::new();
    for ((required, _), group) in groups {
        match group.discriminator {
            Some(field) if group.members.is_empty() => {
                of.fault(
                    field.at,
                    format!(
                        "discriminator `{}` has no members: `+{MEMBER}` on a field makes one",
                        field.name
                    ),
                );
            }
            Some(field) => unions.extend(of.closed(field, group.members)),
            None => unions.push(Declared {
                form: UnionForm::List,
                discriminator: None,
                members: group.members,
                empty: Vec::new(),
                required,
            }),
        }
    }

    unions
}

fn is_about_unions(marker: &Marker) -> bool {
    let text = [&marker.name, &marker.rest];
    marker.name.starts_with("k8s:")
        && text
            .iter()
            .any(|t| t.contains("k8s:union") || t.contains(ZERO_OR_ONE))
}

/// Parses the tag of a marker that declares a union of fields.
fn tag(of: &mut MarkedStruct<'_>, marker: &Marker) -> Option<Tag> {
    let mut tags = match marker::tags(marker) {
        Ok(tags) => tags,
        Err(message) => {
            of.fault(
                marker.at,
                format!("`+{}{}`: {message}", marker.name, marker.rest),
            );
            return None;
        }
    };
    let tag = tags.pop()?;
    let known = [DISCRIMINATOR, MEMBER, ZERO_OR_ONE];

    if !known.contains(&tag.name.as_str()) {
        if tag.name.starts_with("k8s:union") {
            of.fault(
                marker.at,
                format!(
                    "unknown marker `+{}`: expected one of {}",
                    tag.name,
                    quoted(known)
                ),
            );
        }
        return None;
    }

    match tags.iter().find(|tag| !LEVELS.contains(&tag.name.as_str())) {
        None => Some(tag),
        // A union of list items, which does not concern fields.
        Some(outer) if outer.name == "k8s:item" => None,
        Some(outer) => {
            let message = format!(
                "`+{}` contains `+{}`: accepted enclosing tags are {}",
                outer.name,
                tag.name,
                quoted(LEVELS)
            );
            of.fault(marker.at, message);
            None
        }
    }
}

fn check_arguments(of: &mut MarkedStruct<'_>, marker: &Marker, tag: &Tag) {
    let accepted: &[&str] = if tag.name == DISCRIMINATOR {
        &["union"]
    } else {
        &["union", "memberName"]
    };

    for (name, value) in &tag.arguments {
        if !name.as_deref().is_some_and(|name| accepted.contains(&name)) {
            let name = name.as_deref().unwrap_or(value);
            let list = quoted(accepted.iter().copied());
            of.fault(
                marker.at,
                format!(
                    "`+{}` with the unknown argument `{name}`: expected {list}, with a value",
                    tag.name
                ),
            );
        }
    }

    if let Some(value) = &tag.value {
        of.fault(
            marker.at,
            format!("`+{}` takes no value, got `{value}`", tag.name),
        );
    }
}

/// Whether a field has a value that counts as unset; a struct has none.
fn can_be_unset(of: &MarkedStruct<'_>, field: &GoField) -> bool {
    if matches!(*field.ty, GoTypeExpr::Pointer(_)) {
        return true;
    }
    let ty = of.types.underlying(of.scope, &field.ty).1;
    !matches!(ty, GoTypeExpr::Struct(_)) && !matches!(ty, GoTypeExpr::Other)
}
