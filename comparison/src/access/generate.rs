//! Random roles, bindings and questions. The words are few, so that they meet.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::generate::random::Random;
use crate::json::{member, set, text, unset};

const USERS: [&str; 7] = [
    "bob",
    "ann",
    "system:serviceaccount:shop:robot",
    "system:serviceaccount:ci:robot",
    "system:serviceaccount:shop:",
    "",
    "a\"<\u{e9}\n>",
];
const GROUPS: [&str; 5] = ["dev", "ops", "system:authenticated", "", "a b"];
const NAMESPACES: [&str; 2] = ["shop", "ci"];
const VERBS: [&str; 9] = [
    "get", "list", "*", "update", "get", "create", "", "bind", "escalate",
];
const API_GROUPS: [&str; 5] = ["", "apps", "*", "rbac.authorization.k8s.io", ""];
const RESOURCES: [&str; 14] = [
    "pods",
    "pods/log",
    "*/scale",
    "*",
    "webs/scale",
    "pods",
    "roles",
    "clusterroles",
    "*/*",
    "pods/",
    "a/b/c",
    "*/b/c",
    "",
    "pods/*",
];
const NAMES: [&str; 4] = ["web", "view", "", "a\"b"];
const PATHS: [&str; 11] = [
    "/", "/version", "/logs/*", "/logs**", "*", "/a*b", "", "logs", "/a&<b>", "/logs/a", "**",
];
const ROLES: [&str; 4] = ["view", "edit", "admin", "a\"b"];
const BAD_ROLES: [&str; 5] = ["gone", "", "a/b", "..", "a%b"];
const LABELS: [&str; 3] = ["a", "b", "example.com/a"];
const VALUES: [&str; 3] = ["x", "y", ""];

/// The case of a seed.
pub(super) fn case(seed: u64) -> Value {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut objects: BTreeMap<String, Value> = BTreeMap::new();
    for (kind, least, most) in [
        ("ClusterRole", 2, 8),
        ("Role", 1, 10),
        ("ClusterRoleBinding", 0, 4),
        ("RoleBinding", 0, 6),
    ] {
        for _ in 0..random.between(least, most) {
            let object = object(random, kind, true);
            let metadata = member(&object, "metadata");
            let place = [text(metadata, "namespace"), text(metadata, "name")];
            objects.insert(format!("{kind} {place:?}"), object);
        }
    }
    let objects: Vec<Value> = objects.into_values().collect();
    let questions: Vec<Value> = (0..5).map(|_| question(random, &objects)).collect();
    json!({"objects": objects, "questions": questions})
}

fn question(random: &mut Random, objects: &[Value]) -> Value {
    let mut groups = list(random, &GROUPS, 2);
    if random.chance(3) {
        groups.push("system:masters");
    }

    let mut out = json!({"user": random.name(&USERS), "groups": groups, "namespace": random.name(&NAMESPACES)});
    let op = random.weighted(
        &[
            (45, "authorize"),
            (10, "rules"),
            (35, "grant"),
            (10, "aggregate"),
        ],
        "rules",
    );
    set(&mut out, "op", op);
    match op {
        "authorize" if random.chance(25) => {
            set(&mut out, "verb", random.name(&VERBS));
            // A path has no namespace, and is not empty.
            let path = random.name(&PATHS);
            set(&mut out, "namespace", "");
            set(&mut out, "path", if path.is_empty() { "/x" } else { path });
        }
        "authorize" => {
            set(&mut out, "verb", random.name(&VERBS));
            set(&mut out, "group", random.name(&API_GROUPS));
            let resource = random.name(&RESOURCES);
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            set(&mut out, "resource", resource);
            set(&mut out, "subresource", subresource);
            set(&mut out, "name", random.name(&NAMES));
            if random.chance(30) {
                set(&mut out, "namespace", "");
            }
        }
        "grant" => {
            set(&mut out, "name", random.name(&ROLES));
            let (object, old) = write(random, objects);
            set(&mut out, "object", object);
            if let Some(old) = old {
                set(&mut out, "old", old);
            } else if random.chance(50) {
                set(&mut out, "name", "");
            }
        }
        "aggregate" => set(&mut out, "name", random.name(&ROLES)),
        _ => {}
    }

    out
}

/// A new object, and the old one if it is an update.
fn write(random: &mut Random, objects: &[Value]) -> (Value, Option<Value>) {
    let kind = random.name(&["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"]);
    let mut new = object(random, kind, false);
    if random.chance(5) {
        new.pointer_mut("/metadata")
            .map(|metadata| unset(metadata, "name"));
    }
    if random.chance(40) {
        return (new, None);
    }

    // Most updates change little or nothing.
    let mut old = if random.chance(20) {
        object(random, kind, false)
    } else {
        random.of(objects)
    };
    if old.get("kind") != new.get("kind") {
        old = object(random, kind, false);
    }
    if random.chance(70) {
        new = old.clone();
    }
    for object in [&mut new, &mut old] {
        for _ in 0..random.between(0, 2) {
            change(random, object);
        }
    }
    (new, Some(old))
}

