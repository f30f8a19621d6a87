//! The rows of the normalization table, in order.

use super::*;

/// Row 1.
#[test]
fn row_1_selecting_one_member_and_adding_another_is_rejected() {
    let error = "error: `type` is \"B\", which does not select `c`: set only one of them";
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: A, a: 1}", "{type: B, c: [x]}", error),
            // Regardless of whether the selected member is set or added.
            ("{type: A, a: 1}", "{type: B, b: {x: 1}, c: [x]}", error),
            (
                "{type: A, a: 1, b: {x: 1}}",
                "{type: B, b: {x: 1}, c: [x]}",
                error,
            ),
            ("{a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: None}", "{type: B, c: [x]}", error),
            ("{type: Unknown, a: 1}", "{type: B, c: [x]}", error),
            // A created object has no predecessor.
            ("null", "{type: B, c: [x]}", error),
            ("null", "{type: B, b: {}, c: [x]}", error),
            // A declared empty member selects no member.
            (
                "{type: A, a: 1}",
                "{type: None, c: [x]}",
                "error: `type` is \"None\", which does not select `c`: set only one of them",
            ),
        ],
    );
}

#[test]
fn all_contradictions_are_reported_with_their_path() {
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
fn row_2_selecting_a_member_clears_the_others() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1}", "{type: B}"),
            (
                "{type: A, a: 1}",
                "{type: B, a: 1, b: {x: 1}}",
                "{type: B, b: {x: 1}}",
            ),
            (
                "{type: A, a: 1}",
                "{type: B, a: 1, b: {}}",
                "{type: B, b: {}}",
            ),
            ("{type: A, a: 1}", "{type: B, b: {x: 1}}", "same"),
            ("{type: A, a: 1}", "{type: B, a: 2}", "{type: B}"),
            ("{a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: '', a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: null, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: A, a: 1}", "same"),
            // Selecting one member repairs a stored object with several set members.
            (
                "{type: A, a: 1, b: {x: 1}, c: [x]}",
                "{type: C, a: 1, b: {x: 1}, c: [x]}",
                "{type: C, c: [x]}",
            ),
            (
                "{type: A, a: 1, b: {x: 1}}",
                "{type: C, a: 1, b: {x: 1}}",
                "{type: C}",
            ),
            // Other fields are not affected.
            (
                "{type: A, a: 1, other: o}",
                "{type: B, a: 1, other: p}",
                "{type: B, other: p}",
            ),
            // A create with consistent fields.
            ("null", "{type: A, a: 1}", "same"),
            ("null", "{type: A}", "same"),
        ],
    );
}

/// Row 2, a declared empty member.
#[test]
fn row_2_selecting_an_empty_member_clears_all_members() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: None, a: 1}", "{type: None}"),
            (
                "{type: A, a: 1, c: [x]}",
                "{type: None, a: 1, c: [x]}",
                "{type: None}",
            ),
            ("{a: 1}", "{type: None, a: 2}", "{type: None}"),
            ("null", "{type: None}", "same"),
        ],
    );
}

/// Row 3: the API may define this value, or the schema may be wrong.
#[test]
fn row_3_an_undeclared_value_clears_previous_members() {
    check(
        &["deducing", "respecting", "emptiable"],
        &[
            ("{type: A, a: 1}", "{type: Own, a: 1}", "{type: Own}"),
            (
                "{type: A, a: 1}",
                "{type: Own, a: 1, c: [x]}",
                "{type: Own, c: [x]}",
            ),
            ("{type: A, a: 1}", "{type: Own, b: {x: 1}, c: [x]}", "same"),
            (
                "{type: A, a: 1, b: {x: 1}}",
                "{type: Own, a: 1, b: {x: 1}, c: [x]}",
                "{type: Own, c: [x]}",
            ),
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

/// `SeccompProfile` as declared in the schema of Kubernetes, although users write `Localhost`.
#[test]
fn wrong_values_in_the_schema_are_harmless() {
    check(
        &["profile", "deducingProfile"],
        &[
            (
                "null",
                "{type: Localhost, localhostProfile: x.json}",
                "same",
            ),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: Localhost, localhostProfile: y.json}",
                "same",
            ),
            (
                "{type: RuntimeDefault}",
                "{type: Localhost, localhostProfile: x.json}",
                "same",
            ),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: RuntimeDefault}",
                "same",
            ),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: RuntimeDefault, localhostProfile: x.json}",
                "{type: RuntimeDefault}",
            ),
            ("{type: RuntimeDefault}", "{type: Unconfined}", "same"),
        ],
    );
}

