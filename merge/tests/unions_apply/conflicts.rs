//! Conflicts about members that would be cleared: rule 4.

use super::*;

#[test]
fn rule_4_a_conflict_about_the_discriminator_says_it_all() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply bob {c: 1}", "conflict: alice .type"),
            ("apply bob {type: C}", "conflict: alice .type"),
            ("apply bob {type: C, c: 1}", "conflict: alice .type"),
            ("force bob {c: 1}", "{type: C, c: 1} | bob .c .type"),
            ("apply alice {a: 1}", "conflict: bob .type"),
        ],
    );
    // A member that is a struct, with all its fields.
    check(
        &["deducing"],
        &[
            (
                "apply alice {b: {x: 1, w: 1}}",
                "{type: B, b: {x: 1, w: 1}} | alice .b.w .b.x .type",
            ),
            ("apply bob {c: 1}", "conflict: alice .type"),
            ("force bob {c: 1}", "{type: C, c: 1} | bob .c .type"),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            (
                "apply alice {type: B, b: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .b.x .type",
            ),
            ("apply bob {type: C, c: 1}", "conflict: alice .type"),
        ],
    );
}

#[test]
fn rule_4_cleared_member_owned_without_discriminator_is_a_conflict_on_the_member() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: A}", "{type: A} | alice .type"),
            (
                "update carol {type: A, a: 1}",
                "{type: A, a: 1} | alice .type, carol .a",
            ),
            (
                "apply bob {type: C, c: 1}",
                "conflict: alice .type, carol .a",
            ),
            ("apply alice {type: C}", "conflict: carol .a"),
            ("force alice {type: C}", "{type: C} | alice .type"),
        ],
    );
    // Several managers own parts of a struct: each has a conflict on the member.
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            (
                "update carol {type: B, b: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .type, carol .b .b.x",
            ),
            (
                "update dave {type: B, b: {x: 1, w: 1}}",
                "{type: B, b: {x: 1, w: 1}} | alice .type, carol .b .b.x, dave .b.w",
            ),
            ("apply alice {type: C}", "conflict: carol .b, dave .b"),
            (
                "apply bob {type: C}",
                "conflict: alice .type, carol .b, dave .b",
            ),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            (
                "update carol {type: B, b: {}}",
                "{type: B, b: {}} | alice .type, carol .b",
            ),
            ("apply alice {type: C}", "conflict: carol .b"),
        ],
    );
}

#[test]
fn rule_4_without_discriminator_the_members_conflict() {
    check(
        &["plain"],
        &[
            (
                "apply alice {a: 1, other: o}",
                "{a: 1, other: o} | alice .a .other",
            ),
            ("apply bob {c: 1}", "conflict: alice .a"),
            (
                "force bob {c: 1}",
                "{c: 1, other: o} | alice .other, bob .c",
            ),
            (
                "apply alice {b: {x: 1, w: 1}, other: o}",
                "conflict: bob .c",
            ),
            (
                "force alice {b: {x: 1, w: 1}, other: o}",
                "{b: {x: 1, w: 1}, other: o} | alice .b.w .b.x .other",
            ),
            ("apply bob {c: 1}", "conflict: alice .b"),
        ],
    );
}

#[test]
fn rule_4_a_conflict_about_one_union_says_nothing_about_another() {
    check(
        &["two"],
        &[
            (
                "apply alice {a: 1, u: 1}",
                "{type: A, a: 1, kind: U, u: 1} | alice .a .kind .type .u",
            ),
            (
                "apply bob {b: 1, v: 1}",
                "conflict: alice .kind, alice .type",
            ),
            ("apply bob {b: 1}", "conflict: alice .type"),
        ],
    );
    check(
        &["two"],
        &[
            ("update carol {kind: U}", "{kind: U} | carol .kind"),
            // The update deduces the same `kind`.
            (
                "update alice {kind: U, a: 1, u: 1}",
                "{type: A, a: 1, kind: U, u: 1} | alice .a .type .u, carol .kind",
            ),
            (
                "apply bob {b: 1, v: 1}",
                "conflict: alice .type, alice .u, carol .kind",
            ),
        ],
    );
}

#[test]
fn rule_4_inside_list_items() {
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, a: 1}]}",
                "{items: [{name: x, type: A, a: 1}]} | alice .items[name=\"x\"] .items[name=\"x\"].a \
                 .items[name=\"x\"].name .items[name=\"x\"].type",
            ),
            (
                "apply bob {items: [{name: x, b: 1}]}",
                "conflict: alice .items[name=\"x\"].type",
            ),
        ],
    );
}

/// The conflict has the value that would be removed.
#[test]
fn rule_4_a_conflict_on_a_cleared_member_has_its_values() {
    let updater = Updater::builder().build();
    let typed = |yaml: &str| {
        TypedValue::new(
            Value::from_yaml(yaml).unwrap(),
            ty("plain"),
            Duplicates::Refuse,
        )
        .unwrap()
    };
    let v1 = ApiVersion::from("v1");
    let null = TypedValue::null(ty("plain"));
    let alice = updater.apply(
        ApplyRequest::new(&null, &typed("{b: {x: 1}}"))
            .version(&v1)
            .manager("alice"),
    );
    let alice = alice.unwrap();
    let live = alice.object.unwrap();
    let error = updater
        .apply(
            ApplyRequest::new(&live, &typed("{c: 1}"))
                .version(&v1)
                .owners(&alice.owners)
                .manager("bob"),
        )
        .unwrap_err();
    assert_eq!(error.to_string(), "conflict with \"alice\": .b");
    let conflict = error.conflicts().unwrap().iter().next().unwrap();
    assert_eq!(conflict.live.as_ref().unwrap().to_json(), r#"{"x":1}"#);
    assert_eq!(conflict.wanted, None);
}

#[test]
fn rule_4_own_fields_are_no_conflict() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply alice {c: 1}", "{type: C, c: 1} | alice .c .type"),
            ("apply alice {type: B}", "{type: B} | alice .type"),
        ],
    );
}
