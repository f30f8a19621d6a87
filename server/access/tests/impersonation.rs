//! Impersonation: headers, questions, users.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fieldmanager_access::{Attributes, Decision, Impersonation, ImpersonationMode, User};
use serde_json::{Value as Json, json};

fn read(headers: &[(&str, &str)]) -> Impersonation {
    Impersonation::from_headers(headers.iter().copied())
        .unwrap()
        .unwrap()
}

/// A question: `VERB GROUP/RESOURCE/SUBRESOURCE NAMESPACE/NAME`.
fn text(question: &Attributes<'_>) -> String {
    let Attributes {
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
        ..
    } = *question;
    if let Some(path) = question.path {
        return format!("{verb} {path}");
    }
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{verb} {group}/{resource}{slash}{subresource} {namespace}/{name}")
}

/// The message of a refusal, which is written as `QUESTION: REASON`.
fn refusal(user: &User, text: &str) -> String {
    let (question, reason) = text.split_once(": ").unwrap();
    let [verb, resource, name] = question.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    let (namespace, name) = name.split_once('/').unwrap();
    let mut parts = resource.splitn(3, '/');
    let mut part = || parts.next().unwrap_or_default();
    let question = Attributes {
        group: part(),
        resource: part(),
        subresource: part(),
        namespace,
        name,
        ..Attributes::new(user, verb)
    };
    question.forbidden(reason).message
}

/// What happens when the questions with these texts are allowed; `*` allows all.
fn ask(
    requestor: &User,
    wanted: &Impersonation,
    last: Option<ImpersonationMode>,
    allowed: &[&str],
) -> (Result<(User, ImpersonationMode), String>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let request = Attributes {
        version: "v1",
        resource: "pods",
        namespace: "ns",
        ..Attributes::new(requestor, "list")
    };
    let allows = |question: &Attributes<'_>| {
        let question = text(question);
        let allowed = allowed.contains(&"*") || allowed.contains(&question.as_str());
        asked.borrow_mut().push(question);
        Decision {
            allowed,
            reason: "no role".to_owned(),
            ..Decision::default()
        }
    };
    let result = wanted.user(&request, last, allows);
    let result = result.map_err(|status| status.message);
    (result, asked.into_inner())
}

#[test]
fn headers_without_a_name_are_refused() {
    let error = |headers: &[(&str, &str)]| {
        Impersonation::from_headers(headers.iter().copied())
            .unwrap_err()
            .message
    };
    assert_eq!(
        Impersonation::from_headers([
            ("accept", "x"),
            ("impersonate-other", "y"),
            ("impersonate-user", "")
        ])
        .unwrap(),
        None
    );
    assert_eq!(
        error(&[("impersonate-group", "dev"), ("impersonate-group", "a\"b")]),
        r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev", "a\"b"}, Extra:map[string][]string(nil)} without impersonating a user name"#
    );
    assert_eq!(
        error(&[
            ("impersonate-uid", "u"),
            ("impersonate-extra-b", "2"),
            ("impersonate-extra-a%2fc", "1"),
            ("impersonate-extra-b", "3")
        ]),
        r#"requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string{"a/c":[]string{"1"}, "b":[]string{"2", "3"}}} without impersonating a user name"#
    );
}

#[test]
fn everything_is_asked_for() {
    let all = [
        ("impersonate-user", "bob"),
        ("impersonate-user", "ignored"),
        ("impersonate-uid", "u"),
        ("impersonate-group", "dev"),
        ("impersonate-group", "ops"),
        ("impersonate-extra-acme.io%2Fscope", "a"),
        ("impersonate-extra-acme.io%2Fscope", "b"),
        ("impersonate-extra-100%", "c"),
    ];
    let alice = User::new("alice", &[]);
    let legacy = [
        "impersonate /users /bob",
        "impersonate authentication.k8s.io/uids /u",
        "impersonate /groups /dev",
        "impersonate /groups /ops",
        "impersonate authentication.k8s.io/userextras/100% /c",
        "impersonate authentication.k8s.io/userextras/acme.io/scope /a",
        "impersonate authentication.k8s.io/userextras/acme.io/scope /b",
    ];
    let (result, asked) = ask(&alice, &read(&all), None, &legacy);
    let (user, mode) = result.unwrap();
    assert_eq!(mode, ImpersonationMode::Legacy);
    assert_eq!(asked[0], "impersonate-on:user-info:list /pods ns/");
    assert_eq!(asked[1..], legacy);
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "u"));
    assert_eq!(user.groups, ["dev", "ops", "system:authenticated"]);
    let extra = [("100%", vec!["c"]), ("acme.io/scope", vec!["a", "b"])];
    let extra = extra.map(|(key, values)| {
        (
            key.to_owned(),
            values.into_iter().map(str::to_owned).collect(),
        )
    });
    assert_eq!(user.extra, BTreeMap::from(extra));

    // Each of the questions counts, and the refusal is that of the first mode.
    for missing in 0..legacy.len() {
        let mut fewer = legacy.to_vec();
        fewer.remove(missing);
        let (result, _) = ask(&alice, &read(&all), None, &fewer);
        assert_eq!(
            result.unwrap_err(),
            refusal(&alice, "impersonate-on:user-info:list /pods ns/: no role")
        );
        let (result, _) = ask(&alice, &read(&all), Some(mode), &fewer);
        let expected = format!("{}: no role", legacy[missing]);
        assert_eq!(result.unwrap_err(), refusal(&alice, &expected));
    }
}

