//! Discovery documents are those that a kube-apiserver sent.

use std::collections::BTreeMap;
use std::io::Read;

use super::{Discovery, Document};
use crate::facts::{ResourceFacts, resource_of_definition};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;
use flate2::read::GzDecoder;
use serde_json::Value as Json;

fn body(document: Document) -> String {
    String::from_utf8(document.body.to_vec()).unwrap()
}

fn recorded() -> BTreeMap<String, Json> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../../tests/data/discovery.json.gz")[..])
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn documents_of_the_built_in_resources_are_those_of_kube_apiserver() {
    let discovery = Discovery::new(ResourceFacts::served().cloned());
    let mut checked = 0;
    for (path, recorded) in recorded() {
        let Some(expected) = recorded.as_str() else {
            continue;
        };
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let document = match steps[..] {
            ["api"] => discovery.api("127.0.0.1:6443"),
            ["api aggregated"] => body(discovery.aggregated_api()),
            ["apis"] => discovery.groups(),
            ["apis aggregated"] => body(discovery.aggregated()),
            ["api", version] => discovery.resources("", version).unwrap(),
            ["apis", group] => discovery.group(group).unwrap(),
            ["apis", group, version] => discovery.resources(group, version).unwrap(),
            _ => panic!("unexpected path {path}"),
        };
        assert_eq!(document, expected.trim_end(), "{path}");
        checked += 1;
    }
    assert!(checked > 40, "{checked} documents");
}

fn with_definitions() -> Discovery {
    let definitions = Value::from_json(include_str!("../../tests/data/definitions.json")).unwrap();
    let mut resources = ResourceFacts::served().cloned().collect::<Vec<_>>();
    for definition in definitions.as_list().unwrap() {
        let definition = CustomResource::from_value(definition).unwrap();
        for version in definition.versions.iter().filter(|version| version.served) {
            resources.push(resource_of_definition(&definition, &version.name).unwrap());
        }
    }
    Discovery::new(resources)
}

#[test]
fn documents_of_custom_resources_are_those_of_kube_apiserver() {
    let mut text = String::new();
    let recorded = &include_bytes!("../../tests/data/definitions_published.json.gz")[..];
    GzDecoder::new(recorded).read_to_string(&mut text).unwrap();
    let recorded: BTreeMap<String, Json> = serde_json::from_str(&text).unwrap();
    let discovery = with_definitions();
    let mut checked = 0;
    for (name, expected) in recorded {
        let Some(path) = name.strip_prefix("discovery apis") else {
            continue;
        };
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let document = match steps[..] {
            [] if path.is_empty() => discovery.groups(),
            [] => body(discovery.aggregated()),
            [group] => discovery.group(group).unwrap(),
            [group, version] => discovery.resources(group, version).unwrap(),
            _ => panic!("unexpected path {path}"),
        };
        let (ours, expected) = (json(&document), json(expected.as_str().unwrap()));
        assert_eq!(ours, expected, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 7);
}

/// A document whose resources are in one order: kube-apiserver lists those of a group version in any order.
fn json(text: &str) -> Json {
    let mut json: Json = serde_json::from_str(text).unwrap();
    if let Some(resources) = json.get_mut("resources").and_then(Json::as_array_mut) {
        resources.sort_by_key(|resource| resource["name"].to_string());
    }
    json
}

#[test]
fn hashes_of_aggregated_documents_are_those_of_kube_apiserver() {
    let discovery = Discovery::new(ResourceFacts::served().cloned());
    let recorded = recorded();
    let etags = &recorded["etags"];
    assert_eq!(discovery.aggregated_api().etag, etags["/api"]);
    assert_eq!(discovery.aggregated().etag, etags["/apis"]);
}

#[test]
fn stable_versions_precede_beta_and_alpha_and_other_names_are_last() {
    let ordered = [
        "v10", "v2", "v1", "v2beta1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo1", "v0",
    ];
    let one = ResourceFacts::served().next().unwrap();
    let mut resources: Vec<ResourceFacts> = ordered
        .map(|version| ResourceFacts {
            version: version.into(),
            custom: true,
            ..one.clone()
        })
        .into();
    resources.sort_by(|a, b| a.version.cmp(&b.version));
    let discovery = Discovery::new(resources);
    let versions: Vec<&str> = discovery.groups[0]
        .keys()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(versions, ordered);
}
