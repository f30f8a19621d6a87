//! Roles, bindings, and what they allow.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

use fieldmanager_access::{Attributes, RBAC_GROUP, RbacPolicy, User, aggregate_rules};
use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

const OBJECTS: &str = r#"
- {kind: ClusterRole, metadata: {name: view}, rules: [
    {apiGroups: [""], resources: [pods, pods/log, "*/scale"], verbs: [get, list]},
    {apiGroups: [apps], resources: ["*"], resourceNames: [web], verbs: ["*"]},
    {nonResourceURLs: [/version, /logs/*], verbs: [get]}]}
- {kind: Role, metadata: {name: edit, namespace: shop}, rules: [{apiGroups: ["*"], resources: [pods], verbs: [update]}]}
- {kind: ClusterRoleBinding, metadata: {name: viewers}, roleRef: {kind: ClusterRole, name: view},
    subjects: [{kind: User, name: bob}, {kind: Group, name: dev}, {kind: ServiceAccount, name: robot, namespace: ci}]}
- {kind: ClusterRoleBinding, metadata: {name: gone}, roleRef: {kind: ClusterRole, name: gone}, subjects: [{kind: User, name: eve}]}
- {kind: RoleBinding, metadata: {name: editors, namespace: shop}, roleRef: {kind: Role, name: edit},
    subjects: [{kind: Group, name: dev}, {kind: ServiceAccount, name: local}]}
- {kind: RoleBinding, metadata: {name: gone, namespace: shop}, roleRef: {kind: Role, name: gone}, subjects: [{kind: User, name: eve}]}
"#;

fn objects(text: &str) -> Vec<Value> {
    let list = Value::from_yaml(text).unwrap();
    let with_version = |object: &Value| {
        let mut object = object.as_map().unwrap().clone();
        object.insert("apiVersion", "rbac.authorization.k8s.io/v1");
        Value::Map(object)
    };
    list.as_list().unwrap().iter().map(with_version).collect()
}

fn policy() -> RbacPolicy {
    let mut policy = RbacPolicy::default();
    for object in objects(OBJECTS) {
        assert!(policy.set(&object));
    }
    policy
}

/// The decision about `VERB GROUP/RESOURCE/SUBRESOURCE NAMESPACE NAME` or `VERB /PATH`.
fn decide(policy: &RbacPolicy, user: &User, question: &str) -> (bool, String) {
    let words: Vec<&str> = question.split(' ').collect();
    let asked = Attributes::new(user, words[0]);
    let asked = match words[1..] {
        [path] if path.starts_with('/') && path != "/pods" => Attributes {
            path: Some(path),
            ..asked
        },
        [resource, namespace, name] => {
            let parts: Vec<&str> = resource.split('/').collect();
            Attributes {
                group: parts[0],
                resource: parts[1],
                subresource: parts.get(2).copied().unwrap_or_default(),
                namespace: namespace.trim_matches('-'),
                name: name.trim_matches('-'),
                ..asked
            }
        }
        _ => panic!("{question}"),
    };
    let decision = policy.authorize(&asked);
    assert_eq!(decision.error, "");
    (decision.allowed, decision.reason)
}

#[test]
fn rules_allow_resources_names_subresources_and_paths() {
    let (policy, bob) = (policy(), User::new("bob", &[]));
    let because =
        r#"RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "view" to User "bob""#;
    for question in [
        "get /pods shop web",
        "list /pods - -",
        "get /pods/log shop web",
        "get /replicationcontrollers/scale shop web",
        "delete apps/deployments shop web",
        "delete apps/deployments/status - web",
        "get /version",
        "get /logs/kubelet",
        "get /logs/",
    ] {
        assert_eq!(
            decide(&policy, &bob, question),
            (true, because.to_owned()),
            "{question}"
        );
    }

    for question in [
        "watch /pods shop web",
        "get /pods/exec shop web",
        "get batch/pods shop web",
        "list apps/deployments shop -",
        "get /versions",
        "post /version",
        "get /logs",
    ] {
        assert_eq!(
            decide(&policy, &bob, question),
            (false, String::new()),
            "{question}"
        );
    }
}

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let policy = policy();
    let update = |user: &User, namespace: &str| {
        decide(&policy, user, &format!("update apps/pods {namespace} a"))
    };
    let (dev, local) = (
        User::new("ann", &["dev"]),
        User::new("system:serviceaccount:shop:local", &[]),
    );
    let reason = |subject: &str| {
        (
            true,
            format!(r#"RBAC: allowed by RoleBinding "editors/shop" of Role "edit" to {subject}"#),
        )
    };
    assert_eq!(update(&dev, "shop"), reason(r#"Group "dev""#));
    assert_eq!(
        update(&local, "shop"),
        reason(r#"ServiceAccount "local/shop""#)
    );
    assert!(!update(&dev, "other").0 && !update(&dev, "-").0);

    let robot = User::new("system:serviceaccount:ci:robot", &[]);
    let reason = r#"RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "view" to ServiceAccount "robot/ci""#;
    assert_eq!(
        decide(&policy, &robot, "get /version"),
        (true, reason.to_owned())
    );
    let root = User::new("root", &["system:masters"]);
    assert_eq!(
        decide(&policy, &root, "escape /prisons - -"),
        (true, String::new())
    );
}

#[test]
fn missing_roles_are_the_reason_of_a_denial() {
    let (policy, eve) = (policy(), User::new("eve", &[]));
    let (cluster, both) = (
        decide(&policy, &eve, "get /version"),
        decide(&policy, &eve, "get /pods shop web"),
    );
    let missing = r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#;
    assert_eq!(cluster, (false, format!("rbac: RBAC: {missing}")));
    let role = r#"role.rbac.authorization.k8s.io "gone" not found"#;
    assert_eq!(both, (false, format!("rbac: RBAC: [{missing}, {role}]")));
}

#[test]
fn removed_and_replaced_objects_allow_nothing() {
    let (mut policy, bob) = (policy(), User::new("bob", &[]));
    let other = &objects(
        "[{kind: ClusterRoleBinding, metadata: {name: viewers}, roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: User, name: ann}]}]",
    )[0];
    policy.set(other);
    assert!(!decide(&policy, &bob, "get /version").0);
    let ann = User::new("ann", &[]);
    assert!(decide(&policy, &ann, "get /version").0);
    policy.remove("ClusterRole", "", "view");
    assert!(!decide(&policy, &ann, "get /version").0);
    for (kind, namespace, name) in [
        ("ClusterRoleBinding", "", "viewers"),
        ("ClusterRoleBinding", "", "gone"),
        ("Role", "shop", "edit"),
        ("RoleBinding", "shop", "editors"),
        ("RoleBinding", "shop", "gone"),
    ] {
        policy.remove(kind, namespace, name);
    }
    assert_eq!(
        format!("{policy:?}"),
        format!("{:?}", RbacPolicy::default())
    );

    let foreign = Value::from_yaml(
        "{apiVersion: example.com/v1, kind: Role, metadata: {name: a, namespace: b}}",
    );
    assert!(!policy.set(&foreign.unwrap()));
}

#[test]
fn cost_does_not_depend_on_bindings_of_others() {
    let rest = r#""apiVersion": "rbac.authorization.k8s.io/v1", "roleRef": {"kind": "ClusterRole", "name": "view"}}"#;
    let with_others = |count: usize| {
        let mut policy = policy();
        for at in 0..count {
            for text in [
                format!(
                    r#"{{"kind": "ClusterRoleBinding", "metadata": {{"name": "a{at}"}}, "subjects":
                        [{{"kind": "User", "name": "u{at}"}}, {{"kind": "Group", "name": "g{at}"}}], {rest}"#
                ),
                format!(
                    r#"{{"kind": "RoleBinding", "metadata": {{"name": "b{at}", "namespace": "shop"}}, "subjects":
                        [{{"kind": "ServiceAccount", "name": "s{at}"}}], {rest}"#
                ),
            ] {
                assert!(policy.set(&Value::from_json(&text).unwrap()));
            }
        }
        policy
    };
    let (few, many) = (with_others(10), with_others(10_000));
    for user in [
        User::new("bob", &["dev"]),
        User::new("eve", &[]),
        User::anonymous(),
    ] {
        let count = few.count_bindings(&user, "shop");
        assert_eq!(many.count_bindings(&user, "shop"), count);
        assert_eq!(
            decide(&few, &user, "get /pods shop a"),
            decide(&many, &user, "get /pods shop a")
        );
    }
    assert_eq!(many.count_bindings(&User::new("bob", &["dev"]), "shop"), 2);
}

#[test]
fn rules_review_lists_rules_in_the_order_of_bindings() {
    let status = policy().rules_review(&User::new("ann", &["dev"]), "shop");
    let expected = r#"{"incomplete":false,"nonResourceRules":[{"nonResourceURLs":["/version","/logs/*"],"verbs":["get"]}],
        "resourceRules":[{"apiGroups":[""],"resources":["pods","pods/log","*/scale"],"verbs":["get","list"]},
        {"apiGroups":["apps"],"resourceNames":["web"],"resources":["*"],"verbs":["*"]},
        {"apiGroups":["*"],"resources":["pods"],"verbs":["update"]}]}"#;
    assert_eq!(status, Value::from_json(expected).unwrap());
    let status = policy().rules_review(&User::new("eve", &[]), "other");
    let error = r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#;
    assert_eq!(
        status.get("evaluationError").and_then(Value::as_str),
        Some(error)
    );
}

/// The code and the message of a refusal.
fn refusal(status: Status) -> (u16, String) {
    (status.code, status.message)
}

/// A refusal of the object `a`.
fn forbidden(resource: &str, reason: &str) -> Result<(), (u16, String)> {
    let message = format!("{resource}.{RBAC_GROUP} \"a\" is forbidden: {reason}");
    Err((403, message))
}

fn grant(user: &User, object: &str, old: Option<&str>) -> Result<(), (u16, String)> {
    let read = |text: &str| objects(&format!("[{text}]")).remove(0);
    let object = read(object);
    let request = Attributes {
        group: RBAC_GROUP,
        resource: resource(&object),
        namespace: "shop",
        ..Attributes::new(user, "create")
    };
    let checked = policy().check_grant(&request, &object, old.map(read).as_ref());
    checked.map_err(refusal)
}

fn resource(object: &Value) -> &'static str {
    match object.get("kind").and_then(Value::as_str).unwrap() {
        "ClusterRole" => "clusterroles",
        "ClusterRoleBinding" => "clusterrolebindings",
        "Role" => "roles",
        _ => "rolebindings",
    }
}

