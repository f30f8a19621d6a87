//! The rows of the table, one after the other.

use super::*;

/// Row 1.
#[test]
fn a_changed_discriminator_beside_an_added_member_of_another_is_a_contradiction() {
    let error = "error: `type` is \"B\", which does not select `c`: set only one of them";
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: A, a: 1}", "{type: B, c: [x]}", error),
            // Even if the one that it selects is there, added or not.
            ("{type: A, a: 1}", "{type: B, b: {x: 1}, c: [x]}", error),
            ("{type: A, a: 1, b: {x: 1}}", "{type: B, b: {x: 1}, c: [x]}", error),
            ("{a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: None}", "{type: B, c: [x]}", error),
            ("{type: Unknown, a: 1}", "{type: B, c: [x]}", error),
            // Nothing is before an object that is created.
            ("null", "{type: B, c: [x]}", error),
            ("null", "{type: B, b: {}, c: [x]}", error),
            // A declared empty member selects none.
            (
                "{type: A, a: 1}",
                "{type: None, c: [x]}",
                "error: `type` is \"None\", which does not select `c`: set only one of them",
            ),
        ],
    );
}

#[test]
fn a_contradiction_names_its_place_and_all_are_reported() {
    check(
        &["root"],
        &[
            (
                "{spec: {inner: {type: A, a: 1}}}",
                "{spec: {inner: {type: A, a: 1}}, items: [{name: x, type: A, b: 1}]}",
                "error: .items[name=\"x\"]: `type` is \"A\", which does not select `b`: set only one of them",
            ),
            (
                "null",
                "{spec: {inner: {type: B, a: 1}}, byName: {k: {type: A, b: 1}}, items: [{name: x, type: B, a: 1}]}",
                "error: .byName.k: `type` is \"A\", which does not select `b`: set only one of them\n\
                 .items[name=\"x\"]: `type` is \"B\", which does not select `a`: set only one of them\n\
                 .spec.inner: `type` is \"B\", which does not select `a`: set only one of them",
            ),
        ],
    );
    // Two unions of one struct.
    check(
        &["three"],
        &[(
            "null",
            "{type: A, b: 1, kind: X, v: 1}",
            "error: `type` is \"A\", which does not select `b`: set only one of them\n\
             `kind` is \"X\", which does not select `v`: set only one of them",
        )],
    );
}

/// Row 2.
#[test]
fn a_discriminator_that_changed_to_a_known_value_clears_the_others() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: A, a: 1}", "{type: B, a: 1, b: {x: 1}}", "{type: B, b: {x: 1}}"),
            ("{type: A, a: 1}", "{type: B, a: 1, b: {}}", "{type: B, b: {}}"),
            ("{type: A, a: 1}", "{type: B, b: {x: 1}}", "same"),
            ("{type: A, a: 1}", "{type: B, a: 2}", "{type: B}"),
            ("{a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: '', a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: null, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: A, a: 1}", "same"),
            // What was stored with several set is put right by saying which.
            ("{type: A, a: 1, b: {x: 1}, c: [x]}", "{type: C, a: 1, b: {x: 1}, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, b: {x: 1}}", "{type: C, a: 1, b: {x: 1}}", "{type: C}"),
            // Other fields are not its business.
            ("{type: A, a: 1, other: o}", "{type: B, a: 1, other: p}", "{type: B, other: p}"),
            // A create says it all.
            ("null", "{type: A, a: 1}", "same"),
            ("null", "{type: A}", "same"),
        ],
    );
}

/// Row 2, a declared empty member.
#[test]
fn a_discriminator_that_changed_to_a_declared_empty_value_clears_every_member() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: None, a: 1}", "{type: None}"),
            ("{type: A, a: 1, c: [x]}", "{type: None, a: 1, c: [x]}", "{type: None}"),
            ("{a: 1}", "{type: None, a: 2}", "{type: None}"),
            ("null", "{type: None}", "same"),
        ],
    );
}

