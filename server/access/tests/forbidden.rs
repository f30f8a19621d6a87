//! The words of denied requests.

use fieldmanager_access::{Attributes, User};

#[test]
fn messages_name_user_verb_and_place() {
    let asker = User::new("a&b", &[]);
    let base = Attributes::new(&asker, "");
    let pods = |group, subresource, namespace, name| Attributes {
        group,
        resource: "pods",
        subresource,
        namespace,
        name,
        ..base
    };
    let user = r#"User "a&amp;b" cannot"#;
    for (verb, question, reason, expected) in [
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
            Attributes {
                path: Some("/a<b"),
                ..base
            },
            "",
            format!(r#"forbidden: {user} post path "/a&lt;b""#),
        ),
    ] {
        let status = Attributes { verb, ..question }.forbidden(reason);
        assert_eq!((status.code, status.message), (403, expected));
    }
}
