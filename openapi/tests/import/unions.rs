//! Unions in both forms.

use fieldmanager_openapi::{Importer, ListUnions};

use super::{check, faults_of, warnings_of};

const LIST: &str = "{type: object,
  properties: {type: {type: string}, one: {type: string}, two: {type: object}, x: {type: string}, z: {type: string}},
  x-kubernetes-unions: [
    {discriminator: type, fields-to-discriminateBy: {two: Two, one: One}},
    {fields-to-discriminateBy: {x: X, z: Z}}]}";

fn fields() -> &'static str {
    "fields: [{name: one, type: {scalar: string}}, {name: two, type: {map: {elementType: {namedType: __untyped_deduced_}}}},
      {name: type, type: {scalar: string}}, {name: x, type: {scalar: string}}, {name: z, type: {scalar: string}}]"
}

#[test]
fn list_form_deduces_or_respects() {
    for (option, flag) in [
        (ListUnions::Deducing, "deduceInvalidDiscriminator: true, "),
        (ListUnions::Respecting, ""),
    ] {
        let expected = format!(
            "{{map: {{{}, unions: [
               {{discriminator: type, {flag}fields: [{{fieldName: one, discriminatorValue: One}},
                 {{fieldName: two, discriminatorValue: Two}}]}},
               {{fields: [{{fieldName: x, discriminatorValue: X}}, {{fieldName: z, discriminatorValue: Z}}]}}]}}}}",
            fields()
        );
        check(&Importer::new().unions(option), &[(LIST, &expected)]);
    }
}

#[test]
fn list_form_accepts_the_older_field_name_and_none() {
    let a = "fields: [{name: a, type: {scalar: string}}]";
    let properties = "type: object, properties: {a: {type: string}}";
    check(
        &Importer::new(),
        &[
            (
                &format!("{{{properties}, x-kubernetes-unions: [{{fields: {{a: A}}}}]}}"),
                &format!(
                    "{{map: {{{a}, unions: [{{fields: [{{fieldName: a, discriminatorValue: A}}]}}]}}}}"
                ),
            ),
            (
                &format!("{{{properties}, x-kubernetes-unions: [{{discriminator: a, other: 7}}]}}"),
                &format!(
                    "{{map: {{{a}, unions: [{{discriminator: a, deduceInvalidDiscriminator: true}}]}}}}"
                ),
            ),
            (
                &format!("{{{properties}, x-kubernetes-unions: []}}"),
                &format!("{{map: {{{a}}}}}"),
            ),
        ],
    );
}

/// The object form is always respecting and closed.
#[test]
fn object_form_is_respecting_and_closed() {
    let schema = "{type: object, properties: {
        mode: {type: string, x-kubernetes-unions: {fieldMembers: {
          None: null, Two: {name: two, optional: true}, One: {name: one}, Uno: {name: one2, optional: false}}}},
        one: {type: string}, one2: {type: string}, two: {type: string}}}";
    let expected = "{map: {
        fields: [{name: mode, type: {scalar: string}}, {name: one, type: {scalar: string}},
                 {name: one2, type: {scalar: string}}, {name: two, type: {scalar: string}}],
        unions: [{discriminator: mode, closed: true, emptyMembers: [None], fields: [
          {fieldName: one, discriminatorValue: One}, {fieldName: one2, discriminatorValue: Uno},
          {fieldName: two, discriminatorValue: Two, optional: true}]}]}}";
    check(&Importer::new(), &[(schema, expected)]);
    check(
        &Importer::new().unions(ListUnions::Respecting),
        &[(schema, expected)],
    );
}

#[test]
fn struct_may_have_unions_in_both_forms() {
    check(
        &Importer::new(),
        &[(
            "{type: object, x-kubernetes-unions: [{fields: {a: A}}], properties: {
               a: {type: string}, kind: {type: string, x-kubernetes-unions: {fieldMembers: {B: {name: b}}}},
               b: {type: object, properties: {c: {type: string}}, x-kubernetes-unions: [{fields: {c: C}}]}}}",
            "{map: {
               fields: [{name: a, type: {scalar: string}},
                 {name: b, type: {map: {fields: [{name: c, type: {scalar: string}}],
                   unions: [{fields: [{fieldName: c, discriminatorValue: C}]}]}}},
                 {name: kind, type: {scalar: string}}],
               unions: [{fields: [{fieldName: a, discriminatorValue: A}]},
                 {discriminator: kind, closed: true, fields: [{fieldName: b, discriminatorValue: B}]}]}}",
        )],
    );
}

