//! Annotations of pods, many of which became fields.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::{containers_of, scheduling};
use crate::functions::pod::APP_ARMOR;
use crate::place::{self, Errors, Place};
use crate::validation::functions::field::Field;
use crate::validation::functions::formats;
use crate::validation::syntax;

const MIRROR: &str = "kubernetes.io/config.mirror";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Annotations with their path.
pub(super) struct Annotations<'v> {
    pub(super) path: FieldPath,
    pub(super) map: Option<&'v Map>,
}

impl<'v> Annotations<'v> {
    /// The annotations of a pod.
    pub(super) fn of(pod: &Field<'v>) -> Self {
        let field = pod.get("metadata").get("annotations");
        Annotations {
            map: field.value.and_then(Value::as_map),
            path: field.path,
        }
    }

    /// Whether the pod is that of a kubelet.
    pub(super) fn is_mirror(&self) -> bool {
        self.text(MIRROR).is_some()
    }

    fn text(&self, key: &str) -> Option<&'v str> {
        self.map?.get(key)?.as_str()
    }

    /// The annotations of containers, whose names follow a prefix: the key, the name and the value.
    fn of_containers(&self, prefix: &str) -> impl Iterator<Item = (&'v str, &'v str, &'v str)> {
        let entries = self.map.into_iter().flatten();
        entries.filter_map(move |(key, value)| {
            Some((key.as_str(), key.strip_prefix(prefix)?, value.as_str()?))
        })
    }
}

/// Checks the annotations that Kubernetes reads.
pub(super) fn check(annotations: &Annotations<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let invalid = |key: &str, value: &str, detail: &str| {
        FieldError::invalid(annotations.path.key(key), value, detail)
    };
    // A mirror pod stands for one that a kubelet runs by itself, so its node is known.
    let mirror = annotations.text(MIRROR);
    if let Some(value) = mirror.filter(|_| spec.text("nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(invalid(MIRROR, value, detail));
    }
    if let Some(text) = annotations
        .text(TOLERATIONS)
        .filter(|text| !text.is_empty())
    {
        tolerations(&annotations.path, text, errors);
    }

    // The number has one spelling, without a plus sign and without leading zeros.
    let is_number = |cost: &str| {
        !cost.starts_with('+')
            && (cost == "0" || !cost.starts_with('0'))
            && cost.parse::<i32>().is_ok()
    };
    if let Some(cost) = annotations.text(COST).filter(|cost| !is_number(cost)) {
        errors.push(invalid(COST, cost, "must be a 32bit integer"));
    }

    // Other than the rest, these two kinds of annotations have a field as path.
    if let Some(profile) = annotations.text(SECCOMP_OF_POD) {
        seccomp(&annotations.path.child(SECCOMP_OF_POD), profile, errors);
    }
    for (key, _, profile) in annotations.of_containers(SECCOMP) {
        seccomp(&annotations.path.child(key), profile, errors);
    }
    app_armor(annotations, spec, errors);
}

/// Checks the tolerations of early versions, which are JSON with names in any case.
fn tolerations(path: &FieldPath, text: &str, errors: &mut Errors) {
    let read = formats::read_json(text.as_bytes(), "[]core.Toleration", |json| {
        json.is_array() || json.is_null()
    });
    if let Err(fault) = read {
        errors.push(FieldError::invalid(path.clone(), TOLERATIONS, fault));
        return;
    }

    let read = Value::from_json(text).unwrap_or_default();
    let named = |item: &Value| {
        const NAMES: [&str; 5] = ["key", "operator", "value", "effect", "tolerationSeconds"];
        let member = |(name, value): (&str, &Value)| {
            let known = NAMES
                .iter()
                .find(|known| known.eq_ignore_ascii_case(name))?;
            Some((*known, value.clone()))
        };
        let entries = item.as_map().into_iter().flatten();
        let members = entries.filter_map(|(name, value)| member((name.as_str(), value)));
        Value::Map(members.collect())
    };
    let list: Vec<Value> = read.as_list().into_iter().flatten().map(named).collect();
    let holder = Value::Map(Map::single(TOLERATIONS, list));
    for toleration in Place::new(path, &holder).items(TOLERATIONS) {
        scheduling::toleration(&toleration, errors);
    }
}

fn seccomp(path: &FieldPath, profile: &str, errors: &mut Errors) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    let Some(local) = profile.strip_prefix("localhost/") else {
        let detail = "must be a valid seccomp profile";
        errors.push(FieldError::invalid(path.clone(), profile, detail));
        return;
    };
    place::faults(path, local, syntax::descending_path(local), errors);
}

