//! The effect of normalization on one union: in the v4 code, and by this library's rules. Both are written from their
//! descriptions and do not use the code that they judge.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{Fields, Place, Union};

/// The fields of a struct that normalization changes: a new value, or `None` to remove the field.
pub(super) type Edits = BTreeMap<String, Option<Value>>;

/// The effect on a union: edits, or a refusal of the request.
pub(super) type Verdict = Result<Edits, Refused>;

/// The request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused;

/// Two changes to the rules of the v4 code. If a difference disappears with one, it has that cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Members that are null stay.
    pub keeps_nulls: bool,
    /// A discriminator value that selects no member does not select the member with that name either.
    pub no_names: bool,
}

/// The v4 code removes members that are null together with those that are set.
pub(super) const NULL_MEMBER: &str = "null-member-kept";

fn is_set(fields: Option<&Fields>, member: &str) -> bool {
    fields
        .and_then(|fields| fields.get(member))
        .is_some_and(|value| !value.is_null())
}

impl Union {
    fn set<'u>(&'u self, fields: Option<&Fields>) -> Vec<&'u (String, String)> {
        self.members
            .iter()
            .filter(|(field, _)| is_set(fields, field))
            .collect()
    }

    fn added<'u>(&'u self, old: Option<&Fields>, new: &Fields) -> Vec<&'u (String, String)> {
        self.set(Some(new))
            .into_iter()
            .filter(|(field, _)| !is_set(old, field))
            .collect()
    }

    fn value<'f>(&self, fields: Option<&'f Fields>) -> &'f str {
        let name = self.discriminator.as_ref();
        let value = name.and_then(|name| fields?.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the discriminator is present, even as the empty string.
    fn says(&self, fields: &Fields) -> bool {
        self.discriminator
            .as_ref()
            .is_some_and(|name| fields.get(name).is_some_and(Value::is_string))
    }

    fn selected(&self, value: &str) -> Option<&str> {
        self.members
            .iter()
            .find(|(_, selects)| selects == value)
            .map(|(field, _)| field.as_str())
    }

    fn declared(&self, value: &str) -> bool {
        self.selected(value).is_some() || self.empty.iter().any(|empty| empty == value)
    }

    fn deducing(&self) -> bool {
        self.deduce || self.discriminator.is_none()
    }

    fn deduced(&self, value: &str, fields: &Fields) -> Edits {
        let different = |name: &&String| fields.get(*name).and_then(Value::as_str) != Some(value);
        let name = self.discriminator.iter().find(different);
        name.map(|name| (name.clone(), Some(Value::from(value))))
            .into_iter()
            .collect()
    }

    fn without(&self, fields: &Fields, goes: impl Fn(&str) -> bool) -> Edits {
        let members = self.members.iter().map(|(field, _)| field);
        members
            .filter(|field| fields.contains_key(*field) && goes(field))
            .map(|m| (m.clone(), None))
            .collect()
    }

    fn v4_without(&self, fields: &Fields, kept: &str, reading: Reading) -> Edits {
        let left = |field: &str| reading.keeps_nulls && !is_set(Some(fields), field);
        self.without(fields, |field| field != kept && !left(field))
    }
}

/// The effect of `NormalizeUnions` of v4.3.0 on an update.
pub(super) fn v4_update(place: &Place, reading: Reading) -> Verdict {
    let (union, before, new) = (&place.union, &place.before, &place.requested);
    let old = before.as_ref();
    let (set, added) = (union.set(Some(new)), union.added(old, new));
    let value = union.value(Some(new));
    if value != union.value(old) && !value.is_empty() {
        // Where no member has the value, v4 keeps the member with that name.
        let kept = union
            .selected(value)
            .unwrap_or(if reading.no_names { "" } else { value });
        return match added.as_slice() {
            [] => Ok(union.v4_without(new, kept, reading)),
            [(_, selects)] if selects == value => Ok(union.v4_without(new, kept, reading)),
            _ => Err(Refused),
        };
    }

    match set.as_slice() {
        [_, _, ..] => Err(Refused),
        [(_, selects)] if union.deduce => Ok(union.deduced(selects, new)),
        _ => Ok(Edits::new()),
    }
}

