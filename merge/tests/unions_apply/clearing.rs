//! The members that an apply clears in the merged object: rule 3.

use super::*;

#[test]
fn rule_3_a_member_of_a_deducing_union_clears_the_others() {
    check(
        &["deducing"],
        &[
            (
                "apply alice {a: 1, other: o}",
                "{type: A, a: 1, other: o} | alice .a .other .type",
            ),
            (
                "apply alice {c: 1, other: o}",
                "{type: C, c: 1, other: o} | alice .c .other .type",
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
                "apply alice {c: 1, other: o}",
                "{c: 1, other: o} | alice .c .other",
            ),
        ],
    );
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, a: 1}, {name: v, b: 1}]}",
                "{items: [{name: x, type: A, a: 1}, {name: v, type: B, b: 1}]} | \
                 alice .items[name=\"v\"] .items[name=\"v\"].b .items[name=\"v\"].name .items[name=\"v\"].type \
                 .items[name=\"x\"] .items[name=\"x\"].a .items[name=\"x\"].name .items[name=\"x\"].type",
            ),
            (
                "force bob {items: [{name: v, a: 2}]}",
                "{items: [{name: x, type: A, a: 1}, {name: v, type: A, a: 2}]} | \
                 alice .items[name=\"v\"] .items[name=\"v\"].name \
                 .items[name=\"x\"] .items[name=\"x\"].a .items[name=\"x\"].name .items[name=\"x\"].type, \
                 bob .items[name=\"v\"] .items[name=\"v\"].a .items[name=\"v\"].name .items[name=\"v\"].type",
            ),
        ],
    );
}

/// A fault in a stored object is corrected by the next manager that sets a member or the discriminator.
#[test]
fn rule_3_unowned_members_are_cleared_without_conflict() {
    let off = Updater::builder().unions(false).build();
    let on = Updater::builder().build();
    let live = TypedValue::null(ty("plain"));
    let both = TypedValue::new(
        Value::from_yaml("{a: 1, c: 1}").unwrap(),
        ty("plain"),
        Duplicates::Allow,
    );
    let live = off
        .update(
            UpdateRequest::new(&live, &both.unwrap())
                .version("v1")
                .manager("store"),
        )
        .unwrap()
        .object;
    let config = TypedValue::new(
        Value::from_yaml("{b: {x: 1}}").unwrap(),
        ty("plain"),
        Duplicates::Refuse,
    );
    let applied = on
        .apply(
            ApplyRequest::new(&live, &config.unwrap())
                .version("v1")
                .manager("alice"),
        )
        .unwrap();
    assert_eq!(
        applied.object.unwrap().value().to_json(),
        r#"{"b":{"x":1}}"#
    );
    assert_eq!(owned(&applied.owners), "alice .b.x");
}

#[test]
fn rule_3_a_discriminator_that_differs_from_the_live_one_clears() {
    check(
        WITH_DISCRIMINATOR,
        &[
            (
                "update alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            // A value equal to the live one clears nothing.
            (
                "apply bob {type: A}",
                "{type: A, a: 1} | alice .a .type, bob .type",
            ),
            ("force bob {type: C}", "{type: C} | bob .type"),
            (
                "apply bob {type: C, c: 1}",
                "{type: C, c: 1} | bob .c .type",
            ),
            ("apply bob {type: None}", "{type: None} | bob .type"),
        ],
    );
}

#[test]
fn rule_3_the_selected_member_stays_even_if_others_own_it() {
    check(
        RESPECTING,
        &[
            ("update carol {type: C}", "{type: C} | carol .type"),
            (
                "update alice {type: C, a: 1}",
                "{type: C, a: 1} | alice .a, carol .type",
            ),
            (
                "force bob {type: A}",
                "{type: A, a: 1} | alice .a, bob .type",
            ),
        ],
    );
}

/// The member beside an unknown value is kept, because the value in the schema may be wrong.
#[test]
fn rule_3_an_unknown_discriminator_clears_what_the_configuration_does_not_set() {
    check(
        &["deducing", "respecting", "emptiable"],
        &[
            (
                "update alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            (
                "force bob {type: Own, c: 1}",
                "{type: Own, c: 1} | bob .c .type",
            ),
            ("apply bob {type: Other}", "{type: Other} | bob .type"),
        ],
    );
    check(
        &["closed"],
        &[
            (
                "update alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            (
                "force bob {type: Own, other: o}",
                "{type: Own, a: 1, other: o} | alice .a, bob .other .type",
            ),
        ],
    );
}

/// KEP-1027 of 2022, cases 22 and 27: the empty value selects no member.
#[test]
fn rule_3_the_declared_empty_string_clears_every_member() {
    check(
        &["emptiable"],
        &[
            (
                "update alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            ("apply bob {type: ''}", "conflict: alice .type"),
            ("force bob {type: ''}", "{type: ''} | bob .type"),
        ],
    );
}

#[test]
fn rule_3_a_respecting_union_clears_nothing_while_its_discriminator_is_unchanged() {
    check(
        RESPECTING,
        &[
            (
                "update alice {type: A, a: 1}",
                "{type: A, a: 1} | alice .a .type",
            ),
            // Validation refuses this.
            (
                "apply bob {c: 1}",
                "{type: A, a: 1, c: 1} | alice .a .type, bob .c",
            ),
        ],
    );
}

/// An update skips the parts that it shares with the live object. This must make no difference, even after a
/// configuration that empties the discriminator of a deducing union.
#[test]
fn rule_3_an_emptied_discriminator_of_a_deducing_union_follows_in_the_next_update() {
    let updater = Updater::builder().build();
    let ty = ty("root");
    let typed = |yaml: &str| {
        TypedValue::new(
            Value::from_yaml(yaml).unwrap(),
            ty.clone(),
            Duplicates::Allow,
        )
        .unwrap()
    };
    let v1 = ApiVersion::from("v1");
    let live = updater.update(
        UpdateRequest::new(
            &TypedValue::null(ty.clone()),
            &typed("{items: [{name: x, a: 1}]}"),
        )
        .version(&v1)
        .manager("ops"),
    );
    let live = live.unwrap();
    let config = typed("{items: [{name: x, type: ''}]}");
    let applied = updater
        .apply(
            ApplyRequest::new(&live.object, &config)
                .version(&v1)
                .owners(&live.owners)
                .manager("alice")
                .force(),
        )
        .unwrap();
    let live = applied.object.unwrap();

    let sharing = live.merge(&typed("{atomic: []}")).unwrap();
    let sharing = updater
        .update(
            UpdateRequest::new(&live, &sharing)
                .version(&v1)
                .owners(&applied.owners)
                .manager("bob"),
        )
        .unwrap();
    let anew = typed(sharing.object.value().to_json().as_str());
    let fresh = typed(live.value().to_json().as_str());
    let anew = updater
        .update(
            UpdateRequest::new(&fresh, &anew)
                .version(&v1)
                .owners(&applied.owners)
                .manager("bob"),
        )
        .unwrap();
    assert_eq!(
        sharing.object.value().to_json(),
        anew.object.value().to_json()
    );
    assert_eq!(owned(&sharing.owners), owned(&anew.owners));
}
