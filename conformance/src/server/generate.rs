//! Random sequences of requests to one object.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::faults;
use super::kinds::{Catalog, Kind};
use super::patches;
use super::request::{NAME, merge, set_pointer};
use crate::Error;
use crate::generate::random::Random;
use crate::json::{flag, items, member, set, text};

/// The names of managers.
const MANAGERS: &[&str] = &["a", "b", "c", "kubectl"];

/// The sequence of a seed.
pub(super) fn sequence(seed: u64) -> Result<Json, Error> {
    let catalog = Catalog::get()?;
    let mut rng = Random::new(seed);
    let mut story = Story::new(catalog, &mut rng);
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
    Ok(json!({"kind": story.kind.kind, "path": story.kind.path, "name": format!("n{seed}"), "steps": steps}))
}

/// What a sequence is about.
pub(super) struct Story<'a> {
    catalog: &'a Catalog,
    pub(super) kind: &'a Kind,
    pub(super) rng: &'a mut Random,
    /// The object of the first request: the members that cannot change are equal in all others.
    base: Json,
}

impl<'a> Story<'a> {
    fn new(catalog: &'a Catalog, rng: &'a mut Random) -> Self {
        let kind = &catalog.kinds[rng.below(catalog.kinds.len())];
        let base = catalog.expand(rng, member(&kind.rest, "object"), 40);
        Story { catalog, kind, rng, base }
    }

    fn template(&mut self, name: &str, percent: u32) -> Json {
        self.catalog.expand(self.rng, member(&self.kind.rest, name), percent)
    }

    /// A valid object, as far as an update may change it.
    fn content(&mut self) -> Json {
        let mutable = self.kind.rest.get("mutable").is_some();
        let mut out = if flag(&self.kind.rest, "fixed") || (mutable && self.rng.chance(80)) {
            self.base.clone()
        } else {
            let percent = *self.rng.pick(&[15, 40, 70]).unwrap_or(&40);
            self.template("object", percent)
        };
        for pointer in items(&self.kind.rest, "pinned").iter().filter_map(Json::as_str) {
            match self.base.pointer(pointer) {
                _ if pointer == "/" => out = self.base.clone(),
                Some(value) => set_pointer(&mut out, pointer, value),
                None => super::request::remove_pointer(&mut out, pointer),
            }
        }
        if mutable {
            let changes = self.template("mutable", 60);
            patches::merge_by_name(&mut out, &changes);
        }
        out
    }

    /// The names and labels of the object.
    fn metadata(&mut self) -> Json {
        let mut out = json!({"name": self.kind.object_name()});
        if self.kind.is_namespaced() && self.rng.chance(30) {
            set(&mut out, "namespace", "default");
        }
        if self.rng.chance(40) {
            let labels =
                [json!({"app": "web"}), json!({"app": "x", "tier": "t"}), json!({"tier": null}), json!({})];
            set(&mut out, "labels", self.rng.pick(&labels).cloned());
        }
        if self.rng.chance(30) {
            let annotations =
                [json!({"note": "a"}), json!({"note": "b", "example.com/x": ""}), json!({"n": "1"})];
            set(&mut out, "annotations", self.rng.pick(&annotations).cloned());
        }
        if self.rng.chance(6) {
            set(&mut out, "finalizers", json!([self.rng.name(&["example.com/a", "example.com/b"])]));
        }
        if self.rng.chance(8) {
            let owner =
                |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
            let owners = [json!([owner("p", "u1")]), json!([owner("p", "u1"), owner("q", "u2")])];
            set(&mut out, "ownerReferences", self.rng.pick(&owners).cloned());
        }
        if self.rng.chance(5) {
            set(&mut out, "creationTimestamp", Json::Null);
        }
        out
    }

    /// A complete object for a subresource, or the object itself, at a version.
    pub(super) fn object(&mut self, sub: &str, version: &str) -> Json {
        let mut out = match sub {
            "scale" => {
                let replicas = self.rng.pick(&[json!(0), json!(1), json!(2), json!(5)]).cloned();
                json!({"spec": {"replicas": replicas}})
            }
            "" => self.content(),
            "status" => {
                let mut out = if self.rng.chance(60) { self.content() } else { self.base.clone() };
                set(&mut out, "status", self.template("status", 50));
                out
            }
            other => self.template(other, 50),
        };
        if sub.is_empty() && self.kind.has("status") && self.rng.chance(10) {
            set(&mut out, "status", self.template("status", 50));
        }
        let metadata = if sub == "scale" {
            json!({"name": self.kind.object_name(), "namespace": "default"})
        } else {
            self.metadata()
        };
        set(&mut out, "metadata", metadata);
        let (api_version, kind) = match sub {
            "scale" => ("autoscaling/v1".to_owned(), "Scale"),
            _ => (self.kind.api_version(version), self.kind.kind.as_str()),
        };
        set(&mut out, "apiVersion", api_version);
        set(&mut out, "kind", kind);
        out
    }

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
        if verb == "create" && self.rng.chance(5) {
            let mut body = self.object("", &version);
            super::request::remove_pointer(&mut body, "/metadata/name");
            set_pointer(&mut body, "/metadata/generateName", &json!(format!("{NAME}-")));
            set(&mut step, "body", body);
        } else {
            self.fill(&mut step, verb, "", &version);
        }
        if self.rng.chance(12) {
            faults::add(self, &mut step);
        }
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
        step
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
            // What a client does that reads the object, and changes some of it.
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
