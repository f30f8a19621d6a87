//! Normalization of the configuration: rules 1 and 2.

use super::*;

#[test]
fn rule_1_a_configuration_sets_one_member_at_most() {
    check(
        ALL,
        &[
            (
                "apply alice {a: 1, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `c`",
            ),
            (
                "apply alice {a: 1, b: {}, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `b`, `c`",
            ),
            // For any live object, forced or not.
            (
                "update bob {type: A, a: 1}",
                "{type: A, a: 1} | bob .a .type",
            ),
            (
                "force alice {type: A, a: 1, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `c`",
            ),
        ],
    );
}

#[test]
fn rule_1_null_is_not_set() {
    check(
        &["deducing"],
        &[(
            "apply alice {a: null, c: 1}",
            "{type: C, a: null, c: 1} | alice .a .c .type",
        )],
    );
}

#[test]
fn rule_1_a_member_beside_a_discriminator_that_selects_another_is_an_error() {
    let error = |value: &str| {
        format!(
            "error: failed to normalize the unions: `type` is \"{value}\", which does not select `a`: \
             set only one of them"
        )
    };
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B, a: 1}", &error("B")),
            ("apply alice {type: None, a: 1}", &error("None")),
            (
                "update bob {type: B, b: {x: 1}}",
                "{type: B, b: {x: 1}} | bob .b .b.x .type",
            ),
            ("force alice {type: B, a: 1}", &error("B")),
        ],
    );
    // So does the empty string, if it is a declared value.
    check(
        &["emptiable"],
        &[("apply alice {type: '', a: 1}", &error(""))],
    );
    // An unknown value selects no known member.
    check(
        WITH_DISCRIMINATOR,
        &[(
            "apply alice {type: Own, a: 1}",
            "{type: Own, a: 1} | alice .a .type",
        )],
    );
}

#[test]
fn rule_1_every_fault_is_reported_with_its_place() {
    check(
        &["root"],
        &[(
            "apply alice {spec: {a: 1, c: 1}, items: [{name: x, a: 1, b: 1}, {name: v, type: A, b: 1}]}",
            "error: failed to normalize the unions: \
             .items[name=\"x\"]: only one member of a union may be set, got `a`, `b`\n\
             .items[name=\"v\"]: `type` is \"A\", which does not select `b`: set only one of them\n\
             .spec: only one member of a union may be set, got `a`, `c`",
        )],
    );
    // Unions inside atomic lists are not normalized.
    check(
        &["root"],
        &[(
            "apply alice {atomic: [{a: 1, b: 1}]}",
            "{atomic: [{a: 1, b: 1}]} | alice .atomic",
        )],
    );
}

#[test]
fn rule_2_the_applier_owns_the_discriminator_that_follows_from_its_member() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            // The second apply changes nothing.
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            (
                "apply alice {type: '', a: 2}",
                "{type: A, a: 2} | alice .a .type",
            ),
            (
                "apply alice {type: null, a: 3}",
                "{type: A, a: 3} | alice .a .type",
            ),
            (
                "apply alice {b: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .b.x .type",
            ),
        ],
    );
    check(
        &["root"],
        &[(
            "apply alice {items: [{name: x, b: 1}], spec: {b: {}}}",
            "{items: [{name: x, type: B, b: 1}], spec: {type: B, b: {}}} | \
             alice .items[name=\"x\"] .items[name=\"x\"].b .items[name=\"x\"].name .items[name=\"x\"].type \
             .spec.b .spec.type",
        )],
    );
}

/// The values in the schema may be wrong: in Kubernetes it has `LocalhostProfile` instead of `Localhost`.
#[test]
fn rule_2_a_live_discriminator_that_is_not_known_stays_beside_a_member_that_is_set_already() {
    check(
        &["deducing"],
        &[
            (
                "apply alice {type: Their, a: 1}",
                r#"{"a":1,"type":"Their"} | alice .a .type"#,
            ),
            (
                "apply bob {a: 1}",
                r#"{"a":1,"type":"Their"} | alice .a .type, bob .a"#,
            ),
            (
                "force bob {a: 2}",
                r#"{"a":2,"type":"Their"} | alice .type, bob .a"#,
            ),
            // A new member brings its own value, which is a conflict.
            ("apply carol {c: 3}", "conflict: alice .type, bob .a"),
        ],
    );
    // An empty discriminator replaces the unknown value, and the member determines the new one.
    for empty in ["''", "null"] {
        check(
            &["deducing"],
            &[
                (
                    "apply alice {type: Their, a: 1}",
                    "{type: Their, a: 1} | alice .a .type",
                ),
                (
                    &format!("apply bob {{type: {empty}, a: 1}}"),
                    "conflict: alice .type",
                ),
                (
                    &format!("force bob {{type: {empty}, a: 1}}"),
                    "{type: A, a: 1} | alice .a, bob .a .type",
                ),
                (
                    &format!("apply bob {{type: {empty}, a: 1}}"),
                    "{type: A, a: 1} | alice .a, bob .a .type",
                ),
            ],
        );
    }
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, type: Their, a: 1}]}",
                r#"{"items":[{"a":1,"name":"x","type":"Their"}]} | alice .items[name="x"] .items[name="x"].a .items[name="x"].name .items[name="x"].type"#,
            ),
            (
                "apply bob {items: [{name: x, a: 1}]}",
                r#"{"items":[{"a":1,"name":"x","type":"Their"}]} | alice .items[name="x"] .items[name="x"].a .items[name="x"].name .items[name="x"].type, bob .items[name="x"] .items[name="x"].a .items[name="x"].name"#,
            ),
        ],
    );
}

#[test]
fn rule_2_managers_of_the_same_member_share_the_discriminator() {
    check(
        &["deducing"],
        &[
            (
                "apply alice {b: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .b.x .type",
            ),
            (
                "apply bob {b: {w: 2}}",
                "{type: B, b: {x: 1, w: 2}} | alice .b.x .type, bob .b.w .type",
            ),
            // Neither manager alone can change it.
            ("apply alice {a: 1}", "conflict: bob .type"),
            ("apply alice {}", "{type: B, b: {w: 2}} | bob .b.w .type"),
        ],
    );
}

#[test]
fn rule_2_nothing_is_deduced_in_a_respecting_union_or_without_a_discriminator() {
    check(RESPECTING, &[("apply alice {a: 1}", "{a: 1} | alice .a")]);
    check(&["plain"], &[("apply alice {a: 1}", "{a: 1} | alice .a")]);
}