#[test]
fn modes_know_nodes_and_service_accounts() {
    use ImpersonationMode::{ArbitraryNode, AssociatedNode, Legacy, ServiceAccount, UserInfo};
    let alice = User::new("alice", &[]);
    let mut agent = User::new("system:serviceaccount:kube-system:agent", &[]);
    agent.extra.insert(
        "authentication.kubernetes.io/node-name".to_owned(),
        vec!["worker".to_owned()],
    );
    let node = ["system:nodes", "system:authenticated"];
    let cases: [(&User, &str, ImpersonationMode, &str, &[&str]); 8] = [
        (
            &alice,
            "bob",
            UserInfo,
            "impersonate:user-info authentication.k8s.io/users /bob",
            &["system:authenticated"],
        ),
        (
            &alice,
            "system:anonymous",
            UserInfo,
            "impersonate:user-info authentication.k8s.io/users /system:anonymous",
            &["system:unauthenticated"],
        ),
        (
            &alice,
            "system:node:worker",
            ArbitraryNode,
            "impersonate:arbitrary-node authentication.k8s.io/nodes /worker",
            &node,
        ),
        (
            &agent,
            "system:node:worker",
            AssociatedNode,
            "impersonate:associated-node authentication.k8s.io/nodes /*",
            &node,
        ),
        (
            &agent,
            "system:node:other",
            ArbitraryNode,
            "impersonate:arbitrary-node authentication.k8s.io/nodes /other",
            &node,
        ),
        (
            &alice,
            "system:node:A B",
            UserInfo,
            "impersonate:user-info authentication.k8s.io/users /system:node:A B",
            &["system:authenticated"],
        ),
        (
            &alice,
            "system:serviceaccount:ns:robot",
            ServiceAccount,
            "impersonate:serviceaccount authentication.k8s.io/serviceaccounts ns/robot",
            &[
                "system:serviceaccounts",
                "system:serviceaccounts:ns",
                "system:authenticated",
            ],
        ),
        (
            &alice,
            "system:serviceaccount:ns:a:b",
            UserInfo,
            "impersonate:user-info authentication.k8s.io/users /system:serviceaccount:ns:a:b",
            &["system:authenticated"],
        ),
    ];
    for (requestor, name, mode, question, groups) in cases {
        let (result, asked) = ask(
            requestor,
            &read(&[("impersonate-user", name)]),
            None,
            &["*"],
        );
        let (user, found) = result.unwrap();
        assert_eq!((user.name.as_str(), found), (name, mode));
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[1], question);
        assert_eq!(user.groups, groups, "{name}");
    }

    // With groups, a service account and a node are left to the last mode.
    for (name, question) in [
        (
            "system:serviceaccount:ns:robot",
            "impersonate /serviceaccounts ns/robot",
        ),
        (
            "system:node:worker",
            "impersonate /users /system:node:worker",
        ),
    ] {
        let wanted = read(&[
            ("impersonate-user", name),
            ("impersonate-group", "system:unauthenticated"),
        ]);
        let (result, asked) = ask(&alice, &wanted, None, &["*"]);
        let (user, found) = result.unwrap();
        assert_eq!(
            (found, user.groups),
            (Legacy, vec!["system:unauthenticated".to_owned()])
        );
        assert_eq!(
            asked,
            [question, "impersonate /groups /system:unauthenticated"]
        );
    }
}

