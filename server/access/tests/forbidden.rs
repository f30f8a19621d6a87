//! The words of denied requests.

use fieldmanager_access::{AccessTarget, Attributes, User};

fn message(verb: &str, target: AccessTarget<'_>, reason: &str) -> String {
    let user = &User::new("a&b", &[]);
    Attributes { user, verb, target }.forbidden_message(reason)
}

#[test]
fn messages_name_user_verb_and_place() {
    let pods = |group, subresource, namespace, name| AccessTarget::Resource {
        group,
        version: "v1",
        resource: "pods",
        subresource,
        namespace,
        name,
    };
    let user = r#"User "a&amp;b" cannot"#;
    for (verb, target, reason, expected) in [
        (
            "list",
            pods("", "", "", ""),
            "",
            format!(
                r#"pods is forbidden: {user} list resource "pods" in API group "" at the cluster scope"#
            ),
        ),
        (
            "get",
            pods("apps", "log", "shop", "web"),
            "<b>",
            format!(
                r#"pods.apps "web" is forbidden: {user} get resource "pods/log" in API group "apps" in the namespace "shop": <b>"#
            ),
        ),
        (
            "post",
            AccessTarget::Path("/a<b"),
            "",
            format!(r#"forbidden: {user} post path "/a&lt;b""#),
        ),
    ] {
        assert_eq!(message(verb, target, reason), expected);
    }
}
