//! Corrections that do not apply to the document are errors.

use fieldmanager_bundle::{Corrections, bundle};
use fieldmanager_value::Value;

const OPENAPI: &str = "
definitions:
  Shop:
    type: object
    x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Shop}]
    properties:
      type: {type: string}
      cash: {type: object}
      card: {type: object}
      door: {$ref: '#/definitions/Door'}
    x-kubernetes-unions: [{discriminator: type, fields-to-discriminateBy: {cash: Cash, card: Card}}]
  Door: {type: object, properties: {key: {type: string, default: brass}}}
  ShopList:
    type: object
    x-kubernetes-group-version-kind: [{group: '', version: v1, kind: ShopList}]
    properties:
      metadata: {$ref: '#/definitions/meta.ListMeta'}
      items: {type: array, items: {$ref: '#/definitions/Shop'}}
  meta.ListMeta: {type: object, properties: {continue: {type: string}}}
";

fn bundled(corrections: &str) -> Result<String, String> {
    let corrections = Corrections::from_yaml(corrections).map_err(|error| error.to_string())?;
    let openapi = Value::from_yaml(OPENAPI).map_err(|error| error.to_string())?;
    bundle(&openapi, &corrections).map_err(|error| error.to_string())
}

#[test]
fn type_is_one_line_that_starts_with_its_name() {
    assert_eq!(
        bundled("- {reason: r, types: [Shop], union: {values: {card: Plastic}, optional: [cash], emptyMembers: [Free], required: true}}")
            .unwrap(),
        r#"{
"kinds":[
{"group":"","kind":"Shop","type":"Shop","version":"v1"}
],
"types":[
{"name":"Door","map":{"fields":[{"default":"brass","name":"key","type":{"scalar":"string"}}]}},
{"name":"Shop","map":{"fields":[{"name":"card","type":{"map":{"elementType":{"namedType":"__untyped_deduced_"}}}},{"name":"cash","type":{"map":{"elementType":{"namedType":"__untyped_deduced_"}}}},{"name":"door","type":{"namedType":"Door"}},{"name":"type","type":{"scalar":"string"}}],"unions":[{"deduceInvalidDiscriminator":true,"discriminator":"type","emptyMembers":["Free"],"fields":[{"discriminatorValue":"Plastic","fieldName":"card"},{"discriminatorValue":"Cash","fieldName":"cash","optional":true}],"required":true}]}},
{"name":"__untyped_atomic_","list":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},"map":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},"scalar":"untyped"},
{"name":"__untyped_deduced_","list":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},"map":{"elementRelationship":"separable","elementType":{"namedType":"__untyped_deduced_"}},"scalar":"untyped"}
]
}
"#
    );
}

#[test]
fn field_that_the_document_lacks_is_added() {
    let bundled = bundled("- {reason: r, fields: [Door.lock], type: Shop}").unwrap();
    let door = bundled
        .lines()
        .find(|line| line.starts_with(r#"{"name":"Door""#))
        .unwrap();
    assert!(
        door.contains(r#"{"name":"lock","type":{"namedType":"Shop"}}"#),
        "{door}"
    );
}

#[test]
fn correction_must_change_an_existing_part() {
    let nothing = "the document already has this value, remove the correction";
    let rows: &[(&str, &str)] = &[
        (
            "fields: [Door.key], default: brass",
            &format!("Door.key: {nothing}"),
        ),
        (
            "fields: [Door.lock], default: brass",
            "Door.lock: `Door` has no field `lock`",
        ),
        (
            "fields: [Gate.key], default: brass",
            "Gate.key: there is no type `Gate`",
        ),
        (
            "fields: [Door.key], type: Shop",
            &format!("Door.key: {nothing}"),
        ),
        (
            "fields: [Door.lock], type: Gate",
            "Door.lock: there is no type `Gate`",
        ),
        (
            "types: [Gate], scalar: string",
            "Gate: there is no type `Gate`",
        ),
        ("types: [Door], scalar: text", "Door: unknown scalar `text`"),
        (
            "types: [Door], union: {required: true}",
            "Door: `Door` has 0 unions, expected one",
        ),
        (
            "types: [Shop], union: {values: {coin: C}}",
            "Shop: the union has no member `coin`",
        ),
        (
            "types: [Shop], union: {values: {cash: Cash}}",
            &format!("Shop: value of `cash`: {nothing}"),
        ),
        (
            "types: [Shop], union: {emptyMembers: [Card]}",
            &format!("Shop: empty member `Card`: {nothing}"),
        ),
    ];
    for (correction, expected) in rows {
        let error = bundled(&format!("- {{reason: r, {correction}}}")).unwrap_err();
        assert_eq!(
            error,
            format!("correction 0, \"r\": {expected}"),
            "{correction}"
        );
    }
}

#[test]
fn correction_has_exactly_one_form() {
    for wrong in [
        "default: 1",
        "fields: [a.b]",
        "types: [a], default: 1",
        "fields: [a.b], default: 1, scalar: string",
    ] {
        let error = bundled(&format!("- {{reason: r, {wrong}}}")).unwrap_err();
        assert_eq!(
            error,
            "entry 0: expected `fields` with `default` or `type`, or `types` with `scalar` or `union`"
        );
    }
    assert!(bundled("- {types: [a], scalar: string}").is_err());
}