#[test]
fn the_mode_of_other_users_is_strict_and_asks_for_many_at_once() {
    let alice = User::new("alice", &[]);
    let on = "impersonate-on:user-info:list /pods ns/";
    let users = "impersonate:user-info authentication.k8s.io/users /bob";
    let refused = |more: &[(&str, &str)]| {
        let mut headers = vec![("impersonate-user", "bob")];
        headers.extend(more);
        ask(&alice, &read(&headers), None, &[on, users])
            .0
            .unwrap_err()
    };
    let groups = "impersonate:user-info authentication.k8s.io/groups";
    let extras = "impersonate:user-info authentication.k8s.io/userextras";
    let cases = [
        (
            "group",
            "system:masters",
            format!(
                "{groups} /system:masters: impersonating the system:masters group is not allowed"
            ),
        ),
        (
            "group",
            "",
            format!("{groups} /: impersonating the empty string group is not allowed"),
        ),
        ("group", "dev", format!("{groups} /dev: no role")),
        (
            "extra-",
            "x",
            format!("{extras} /: impersonating the empty string key in extra is not allowed"),
        ),
        (
            "extra-acme.io%2Fa",
            "",
            format!("{extras} /: impersonating the empty string value in extra is not allowed"),
        ),
        (
            "extra-acme.io%2F%41",
            "x",
            format!(
                "{extras} /: impersonating a non-lowercase key in extra is not allowed: \"acme.io/A\""
            ),
        ),
        (
            "extra-scope",
            "x",
            format!(
                "{extras} /: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: \"scope\": must be a domain-prefixed path (such as \"acme.io/foo\")"
            ),
        ),
        (
            "extra-acme.io%2Fa",
            "x",
            format!("{extras}/acme.io/a /x: no role"),
        ),
    ];
    for (header, value, expected) in cases {
        assert_eq!(
            refused(&[(&format!("impersonate-{header}"), value)]),
            refusal(&alice, &expected)
        );
    }

    let many = ["a", "b", "c", "d"].map(|group| ("impersonate-group", group));
    let mut headers = vec![("impersonate-user", "bob")];
    headers.extend(many);
    let (result, asked) = ask(&alice, &read(&headers), None, &["*"]);
    assert_eq!(result.unwrap().1, ImpersonationMode::UserInfo);
    assert_eq!(asked[2..], [format!("{groups} /*")]);
}

/// Whether one of the rules of a role allows a question.
fn allows(rules: &Json, question: &Attributes<'_>) -> bool {
    let Attributes {
        group,
        resource,
        subresource,
        name,
        ..
    } = *question;
    let slash = if subresource.is_empty() { "" } else { "/" };
    let resource = format!("{resource}{slash}{subresource}");
    rules.as_array().unwrap().iter().any(|rule| {
        let has = |list: &str, item: &str| {
            rule[list]
                .as_array()
                .is_some_and(|list| list.contains(&item.into()))
        };
        has("verbs", question.verb)
            && has("apiGroups", group)
            && has("resources", &resource)
            && (rule.get("resourceNames").is_none() || has("resourceNames", name))
    })
}

/// Recorded by `comparison/oracle/server/cmd/tokens/impersonations.py`.
#[test]
fn impersonations_are_answered_as_by_kube_apiserver() {
    let recorded: Json = serde_json::from_str(include_str!("data/impersonations.json")).unwrap();
    let mut differences = Vec::new();
    for case in recorded.as_array().unwrap() {
        let headers: Vec<(String, &str)> = case["headers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|header| {
                (
                    header[0].as_str().unwrap().to_lowercase(),
                    header[1].as_str().unwrap(),
                )
            })
            .collect();
        let wanted = Impersonation::from_headers(
            headers.iter().map(|(name, value)| (name.as_str(), *value)),
        );
        let requestor = User::new(case["requestor"].as_str().unwrap(), &[]);
        let request = Attributes {
            group: "authentication.k8s.io",
            resource: "selfsubjectreviews",
            ..Attributes::new(&requestor, "create")
        };
        let found = match wanted {
            Err(status) => json!({"code": 400, "message": status.message}),
            Ok(wanted) => {
                let judge = |question: &Attributes<'_>| Decision {
                    allowed: allows(&case["rules"], question),
                    ..Decision::default()
                };
                match wanted.unwrap().user(&request, None, judge) {
                    Err(status) => json!({"code": 403, "message": status.message}),
                    // The request itself is for those who were authenticated.
                    Ok((user, _)) if !user.groups.contains(&"system:authenticated".to_owned()) => {
                        json!({"code": 403, "message": Attributes { user: &user, ..request }.forbidden("").message})
                    }
                    Ok((user, _)) => {
                        let mut shown = json!({"username": user.name, "groups": user.groups});
                        if !user.uid.is_empty() {
                            shown["uid"] = user.uid.into();
                        }
                        if !user.extra.is_empty() {
                            shown["extra"] = json!(user.extra);
                        }
                        json!({"code": 201, "user": shown})
                    }
                }
            }
        };
        let mut expected = case.clone();
        expected
            .as_object_mut()
            .unwrap()
            .retain(|key, _| ["code", "message", "user"].contains(&key.as_str()));
        if found != expected {
            differences.push(format!(
                "{}\n  here  {found}\n  there {expected}",
                case["headers"]
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