#[test]
fn roles_grant_only_what_the_user_has() {
    let (bob, dev) = (User::new("bob", &[]), User::new("ann", &["dev"]));
    let pods = "{kind: Role, metadata: {name: a}, rules: [{apiGroups: ['', apps], resources: [pods, a/scale], verbs: [get, update, list]}, {nonResourceURLs: [/x, /logs/a], verbs: [get]}]}";
    let text = "user \"ann\" (groups=[\"dev\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"\"], Resources:[\"a/scale\"], Verbs:[\"update\"]}\n\
        {APIGroups:[\"apps\"], Resources:[\"a/scale\"], Verbs:[\"get\" \"update\" \"list\"]}\n\
        {APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}\n\
        {NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}";
    assert_eq!(grant(&dev, pods, None), forbidden("roles", text));
    // The garbage collector may write what it needs.
    let owned = pods.replace(
        "{name: a}",
        "{name: a, finalizers: [], ownerReferences: [{name: x}]}",
    );
    assert_eq!(grant(&dev, &owned, Some(pods)), Ok(()));
    assert!(
        grant(
            &dev,
            &pods.replace("{name: a}", "{name: a, labels: {b: c}}"),
            Some(pods)
        )
        .is_err()
    );
    assert_eq!(
        grant(&User::new("root", &["system:masters"]), pods, None),
        Ok(())
    );

    let held = "{kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: [''], resources: [x/scale], verbs: [get]}]}";
    assert_eq!(grant(&bob, held, None), Ok(()));
    let aggregated = held.replace(
        "rules",
        "aggregationRule: {clusterRoleSelectors: [{}]}, rules",
    );
    let words = "must have cluster-admin privileges to use the aggregationRule";
    for (new, old) in [(&*aggregated, held), (held, &*aggregated)] {
        assert_eq!(
            grant(&bob, new, Some(old)),
            forbidden("clusterroles", words)
        );
    }
}

