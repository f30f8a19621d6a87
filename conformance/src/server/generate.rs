//! Random sequences of requests to one object.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::faults;
use super::kinds::Catalog;
use super::patches;
use super::pointer::{merge, set_pointer};
use super::story::Story;
use super::template::NAME;
use crate::Error;
use crate::generate::random::Random;
use crate::json::{remove_pointer, set, text};

/// The names of managers.
const MANAGERS: &[&str] = &["a", "b", "c", "kubectl"];

/// The percentage of requests on built-in kinds that get a value which the kind refuses.
const USUAL_FAULTS: u64 = 15;

/// The sequence of a seed, with an object of a kind if one is given.
pub(super) fn sequence(seed: u64, kind: Option<&str>) -> Result<Json, Error> {
    let catalog = Catalog::get()?;
    let mut rng = Random::new(seed);
    let mut story = Story::new(catalog, kind, seed, &mut rng)?;
    let count = story.rng.between(3, 11);
    let mut steps = vec![story.first()];
    // If that was refused.
    for _ in 0..2 {
        let version = story.kind.version.clone();
        steps.push(json!({"verb": "create", "once": true, "body": story.object("", &version)}));
    }
    for _ in 0..count {
        steps.push(story.step());
    }
    let kind = &story.kind;
    // The option `--op` selects a kind.
    let name = format!("n{seed}");
    Ok(json!({"op": kind.kind, "kind": kind.kind, "path": kind.path, "name": name, "steps": steps}))
}

