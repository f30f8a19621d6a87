//! Random sequences of requests to one object.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::kinds::Catalog;
use super::patches;
use super::pointer::{merge, set_pointer};
use super::story::Story;
use super::template::NAME;
use crate::Error;
use crate::generate::random::Random;
use crate::json::{members, remove_pointer, set, text};

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
        // An apply creates an object too. The other verbs rarely do, and their refusals are compared as well.
        let verb = self.rng.weighted(
            &[
                (70, "create"),
                (24, "apply"),
                (2, "update"),
                (2, "merge"),
                (2, "json"),
            ],
            "create",
        );
        let version = self.version();
        let mut step = json!({"verb": verb});

        if version != self.kind.version {
            set(&mut step, "version", version.as_str());
        }
        self.options(&mut step);
        // Only an object that is named after the sequence can get a generated name.
        if verb == "create" && self.rng.chance(5) && self.kind.object_name() == NAME {
            let mut body = self.object("", &version);
            remove_pointer(&mut body, "/metadata/name");
            set_pointer(
                &mut body,
                "/metadata/generateName",
                &json!(format!("{NAME}-")),
            );
            set(&mut step, "body", body);
        } else {
            self.fill(&mut step, verb, "", &version);
        }

        // Faults are rarer than in later steps: without an object, these compare little.
        if self.rng.chance(12) {
            self.fault(&mut step);
        }
        self.usual_fault(&mut step);
        step
    }

    fn version(&mut self) -> String {
        let other = if self.rng.chance(18) {
            self.rng.pick(&self.kind.also).cloned()
        } else {
            None
        };
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
        // The API server refuses strategic merge patches of custom resources.
        let verb = if verb == "strategic" && self.kind.definition.is_some() && self.rng.chance(85) {
            "apply"
        } else {
            verb
        };

        if verb == "delete" {
            return json!({"verb": "delete"});
        }
        // An object is created by a request to its collection, which has no subresources.
        let sub = if verb != "create" && self.rng.chance(35) {
            self.rng.pick(&self.kind.subresources).cloned()
        } else {
            None
        };
        let sub = sub.unwrap_or_default();
        let version = if verb == "create" {
            self.kind.version.clone()
        } else {
            self.version()
        };

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
            self.fault(&mut step);
        }
        self.usual_fault(&mut step);
        step
    }

    /// A fault of the kind, most often for kinds that are mostly faulty.
    fn usual_fault(&mut self, step: &mut Json) {
        let usual = if self.kind.definition.is_some() {
            0
        } else {
            USUAL_FAULTS
        };
        let percent = self
            .kind
            .rest
            .get("faults")
            .and_then(Json::as_u64)
            .unwrap_or(usual);
        let percent = u32::try_from(percent).unwrap_or_default();

        // The faults of a kind are values at places of an object, so they need a body that is one.
        let takes_object = matches!(text(step, "verb"), "create" | "update" | "apply" | "merge");
        if percent > 0 && takes_object && step.get("text").is_none() && self.rng.chance(percent) {
            self.known_fault(step, "bad");
        }
    }

    /// The query and the headers.
    fn options(&mut self, step: &mut Json) {
        // Only an apply has `force`, and an apply must name its manager.
        let part = match text(step, "verb") {
            "apply" => "applyOptions",
            _ => "options",
        };
        let options = self.part(part);
        let query: Vec<String> = members(&json!({"all": options}), "all")
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect();
        if !query.is_empty() {
            set(step, "query", query.join("&"));
        }

        if self.rng.chance(25) {
            let agent = self.part("agent");
            set(step, "agent", agent);
        }
    }

    /// The body.
    fn fill(&mut self, step: &mut Json, verb: &str, sub: &str, version: &str) {
        let mut object = self.object(sub, version);
        match verb {
            "create" => set(step, "body", object),
            "update" => self.update(step, object, sub),
            "apply" => {
                // Other configurations are complete, so that a manager owns much, and prunes in its next apply.
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
            set(
                step,
                "body",
                if self.rng.chance(12) {
                    json!({})
                } else {
                    edits
                },
            );
            return;
        }

        // The namespace of a `Scale` is compared with that of the path, which kinds without namespaces do not have.
        if sub == "scale" {
            merge(
                &mut object,
                &json!({"metadata": {"namespace": if self.kind.is_namespaced() { json!("default") } else { Json::Null }}}),
            );
        }

        // An update with the `resourceVersion` is conditional, and one with the managed fields decides about owners.
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

        // An update of a custom resource without a `resourceVersion` is refused.
        if self.kind.definition.is_some() && self.rng.chance(80) {
            carried.insert("resourceVersion".to_owned(), Json::Null);
        }
        set(step, "carry", carried.keys().cloned().collect::<Json>());
        set(step, "body", object);
    }
}