/// Sets a field that counts or does not count in a comparison with the old object.
fn change(random: &mut Random, object: &mut Value) {
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}]);
    let managed = json!([{"manager": "a", "operation": "Apply"}]);
    let (name, value) = random.of(&[
        ("finalizers", json!(["a/b"])),
        ("finalizers", json!([])),
        ("ownerReferences", owner),
        ("managedFields", managed),
        ("selfLink", json!("/a")),
        ("labels", json!({})),
        ("labels", json!({"a": ""})),
        ("annotations", json!({"a": "b"})),
        ("annotations", Value::Null),
        ("creationTimestamp", Value::Null),
        ("uid", json!("")),
        ("resourceVersion", json!("1")),
        ("generateName", json!("")),
    ]);

    // Most of what does not count is metadata.
    if random.chance(75) {
        let metadata = object.pointer_mut("/metadata");
        metadata
            .into_iter()
            .for_each(|metadata| set(metadata, name, value.clone()));
        return;
    }

    match object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "ClusterRole" => set(
            object,
            "aggregationRule",
            random.of(&[json!({}), Value::Null, json!({"clusterRoleSelectors": []})]),
        ),
        "Role" => set(object, "rules", json!([])),
        _ => set(object, "subjects", Value::Null),
    }
}

/// A role or binding. A stored one refers to what a binding can refer to, though it may not exist.
fn object(random: &mut Random, kind: &str, is_stored: bool) -> Value {
    let is_role = kind.ends_with("Role");
    let name = if is_role {
        random.name(&ROLES)
    } else {
        random.name(&["a", "b", "c", "d"])
    };
    let mut metadata = json!({"name": name});
    if !kind.starts_with("Cluster") {
        set(&mut metadata, "namespace", random.name(&NAMESPACES));
    }

    let mut out = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind});
    if is_role {
        set(&mut metadata, "labels", labels(random));
        let rules: Vec<Value> = (0..random.between(0, 3)).map(|_| rule(random)).collect();
        set(&mut out, "rules", rules);
        if kind == "ClusterRole" && random.chance(50) {
            let selectors: Vec<Value> = (0..random.between(0, 2))
                .map(|_| selector(random))
                .collect();
            set(
                &mut out,
                "aggregationRule",
                json!({"clusterRoleSelectors": selectors}),
            );
        }
    } else {
        let subjects: Vec<Value> = (0..random.between(0, 4)).map(|_| subject(random)).collect();
        set(&mut out, "subjects", subjects);
        let bad_names: &[&'static str] = if is_stored { &["gone"] } else { &BAD_ROLES };
        // Validation refuses to store other names and kinds.
        let names = if random.chance(10) { bad_names } else { &ROLES };
        let name = random.name(names);
        let bad_kind = u32::from(!is_stored) * 3;
        let role = if is_stored && kind == "ClusterRoleBinding" {
            0
        } else {
            40
        };
        let kinds = [(60, "ClusterRole"), (role, "Role"), (bad_kind, "Pod")];
        let role_kind = random.weighted(&kinds, "");
        set(
            &mut out,
            "roleRef",
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": name}),
        );
    }

    set(&mut out, "metadata", metadata);
    out
}

fn rule(random: &mut Random) -> Value {
    let mut out = json!({"verbs": list(random, &VERBS, 3)});
    if random.chance(75) {
        set(&mut out, "apiGroups", list(random, &API_GROUPS, 2));
        set(&mut out, "resources", list(random, &RESOURCES, 3));
        if random.chance(20) {
            set(&mut out, "resourceNames", list(random, &NAMES, 2));
        }
    }
    if random.chance(30) {
        set(&mut out, "nonResourceURLs", list(random, &PATHS, 2));
    }
    // What covers much decides what the user may grant.
    if random.chance(10) {
        out = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    } else if random.chance(5) {
        out = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
    }
    out
}

fn subject(random: &mut Random) -> Value {
    let kind = random.weighted(
        &[
            (45, "User"),
            (30, "Group"),
            (20, "ServiceAccount"),
            (3, ""),
            (2, "user"),
        ],
        "",
    );
    let name = match kind {
        "Group" => random.name(&GROUPS),
        "ServiceAccount" => random.name(&["robot", "robot", ""]),
        _ => random.name(&USERS),
    };
    let mut out = json!({"kind": kind, "name": name});
    if random.chance(30) {
        set(&mut out, "namespace", random.name(&["shop", "ci", ""]));
    }
    out
}

fn labels(random: &mut Random) -> Value {
    let mut out = json!({});
    for _ in 0..random.between(0, 2) {
        set(&mut out, random.name(&LABELS), random.name(&VALUES));
    }
    out
}

fn selector(random: &mut Random) -> Value {
    let mut out = json!({});
    if random.chance(50) {
        set(&mut out, "matchLabels", labels(random));
    }
    if random.chance(50) {
        let key = if random.chance(5) {
            "-a"
        } else {
            random.name(&LABELS)
        };
        let operator = random.name(&[
            "In",
            "NotIn",
            "Exists",
            "DoesNotExist",
            "In",
            "Exists",
            "Gt",
        ]);
        let has_values = operator.ends_with("In") != random.chance(5);
        let mut expression = json!({"key": key, "operator": operator});
        if has_values {
            let mut values = list(random, &VALUES, 2);
            values.push(if random.chance(3) { "a b" } else { "y" });
            set(&mut expression, "values", values);
        }
        set(&mut out, "matchExpressions", json!([expression]));
    }
    out
}

/// Some words, seldom none.
fn list(random: &mut Random, words: &[&'static str], most: usize) -> Vec<&'static str> {
    let least = usize::from(!random.chance(5));
    (0..random.between(least, most))
        .map(|_| random.name(words))
        .collect()
}
