use super::*;

/// The flow of a request, as the name of its schema, which is its uid too.
fn flow(schemas: &FlowSchemas, request: &Attributes<'_>) -> String {
    let flow = schemas.flow(request);
    flow.map_or_else(String::new, |flow| {
        flow.schema.to_str().unwrap_or_default().to_owned()
    })
}

fn schema(name: &str, precedence: i64, rule: &str) -> Value {
    let text = format!(
        "{{metadata: {{name: {name}, uid: {name}}}, spec: {{matchingPrecedence: {precedence}, \
         priorityLevelConfiguration: {{name: level}}, rules: [{rule}]}}}}"
    );
    Value::from_yaml(&text).unwrap()
}

fn schemas(all: &[Value]) -> FlowSchemas {
    let level = Value::from_yaml("{metadata: {name: level, uid: level}}").unwrap();
    FlowSchemas::new(all, &[level])
}

#[test]
fn rules_match_resources_and_paths_as_in_kube_apiserver() {
    let rule = "{subjects: [{kind: Group, group: {name: '*'}}], \
        resourceRules: [{verbs: [get, list], apiGroups: [''], resources: [pods, pods/status], namespaces: [shop]}, \
                        {verbs: ['*'], apiGroups: [apps], resources: ['*'], clusterScope: true}], \
        nonResourceRules: [{verbs: [get], nonResourceURLs: [/healthz, /openapi/*, /version/]}]}";
    let schemas = schemas(&[schema("one", 1, rule)]);
    let user = User::new("bob", &[]);
    let matches = |request: Attributes<'_>| !flow(&schemas, &request).is_empty();
    let asked = Attributes::new(&user, "get");

    let pods = Attributes {
        resource: "pods",
        namespace: "shop",
        ..asked
    };
    for (subresource, expected) in [("", true), ("status", true), ("eviction", false)] {
        let part = Attributes {
            subresource,
            ..pods
        };
        assert_eq!(matches(part), expected, "{subresource}");
    }
    let others = [
        Attributes {
            namespace: "",
            ..pods
        },
        Attributes {
            namespace: "other",
            ..pods
        },
        Attributes {
            verb: "watch",
            ..pods
        },
        Attributes { group: "x", ..pods },
        Attributes {
            resource: "podtemplates",
            ..pods
        },
        Attributes {
            group: "apps",
            ..pods
        },
    ];
    for other in others {
        assert!(!matches(other), "{other:?}");
    }
    let nodes = Attributes {
        group: "apps",
        resource: "nodes",
        ..asked
    };
    assert!(matches(nodes));

    for (path, expected) in [
        ("/healthz", true),
        ("/healthz/ping", true),
        ("/healthzz", false),
        ("/openapi/v2", true),
        ("/openapi", false),
        ("/version/", true),
        ("/version", false),
        ("/livez", false),
    ] {
        let path = Some(path);
        assert_eq!(matches(Attributes { path, ..asked }), expected, "{path:?}");
    }
}

#[test]
fn the_first_schema_by_precedence_and_name_that_has_a_level_counts() {
    let everything =
        "resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}]";
    let of = |subject: &str| format!("{{subjects: [{subject}], {everything}}}");
    let everybody = of("{kind: User, user: {name: '*'}}");
    let account = |name: &str| {
        of(&format!(
            "{{kind: ServiceAccount, serviceAccount: {{namespace: shop, name: '{name}'}}}}"
        ))
    };
    let lost = schema("lost", 1, &everybody)
        .to_json()
        .replace("\"level\"", "\"gone\"");
    let schemas = schemas(&[
        schema("last", 10000, &everybody),
        schema("b-account", 7, &account("robot")),
        schema("a-accounts", 7, &account("*")),
        schema("bobs", 5, &of("{kind: User, user: {name: bob}}")),
        schema("devs", 6, &of("{kind: Group, group: {name: dev}}")),
        Value::from_json(&lost).unwrap(),
    ]);

    for (user, group, expected) in [
        ("bob", "dev", "bobs"),
        ("eve", "dev", "devs"),
        ("eve", "ops", "last"),
        ("system:serviceaccount:shop:robot", "ops", "a-accounts"),
        ("system:serviceaccount:shops:robot", "ops", "last"),
    ] {
        let user = User::new(user, &[group]);
        let request = Attributes {
            resource: "pods",
            namespace: "shop",
            ..Attributes::new(&user, "get")
        };
        assert_eq!(flow(&schemas, &request), expected, "{user:?}");
    }
}