impl Story<'_> {
    /// The first request, which usually creates the object.
    fn first(&mut self) -> Json {
        let verb = self
            .rng
            .weighted(&[(70, "create"), (24, "apply"), (2, "update"), (2, "merge"), (2, "json")], "create");
        let version = self.version();
        let mut step = json!({"verb": verb});
        if version != self.kind.version {
            set(&mut step, "version", version.as_str());
        }
        self.options(&mut step);
        if verb == "create" && self.rng.chance(5) && self.kind.object_name() == NAME {
            let mut body = self.object("", &version);
            remove_pointer(&mut body, "/metadata/name");
            set_pointer(&mut body, "/metadata/generateName", &json!(format!("{NAME}-")));
            set(&mut step, "body", body);
        } else {
            self.fill(&mut step, verb, "", &version);
        }
        if self.rng.chance(12) {
            faults::add(self, &mut step);
        }
        self.known_fault(&mut step);
        step
    }

    fn version(&mut self) -> String {
        let other = if self.rng.chance(18) { self.rng.pick(&self.kind.also).cloned() } else { None };
        other.unwrap_or_else(|| self.kind.version.clone())
    }

    fn step(&mut self) -> Json {
        let verbs = [
            (24, "update"),
            (15, "merge"),
            (12, "json"),
            (14, "strategic"),
            (30, "apply"),
            (3, "create"),
            (1, "delete"),
        ];
        let verb = self.rng.weighted(&verbs, "apply");
        let verb = if verb == "strategic" && self.kind.definition.is_some() && self.rng.chance(85) {
            "apply"
        } else {
            verb
        };
        if verb == "delete" {
            return json!({"verb": "delete"});
        }
        let sub = if verb != "create" && self.rng.chance(35) {
            self.rng.pick(&self.kind.subresources).cloned()
        } else {
            None
        };
        let sub = sub.unwrap_or_default();
        let version = if verb == "create" { self.kind.version.clone() } else { self.version() };
        let mut step = json!({"verb": verb});
        if !sub.is_empty() {
            set(&mut step, "sub", sub.as_str());
        }
        if version != self.kind.version {
            set(&mut step, "version", version.as_str());
        }
        self.options(&mut step);
        self.fill(&mut step, verb, &sub, &version);
        if self.rng.chance(35) {
            faults::add(self, &mut step);
        }
        self.known_fault(&mut step);
        step
    }

    /// A fault of the kind, most often for kinds that are mostly faulty.
    fn known_fault(&mut self, step: &mut Json) {
        let usual = if self.kind.definition.is_some() { 0 } else { USUAL_FAULTS };
        let percent = self.kind.rest.get("faults").and_then(Json::as_u64).unwrap_or(usual);
        let percent = u32::try_from(percent).unwrap_or_default();
        let takes_object = matches!(text(step, "verb"), "create" | "update" | "apply" | "merge");
        if percent > 0 && takes_object && step.get("text").is_none() && self.rng.chance(percent) {
            faults::known(self, step, "bad");
        }
    }

    /// The query and the headers.
    fn options(&mut self, step: &mut Json) {
        let apply = text(step, "verb") == "apply";
        let mut query = Vec::new();
        if apply || self.rng.chance(45) {
            query.push(format!("fieldManager={}", self.rng.name(MANAGERS)));
        }
        if apply && self.rng.chance(45) {
            query.push(format!("force={}", self.rng.name(&["true", "true", "false"])));
        }
        if self.rng.chance(35) {
            query.push(format!("fieldValidation={}", self.rng.name(&["Strict", "Warn", "Ignore"])));
        }
        if self.rng.chance(5) {
            query.push("dryRun=All".to_owned());
        }
        if !query.is_empty() {
            set(step, "query", query.join("&"));
        }
        if self.rng.chance(25) {
            set(
                step,
                "agent",
                self.rng.name(&["kubectl/v1.37", "curl/8.0", "kube-controller-manager", "x y/1"]),
            );
        }
    }

    /// The body.
    fn fill(&mut self, step: &mut Json, verb: &str, sub: &str, version: &str) {
        let mut object = self.object(sub, version);
        match verb {
            "create" => set(step, "body", object),
            "update" => self.update(step, object, sub),
            "apply" => {
                if self.rng.chance(50) {
                    object = patches::part(self.rng, &object, true);
                }
                set(step, "body", object);
                if self.rng.chance(15) {
                    set(step, "format", "yaml");
                }
            }
            "merge" | "strategic" => {
                let mut patch = patches::part(self.rng, &object, false);
                patches::deletions(self.rng, &mut patch, verb == "strategic");
                set(step, "body", patch);
            }
            _ => set(step, "body", patches::operations(self.rng, &object)),
        }
    }

    fn update(&mut self, step: &mut Json, mut object: Json, sub: &str) {
        if sub != "scale" && self.rng.chance(50) {
            // As a client that reads the object, and changes some of it.
            let mut edits = patches::part(self.rng, &object, true);
            if self.rng.chance(25) {
                patches::deletions(self.rng, &mut edits, false);
            }
            set(step, "base", "live");
            if self.rng.chance(20) {
                set(step, "drop", json!(["/metadata/resourceVersion"]));
            }
            if self.rng.chance(15) {
                set(step, "drop", json!(["/metadata/managedFields"]));
            }
            // The same object: nothing changes.
            set(step, "body", if self.rng.chance(12) { json!({}) } else { edits });
            return;
        }
        if sub == "scale" {
            merge(
                &mut object,
                &json!({"metadata": {"namespace": if self.kind.is_namespaced() { json!("default") } else { Json::Null }}}),
            );
        }
        let mut carried = JsonMap::new();
        for (percent, name) in [
            (75, "resourceVersion"),
            (50, "managedFields"),
            (25, "uid"),
            (10, "creationTimestamp"),
            (8, "generation"),
        ] {
            if self.rng.chance(percent) && (sub != "scale" || name != "managedFields") {
                carried.insert(name.to_owned(), Json::Null);
            }
        }
        if self.kind.definition.is_some() && self.rng.chance(80) {
            carried.insert("resourceVersion".to_owned(), Json::Null);
        }
        set(step, "carry", carried.keys().cloned().collect::<Json>());
        set(step, "body", object);
    }
}