#[test]
fn union_faults_are_reported() {
    let cases = [
        (
            "x-kubernetes-unions: {}",
            ".x-kubernetes-unions: a struct has a list of unions, got map: the other form belongs to the discriminator",
        ),
        (
            "x-kubernetes-unions: odd",
            ".x-kubernetes-unions: a struct has a list of unions, got string: the other form belongs to the discriminator",
        ),
        (
            "x-kubernetes-unions: [7]",
            ".x-kubernetes-unions[0]: a union must be a map, got integer",
        ),
        (
            "x-kubernetes-unions: [{}, {discriminator: [a]}]",
            ".x-kubernetes-unions[1].discriminator: expected string, got list",
        ),
        (
            "x-kubernetes-unions: [{fields: {}, fields-to-discriminateBy: {}}]",
            ".x-kubernetes-unions[0]: `fields-to-discriminateBy` and `fields` are the same, give one of them",
        ),
        (
            "x-kubernetes-unions: [{fields: [a]}]",
            ".x-kubernetes-unions[0].fields: expected a map from fields to discriminator values, got list",
        ),
        (
            "x-kubernetes-unions: [{fields-to-discriminateBy: {a: 1}}]",
            ".x-kubernetes-unions[0].fields-to-discriminateBy.a: a discriminator value must be a string, got integer",
        ),
        (
            "properties: {d: {type: string, x-kubernetes-unions: {}}}",
            ".properties.d.x-kubernetes-unions.fieldMembers: expected a map from discriminator values to members, got nothing",
        ),
        (
            "properties: {d: {type: string, x-kubernetes-unions: {fieldMembers: [A]}}}",
            ".properties.d.x-kubernetes-unions.fieldMembers: expected a map from discriminator values to members, got list",
        ),
        (
            "properties: {d: {type: string, x-kubernetes-unions: {fieldMembers: {A: a}}}}",
            ".properties.d.x-kubernetes-unions.fieldMembers.A: a member is null, or a map with a string `name` and a boolean `optional`",
        ),
        (
            "properties: {d: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: a, optional: maybe}}}}}",
            ".properties.d.x-kubernetes-unions.fieldMembers.A: a member is null, or a map with a string `name` and a boolean `optional`",
        ),
        (
            "properties: {d: {type: string, x-kubernetes-unions: odd}}",
            ".properties.d.x-kubernetes-unions: expected a list of unions or a map with `fieldMembers`, got string",
        ),
    ];
    for (text, fault) in cases {
        let found = faults_of(&format!("{{t: {{type: object, {text}}}}}"));
        assert_eq!(found, [format!("definition `t`: {fault}")], "{text}");
    }
}

/// Faults of the resulting schema are found when the schema is built.
#[test]
fn field_belongs_to_at_most_one_union() {
    let found = faults_of(
        "{t: {type: object, properties: {a: {type: string}, d: {type: string}, b: {type: string}},
          x-kubernetes-unions: [{fields: {a: A}}, {discriminator: d, fields: {a: A, b: A}}]}}",
    );
    let expected = [
        "definition `t`: .x-kubernetes-unions[1].fields[fieldName=\"a\"]: a field may belong to one union only",
        "definition `t`: .x-kubernetes-unions[1].fields[fieldName=\"b\"]: two fields have the discriminator value `A`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn union_parts_without_effect_are_warnings() {
    let found = warnings_of(
        "{t: {type: object, properties: {a: {type: string}, d: {type: string, enum: [A, C]},
            m: {type: string, x-kubernetes-unions: {fieldMembers: {G: {name: gone}}}}},
          x-kubernetes-unions: [
            {discriminator: d, fields-to-discriminateBy: {a: A, b: B}},
            {discriminator: nowhere, fields-to-discriminateBy: {d: D}}]}}",
    );
    let expected = [
        "definition `t`: .x-kubernetes-unions[0]: member `b` is not a property of the struct",
        "definition `t`: .x-kubernetes-unions[0]: value `B` of member `b` is not in the enum of `d`: A, C",
        "definition `t`: .x-kubernetes-unions[1]: discriminator `nowhere` is not a property of the struct, the union has no effect",
        "definition `t`: .properties.m.x-kubernetes-unions: member `gone` is not a property of the struct",
    ];
    assert_eq!(found, expected);
}