/// Row 3: it may be the API's own word for nothing, or one that the schema has wrong.
#[test]
fn a_discriminator_that_changed_to_an_unknown_value_clears_what_was_set_before() {
    check(
        &["deducing", "respecting", "emptiable"],
        &[
            ("{type: A, a: 1}", "{type: Own, a: 1}", "{type: Own}"),
            ("{type: A, a: 1}", "{type: Own, a: 1, c: [x]}", "{type: Own, c: [x]}"),
            ("{type: A, a: 1}", "{type: Own, b: {x: 1}, c: [x]}", "same"),
            ("{type: A, a: 1, b: {x: 1}}", "{type: Own, a: 1, b: {x: 1}, c: [x]}", "{type: Own, c: [x]}"),
            ("{type: Own, a: 1}", "{type: Other, a: 1}", "{type: Other}"),
            ("{type: None}", "{type: Own, a: 1}", "same"),
            ("{a: 1}", "{type: Own, a: 1}", "{type: Own}"),
            ("null", "{type: Own, a: 1}", "same"),
            ("null", "{type: Own, a: 1, b: {}}", "same"),
            // Values are compared exactly.
            ("{type: A, a: 1}", "{type: a, a: 1}", "{type: a}"),
        ],
    );
    check(
        &["closed", "closedEmptiable"],
        &[
            ("{type: A, a: 1}", "{type: Own, a: 1}", "same"),
            ("{type: A, a: 1}", "{type: Own, a: 1, c: [x]}", "same"),
            ("null", "{type: Own, a: 1}", "same"),
        ],
    );
}

/// The entry of `SeccompProfile` in Kubernetes' own schema, where users write `Localhost`.
#[test]
fn a_value_that_the_schema_has_wrong_does_no_harm() {
    check(
        &["profile", "deducingProfile"],
        &[
            ("null", "{type: Localhost, localhostProfile: x.json}", "same"),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: Localhost, localhostProfile: y.json}",
                "same",
            ),
            ("{type: RuntimeDefault}", "{type: Localhost, localhostProfile: x.json}", "same"),
            ("{type: Localhost, localhostProfile: x.json}", "{type: RuntimeDefault}", "same"),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: RuntimeDefault, localhostProfile: x.json}",
                "{type: RuntimeDefault}",
            ),
            ("{type: RuntimeDefault}", "{type: Unconfined}", "same"),
        ],
    );
}

/// Row 4, deducing: it counts as unchanged, and the rows below hold.
#[test]
fn an_emptied_discriminator_of_a_deducing_union_counts_as_unchanged() {
    check(
        &["deducing"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: '', a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{a: 1, b: {}, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{a: 1, c: [x]}", "same"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: A, a: 1}", "{}", "same"),
        ],
    );
}

/// Row 4, respecting.
#[test]
fn an_emptied_discriminator_of_a_respecting_union_clears_if_the_empty_string_is_declared() {
    check(
        &["emptiable", "closedEmptiable"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: ''}"),
            ("{type: A, a: 1}", "{a: 1}", "{}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: null}"),
            ("{type: A, a: 1, c: [x]}", "{type: '', a: 1, c: [x]}", "{type: ''}"),
            // Every member, added ones too.
            ("{type: A, a: 1}", "{type: '', c: [x]}", "{type: ''}"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: None}", "{type: ''}", "same"),
            ("{type: Unknown, a: 1}", "{a: 1}", "{}"),
            // It was empty before: unchanged.
            ("{a: 1}", "{a: 1, c: [x]}", "same"),
            ("{type: ''}", "{a: 1}", "same"),
            ("null", "{a: 1}", "same"),
        ],
    );
    check(
        &["respecting", "closed"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "same"),
            ("{type: A, a: 1}", "{a: 1}", "same"),
            ("{type: A, a: 1}", "{type: null, c: [x]}", "same"),
        ],
    );
}

