//! Requests on CustomResourceDefinitions: what an update may keep, and rules that cannot be run.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

use fieldmanager_handlers::{Outcome, Refused, Request, Resource};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

fn definitions() -> Resource {
    let kind = "CustomResourceDefinition";
    Resource::builtin(&GroupVersionKind::from_api_version_kind(
        "apiextensions.k8s.io/v1",
        kind,
    ))
    .unwrap()
}

fn request() -> Request<'static> {
    Request::new("2026-01-31T12:00:00Z".parse().unwrap())
        .name("shops.example.com")
        .uid("7e1b")
        .user_agent("test/1.0")
        .content_type("application/yaml")
}

/// A definition with one version, whose schema has the field `f`, and other members of the spec.
fn definition(field: &str, version: &str, rest: &str) -> String {
    let schema = format!("{{type: object, properties: {{f: {field}}}}}");
    format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: shops.example.com}}, \
         spec: {{group: example.com, scope: Cluster, names: {{plural: shops, kind: Shop}}, versions: [{{name: v1, served: \
         true, storage: true, schema: {{openAPIV3Schema: {schema}}}{version}}}]{rest}}}}}"
    )
}

fn create(resource: &Resource, body: &str) -> Result<Outcome, Refused> {
    resource.create(&request(), None, body.as_bytes())
}

fn causes(result: Result<Outcome, Refused>) -> Vec<String> {
    match result {
        Ok(_) => Vec::new(),
        Err(refused) => {
            assert_eq!(refused.status.code, 422, "{refused}");
            let causes = refused.status.details.unwrap().causes;
            causes
                .into_iter()
                .map(|cause| format!("{}: {}", cause.field, cause.message))
                .collect()
        }
    }
}

/// The causes of an update of a stored definition, which is not validated, to another one.
fn update(stored: &str, status: &str, new: &str) -> Vec<String> {
    let mut live = Value::from_yaml(stored).unwrap().as_map().cloned().unwrap();
    let metadata = "{name: shops.example.com, uid: '7e1b', resourceVersion: '1', generation: 1}";
    live.insert("metadata", Value::from_yaml(metadata).unwrap());
    live.insert("status", Value::from_yaml(status).unwrap());
    let new = new.replace(
        "{name: shops.example.com}",
        "{name: shops.example.com, resourceVersion: '1'}",
    );
    causes(definitions().update(&request(), Some(&Value::Map(live)), new.as_bytes()))
}

const NEW: &str = "{storedVersions: [v1]}";
const ESTABLISHED: &str =
    "{storedVersions: [v1], conditions: [{type: Established, status: 'True'}]}";

#[test]
fn faults_that_a_stored_definition_has_may_stay_and_new_ones_may_not() {
    let list = "type: array, x-kubernetes-list-type";
    let keyed = format!(
        "{{{list}: map, x-kubernetes-list-map-keys: [k], items: {{type: object, properties: {{k: {{type: string}}}}}}}}"
    );
    let set =
        format!("{{{list}: set, items: {{type: object, properties: {{k: {{type: string}}}}}}}}");
    let faults = [
        set.as_str(),
        keyed.as_str(),
        "{type: object, properties: {a: {type: string}}, default: {b: c}}",
    ];
    for fault in faults {
        let (bad, good) = (
            definition(fault, "", ""),
            definition("{type: string}", "", ""),
        );
        assert_eq!(causes(create(&definitions(), &bad)).len(), 1, "{fault}");
        assert_eq!(update(&good, NEW, &bad).len(), 1, "{fault}");
        assert_eq!(update(&bad, NEW, &bad), [""; 0], "{fault}");
    }
}

#[test]
fn selectable_fields_may_stay_too_many_if_they_do_not_change() {
    let properties = |count: usize| -> String {
        (0..count)
            .map(|i| format!("p{i}: {{type: string}}, "))
            .collect()
    };
    let field = format!("{{type: object, properties: {{{}}}}}", properties(11));
    let fields = |count: usize| -> String {
        let all: String = (0..count)
            .map(|i| format!("{{jsonPath: .f.p{i}}}, "))
            .collect();
        definition(&field, &format!(", selectableFields: [{all}]"), "")
    };
    let expected = ["spec.selectableFields: Too many: 9: must have at most 8 items"];
    assert_eq!(causes(create(&definitions(), &fields(9))), expected);
    assert_eq!(causes(create(&definitions(), &fields(8))), [""; 0]);
    assert_eq!(update(&fields(9), NEW, &fields(9)), [""; 0]);
    assert_eq!(
        update(&fields(9), NEW, &fields(10)),
        ["spec.selectableFields: Too many: 10: must have at most 8 items"]
    );
}

#[test]
fn selectable_fields_without_a_schema_need_a_path() {
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: \
                      shops.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Shop, plural: \
                      shops}, versions: [{name: v1, served: true, storage: true, schema: {}, selectableFields: [{}]}]}}";
    let found = causes(create(&definitions(), definition));
    assert!(
        found
            .iter()
            .any(|cause| cause.ends_with("electableFields[0].jsonPath: Required value")),
        "{found:?}"
    );
}

