//! Pods as checks see them, and the words with which they speak of them.

use std::collections::BTreeSet;

use fieldmanager_value::{List, Value};

use crate::request::field;

/// The Pod, or the template of one, that a standard is applied to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
    /// The minor version of the standard.
    pub(super) minor: i64,
}

/// Who sets a field to a forbidden value, and the forbidden values.
#[derive(Debug, Default)]
pub(super) struct Setters<'a> {
    is_pod: bool,
    containers: Vec<&'a str>,
    values: BTreeSet<&'a str>,
}

impl<'a> Pod<'a> {
    /// All containers, in the order in which they are checked.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |kind| items(spec, kind))
    }

    /// The names of the containers that something holds for.
    pub(super) fn names(&self, holds: impl Fn(&'a Value) -> bool) -> Vec<&'a str> {
        let found = self.containers().filter(|container| holds(container));
        found.map(|container| text(container, "name")).collect()
    }

    /// The Pod and the containers whose security contexts have a forbidden value. The function adds it to the set.
    pub(super) fn setters(
        &self,
        mut is_bad: impl FnMut(&'a Value, &mut BTreeSet<&'a str>) -> bool,
    ) -> Setters<'a> {
        let mut found = Setters::default();
        found.is_pod = is_bad(context(self.spec), &mut found.values);
        for container in self.containers() {
            if is_bad(context(container), &mut found.values) {
                found.containers.push(text(container, "name"));
            }
        }
        found
    }

    /// The setters of a profile whose type is none of the allowed ones.
    pub(super) fn profile_setters(&self, profile: &str, allowed: &[&str]) -> Setters<'a> {
        self.setters(|context, values| {
            let profile = get(context, profile);
            let is_bad = !profile.is_null() && !allowed.contains(&text(profile, "type"));
            if is_bad {
                values.insert(text(profile, "type"));
            }
            is_bad
        })
    }

    /// The containers that do not set a field of their security context, nor does the Pod.
    pub(super) fn without(&self, name: &str) -> Vec<&'a str> {
        let lacks = |owner| get(context(owner), name).is_null();
        self.names(|container| lacks(self.spec) && lacks(container))
    }
}

impl<'a> Setters<'a> {
    /// The forbidden values, sorted.
    pub(super) fn values(&self) -> Vec<&'a str> {
        self.values.iter().copied().collect()
    }

    /// `pod and containers "a", "b"`; `None` if nobody sets a forbidden value.
    pub(super) fn describe(&self) -> Option<String> {
        let names = named("container", &self.containers);
        match (self.is_pod, self.containers.is_empty()) {
            (false, true) => None,
            (true, true) => Some("pod".to_owned()),
            (false, false) => Some(names),
            (true, false) => Some(format!("pod and {names}")),
        }
    }
}

/// A field, or `null`.
pub(super) fn get<'v>(value: &'v Value, name: &str) -> &'v Value {
    field(Some(value), &[name])
}

/// The security context of a Pod or a container, or `null`.
pub(super) fn context(owner: &Value) -> &Value {
    get(owner, "securityContext")
}

/// The items of a list in a field.
pub(super) fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    let list = get(value, name).as_list();
    list.into_iter().flat_map(List::iter)
}

/// The string in a field; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    get(value, name).as_str().unwrap_or_default()
}

/// `containers "a", "b"`: what there is one or more of, with their names.
pub(super) fn named(noun: &str, names: &[&str]) -> String {
    format!("{} {}", plural(noun, names.len()), quote_all(names))
}

/// A noun in its number.
pub(super) fn plural(noun: &str, count: usize) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

/// `"a", "b"`. Quotes in strings are as they are.
pub(super) fn quote_all(items: &[impl AsRef<str>]) -> String {
    let quoted = items.iter().map(|item| format!("\"{}\"", item.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}
