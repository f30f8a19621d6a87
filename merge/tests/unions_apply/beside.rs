//! Unions in pruning (rule 5), in updates, at other versions, and switched off.

use super::*;

#[test]
fn rule_5_what_is_not_applied_any_more_goes_unless_others_own_it() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            (
                "apply bob {a: 1}",
                "{type: A, a: 1} | alice .a .type, bob .a .type",
            ),
            ("apply alice {}", "{type: A, a: 1} | bob .a .type"),
            ("apply bob {}", "null | "),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            (
                "apply alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            (
                "apply alice {type: C, c: 1}",
                "{type: C, c: 1} | alice .c .type",
            ),
            ("apply alice {type: C}", "{type: C} | alice .type"),
            (
                "update carol {type: C, c: 1}",
                "{type: C, c: 1} | alice .type, carol .c",
            ),
            // The member is kept, because carol owns it.
            ("apply alice {}", "{c: 1} | carol .c"),
        ],
    );
    check(
        &["plain"],
        &[
            ("apply alice {a: 1}", "{a: 1} | alice .a"),
            ("apply alice {c: 1}", "{c: 1} | alice .c"),
            ("apply alice {}", "null | "),
        ],
    );
}

/// A manager that wrote the discriminator and now omits it still owns it.
#[test]
fn rule_5_a_discriminator_that_is_deduced_is_not_pruned() {
    check(
        &["deducing"],
        &[
            (
                "apply alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            (
                "apply bob {a: 1}",
                "{type: A, a: 1} | alice .a .type, bob .a .type",
            ),
            (
                "apply bob {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type, bob .a .type",
            ),
        ],
    );
}

// Updates.

#[test]
fn an_update_owns_what_normalization_changed() {
    check(
        &["deducing"],
        &[
            ("update hpa {a: 1}", "{type: A, a: 1} | hpa .a .type"),
            (
                "update ops {type: A, a: 1, c: 1}",
                "{type: C, c: 1} | ops .c .type",
            ),
            (
                "apply alice {c: 1, other: o}",
                "{type: C, c: 1, other: o} | alice .c .other .type, ops .c .type",
            ),
            (
                "update ops {type: A, c: 1, other: o}",
                "{type: A, other: o} | alice .other, ops .type",
            ),
        ],
    );
    check(
        &["plain"],
        &[
            (
                "apply alice {a: 1, other: o}",
                "{a: 1, other: o} | alice .a .other",
            ),
            (
                "update ops {a: 1, c: 1, other: o}",
                "{c: 1, other: o} | alice .other, ops .c",
            ),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            (
                "apply alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            (
                "update ops {type: B, a: 1, c: 1}",
                "error: failed to normalize the unions: `type` is \"B\", which does not select `c`: \
                 set only one of them",
            ),
            ("update ops {type: B, a: 1}", "{type: B} | ops .type"),
        ],
    );
    check(
        &["emptiable"],
        &[
            (
                "apply alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            ("update ops {type: '', a: 1}", "{type: ''} | ops .type"),
        ],
    );
}

// Other versions.

#[test]
fn a_conflict_with_a_manager_at_another_version_has_the_names_of_that_version() {
    let updater = Updater::builder().converter(Rename).build();
    run(
        &updater,
        "deducing",
        &[
            (
                "apply alice {b: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .b.x .type",
            ),
            ("apply@v2 bob {gamma: 1}", "conflict: alice .type"),
            ("apply@v2 bob {kind: C}", "conflict: alice .type"),
            (
                "force@v2 bob {gamma: 1}",
                "{type: C, c: 1} | bob .gamma .kind",
            ),
            ("apply alice {a: 1}", "conflict: bob .kind"),
            ("force alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
        ],
    );
    run(
        &updater,
        "deducing",
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            (
                "update@v2 carol {kind: B, beta: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .type, carol .beta .beta.x",
            ),
            ("apply alice {type: C}", "conflict: carol .beta"),
            (
                "apply@v2 bob {gamma: 1}",
                "conflict: alice .type, carol .beta",
            ),
            (
                "force@v2 bob {gamma: 1}",
                "{type: C, c: 1} | bob .gamma .kind",
            ),
        ],
    );
    run(
        &updater,
        "deducing",
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            // The manager changes to another version and another member.
            (
                "apply@v2 alice {gamma: 1}",
                "{type: C, c: 1} | alice .gamma .kind",
            ),
            ("apply@v2 alice {}", "null | "),
        ],
    );
}

// The switch.

#[test]
fn switched_off_unions_have_no_effect() {
    let off = Updater::builder().unions(false).build();
    for name in ALL {
        run(
            &off,
            name,
            &[
                ("apply alice {a: 1}", "{a: 1} | alice .a"),
                ("apply bob {c: 1}", "{a: 1, c: 1} | alice .a, bob .c"),
                (
                    "apply carol {type: B, b: {x: 1}}",
                    "{type: B, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x .type",
                ),
                (
                    "apply dave {a: 1, c: 1}",
                    "{type: B, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x .type, dave .a .c",
                ),
                (
                    "update ops {type: C, a: 1, b: {x: 1}, c: 1}",
                    "{type: C, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x, dave .a .c, ops .type",
                ),
            ],
        );
    }
}

/// An object that was stored while unions were off can be read and corrected. Its contradictions are not errors.
#[test]
fn an_object_stored_while_unions_were_off_can_be_corrected() {
    let typed = |yaml: &str| {
        TypedValue::new(
            Value::from_yaml(yaml).unwrap(),
            ty("deducing"),
            Duplicates::Allow,
        )
        .unwrap()
    };
    let v1 = ApiVersion::from("v1");
    let off = Updater::builder().unions(false).build();
    let on = Updater::builder().build();
    let null = TypedValue::null(ty("deducing"));
    let stored = off
        .update(
            UpdateRequest::new(&null, &typed("{type: A, a: 1, c: 1}"))
                .version(&v1)
                .manager("old"),
        )
        .unwrap();
    let new = typed("{type: A, a: 1, c: 1, other: o}");
    let kept = on
        .update(
            UpdateRequest::new(&stored.object, &new)
                .version(&v1)
                .owners(&stored.owners)
                .manager("ops"),
        )
        .unwrap();
    assert_eq!(kept.object.value(), new.value());
    let applied = on.apply(
        ApplyRequest::new(&kept.object, &typed("{type: C}"))
            .version(&v1)
            .owners(&kept.owners)
            .manager("alice")
            .force(),
    );
    let applied = applied.unwrap();
    assert_eq!(
        applied.object.unwrap().value().to_json(),
        r#"{"c":1,"other":"o","type":"C"}"#
    );
    assert_eq!(owned(&applied.owners), "alice .type, old .c, ops .other");
}