#[test]
fn names_scope_and_certificates_are_fixed_once_the_resource_is_served() {
    let webhook = |bundle: &str| {
        let client = format!("{{url: 'https://a.example.com', caBundle: {bundle}}}");
        let webhook = format!("{{clientConfig: {client}, conversionReviewVersions: [v1]}}");
        definition(
            "{type: string}",
            "",
            &format!(", conversion: {{strategy: Webhook, webhook: {webhook}}}"),
        )
    };
    let (none, bad, worse) = (
        definition("{type: string}", "", ""),
        webhook("bm90aGluZw=="),
        webhook("bm90IG9uZQ=="),
    );
    assert_eq!(update(&none, NEW, &bad), [""; 0]);
    assert_eq!(
        update(&none, ESTABLISHED, &bad),
        [
            "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"bm90aGluZw==\": unable to load root certificates: \
          unable to parse bytes as PEM block"
        ]
    );
    assert_eq!(update(&bad, ESTABLISHED, &worse), [""; 0]);
    let moved = none
        .replace("scope: Cluster", "scope: Namespaced")
        .replace("kind: Shop}", "kind: Store}");
    assert_eq!(update(&none, NEW, &moved), [""; 0]);
    assert_eq!(
        update(&none, ESTABLISHED, &moved),
        [
            "spec.scope: Invalid value: \"Namespaced\": field is immutable",
            "spec.names.kind: Invalid value: \"Store\": field is immutable"
        ]
    );
}

#[test]
fn review_versions_and_missing_schemas_of_a_stored_definition_may_stay() {
    let conversion = |versions: &str| {
        let webhook = format!(
            "{{clientConfig: {{url: 'https://a.example.com'}}, conversionReviewVersions: {versions}}}"
        );
        definition(
            "{type: string}",
            "",
            &format!(", conversion: {{strategy: Webhook, webhook: {webhook}}}"),
        )
    };
    let (known, unknown) = (conversion("[v1]"), conversion("[v9]"));
    assert_eq!(
        update(&known, NEW, &unknown),
        [
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1"
        ]
    );
    assert_eq!(update(&unknown, NEW, &unknown), [""; 0]);
    let preserving = definition("{type: string}", "", ", preserveUnknownFields: true");
    assert_eq!(update(&preserving, NEW, &preserving), [""; 0]);
    assert_eq!(causes(create(&definitions(), &preserving)).len(), 1);
}

#[test]
fn a_stored_version_must_stay_a_version() {
    let found = update(
        &definition("{type: string}", "", ""),
        "{storedVersions: [v0, v1]}",
        &definition("{type: string}", "", ""),
    );
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(
        "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was"
    ));
}

#[test]
fn a_new_definition_has_a_status_with_its_storage_version() {
    let created = create(&definitions(), &definition("{type: string}", "", "")).unwrap();
    assert_eq!(
        created.object.get("status").unwrap().to_json(),
        r#"{"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":["v1"]}"#
    );
}

#[test]
fn a_rule_that_cannot_be_run_is_refused_at_the_definition_and_known_of_a_resource() {
    let rule = "odd(self)";
    let schema = format!("{{type: integer, x-kubernetes-validations: [{{rule: '{rule}'}}]}}");
    let body = definition(&schema, "", "");
    let path = "spec.validation.openAPIV3Schema.properties[f].x-kubernetes-validations[0].rule";
    let [refused] = &causes(create(&definitions(), &body))[..] else {
        panic!("one cause")
    };
    assert!(
        refused.starts_with(&format!("{path}: Invalid value: ")),
        "{refused}"
    );
    assert!(
        refused.contains("undeclared reference to 'odd'"),
        "{refused}"
    );

    // A definition that was not checked.
    let custom = CustomResource::from_value(&Value::from_yaml(&body).unwrap()).unwrap();
    let resource = Resource::custom(&custom, "v1").unwrap();
    let object =
        r#"{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "f": 1}"#;
    let [refused] = &causes(create(&resource, object))[..] else {
        panic!("one cause")
    };
    assert!(
        refused.ends_with("rule compile error: compilation failed: undeclared reference to 'odd'"),
        "{refused}"
    );
}

#[test]
fn an_expression_that_no_server_accepts_is_refused() {
    let body = definition(
        "{type: integer, x-kubernetes-validations: [{rule: 'self >'}, {rule: a == self}]}",
        "",
        "",
    );
    let found = causes(create(&definitions(), &body));
    assert_eq!(found.len(), 2);
    assert!(found[0].contains(
        "\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:7: Syntax error: "
    ));
    assert!(
        found[1].ends_with("undeclared reference to 'a' (in container '')\n | a == self\n | ^")
    );
}