/// The row of the table "Normalization of an update" that applies, and its effect.
pub(super) fn table_update(place: &Place) -> (&'static str, Verdict) {
    let (union, before, new) = (&place.union, &place.before, &place.requested);
    let old = before.as_ref();
    let (set, added) = (union.set(Some(new)), union.added(old, new));
    let value = union.value(Some(new));
    let changed = value != union.value(old);
    let was_added = |field: &str| added.iter().any(|(other, _)| other == field);
    let clear = |kept: &dyn Fn(&str) -> bool| {
        Ok(union.without(new, |field| is_set(Some(new), field) && !kept(field)))
    };

    // A known value that the request sets decides, unless the request adds a member that it does not select.
    if changed && !value.is_empty() && union.declared(value) {
        let selected = union.selected(value);
        if added
            .iter()
            .any(|(field, _)| Some(field.as_str()) != selected)
        {
            return ("contradiction", Err(Refused));
        }

        return (
            "known-discriminator-clears",
            clear(&|field| Some(field) == selected),
        );
    }

    // A value that no member has may be the API's own, so that the object is never refused for it.
    if changed && !value.is_empty() {
        return if union.closed {
            ("closed-left-to-validation", Ok(Edits::new()))
        } else {
            ("unknown-discriminator-keeps-added", clear(&was_added))
        };
    }

    // Where the union declares the empty string, that is a value which selects no member.
    if changed && !union.deducing() && union.declared("") {
        return ("empty-clears-respecting", clear(&|_| false));
    }
    // In a respecting union members have no effect on other members.
    if !union.deducing() {
        let row = if set.len() > 1 {
            "respecting-several-left-to-validation"
        } else {
            "respecting-left-alone"
        };
        return (row, Ok(Edits::new()));
    }

    // The discriminator says nothing new, so a deducing union follows the members. More than one can only be a choice
    // of the client if it added one of them.
    match (set.as_slice(), added.as_slice()) {
        ([], _) => ("none-set", Ok(Edits::new())),
        ([(field, _)], _) if !value.is_empty() && !union.declared(value) && !was_added(field) => {
            ("unknown-discriminator-left", Ok(Edits::new()))
        }
        ([(_, selects)], _) => ("member-deduces", Ok(union.deduced(selects, new))),
        (_, [(field, selects)]) => {
            let mut edits = union.without(new, |other| is_set(Some(new), other) && other != field);
            edits.extend(union.deduced(selects, new));
            ("added-member-wins", Ok(edits))
        }
        _ => ("several-left-to-validation", Ok(Edits::new())),
    }
}

/// The effect of `NormalizeUnionsApply` of v4.3.0 on a configuration, called with it on both sides.
pub(super) fn v4_config(place: &Place, reading: Reading) -> Verdict {
    let (union, config) = (&place.union, &place.requested);
    let value = union.value(Some(config));
    match union.set(Some(config)).as_slice() {
        [] => Ok(Edits::new()),
        [(_, selects)] if !value.is_empty() && value != selects => Err(Refused),
        [(field, selects)] => {
            let mut edits = union.v4_without(config, field, reading);
            if union.deduce {
                edits.extend(union.deduced(selects, config));
            }
            Ok(edits)
        }
        _ => Err(Refused),
    }
}

/// Rules 1 and 2 of "Normalization of an apply".
pub(super) fn table_config(place: &Place) -> (&'static str, Verdict) {
    let (union, live, config) = (&place.union, &place.before, &place.requested);
    let value = union.value(Some(config));
    let lives = union.value(live.as_ref());
    let foreign = !lives.is_empty() && !union.declared(lives);
    let named = union
        .discriminator
        .as_ref()
        .is_some_and(|name| config.contains_key(name));

    // The empty string is a value only where a respecting union declares it.
    let emptied = union.says(config) && value.is_empty() && !union.deducing() && union.declared("");
    match union.set(Some(config)).as_slice() {
        [] => ("none-applied", Ok(Edits::new())),
        [(_, selects)] if emptied && value != selects => ("config-empty-contradicts", Err(Refused)),
        [(field, _)] if !named && union.deducing() && foreign && is_set(live.as_ref(), field) => {
            ("unknown-live-discriminator-left", Ok(Edits::new()))
        }
        [(_, selects)] if value.is_empty() && union.deducing() => {
            ("applied-member-deduces", Ok(union.deduced(selects, config)))
        }
        [(_, selects)] if !value.is_empty() && value != selects && union.declared(value) => {
            ("config-contradiction", Err(Refused))
        }
        [(_, selects)] if !value.is_empty() && value != selects => {
            ("config-contradiction-only-known", Ok(Edits::new()))
        }
        [_] => ("one-applied", Ok(Edits::new())),
        _ => ("several-applied", Err(Refused)),
    }
}