/// Row 4, deducing: an emptied discriminator counts as unchanged, so the rows below apply.
#[test]
fn row_4_emptying_a_deduced_discriminator_counts_as_unchanged() {
    check(
        &["deducing"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{c: [x]}", "{type: C, c: [x]}"),
            (
                "{type: A, a: 1}",
                "{type: '', a: 1, c: [x]}",
                "{type: C, c: [x]}",
            ),
            ("{type: A, a: 1}", "{a: 1, b: {}, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{a: 1, c: [x]}", "same"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: A, a: 1}", "{}", "same"),
        ],
    );
}

/// Row 4, respecting.
#[test]
fn row_4_a_declared_empty_string_clears_all_members() {
    check(
        &["emptiable", "closedEmptiable"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: ''}"),
            ("{type: A, a: 1}", "{a: 1}", "{}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: null}"),
            (
                "{type: A, a: 1, c: [x]}",
                "{type: '', a: 1, c: [x]}",
                "{type: ''}",
            ),
            // Every member, including added ones.
            ("{type: A, a: 1}", "{type: '', c: [x]}", "{type: ''}"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: None}", "{type: ''}", "same"),
            ("{type: Unknown, a: 1}", "{a: 1}", "{}"),
            // The discriminator was already empty, so it is unchanged.
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
fn row_5_a_single_member_sets_the_discriminator() {
    check(
        &["deducing"],
        &[
            ("null", "{a: 1}", "{type: A, a: 1}"),
            ("null", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("null", "{type: null, a: 1}", "{type: A, a: 1}"),
            (
                "{other: o}",
                "{other: o, b: {}}",
                "{type: B, b: {}, other: o}",
            ),
            // A client that does not know the discriminator leaves it unchanged.
            ("{type: A, a: 1}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: A, a: 2}", "same"),
            // An object that was stored before the discriminator existed.
            ("{a: 1}", "{a: 1, other: o}", "{type: A, a: 1, other: o}"),
            // Inconsistent stored objects.
            (
                "{type: A, c: [x]}",
                "{type: A, c: [x]}",
                "{type: C, c: [x]}",
            ),
            (
                "{type: A, a: 1, c: [x]}",
                "{type: A, c: [x]}",
                "{type: C, c: [x]}",
            ),
            ("{type: None}", "{type: None, a: 1}", "{type: A, a: 1}"),
            (
                "{type: None, a: 1}",
                "{type: None, a: 1}",
                "{type: A, a: 1}",
            ),
            // An undeclared value is overwritten only if the member is added.
            ("{type: Own, a: 1}", "{type: Own, a: 1}", "same"),
            ("{type: Own, a: 1}", "{type: Own, a: 2}", "same"),
            ("{type: Own, a: 1, c: [x]}", "{type: Own, a: 1}", "same"),
            ("{type: Own}", "{type: Own, a: 1}", "{type: A, a: 1}"),
            (
                "{type: Own, a: 1}",
                "{type: Own, c: [x]}",
                "{type: C, c: [x]}",
            ),
        ],
    );
}

/// Row 6, deducing.
#[test]
fn row_6_a_single_added_member_clears_the_others() {
    check(
        &["deducing"],
        &[
            (
                "{type: A, a: 1}",
                "{type: A, a: 1, c: [x]}",
                "{type: C, c: [x]}",
            ),
            (
                "{type: A, a: 1}",
                "{type: A, a: 2, c: [x]}",
                "{type: C, c: [x]}",
            ),
            ("{a: 1}", "{a: 1, c: [x]}", "{type: C, c: [x]}"),
            (
                "{type: A, a: 1, b: {}}",
                "{type: A, a: 1, b: {}, c: [x]}",
                "{type: C, c: [x]}",
            ),
            // The discriminator already selects the added member.
            (
                "{type: C, a: 1}",
                "{type: C, a: 1, c: [x]}",
                "{type: C, c: [x]}",
            ),
            (
                "{type: Own, a: 1}",
                "{type: Own, a: 1, c: [x]}",
                "{type: C, c: [x]}",
            ),
        ],
    );
    check(
        &["plain"],
        &[
            ("{a: 1}", "{a: 1, c: [x]}", "{c: [x]}"),
            ("{a: 1, b: {}}", "{a: 1, b: {}, c: [x]}", "{c: [x]}"),
            (
                "{a: 1, other: o}",
                "{a: 1, b: {x: 1}, other: o}",
                "{b: {x: 1}, other: o}",
            ),
            // `type` is an ordinary field of this struct.
            (
                "{type: A, a: 1}",
                "{type: B, a: 1, c: [x]}",
                "{type: B, c: [x]}",
            ),
        ],
    );
}

/// Row 7.
#[test]
fn row_7_several_members_are_not_normalized() {
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
fn row_8_structs_without_members_are_not_changed() {
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
    check(
        &["plain"],
        &[("{a: 1}", "{}", "same"), ("{a: 1}", "{c: [x]}", "same")],
    );
}

/// Rows 5 and 6, respecting.
#[test]
fn rows_5_and_6_respecting_unions_require_a_changed_discriminator() {
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
