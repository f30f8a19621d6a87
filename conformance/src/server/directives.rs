//! Strategic merge patches without some of their directives and members, to ask again what the real server would answer.

use serde_json::{Value as Json, json};

use crate::json::items;

/// What becomes of directives that Go takes for data, or drops with their map.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Leak {
    /// A map with an unknown directive is deleted.
    Deleted,
    /// Unknown directives are left out.
    Unknown,
    /// Unknown directives, and those that say what happens without them, are left out.
    Merge,
    /// All directives about maps are left out.
    Any,
}

/// A patch without directives that Go takes for data, or drops with their map, whatever they say. `None` if there are none.
pub(super) fn without_leaks(patch: &Json, leak: Leak) -> Option<Json> {
    let mut out = patch.clone();
    let mut changed = false;
    cut_leaks(&mut out, leak, &mut changed);
    changed.then_some(out)
}

fn cut_leaks(patch: &mut Json, leak: Leak, changed: &mut bool) {
    match patch {
        Json::Object(members) => {
            let is_leak = |value: &Json| match value.as_str() {
                Some("replace" | "delete") => leak == Leak::Any,
                Some("merge") => matches!(leak, Leak::Any | Leak::Merge),
                _ => true,
            };
            if members.get("$patch").is_some_and(is_leak) {
                members.remove("$patch");
                if leak == Leak::Deleted {
                    members.insert("$patch".to_owned(), json!("delete"));
                }
                *changed = true;
            }
            *changed |= members.remove("$retainKeys").is_some();
            members.values_mut().for_each(|value| cut_leaks(value, leak, changed));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| cut_leaks(item, leak, changed)),
        _ => {}
    }
}

/// A patch whose maps that replace others have no other directives, beside or inside, which are data in Go. `None` if there are none.
pub(super) fn without_replaced(patch: &Json) -> Option<Json> {
    let mut out = patch.clone();
    let mut changed = false;
    cut_replaced(&mut out, false, &mut changed);
    changed.then_some(out)
}

fn cut_replaced(patch: &mut Json, is_data: bool, changed: &mut bool) {
    match patch {
        Json::Object(members) => {
            let replaces = !is_data && members.get("$patch").is_some_and(|value| value == "replace");
            let is_data = is_data || replaces;
            let before = members.len();
            members.retain(|name, _| !is_data || !name.starts_with('$') || replaces && name == "$patch");
            *changed |= members.len() != before;
            members.values_mut().for_each(|value| cut_replaced(value, is_data, changed));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| cut_replaced(item, is_data, changed)),
        _ => {}
    }
}

/// A patch whose lists lack what it deletes from them: Go may delete after it sets. `None` if it deletes nothing.
pub(super) fn deleted_last(patch: &Json) -> Option<Json> {
    let mut out = patch.clone();
    let mut changed = false;
    delete_last(&mut out, &mut changed);
    changed.then_some(out)
}

fn delete_last(patch: &mut Json, changed: &mut bool) {
    match patch {
        Json::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") else { continue };
                let deleted = items(&json!(members), &name).to_vec();
                if let Some(values) = members.get_mut(list).and_then(Json::as_array_mut) {
                    values.retain(|value| !deleted.contains(value));
                    *changed = true;
                }
            }
            members.values_mut().for_each(|value| delete_last(value, changed));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| delete_last(item, changed)),
        _ => {}
    }
}

/// The bodies of a patch without one of the directives of its maps, at any level: Go takes some for data, in what is new and in
/// what replaces a map.
pub(super) fn without_a_directive(patch: &Json) -> Vec<Json> {
    without_one(patch, |name| name.starts_with('$'))
}

/// The bodies of a patch without one of the members of its maps, at any level.
pub(super) fn without_a_member(patch: &Json) -> Vec<Json> {
    without_one(patch, |_| true)
}

fn without_one(patch: &Json, may_cut: fn(&str) -> bool) -> Vec<Json> {
    let mut out = Vec::new();
    match patch {
        Json::Object(members) => {
            for (name, value) in members {
                if may_cut(name) {
                    let mut rest = members.clone();
                    rest.remove(name);
                    out.push(Json::Object(rest));
                }
                for smaller in without_one(value, may_cut) {
                    let mut changed = members.clone();
                    changed.insert(name.clone(), smaller);
                    out.push(Json::Object(changed));
                }
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                for smaller in without_one(item, may_cut) {
                    let before = items.iter().take(at).cloned();
                    let after = items.iter().skip(at.saturating_add(1)).cloned();
                    out.push(before.chain([smaller]).chain(after).collect());
                }
            }
        }
        _ => {}
    }
    out
}
