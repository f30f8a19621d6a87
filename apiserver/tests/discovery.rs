//! Discovery documents are those that a kube-apiserver sent.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::BTreeMap;
use std::io::Read;

use fieldmanager_apiserver::discovery::Discovery;
use fieldmanager_apiserver::facts::{self, ServedResource};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;
use flate2::read::GzDecoder;
use serde_json::Value as Json;

fn recorded() -> BTreeMap<String, Json> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("data/discovery.json.gz")[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn documents_of_the_built_in_resources_are_those_of_kube_apiserver() {
    let discovery = Discovery::new(facts::resources().iter().cloned());
    let mut checked = 0;
    for (path, recorded) in recorded() {
        let Some(expected) = recorded.as_str() else { continue };
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let document = match steps[..] {
            ["api"] => discovery.api("127.0.0.1:6443"),
            ["api aggregated"] => discovery.aggregated_api().body,
            ["apis"] => discovery.groups(),
            ["apis aggregated"] => discovery.aggregated().body,
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
    let definitions = Value::from_json(include_str!("data/definitions.json")).unwrap();
    let mut resources = facts::resources().to_vec();
    for definition in definitions.as_list().unwrap() {
        let definition = CustomResource::from_value(definition).unwrap();
        for version in definition.versions.iter().filter(|version| version.served) {
            resources.push(ServedResource::of_definition(&definition, &version.name).unwrap());
        }
    }
    Discovery::new(resources)
}

#[test]
fn documents_of_custom_resources_are_those_of_kube_apiserver() {
    let mut text = String::new();
    let recorded = &include_bytes!("data/definitions_published.json.gz")[..];
    GzDecoder::new(recorded).read_to_string(&mut text).unwrap();
    let recorded: BTreeMap<String, Json> = serde_json::from_str(&text).unwrap();
    let discovery = with_definitions();
    let mut checked = 0;
    for (name, expected) in recorded {
        let Some(path) = name.strip_prefix("discovery apis") else { continue };
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let document = match steps[..] {
            [] if path.is_empty() => discovery.groups(),
            [] => discovery.aggregated().body,
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
    let discovery = Discovery::new(facts::resources().iter().cloned());
    let recorded = recorded();
    let etags = &recorded["etags"];
    assert_eq!(discovery.aggregated_api().etag, etags["/api"]);
    assert_eq!(discovery.aggregated().etag, etags["/apis"]);
}