fn app_armor(annotations: &Annotations<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let names: BTreeSet<&str> = containers_of(spec).map(|one| one.text("name")).collect();
    for (key, container, profile) in annotations.of_containers(APP_ARMOR) {
        let path = annotations.path.key(key);
        if !names.contains(container) {
            let detail = "container not found";
            errors.push(FieldError::invalid(path.clone(), container, detail));
        }
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined")
            || profile.starts_with("localhost/");
        if !is_known {
            let detail = format!("invalid AppArmor profile name: {profile:?}");
            errors.push(FieldError::invalid(path, profile, detail));
        }
    }
}

/// A profile that has an annotation and a field.
struct Profile {
    word: &'static str,
    field: &'static str,
    prefix: &'static str,
    /// The annotations of the default of the runtime.
    defaults: &'static [&'static str],
}

const SECCOMP_PROFILE: Profile = Profile {
    word: "seccomp",
    field: "seccompProfile",
    prefix: SECCOMP,
    defaults: &["runtime/default", "docker/default"],
};

const APP_ARMOR_PROFILE: Profile = Profile {
    word: "apparmor",
    field: "appArmorProfile",
    prefix: APP_ARMOR,
    defaults: &["runtime/default"],
};

/// Checks that annotations and fields of profiles say the same.
pub(super) fn match_fields(annotations: &Annotations<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let of_pod = SECCOMP_PROFILE.of(spec);
    if let (Some(text), Some(of_pod)) = (annotations.text(SECCOMP_OF_POD), of_pod) {
        SECCOMP_PROFILE.compare(text, &of_pod, errors);
    }

    // A container has the AppArmor profile of its pod unless it has its own. The annotations of other systems are ignored.
    let is_windows = spec
        .child("os")
        .is_some_and(|os| os.text("name") == "windows");
    let of_pod = APP_ARMOR_PROFILE.of(spec);
    for (kind, of_pod) in [(SECCOMP_PROFILE, None), (APP_ARMOR_PROFILE, of_pod)] {
        for container in containers_of(spec).filter(|_| kind.word == "seccomp" || !is_windows) {
            let key = format!("{}{}", kind.prefix, container.text("name"));
            let own = kind.of(&container).or_else(|| of_pod.clone());
            if let (Some(text), Some(own)) = (annotations.text(&key), own) {
                let path = container.at("securityContext").child(kind.field);
                kind.compare(text, &Place::new(&path, own.value), errors);
            }
        }
    }
}

impl Profile {
    /// The field of a pod or a container.
    fn of<'v>(&self, holder: &Place<'v>) -> Option<Place<'v>> {
        holder.child("securityContext")?.child(self.field)
    }

    /// Compares an annotation with a field.
    fn compare(&self, annotation: &str, field: &Place<'_>, errors: &mut Errors) {
        let (ty, word) = (field.text("type"), self.word);
        let local = annotation.strip_prefix("localhost/");
        let is_same_type = match ty {
            "Unconfined" => annotation == "unconfined",
            "RuntimeDefault" => self.defaults.contains(&annotation),
            "Localhost" => local.is_some(),
            _ => true,
        };
        let own = field.get("localhostProfile").and_then(Value::as_str);
        if !is_same_type {
            let detail = format!("{word} type in annotation and field must match");
            field.forbid("type", &detail, errors);
        } else if ty == "Localhost" && local != own {
            let detail = format!("{word} profile in annotation and field must match");
            field.forbid("localhostProfile", &detail, errors);
        }
    }
}

/// Checks an update: the annotations of a kubelet and of AppArmor stay as they are.
pub(super) fn changes(pod: &Field<'_>, errors: &mut Errors) {
    let (new, old) = (Annotations::of(pod), Annotations::of(&pod.before()));
    let words = |key: &str| match key {
        MIRROR => Some("mirror pod annotation"),
        key => key.starts_with(APP_ARMOR).then_some("AppArmor annotations"),
    };
    let mut forbid = |key: &str, verb: &str| {
        if let Some(words) = words(key) {
            let detail = format!("may not {verb} {words}");
            errors.push(FieldError::forbidden(new.path.key(key), detail));
        }
    };
    let get = |annotations: &Annotations<'_>, key: &str| annotations.map?.get(key).cloned();
    for (key, value) in old.map.into_iter().flatten() {
        if get(&new, key).as_ref() != Some(value) {
            forbid(key, "remove or update");
        }
    }
    for (key, _) in new.map.into_iter().flatten() {
        if get(&old, key).is_none() {
            forbid(key, "add");
        }
    }
}
