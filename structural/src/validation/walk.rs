//! Checks an object against a compiled schema, in the order of `k8s.io/kube-openapi/pkg/validation/validate`.

use ahash::AHashSet;
use fieldmanager_value::internal::{level, proceed};
use fieldmanager_value::{List, MAX_DEPTH, Map, Text, Value};

use super::compile::{Additional, Node};
use super::faults::{LISTED, Outcome, Place};
use super::numbers;
use crate::correlation::{Correlated, Correlations};
use crate::{FieldError, FieldPath};

/// The old value of a value, if it has one.
type Old<'o, 'c> = Option<(Correlated<'o>, &'c mut Correlations<'o>)>;

/// The faults of an object.
pub(super) fn validate(
    node: &Node,
    path: &FieldPath,
    object: &Value,
    old: Old<'_, '_>,
) -> Vec<FieldError> {
    // Parts without a schema are not visited by the check, so the depth of the whole object is checked first.
    let outcome =
        is_bounded(object, 0).then(|| check(node, object, &Place::Root(path), 0, LISTED, old));
    match outcome.flatten() {
        Some(outcome) => outcome.finish(),
        None => {
            let detail = format!("lists and maps nest deeper than {MAX_DEPTH} levels");
            vec![FieldError::invalid(path.clone(), "", detail)]
        }
    }
}

/// Whether a value nests at most [`MAX_DEPTH`] levels, also where the schema says nothing about it.
fn is_bounded(value: &Value, depth: usize) -> bool {
    level(|| match value {
        Value::List(list) => {
            depth < MAX_DEPTH && list.iter().all(|item| is_bounded(item, depth + 1))
        }
        Value::Map(map) => {
            depth < MAX_DEPTH && map.iter().all(|(_, value)| is_bounded(value, depth + 1))
        }
        _ => true,
    })
}

/// The bytes of a string that count as one step.
const STEP: usize = 64;

/// Checks a value, and lists as many faults as there is room for; `None` if it nests too deeply, or the work of the thread
/// was stopped.
fn check(
    node: &Node,
    value: &Value,
    place: &Place<'_>,
    depth: usize,
    room: usize,
    mut old: Old<'_, '_>,
) -> Option<Outcome> {
    level(|| {
        // Each part of a schema can see each value, so their product counts.
        let size = value.as_str().map_or(0, str::len) / STEP;
        proceed(1 + size as u64).then_some(())?;

        // Successful checks count as matches: of several alternatives, the one with the most is reported.
        let correlated = old.as_ref().map(|(correlated, _)| *correlated);
        let mut out = Outcome::new(room);
        if value.is_null() {
            types(node, value, place, &mut out);
            enumeration(node, value, place, &mut out);
        } else {
            if !node.types.is_empty() || node.format.is_some() {
                types(node, value, place, &mut out);
                out.matches += 1;
            }
            junctors(node, value, place, depth, &mut out)?;
            out.matches += 1;

            match value {
                Value::String(text) => {
                    string(node, text, place, &mut out);
                    out.matches += 1;
                    if let Some((name, has_format)) = &node.format {
                        if !has_format(text) {
                            out.push(|| place.wrong_type(name, text));
                        }
                        out.matches += 1;
                    }
                }
                Value::Int(_) | Value::Float(_) => {
                    numbers::check(node, value, place, &mut out);
                    out.matches += 1;
                }
                Value::List(list) => {
                    items(node, list, place, depth, &mut out, &mut old)?;
                    out.matches += 1;
                }
                _ => {}
            }

            enumeration(node, value, place, &mut out);
            out.matches += 1;
            if let Value::Map(map) = value {
                fields(node, map, place, depth, &mut out, &mut old)?;
                out.matches += 1;
            }
            out.matches += 1;
        }

        // The faults of a value that an update did not change are dropped, since it is stored already.
        if !out.is_valid()
            && let (Some(correlated), Some((_, known))) = (correlated, &mut old)
            && correlated.is_equal(known)
        {
            out.forgive();
        }
        Some(out)
    })
}

/// The type of a value and the format that the API server derives from it.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Int(_) => ("integer", "int64"),
        Value::Float(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::List(_) => ("array", ""),
        Value::Map(_) => ("object", ""),
    }
}

