//! Custom resource definitions: reading, publishing, rules and the condition, with one golden case each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use fieldmanager_structural::FieldPath;
use fieldmanager_structural::crd::{CrdError, CustomResource};
use fieldmanager_structural::internal::{
    ConditionStatus, list_kind, publish, structural_condition,
};
use fieldmanager_testing::namespaced_shop;
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

/// A definition with one version and a one-line schema.
fn with_schema(schema: &str) -> CustomResource {
    with_version(&format!("schema: {{openAPIV3Schema: {schema}}}"))
}

fn with_version(rest: &str) -> CustomResource {
    definition(&format!(
        "versions: [{{name: v1, served: true, storage: true, {rest}}}]"
    ))
}

fn definition(spec: &str) -> CustomResource {
    CustomResource::from_value(&namespaced_shop(spec)).unwrap()
}

/// The violations, without the path of the schema.
fn violations(resource: &CustomResource) -> Vec<String> {
    let root = "spec.versions[0].schema.openAPIV3Schema";
    resource
        .violations()
        .iter()
        .map(|error| {
            let text = error.to_string();
            text.strip_prefix(root)
                .map(|rest| rest.trim_start_matches('.').to_owned())
                .unwrap_or(text)
        })
        .collect()
}

#[track_caller]
fn check(schema: &str, expected: &[&str]) {
    let found = violations(&with_schema(schema));
    assert_eq!(found, expected, "{schema}");
}

/// The same for a schema of the field `f`, without its path in the errors.
#[track_caller]
fn check_field(schema: &str, expected: &[&str]) {
    let found = violations(&with_schema(&format!(
        "{{type: object, properties: {{f: {schema}}}}}"
    )));
    let found: Vec<&str> = found
        .iter()
        .map(|text| {
            text.trim_start_matches("properties[f]")
                .trim_start_matches('.')
        })
        .collect();
    assert_eq!(found, expected, "{schema}");
}

#[test]
fn reading_reports_all_faults_of_a_document() {
    let document = yaml(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: 7
  names: {kind: Shop, shortNames: [s, 1]}
  scope: Everywhere
  preserveUnknownFields: 'no'
  versions:
  - {served: 1, schema: {openAPIV3Schema: []}}
  - {name: v1, subresources: {status: {}, scale: {specReplicasPath: .spec.n}}}
  - {name: v1}
  - v2
",
    );
    let CrdError::Fields(errors) = CustomResource::from_value(&document).unwrap_err() else {
        panic!("other error");
    };
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "spec.group: Invalid value: 7: expected string, got integer",
            "spec.names.plural: Required value",
            "spec.names.shortNames[1]: Invalid value: 1: expected string, got integer",
            "spec.scope: Unsupported value: \"Everywhere\": supported values: \"Cluster\", \"Namespaced\"",
            "spec.preserveUnknownFields: Invalid value: \"no\": expected boolean, got string",
            "spec.versions[0].schema.openAPIV3Schema: Invalid value: []: expected map, got list",
            "spec.versions[0].name: Required value",
            "spec.versions[0].served: Invalid value: 1: expected boolean, got integer",
            "spec.versions[1].subresources.scale.statusReplicasPath: Required value",
            "spec.versions[2].name: Duplicate value: \"v1\"",
            "spec.versions[3]: Invalid value: \"v2\": expected map, got string",
        ]
    );
}

#[test]
fn other_documents_are_refused_with_their_kind() {
    let error = |text: &str| {
        CustomResource::from_value(&yaml(text))
            .unwrap_err()
            .to_string()
    };
    let expected = "expected a CustomResourceDefinition of apiextensions.k8s.io/v1, got ";
    assert_eq!(
        error("{apiVersion: v1, kind: Pod}"),
        format!("{expected}Pod of v1")
    );
    assert_eq!(
        error("{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition}"),
        format!("{expected}CustomResourceDefinition of apiextensions.k8s.io/v1beta1")
    );
    assert_eq!(
        error("[1]"),
        format!("{expected}a list without apiVersion and kind")
    );
    assert_eq!(
        error("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}"),
        "spec: Required value"
    );
}

#[test]
fn omitted_names_get_defaults() {
    let shop = with_version("deprecated: true, deprecationWarning: old");
    assert_eq!(
        (shop.names.singular.as_str(), shop.names.list_kind.as_str()),
        ("shop", "ShopList")
    );
    assert_eq!(
        shop.kind("v1").to_string(),
        "shops.example.com/v1, Kind=Shop"
    );
    assert_eq!(
        list_kind(&shop, "v1").to_string(),
        "shops.example.com/v1, Kind=ShopList"
    );
    assert_eq!(
        shop.version("v1").unwrap().deprecation_warning.as_deref(),
        Some("old")
    );
    assert!(shop.version("v1").unwrap().deprecated);
}