#[test]
fn bindings_grant_only_what_the_user_has() {
    let (bob, eve) = (User::new("bob", &[]), User::new("eve", &[]));
    let binding = |kind: &str, name: &str| {
        format!(
            "{{kind: RoleBinding, metadata: {{name: a}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {name}}}}}"
        )
    };
    assert_eq!(grant(&bob, &binding("ClusterRole", "view"), None), Ok(()));
    let text = "user \"eve\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"*\"], Resources:[\"pods\"], Verbs:[\"update\"]}; resolution errors: \
        [rolebindings.rbac.authorization.k8s.io \"gone\" not found]";
    assert_eq!(
        grant(&eve, &binding("Role", "edit"), None),
        forbidden("rolebindings", text)
    );

    for (kind, name, code, message) in [
        (
            "Role",
            "x",
            404,
            r#"rolebindings.rbac.authorization.k8s.io "x" not found"#,
        ),
        ("Pod", "x", 500, r#"unsupported role reference kind: "Pod""#),
        (
            "Role",
            "a/b",
            400,
            r#"Name parameter invalid: "a/b": may not contain '/'"#,
        ),
    ] {
        let found = grant(&bob, &binding(kind, name), None);
        assert_eq!(found, Err((code, message.to_owned())));
    }
}

#[test]
fn verbs_escalate_and_bind_allow_any_grant() {
    let mut policy = policy();
    for object in objects("
- {kind: Role, metadata: {name: grantor, namespace: shop}, rules: [
    {apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate]},
    {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [view], verbs: [bind]}]}
- {kind: RoleBinding, metadata: {name: grantors, namespace: shop}, roleRef: {kind: Role, name: grantor}, subjects: [{kind: User, name: max}]}") {
        policy.set(&object);
    }
    let max = User::new("max", &[]);
    let check = |namespace: &str, object: &str| {
        let object = &objects(&format!("[{object}]"))[0];
        let request = Attributes {
            group: RBAC_GROUP,
            resource: resource(object),
            namespace,
            name: "a",
            ..Attributes::new(&max, "update")
        };
        policy.check_grant(&request, object, None)
    };
    let role = "{kind: Role, metadata: {name: a}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}";
    assert_eq!(check("shop", role), Ok(()));
    assert!(check("other", role).is_err());
    assert!(check("", &role.replace("kind: Role", "kind: ClusterRole")).is_err());
    let binding = "{kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}";
    assert_eq!(check("shop", binding), Ok(()));
    assert!(check("", &binding.replace("RoleBinding", "ClusterRoleBinding")).is_err());
}