/// Row 5, deducing.
#[test]
fn one_member_set_deduces_the_discriminator() {
    check(
        &["deducing"],
        &[
            ("null", "{a: 1}", "{type: A, a: 1}"),
            ("null", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("null", "{type: null, a: 1}", "{type: A, a: 1}"),
            ("{other: o}", "{other: o, b: {}}", "{type: B, b: {}, other: o}"),
            // A dumb client that knows no discriminator leaves it as it is.
            ("{type: A, a: 1}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: A, a: 2}", "same"),
            // An object of the time before the discriminator.
            ("{a: 1}", "{a: 1, other: o}", "{type: A, a: 1, other: o}"),
            // What was stored wrong.
            ("{type: A, c: [x]}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, c: [x]}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: None}", "{type: None, a: 1}", "{type: A, a: 1}"),
            ("{type: None, a: 1}", "{type: None, a: 1}", "{type: A, a: 1}"),
            // One that is not known is overwritten only if the member was added.
            ("{type: Own, a: 1}", "{type: Own, a: 1}", "same"),
            ("{type: Own, a: 1}", "{type: Own, a: 2}", "same"),
            ("{type: Own, a: 1, c: [x]}", "{type: Own, a: 1}", "same"),
            ("{type: Own}", "{type: Own, a: 1}", "{type: A, a: 1}"),
            ("{type: Own, a: 1}", "{type: Own, c: [x]}", "{type: C, c: [x]}"),
        ],
    );
}

/// Row 6, deducing.
#[test]
fn one_member_added_to_others_takes_over() {
    check(
        &["deducing"],
        &[
            ("{type: A, a: 1}", "{type: A, a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: A, a: 2, c: [x]}", "{type: C, c: [x]}"),
            ("{a: 1}", "{a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, b: {}}", "{type: A, a: 1, b: {}, c: [x]}", "{type: C, c: [x]}"),
            // The one that the discriminator names already.
            ("{type: C, a: 1}", "{type: C, a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: Own, a: 1}", "{type: Own, a: 1, c: [x]}", "{type: C, c: [x]}"),
        ],
    );
    check(
        &["plain"],
        &[
            ("{a: 1}", "{a: 1, c: [x]}", "{c: [x]}"),
            ("{a: 1, b: {}}", "{a: 1, b: {}, c: [x]}", "{c: [x]}"),
            ("{a: 1, other: o}", "{a: 1, b: {x: 1}, other: o}", "{b: {x: 1}, other: o}"),
            // `type` is a field like any other here.
            ("{type: A, a: 1}", "{type: B, a: 1, c: [x]}", "{type: B, c: [x]}"),
        ],
    );
}

/// Row 7.
#[test]
fn several_members_of_which_none_or_several_were_added_are_left_to_validation() {
    check(
        ALL,
        &[
            ("{type: A, a: 1}", "{type: A, a: 1, b: {}, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{type: A, a: 1, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{type: A, a: 2, c: [v]}", "same"),
            ("{type: A, a: 1}", "{type: A, b: {}, c: [x]}", "same"),
            ("{}", "{a: 1, b: {}}", "same"),
            ("null", "{a: 1, b: {}}", "same"),
        ],
    );
}

/// Row 8.
#[test]
fn no_member_set_is_left_as_it_is() {
    check(
        ALL,
        &[
            ("{type: A, a: 1}", "{type: A}", "same"),
            ("{type: A, a: 1}", "{type: A, a: null}", "same"),
            ("{}", "{}", "same"),
            ("null", "{}", "same"),
            ("null", "{other: o}", "same"),
            ("{type: A}", "{type: A}", "same"),
        ],
    );
    check(&["plain"], &[("{a: 1}", "{}", "same"), ("{a: 1}", "{c: [x]}", "same")]);
}

/// Rows 5 and 6, respecting.
#[test]
fn a_respecting_union_does_nothing_while_its_discriminator_is_unchanged() {
    check(
        RESPECTING,
        &[
            ("{type: A, a: 1}", "{type: A, c: [x]}", "same"),
            ("{type: A, a: 1}", "{type: A, a: 1, c: [x]}", "same"),
            ("{type: None}", "{type: None, a: 1}", "same"),
            ("{type: Own, a: 1}", "{type: Own, a: 1, c: [x]}", "same"),
            ("null", "{a: 1}", "same"),
            ("{a: 1}", "{a: 1, c: [x]}", "same"),
        ],
    );
}