#[test]
fn definition_equals_the_published_one() {
    let shop = with_schema(
        "{type: object, description: A shop, properties: {
          metadata: {type: object, properties: {name: {type: string, maxLength: 3}}}, kind: {type: string, pattern: x},
          port: {x-kubernetes-int-or-string: true, default: 80},
          embedded: {type: object, x-kubernetes-embedded-resource: true, required: [spec], properties: {
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}",
    );
    assert_eq!(violations(&shop), [""; 0]);
    let definitions = publish(&shop, "v1").unwrap();
    let names: Vec<&str> = definitions
        .iter()
        .map(|(name, _)| name.rsplit('.').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Shop",
            "ShopList",
            "FieldsV1",
            "ListMeta",
            "ManagedFieldsEntry",
            "ObjectMeta",
            "OwnerReference",
            "ShardInfo",
            "Time"
        ]
    );
    let meta = "{$ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}";
    let expected = yaml(&format!(
        "
type: object
description: A shop
properties:
  apiVersion: {{type: string}}
  kind: {{type: string}}
  metadata: {meta}
  port: {{x-kubernetes-int-or-string: true, default: 80, anyOf: [{{type: integer}}, {{type: string}}]}}
  embedded:
    type: object
    x-kubernetes-embedded-resource: true
    required: [spec, kind, apiVersion]
    properties:
      apiVersion: {{type: string}}
      kind: {{type: string}}
      metadata: {meta}
      spec: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
x-kubernetes-group-version-kind: [{{group: shops.example.com, version: v1, kind: Shop}}]
"
    ));
    assert_eq!(
        definitions.get("com.example.shops.v1.Shop"),
        Some(&expected)
    );
    let expected = yaml(
        "
type: object
required: [items]
properties:
  apiVersion: {type: string}
  items: {type: array, items: {$ref: '#/components/schemas/com.example.shops.v1.Shop'}}
  kind: {type: string}
  metadata: {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta'}
x-kubernetes-group-version-kind: [{group: shops.example.com, version: v1, kind: ShopList}]
",
    );
    assert_eq!(
        definitions.get("com.example.shops.v1.ShopList"),
        Some(&expected)
    );
}

#[test]
fn definition_without_structural_schema_accepts_any_map() {
    let expected = yaml(
        "{type: object, x-kubernetes-group-version-kind: [{group: shops.example.com, version: v1, kind: Shop}]}",
    );
    for shop in [
        with_version("deprecated: false"),
        with_schema("{properties: {a: {type: string}}}"),
        with_schema("{type: object, properties: {a: {type: text}}}"),
        with_schema("{type: object, properties: {a: {$ref: b}}}"),
    ] {
        assert_eq!(
            publish(&shop, "v1")
                .unwrap()
                .get("com.example.shops.v1.Shop"),
            Some(&expected)
        );
    }
}

#[test]
fn reset_fields_follow_the_subresource() {
    let shop = definition(
        "versions: [{name: v1, served: true, storage: true, subresources: {status: {}}}, {name: v2, served: true},
          {name: v3, served: true, subresources: {status: {}, scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}}]",
    );
    let reset = |version: &str, subresource: &str| -> Vec<String> {
        let map = shop.reset_fields(version, subresource).unwrap();
        map.iter()
            .map(|(version, set)| format!("{version} {}", set.to_json()))
            .collect()
    };
    assert_eq!(reset("v1", ""), [r#"shops.example.com/v1 {"f:status":{}}"#]);
    assert_eq!(reset("v2", ""), [""; 0]);
    let both = r#"{"f:metadata":{},"f:spec":{}}"#;
    let expected = [
        format!("shops.example.com/v1 {both}"),
        format!("shops.example.com/v3 {both}"),
    ];
    assert_eq!(reset("v3", "status"), expected);
    assert_eq!(reset("v2", "status"), [""; 0]);
    assert_eq!(reset("v3", "scale"), [""; 0]);
    assert!(matches!(
        shop.reset_fields("v9", ""),
        Err(CrdError::UnknownVersion { .. })
    ));
}

#[test]
fn structural_and_completeness_rules_are_checked() {
    check(
        "{properties: {}}",
        &["type: Required value: must not be empty at the root"],
    );
    check(
        "{type: object, properties: {a: {description: no type}}}",
        &["properties[a].type: Required value: must not be empty for specified object fields"],
    );
    check(
        "{type: object, anyOf: [{properties: {a: {minLength: 1}}}]}",
        &[
            "properties[a]: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.anyOf[0].properties[a]",
        ],
    );
    // The rule for the keyword explains why the schema is not structural.
    check(
        "{type: object, properties: {a: {$ref: b}}}",
        &["properties[a].$ref: Forbidden: $ref is not supported"],
    );
    check(
        "{type: object, $schema: x}",
        &[": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
    );
}

#[test]
fn keyword_rules_are_checked() {
    check_field(
        "{type: text}",
        &[
            "type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ],
    );
    check_field(
        "{type: 'null'}",
        &[
            "type: Unsupported value: \"null\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            "type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    );
    check_field(
        "{type: array, items: {type: string}, uniqueItems: true}",
        &[
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ],
    );
    let exclusive = &[
        "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    ];
    check_field(
        "{type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}",
        exclusive,
    );
    check_field(
        "{type: object, properties: {a: {type: string}}, additionalProperties: false}",
        exclusive,
    );
    check_field(
        "{type: object, properties: {a: {type: string}}, additionalProperties: true}",
        &[],
    );
    check(
        "{type: object, nullable: true}",
        &["nullable: Forbidden: nullable cannot be true at the root"],
    );
    check_field(
        "{type: object, id: x}",
        &["id: Forbidden: id is not supported"],
    );
    check_field(
        "{type: object, patternProperties: {x: {type: string}}}",
        &["patternProperties: Forbidden: patternProperties is not supported"],
    );
    check_field(
        "{type: array, items: [{type: string}]}",
        &["items: Forbidden: items must be a schema object and not an array"],
    );
    check_field(
        "{type: object, x-kubernetes-preserve-unknown-fields: false}",
        &["x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    );
}

#[test]
fn metadata_rules_are_checked() {
    check(
        "{type: object, properties: {metadata: {type: object, default: {}}}}",
        &["properties[metadata].default: Forbidden: must not be set in top-level metadata"],
    );
    check(
        "{type: object, properties: {kind: {type: string, default: Shop}}}",
        &["properties[kind].default: Forbidden: must not be set in top-level kind"],
    );
    check_field(
        "{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object,
          additionalProperties: {type: string, default: a}}}}",
        &[
            "properties[metadata].additionalProperties.default: Forbidden: must not be set inside \
           additionalProperties applying to object metadata",
        ],
    );
    check_field(
        "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true,
          properties: {metadata: {type: object, x-kubernetes-embedded-resource: true,
          x-kubernetes-preserve-unknown-fields: true}}}",
        &[
            "properties[metadata].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
        ],
    );
}

#[test]
fn list_and_map_type_rules_are_checked() {
    check_field(
        "{x-kubernetes-map-type: odd, type: string}",
        &[
            "type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            "x-kubernetes-map-type: Unsupported value: \"odd\": supported values: \"atomic\", \"granular\"",
        ],
    );
    check_field(
        "{x-kubernetes-list-type: atomic, x-kubernetes-int-or-string: true}",
        &["type: Required value: must be array if x-kubernetes-list-type is specified"],
    );
    check_field(
        "{type: array, items: {type: string}, x-kubernetes-list-type: bag}",
        &[
            "x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
        ],
    );
    check_field(
        "{type: array, x-kubernetes-list-type: set, items: {type: object}}",
        &[
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ],
    );
    check_field(
        "{type: array, x-kubernetes-list-type: set, items: {type: array, items: {type: string}, x-kubernetes-list-type: set}}",
        &[
            "items.x-kubernetes-list-type: Invalid value: \"set\": must be atomic as item of a list with x-kubernetes-list-type=set",
        ],
    );
    check_field(
        "{type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic}}",
        &[],
    );
    check_field(
        "{type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}}",
        &["items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
    );
    check_field(
        "{type: array, items: {type: string}, x-kubernetes-list-map-keys: [a]}",
        &[
            "x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ],
    );
    check_field(
        "{type: array, x-kubernetes-list-type: map, items: {type: string}}",
        &[
            "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            "items.type: Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map",
        ],
    );
}

#[test]
fn list_map_key_rules_are_checked() {
    let list = |keys: &str, items: &str| {
        format!(
            "{{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: {keys}, items: {{type: object, {items}}}}}"
        )
    };
    check_field(
        &list(
            "[a, b, a]",
            "required: [a], properties: {a: {type: string}}",
        ),
        &[
            "x-kubernetes-list-map-keys: Invalid value: [\"a\",\"b\",\"a\"]: entries must all be names of item properties",
            "x-kubernetes-list-map-keys: Invalid value: [\"a\",\"b\",\"a\"]: must not contain duplicate entries",
        ],
    );
    check_field(
        &list("[a]", "required: [a], properties: {a: {type: object}}"),
        &[
            "items.properties[a].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map",
        ],
    );
    check_field(
        &list("[a]", "properties: {a: {type: string, nullable: true}}"),
        &[
            "items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            "items.properties[a].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
        ],
    );
    check_field(
        &list("[a]", "properties: {a: {type: string, default: x}}"),
        &[],
    );
}

#[test]
fn root_rules_beside_status_are_checked() {
    let status = |schema: &str| {
        violations(&with_version(&format!(
            "subresources: {{status: {{}}}}, schema: {{openAPIV3Schema: {schema}}}"
        )))
    };
    assert_eq!(
        status("{type: object, properties: {spec: {type: object}}}"),
        [""; 0]
    );
    let found = status("{type: object, minProperties: 1}");
    assert!(found[0].ends_with(
        "UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] \
         fields are allowed at the root of the schema if the status subresource is enabled"
    ));
    let found = status("{type: string}");
    assert!(found.contains(
        &"type: Invalid value: \"string\": only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled"
            .to_owned()
    ));
}

#[test]
fn name_and_version_rules_are_checked() {
    let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example
  names: {kind: Shop, plural: Shops, listKind: Shop}
  scope: Cluster
  preserveUnknownFields: true
  versions:
  - name: V1
    subresources: {scale: {specReplicasPath: spec.n, statusReplicasPath: .spec.n, labelSelectorPath: .metadata.x}}
";
    let found = violations(&CustomResource::from_value(&yaml(text)).unwrap());
    let found: Vec<&str> = found
        .iter()
        .map(|text| text.split(" (e.g.").next().unwrap())
        .collect();
    let label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                 alphabetic character, and end with an alphanumeric character";
    assert_eq!(
        found,
        [
            "spec.group: Invalid value: \"example\": should be a domain with at least one dot",
            ": Required value",
            &format!("spec.versions[0].name: Invalid value: \"V1\": {label}"),
            "spec.versions[0].subresources.scale.specReplicasPath: Invalid value: \"spec.n\": must be a simple json path starting with .",
            "spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: \".spec.n\": should be a json path under .status",
            "spec.versions[0].subresources.scale.labelSelectorPath: Invalid value: \".metadata.x\": should be a json path under either .spec or .status",
            "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
            &format!("spec.names.plural: Invalid value: \"Shops\": {label}"),
            "spec.names.listKind: Invalid value: \"Shop\": kind and listKind may not be the same",
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ]
    );
}

#[test]
fn condition_equals_that_of_the_api_server() {
    assert_eq!(structural_condition(&with_schema("{type: object}")), None);
    assert_eq!(
        structural_condition(&with_version("deprecated: true")),
        None
    );

    let several = definition(
        "preserveUnknownFields: true
  versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}, {name: v2, schema: {openAPIV3Schema: {type: string}}}]",
    );
    let condition = structural_condition(&several).unwrap();
    assert_eq!(
        (condition.status, condition.reason),
        (ConditionStatus::True, "Violations")
    );
    assert_eq!(
        condition.message,
        "[spec.preserveUnknownFields: Invalid value: true: must be false, \
         spec.versions[1].schema.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root]"
    );

    let unreadable =
        structural_condition(&with_schema("{type: object, properties: {a: {$ref: b}}}")).unwrap();
    assert_eq!(
        (unreadable.status.as_str(), unreadable.reason),
        ("Unknown", "StructuralError")
    );
    assert_eq!(
        unreadable.message,
        "failed to check validation schema for version v1: OpenAPIV3Schema '$ref' is not supported"
    );
}

#[test]
fn structural_returns_the_schema_of_a_version() {
    let shop = with_schema("{type: object, properties: {a: {$ref: b}}}");
    assert_eq!(
        shop.structural("v1").unwrap_err().to_string(),
        "version `v1`: OpenAPIV3Schema '$ref' is not supported"
    );
    assert!(
        with_version("deprecated: true")
            .structural("v1")
            .unwrap()
            .is_none()
    );
    let schema = with_schema("{type: object}")
        .structural("v1")
        .unwrap()
        .unwrap();
    assert!(schema.validate(&FieldPath::default()).is_empty());
}