fn types(node: &Node, value: &Value, place: &Place<'_>, out: &mut Outcome) {
    let types = &node.types;
    let (name, own_format) = type_of(value);
    if value.is_null() {
        if !types.is_empty() && !types.contains("null") && !node.nullable {
            return out.push(|| place.wrong_type(&types.shown, name));
        }
        out.matches += 1;
        return;
    }

    // A whole float is an integer, and an integer is a number, but the format may still exclude them.
    let matches = types.contains(name)
        || match value {
            Value::Float(number) => types.contains("integer") && numbers::is_integer(*number),
            Value::Int(_) => types.contains("number"),
            _ => false,
        };

    if let Some((format, _)) = &node.format {
        let is_text = matches!(value, Value::String(_) | Value::List(_));
        if !is_text && !matches && *format != own_format {
            return out.push(|| place.wrong_type(format, own_format));
        }
        // As in the API server, a list passes where a string with a format is expected.
        if is_text && !types.contains("number") && !types.contains("integer") {
            out.matches += 1;
            return;
        }
    }

    if matches {
        out.matches += 1;
    } else {
        out.push(|| place.wrong_type(&types.shown, name));
    }
}

fn string(node: &Node, text: &Text, place: &Place<'_>, out: &mut Outcome) {
    // At most one of these is reported.
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(limit) = node.max_length.filter(|limit| length() > *limit) {
        out.push(|| place.too_long(limit));
    } else if let Some(limit) = node.min_length.filter(|limit| length() < *limit) {
        out.push(|| place.too_short(text, limit));
    } else if let Some(pattern) = node
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.is_match(text))
    {
        out.push(|| place.no_match(text, pattern.as_str()));
    }
}

fn enumeration(node: &Node, value: &Value, place: &Place<'_>, out: &mut Outcome) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "as in the API server"
    )]
    let is_one = |accepted: &Value| match (value, accepted) {
        (Value::Null, _) => false,
        (Value::Float(number), Value::Int(accepted)) => *number as i64 == *accepted,
        (Value::Int(number), Value::Float(accepted)) => *number as f64 == *accepted,
        (value, accepted) => value.strict_eq(accepted),
    };
    let is_accepted = || match value {
        Value::String(text) => node.accepted.contains(text.as_str()),
        _ => node
            .enumeration
            .iter()
            .take_while(|_| proceed(1))
            .any(is_one),
    };

    if !node.enumeration.is_empty() && !is_accepted() {
        out.push(|| place.not_supported(value, &node.enumeration));
    }
}

/// Checks `anyOf`, `oneOf`, `allOf` and `not`. Nothing is forgiven inside of them.
fn junctors(
    node: &Node,
    value: &Value,
    place: &Place<'_>,
    depth: usize,
    out: &mut Outcome,
) -> Option<()> {
    if !node.any_of.is_empty() {
        // As in the API server, the faults that are reported are those of the alternative that matches best.
        let mut best: Option<Outcome> = None;
        for alternative in &node.any_of {
            let outcome = check(alternative, value, place, depth, out.room(), None)?;
            let is_valid = outcome.is_valid();
            if is_valid
                || best
                    .as_ref()
                    .is_none_or(|best| outcome.matches > best.matches)
            {
                best = Some(outcome);
            }

            if is_valid {
                break;
            }
        }

        if best.as_ref().is_some_and(|best| !best.is_valid()) {
            out.push(|| place.junctor("must validate at least one schema (anyOf)"));
        }
        best.into_iter().for_each(|best| out.merge(best));
    }

    if !node.one_of.is_empty() {
        // All alternatives are checked even after two are valid, since the message has their number.
        let (mut valid, mut first, mut best): (usize, Option<Outcome>, Option<Outcome>) =
            (0, None, None);
        for alternative in &node.one_of {
            let outcome = check(alternative, value, place, depth, out.room(), None)?;
            if outcome.is_valid() {
                valid += 1;
                first.get_or_insert(outcome);
            } else if best
                .as_ref()
                .is_none_or(|best| outcome.matches > best.matches)
            {
                best = Some(outcome);
            }
        }

        match valid {
            1 => first.into_iter().for_each(|first| out.merge(first)),
            0 => {
                out.push(|| {
                    place.junctor("must validate one and only one schema (oneOf). Found none valid")
                });
                best.into_iter().for_each(|best| out.merge(best));
            }
            valid => out.push(|| {
                let says = "must validate one and only one schema (oneOf). Found";
                place.junctor(&format!("{says} {valid} valid alternatives"))
            }),
        }
    }

    if !node.all_of.is_empty() {
        // The faults of all parts are listed before the one of the junctor itself.
        let mut valid = 0;
        for part in &node.all_of {
            let outcome = check(part, value, place, depth, out.room(), None)?;
            valid += usize::from(outcome.is_valid());
            out.merge(outcome);
        }
        if valid < node.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            out.push(|| place.junctor(&format!("must validate all the schemas (allOf){none}")));
        }
    }

    // Only whether the value is valid matters for `not`, so there is no room for faults.
    if let Some(not) = &node.not
        && check(not, value, place, depth, 0, None)?.is_valid()
    {
        out.push(|| place.junctor("must not validate the schema (not)"));
    }
    out.matches += 1;
    Some(())
}