/// The effect of `NormalizeUnionsApply` of v4.3.0 on the object that a normalized configuration was merged into.
pub(super) fn v4_merged(place: &Place, reading: Reading) -> Edits {
    let (union, config, merged) = (&place.union, &place.requested, &place.merged);
    match (union.set(Some(config)).as_slice(), merged) {
        ([(field, _)], Some(merged)) => union.v4_without(merged, field, reading),
        _ => Edits::new(),
    }
}

/// Rule 3 of "Normalization of an apply".
pub(super) fn table_merged(place: &Place) -> (&'static str, Edits) {
    let (union, live, config, merged) =
        (&place.union, &place.before, &place.requested, &place.merged);
    let Some(merged) = merged else {
        return ("not-merged", Edits::new());
    };
    let applied = union.set(Some(config));
    let value = union.value(Some(config));
    let differs = union.says(config) && value != union.value(live.as_ref());

    // The empty string is a value only where a respecting union declares it.
    let clears = match value {
        "" => differs && !union.deducing() && union.declared(""),
        _ => differs && (union.declared(value) || !union.closed),
    };
    // What the configuration sets itself is never cleared.
    let goes = |field: &str| is_set(Some(merged), field) && !is_set(Some(config), field);
    if union.deducing() && !applied.is_empty() {
        return ("applied-member-clears", union.without(merged, goes));
    }

    if clears {
        let selected = union.selected(value);
        return (
            "config-discriminator-clears",
            union.without(merged, |f| goes(f) && Some(f) != selected),
        );
    }

    ("respecting-member-keeps-others", Edits::new())
}

/// The rule by which an update has different results for one union, if it has.
pub(super) fn update_rule(place: &Place) -> Option<&'static str> {
    let (row, ours) = table_update(place);
    name(row, &ours, &|reading| v4_update(place, reading))
}

/// The rule by which a configuration is normalized differently, if it is.
pub(super) fn config_rule(place: &Place) -> Option<&'static str> {
    let (row, ours) = table_config(place);
    name(row, &ours, &|reading| v4_config(place, reading))
}

/// The rule by which merged objects differ, if they do. Each side has its own place, since the configurations may already
/// differ.
pub(super) fn merged_rule(theirs: &Place, ours: &Place) -> Option<&'static str> {
    let (row, edits) = table_merged(ours);
    let edits = Ok(edits);
    let rule = name(row, &edits, &|reading| Ok(v4_merged(theirs, reading)));

    // The places differ if the v4 code has removed a null from the configuration.
    let only_nulls = || {
        Ok(v4_merged(
            ours,
            Reading {
                keeps_nulls: true,
                no_names: false,
            },
        )) == edits
    };

    rule.map(|rule| if only_nulls() { NULL_MEMBER } else { rule })
}

