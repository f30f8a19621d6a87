//! Faults of requests: one is added to a step.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use super::story::Story;
use crate::generate::template::Templates;
use crate::json::{items, member, places, set, text, unset, with_strings};

static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("faults.yaml")));

impl Story<'_> {
    /// A part of the templates of faults.
    pub(super) fn part(&mut self, name: &str) -> Json {
        let api = self.kind.api_version(&self.kind.version);
        let part = TEMPLATES.part(self.rng, name, 0);
        with_strings(&part, &|text| text.replace("%API%", &api))
    }

    /// Adds a fault to a step.
    pub(super) fn fault(&mut self, step: &mut Json) {
        // The body of a JSON patch is a list of operations, in which the faults of objects have no place.
        let json_patch = text(step, "verb") == "json";
        match self.rng.below(if json_patch { 2 } else { 20 }) {
            0 => {
                let name = if self.rng.chance(25) { "type" } else { "query" };
                set(step, name, self.part(name));
            }
            1 => {
                for name in ["body", "base", "carry", "drop", "set"] {
                    unset(step, name);
                }
                set(step, "text", self.part("text"));
            }
            2..5 => {
                let fault = self.part("identity");
                match fault.get(0).filter(|_| self.rng.chance(15)) {
                    Some(pointer) => push(step, "drop", pointer.clone()),
                    None => push(step, "set", fault),
                }
            }
            5..8 => self.fault_of_entries(step),
            8..13 => self.fault_of_a_value(step),
            13..16 => self.known_fault(step, "bad"),
            16..18 => self.known_fault(step, "immutable"),
            18 => push(step, "set", self.part("metadata")),
            _ => self.unknown_member(step),
        }
    }

    /// Managed fields by hand: edits of the live entries, or a list.
    fn fault_of_entries(&mut self, step: &mut Json) {
        let place = "/metadata/managedFields";
        if text(step, "verb") != "update" || self.rng.chance(45) {
            return push(step, "set", json!([place, self.part("entries")]));
        }
        // The edit is made in the live entries, so that the rest of the list stays valid.
        push(step, "carry", json!("managedFields"));
        unset(step, "drop");
        let edit = self.part("edit");
        let part = edit.get(0).and_then(Json::as_str).unwrap_or_default();
        push(
            step,
            "set",
            json!([format!("{place}/0/{part}"), edit.get(1)]),
        );
    }

    /// A value of a wrong type, a missing member, or an item twice.
    fn fault_of_a_value(&mut self, step: &mut Json) {
        let body = member(step, "body").clone();
        let mut places = places(&body);
        if self.rng.chance(70) {
            // Names and versions have faults of their own.
            places.retain(|(path, _)| {
                path.starts_with("/spec")
                    || !path.starts_with("/metadata") && path.matches('/').count() > 1
            });
        }

        let Some((pointer, value)) = self.rng.pick(&places) else {
            return;
        };
        let other = || {
            if value.is_string() {
                json!(7)
            } else {
                json!("text")
            }
        };

        match self.rng.below(3) {
            0 => push(step, "set", json!([pointer, self.part("wrong")])),
            1 => push(step, "drop", json!(pointer)),
            _ => {
                // The same item twice is a duplicate in a set, and a duplicate key in an associative list.
                let lists: Vec<_> = places
                    .iter()
                    .filter_map(|(place, value)| Some((place, value.as_array()?)))
                    .filter(|(_, items)| !items.is_empty())
                    .collect();
                let fault = match self.rng.pick(&lists) {
                    Some((place, items)) => {
                        json!([place, items.iter().chain(items.first()).collect::<Vec<_>>()])
                    }
                    None => json!([pointer, other()]),
                };
                push(step, "set", fault);
            }
        }
    }

    /// One of the values that the kind refuses, in a complete object.
    pub(super) fn known_fault(&mut self, step: &mut Json, list: &str) {
        let faults = items(&self.kind.rest, list);
        let Some(Json::Object(fault)) = self.rng.pick(faults) else {
            return self.fault_of_a_value(step);
        };
        let is_whole = text(step, "sub").is_empty()
            && text(step, "base") != "live"
            && text(step, "verb") != "strategic";

        // The place of the fault may be missing in a part of an object.
        if is_whole {
            let version = match text(step, "version") {
                "" => self.kind.version.clone(),
                version => version.to_owned(),
            };
            set(step, "body", self.object("", &version));
        }

        for (pointer, value) in fault {
            push(step, "set", json!([pointer, value]));
        }
    }

    fn unknown_member(&mut self, step: &mut Json) {
        let mut places = places(member(step, "body"));
        places.retain(|(_, value)| value.is_object());
        let place = self
            .rng
            .pick(&places)
            .map_or("", |(path, _)| path)
            .to_owned();
        let name = self.part("unknown");
        let pointer = format!("{place}/{}", name.as_str().unwrap_or_default());
        push(step, "set", json!([pointer, self.rng.name(&["1", "x"])]));

        if self.rng.chance(25) {
            push(step, "set", json!(["/metadata/unknown", {"a": 1}]));
        }
    }
}

/// Adds to a list of the step.
fn push(step: &mut Json, list: &str, item: Json) {
    if let Some(members) = step.as_object_mut()
        && let Some(items) = members.entry(list).or_insert(json!([])).as_array_mut()
    {
        items.push(item);
    }
}