#[test]
fn too_many_permissions_are_refused() {
    let words: Vec<String> = (0..1000).map(|at| format!("a{at}")).collect();
    let words = words.join(", ");
    let role = format!(
        "{{kind: Role, metadata: {{name: a}}, rules: [{{apiGroups: [{words}], resources: [{words}], verbs: [{words}], resourceNames: [{words}]}}]}}"
    );
    let (code, text) = grant(&User::new("bob", &[]), &role, None).unwrap_err();
    assert_eq!(code, 403);
    assert!(
        text.ends_with(":\ntoo many permissions to compare"),
        "{text}"
    );
}

#[test]
fn aggregated_rules_are_those_of_selected_roles() {
    let all = objects("
- {kind: ClusterRole, metadata: {name: all, labels: {a: x}}, aggregationRule: {clusterRoleSelectors: [
    {matchLabels: {a: y}}, {matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: b, operator: DoesNotExist}]}]}}
- {kind: ClusterRole, metadata: {name: c, labels: {a: x}}, rules: [{apiGroups: [''], resources: [c], verbs: [get]}, {nonResourceURLs: [/], verbs: [get]}]}
- {kind: ClusterRole, metadata: {name: b, labels: {a: y}}, rules: [{nonResourceURLs: [/], verbs: [get], resources: []}]}
- {kind: ClusterRole, metadata: {name: d, labels: {a: x, b: z}}, rules: [{apiGroups: [''], resources: [d], verbs: [get]}]}");
    let rules = aggregate_rules(&all[0], &all).unwrap();
    assert_eq!(
        Value::from(rules.clone()).to_json(),
        r#"[{"nonResourceURLs":["/"],"resources":[],"verbs":["get"]},{"apiGroups":[""],"resources":["c"],"verbs":["get"]}]"#
    );

    let mut done = all[0].as_map().unwrap().clone();
    done.insert("rules", rules);
    assert_eq!(aggregate_rules(&Value::Map(done), &all), None);
    assert_eq!(aggregate_rules(&all[1], &all), None);
    let invalid = objects(
        "[{kind: ClusterRole, metadata: {name: x}, aggregationRule: {clusterRoleSelectors: [{}, {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}]}}]",
    );
    assert_eq!(aggregate_rules(&invalid[0], &all), None);
}