fn name(
    row: &'static str,
    ours: &Verdict,
    theirs: &dyn Fn(Reading) -> Verdict,
) -> Option<&'static str> {
    let read = |keeps_nulls, no_names| {
        theirs(Reading {
            keeps_nulls,
            no_names,
        })
    };

    // The smallest change of the rules of v4 that removes the difference is its cause.
    if read(false, false) == *ours {
        None
    } else if read(true, false) == *ours {
        Some(NULL_MEMBER)
    } else if read(false, true) == *ours || read(true, true) == *ours {
        Some("value-is-no-field-name")
    } else {
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unions::model::Types;
    use serde_json::json;

    /// The row of the table and the rule for an update of a struct with members `a` and `b`.
    fn update(union: &Value, old: &Value, new: &Value) -> (&'static str, Option<&'static str>) {
        let place = place(union, old, new, None);
        (table_update(&place).0, update_rule(&place))
    }

    fn place(union: &Value, old: &Value, new: &Value, merged: Option<&Value>) -> Place {
        let mut union = union.clone();
        let members = [("a", "A"), ("b", "B")];
        union["fields"] = members
            .iter()
            .map(|(f, v)| json!({"fieldName": f, "discriminatorValue": v}))
            .collect();
        let schema = json!({"types": [{"name": "t", "map": {"unions": [union]}}]});
        Types::new(&schema)
            .places("t", old, new, merged)
            .list
            .remove(0)
    }

    fn deducing() -> Value {
        json!({"discriminator": "type", "deduceInvalidDiscriminator": true})
    }

    fn respecting() -> Value {
        json!({"discriminator": "type", "emptyMembers": [""]})
    }

    #[test]
    fn updates_with_equal_results_have_no_rule() {
        let a = json!({"type": "A", "a": 1});
        assert_eq!(
            update(&deducing(), &a, &json!({"type": "A", "b": 1})),
            ("member-deduces", None)
        );
        assert_eq!(
            update(&deducing(), &a, &json!({"type": "B", "a": 1, "b": 1})),
            ("known-discriminator-clears", None)
        );
        let both = json!({"type": "B", "a": 1});
        assert_eq!(
            update(&deducing(), &json!({}), &both),
            ("contradiction", None)
        );
        assert_eq!(
            update(&respecting(), &a, &json!({"type": "A", "b": 1})),
            ("respecting-left-alone", None)
        );
    }

    #[test]
    fn updates_with_different_results_have_a_rule() {
        let a = json!({"type": "A", "a": 1});
        let rule = |union: &Value, old: &Value, new: Value| update(union, old, &new).1;
        let added = json!({"type": "A", "a": 1, "b": 1});
        assert_eq!(
            rule(&deducing(), &a, added.clone()),
            Some("added-member-wins")
        );
        assert_eq!(
            rule(&deducing(), &added, added.clone()),
            Some("several-left-to-validation")
        );
        assert_eq!(
            rule(&respecting(), &a, added),
            Some("respecting-several-left-to-validation")
        );
        let unknown = json!({"type": "Z", "b": 1});
        assert_eq!(
            rule(&deducing(), &a, unknown.clone()),
            Some("unknown-discriminator-keeps-added")
        );
        assert_eq!(
            rule(&deducing(), &unknown, unknown.clone()),
            Some("unknown-discriminator-left")
        );
        assert_eq!(
            rule(&respecting(), &a, json!({"type": "", "a": 1})),
            Some("empty-clears-respecting")
        );
        assert_eq!(
            rule(&deducing(), &a, json!({"type": "B", "b": 1, "a": null})),
            Some(NULL_MEMBER)
        );
        assert_eq!(
            rule(&deducing(), &a, json!({"type": "a", "a": 1})),
            Some("value-is-no-field-name")
        );
    }

    #[test]
    fn applies_with_different_results_have_a_rule() {
        let live = json!({"type": "A", "a": 1});
        let by_itself = |config: &Value| config_rule(&place(&deducing(), &json!({}), config, None));
        let foreign = place(
            &deducing(),
            &json!({"type": "Z", "a": 1}),
            &json!({"a": 2}),
            None,
        );
        assert_eq!(
            config_rule(&foreign),
            Some("unknown-live-discriminator-left")
        );
        assert_eq!(
            by_itself(&json!({"type": "Z", "b": 1})),
            Some("config-contradiction-only-known")
        );
        assert_eq!(by_itself(&json!({"a": null, "b": 1})), Some(NULL_MEMBER));
        assert_eq!(by_itself(&json!({"b": 1})), None);
        let emptied = json!({"type": "", "b": 1});
        let emptied = place(&respecting(), &emptied, &emptied, None);
        assert_eq!(config_rule(&emptied), Some("config-empty-contradicts"));
        let after = |union: &Value, config: Value, merged: Value| {
            let place = place(union, &live, &config, Some(&merged));
            merged_rule(&place, &place)
        };
        assert_eq!(
            after(
                &deducing(),
                json!({"type": "B"}),
                json!({"type": "B", "a": 1})
            ),
            Some("config-discriminator-clears")
        );
        assert_eq!(
            after(
                &respecting(),
                json!({"b": 1}),
                json!({"type": "A", "a": 1, "b": 1})
            ),
            Some("respecting-member-keeps-others")
        );
        assert_eq!(
            after(
                &deducing(),
                json!({"type": "B", "b": 1}),
                json!({"type": "B", "a": 1, "b": 1})
            ),
            None
        );
    }
}
