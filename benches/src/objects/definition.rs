//! A custom resource definition with a deep schema, like those of operators.

use serde_json::{Map, Value, json};

use super::words::Words;

/// Fields of the groups in the specification; their number determines the size.
const GROUPS: usize = 33;

pub(super) fn definition() -> Value {
    let mut words = Words::new(4);
    let mut properties = Map::new();
    for group in 0..GROUPS {
        properties.insert(format!("section{group}"), section(&mut words, 2));
    }
    let names = json!({"categories": ["shop"], "kind": "Checkout", "listKind": "CheckoutList", "plural": "checkouts",
                       "shortNames": ["co"], "singular": "checkout"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "annotations": {"controller-gen.kubebuilder.io/version": "v0.19.0"},
            "labels": {"app": "operator"},
            "name": "checkouts.example.com",
            "resourceVersion": "1822",
            "uid": words.uid()
        },
        "spec": {
            "additionalPrinterColumns": [
                {"JSONPath": ".spec.replicas", "description": words.sentence(8), "name": "Replicas", "type": "integer"},
                {"JSONPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"}
            ],
            "group": "example.com",
            "names": names.clone(),
            "preserveUnknownFields": false,
            "scope": "Namespaced",
            "subresources": {"status": {}},
            "validation": {"openAPIV3Schema": {
                "description": words.sentence(12),
                "properties": {
                    "apiVersion": {"description": words.sentence(30), "type": "string"},
                    "kind": {"description": words.sentence(30), "type": "string"},
                    "metadata": {"type": "object"},
                    "spec": {"description": words.sentence(12), "properties": properties, "type": "object"}
                },
                "required": ["spec"],
                "type": "object"
            }},
            "version": "v1",
            "versions": [{"name": "v1", "served": true, "storage": true}]
        },
        "status": {
            "acceptedNames": names,
            "conditions": [{"lastTransitionTime": "2026-02-11T07:01:58Z", "message": "no conflicts found",
                            "reason": "NoConflicts", "status": "True", "type": "NamesAccepted"}],
            "storedVersions": ["v1"]
        }
    })
}

/// An object of several fields, some of which are objects again.
fn section(words: &mut Words, depth: usize) -> Value {
    let mut properties = Map::new();
    for (at, name) in [
        "enabled", "image", "limit", "mode", "names", "selector", "storage",
    ]
    .iter()
    .enumerate()
    {
        let text = words.sentence(10 + at * 2);
        let field = match at {
            0 => json!({"description": text, "type": "boolean"}),
            2 => json!({"description": text, "format": "int32", "minimum": 0, "type": "integer"}),
            3 => {
                json!({"description": text, "enum": ["Always", "Never", "OnDemand"], "type": "string"})
            }
            4 => json!({"description": text, "items": {"type": "string"}, "type": "array"}),
            5 => {
                json!({"additionalProperties": {"type": "string"}, "description": text, "type": "object"})
            }
            6 if depth > 0 => section(words, depth - 1),
            _ => json!({"description": text, "type": "string"}),
        };
        properties.insert((*name).to_owned(), field);
    }
    json!({"description": words.sentence(14), "properties": properties, "required": ["image"], "type": "object"})
}
