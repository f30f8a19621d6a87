//! Types with unions of every form.

/// The forms of unions: the name of the type, and what its union has besides members.
const FORMS: &[(&str, &str)] = &[
    ("plain", ""),
    ("plainRequired", "required: true, "),
    (
        "deducing",
        "discriminator: type, deduceInvalidDiscriminator: true, emptyMembers: [None], ",
    ),
    (
        "deducingRequired",
        "discriminator: type, deduceInvalidDiscriminator: true, emptyMembers: [None], required: true, ",
    ),
    ("respecting", "discriminator: type, emptyMembers: [None], "),
    (
        "respectingRequired",
        "discriminator: type, required: true, ",
    ),
    (
        "emptiable",
        "discriminator: type, emptyMembers: ['', None], ",
    ),
    (
        "closed",
        "discriminator: type, emptyMembers: [None], closed: true, ",
    ),
    (
        "closedEmptiable",
        "discriminator: type, emptyMembers: ['', None], closed: true, ",
    ),
];

/// A struct `item` with a name and a deducing union of the numbers `a` and `b`.
pub const UNION_ITEM: &str = "
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
";

/// A struct `profile` whose union has one member and other values of the discriminator.
pub const UNION_PROFILE: &str = "
- name: profile
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: localhostProfile, type: {scalar: string}}
    unions:
    - discriminator: type
      fields: [{fieldName: localhostProfile, discriminatorValue: LocalhostProfile}]
";

/// A schema with a type for each form of union, and with other types. Each form has the members `a` (a number), `b` (a
/// struct) and `c` (of the type `c`); `a_options` are further keys of the member `a`.
pub fn union_schema(c: &str, a_options: &str, others: &[&str]) -> String {
    let mut text = "types:".to_owned();
    for (name, union) in FORMS {
        text += &format!(
            "
- name: {name}
  map:
    fields:
    - {{name: type, type: {{scalar: string}}}}
    - {{name: other, type: {{scalar: string}}}}
    - {{name: a, type: {{scalar: numeric}}}}
    - name: b
      type: {{map: {{fields: [{{name: x, type: {{scalar: numeric}}}}, {{name: w, type: {{scalar: numeric}}}}]}}}}
    - {{name: c, type: {c}}}
    unions:
    - {{{union}fields: [{{fieldName: a, discriminatorValue: A{a_options}}},
        {{fieldName: b, discriminatorValue: B}}, {{fieldName: c, discriminatorValue: C}}]}}"
        );
    }
    text + &others.concat()
}
