//! Strategic merge patches without some of their directives and members, to ask again what the real server would answer.

use serde_json::Value as Json;

use crate::json::{children_mut, set, text, unset, with_each};

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

/// A patch after a change; `None` if that changes nothing.
fn changed(patch: &Json, out: Json) -> Option<Json> {
    (out != *patch).then_some(out)
}

/// A patch without directives that Go takes for data, or drops with their map, whatever they say. `None` if there are none.
pub(super) fn without_leaks(patch: &Json, leak: Leak) -> Option<Json> {
    let is_leak = |value: &Json| match value.as_str() {
        Some("replace" | "delete") => leak == Leak::Any,
        Some("merge") => matches!(leak, Leak::Any | Leak::Merge),
        _ => true,
    };
    // In new content `$retainKeys` is data, whatever `$patch` says beside it.
    let out = with_each(patch, |part| {
        if part.get("$patch").is_some_and(is_leak) {
            unset(part, "$patch");
            if leak == Leak::Deleted {
                set(part, "$patch", "delete");
            }
        }
        unset(part, "$retainKeys");
    });

    changed(patch, out)
}

/// A patch whose maps that replace others have no other directives, beside or inside, which are data in Go. `None` if there are none.
pub(super) fn without_replaced(patch: &Json) -> Option<Json> {
    let mut out = patch.clone();
    cut_replaced(&mut out, false);
    changed(patch, out)
}

fn cut_replaced(patch: &mut Json, is_data: bool) {
    let replaces = !is_data && text(patch, "$patch") == "replace";
    let is_data = is_data || replaces;
    if let (true, Json::Object(members)) = (is_data, &mut *patch) {
        members.retain(|name, _| !name.starts_with('$') || replaces && name == "$patch");
    }
    children_mut(patch).for_each(|part| cut_replaced(part, is_data));
}

/// A patch whose lists lack what it deletes from them: Go may delete after it sets. `None` if it deletes nothing.
pub(super) fn deleted_last(patch: &Json) -> Option<Json> {
    const DELETES: &str = "$deleteFromPrimitiveList/";
    let mut is_found = false;
    let out = with_each(patch, |part| {
        for (name, deleted) in part.as_object().cloned().into_iter().flatten() {
            let list = name
                .strip_prefix(DELETES)
                .and_then(|list| part.get_mut(list));
            if let (Some(Json::Array(values)), Json::Array(deleted)) = (list, deleted) {
                values.retain(|value| !deleted.contains(value));
                is_found = true;
            }
        }
    });

    is_found.then_some(out)
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
    // Each result differs from the patch at one place, so that an equal answer names the cause.
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
