//! Files of tokens.

use fieldmanager_access::{StaticTokens, User};

fn read(text: &str) -> StaticTokens {
    StaticTokens::from_csv(text).unwrap()
}

fn user(name: &str, uid: &str, groups: &[&str]) -> Option<User> {
    let mut user = User::new(name, groups);
    user.uid = uid.to_owned();
    Some(user)
}

#[test]
fn lines_of_kube_apiserver_have_user_uid_and_groups() {
    let tokens = read(
        "t1,alice,u1\nt2,bob,u2,dev\r\nt3,carol,u3,\"dev,ops\"\n\n\"t4\",\" the day\",u4,\"\",more\n",
    );
    let cases = [
        ("t1", user("alice", "u1", &[])),
        ("t2", user("bob", "u2", &["dev"])),
        ("t3", user("carol", "u3", &["dev", "ops"])),
        ("t4", user("the day", "u4", &[""])),
        ("t", None),
        ("", None),
        ("t11", None),
    ];
    for (token, expected) in cases {
        assert_eq!(tokens.user(token).cloned(), expected, "{token}");
    }
    assert_eq!(
        format!("{tokens:?}"),
        r#"["alice", "bob", "carol", "the day"]"#
    );
}

#[test]
fn short_lines_are_an_extension() {
    let tokens = read("# comment, \"\n  t1  \nt2, bob\nt1\n t3 , carol , u3\n");
    assert!(tokens.user("t1").unwrap().is_master());
    assert_eq!(tokens.user("t1").unwrap().name, "admin");
    assert_eq!(tokens.user("t2").cloned(), user("bob", "", &[]));
    assert_eq!(tokens.user("t3").cloned(), user("carol", "u3", &[]));
}

#[test]
fn the_last_line_of_a_token_counts() {
    assert_eq!(read("t,alice,u1\nt,bob,u2").user("t").unwrap().name, "bob");
}

#[test]
fn errors_name_the_line_and_no_token() {
    let quote = "a quote that is not closed, or in a field";
    let token = "expected a token of printable characters in the first column";
    let cases = [
        ("", 1, "expected at least one token"),
        ("# only\n\n", 1, "expected at least one token"),
        ("t,a,b\n,alice,u1", 2, token),
        ("a b,alice,u1", 1, token),
        ("t,a,b\n\"t2,b\nt3,c", 2, quote),
        ("t,al\"ice", 1, quote),
        ("t,", 1, "expected the name of a user in the second column"),
    ];
    for (text, line, expected) in cases {
        let error = StaticTokens::from_csv(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("line {line}: {expected}"),
            "{text:?}"
        );
    }
}