fn items(
    node: &Node,
    list: &List,
    place: &Place<'_>,
    depth: usize,
    out: &mut Outcome,
    old: &mut Old<'_, '_>,
) -> Option<()> {
    deeper(depth)?;
    if let Some(items) = &node.items {
        for (at, item) in list.iter().enumerate() {
            // An item is unchanged if the old one with the same key is equal, wherever it is in the old list.
            let below = old.as_mut().and_then(|(correlated, known)| {
                let item = correlated.item(at, known)?;
                Some((item, &mut **known))
            });
            let room = out.room();
            out.merge(check(
                items,
                item,
                &Place::Item(place, at),
                depth + 1,
                room,
                below,
            )?);
        }
    }

    // Items are checked before their number, which is the order of the messages of the API server.
    let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if let Some(limit) = node.min_items.filter(|limit| size < *limit) {
        out.push(|| place.too_few(list.len(), limit, "items"));
    }
    if let Some(limit) = node.max_items.filter(|limit| size > *limit) {
        out.push(|| place.too_many(list.len(), limit));
    }

    if node.unique_items {
        let mut seen = AHashSet::with_capacity(list.len());
        // JSON distinguishes what Go's `DeepEqual` distinguishes, but for whole floats.
        if !list
            .iter()
            .all(|item| seen.insert((matches!(item, Value::Float(_)), item.to_json())))
        {
            out.push(|| place.duplicates());
        }
    }
    out.matches += 1;

    Some(())
}

fn fields(
    node: &Node,
    map: &Map,
    place: &Place<'_>,
    depth: usize,
    out: &mut Outcome,
    old: &mut Old<'_, '_>,
) -> Option<()> {
    deeper(depth)?;
    let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
    if let Some(limit) = node.min_properties.filter(|limit| size < *limit) {
        out.push(|| place.too_few(map.len(), limit, "properties"));
    }
    if let Some(limit) = node.max_properties.filter(|limit| size > *limit) {
        out.push(|| place.too_many(map.len(), limit));
    }

    let mut below =
        |name: &str, schema: &Node, value: &Value, here: &Place<'_>, out: &mut Outcome| {
            // `apiVersion` and `kind` of the object itself are never forgiven, even if they did not change.
            let is_meta = place.is_root() && matches!(name, "kind" | "apiVersion");
            let below = old
                .as_mut()
                .filter(|_| !is_meta)
                .and_then(|(correlated, known)| {
                    let field = correlated.field(name)?;
                    Some((field, &mut **known))
                });
            let room = out.room();
            out.merge(check(schema, value, here, depth + 1, room, below)?);

            Some(())
        };

    // The fields without a declaration come first, which is the order of the messages.
    for (name, value) in map {
        match &node.additional {
            Additional::Allowed => break,
            _ if node.properties.contains_key(name.as_str()) => {}
            Additional::Forbidden => out.push(|| place.forbidden(name)),
            Additional::Schema(schema) => {
                below(name, schema, value, &Place::Additional(place, name), out)?
            }
        }
    }

    // Looking at the names is a step for each, also where they have no schema.
    let visits = node.required.len()
        + if node.properties.is_empty() {
            0
        } else {
            map.len()
        };
    proceed(visits as u64).then_some(())?;

    for (name, value) in map.iter().filter(|_| !node.properties.is_empty()) {
        if let Some(property) = node.properties.get(name.as_str()) {
            below(name, property, value, &Place::Property(place, name), out)?;
        }
    }

    for name in node.required.iter().filter(|name| !map.contains(name)) {
        out.push(|| place.required(name));
    }
    Some(())
}

fn deeper(depth: usize) -> Option<()> {
    (depth < MAX_DEPTH).then_some(())
}
