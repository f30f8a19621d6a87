//! Definitions as kube-apiserver stores them.

use fieldmanager_value::{List, Map, Str, Value};

use crate::object::{map, text, with};

/// The fields of every version that are in `spec` if all versions have the same, and their names in a version.
const COMMON: [(&str, &str); 4] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// A stored definition at `apiextensions.k8s.io/v1`. kube-apiserver stores `v1beta1`, and may share an etcd with this
/// server; it reads both. `None` for a definition that is not at `v1beta1`.
///
/// Behaviour: the conversions of `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1` and `v1beta1`.
pub(super) fn from_beta(object: &Value) -> Option<Value> {
    if text(object, &["apiVersion"]) != "apiextensions.k8s.io/v1beta1" {
        return None;
    }
    let object = with(object, "apiVersion", "apiextensions.k8s.io/v1");
    let mut spec = object.get("spec")?.as_map()?.clone();
    // `v1beta1` has these fields once for all versions, or in each version; `v1` has only the latter.
    let common: Vec<(&str, Value)> = COMMON
        .iter()
        .filter_map(|(old, new)| Some((*new, spec.remove(old)?)))
        .collect();
    let single = spec.remove("version");
    spec.remove("preserveUnknownFields");
    let versions = spec
        .get("versions")
        .and_then(Value::as_list)
        .cloned()
        .unwrap_or_default();

    // A definition of one version may name it outside the list. Then it is served and stored.
    let versions: Vec<Value> = match (versions.is_empty(), single) {
        (true, Some(name)) => {
            vec![map([
                ("name", name),
                ("served", true.into()),
                ("storage", true.into()),
            ])]
        }
        _ => versions.iter().cloned().collect(),
    };
    let versions = versions.iter().map(|version| {
        let mut version = version.as_map().cloned().unwrap_or_default();
        for (name, value) in &common {
            if version.get(name).is_none() {
                version.insert(*name, value.clone());
            }
        }

        if let Some(columns) = version
            .get("additionalPrinterColumns")
            .and_then(Value::as_list)
        {
            let columns: List = columns.iter().map(with_path).collect();
            version.insert("additionalPrinterColumns", columns);
        }

        Value::Map(version)
    });

    spec.insert("versions", Value::List(versions.collect()));
    // `v1` has the members of a webhook in an object of their own.
    if let Some(conversion) = spec.get("conversion").and_then(Value::as_map).cloned() {
        let mut conversion = conversion;
        let webhook: Map = [
            ("webhookClientConfig", "clientConfig"),
            ("conversionReviewVersions", "conversionReviewVersions"),
        ]
        .into_iter()
        .filter_map(|(old, new)| Some((Str::from(new), conversion.remove(old)?)))
        .collect();
        if !webhook.is_empty() {
            conversion.insert("webhook", Value::Map(webhook));
        }
        spec.insert("conversion", Value::Map(conversion));
    }

    Some(with(&object, "spec", spec))
}

/// A column, whose path has another name.
fn with_path(column: &Value) -> Value {
    let mut fields = column.as_map().cloned().unwrap_or_default();
    if let Some(path) = fields.remove("JSONPath") {
        fields.insert("jsonPath", path);
    }
    Value::Map(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_fields_of_v1beta1_are_those_of_each_version() {
        let beta = Value::from_yaml(
            "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a.b.c},
              spec: {group: b.c, version: v1, preserveUnknownFields: false, validation: {openAPIV3Schema: {type: object}},
              subresources: {status: {}}, additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}],
              conversion: {strategy: Webhook, webhookClientConfig: {url: 'https://a'}, conversionReviewVersions: [v1]},
              versions: [{name: v1, served: true, storage: true}, {name: v2, served: true, storage: false}]}}",
        );
        let expected = Value::from_yaml(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c},
              spec: {group: b.c,
              conversion: {strategy: Webhook, webhook: {clientConfig: {url: 'https://a'}, conversionReviewVersions: [v1]}},
              versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}},
              subresources: {status: {}}, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]},
              {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}},
              subresources: {status: {}}, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]}]}}",
        )
        .unwrap();
        assert_eq!(from_beta(&beta.unwrap()), Some(expected.clone()));
        assert_eq!(from_beta(&expected), None);
    }
}
