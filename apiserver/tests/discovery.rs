//! Discovery documents are those that a kube-apiserver sent.

use std::collections::BTreeMap;
use std::io::Read;

use fieldmanager_apiserver::discovery::Discovery;
use fieldmanager_apiserver::facts;
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

#[test]
fn hashes_of_aggregated_documents_are_those_of_kube_apiserver() {
    let discovery = Discovery::new(facts::resources().iter().cloned());
    let recorded = recorded();
    let etags = &recorded["etags"];
    assert_eq!(discovery.aggregated_api().etag, etags["/api"]);
    assert_eq!(discovery.aggregated().etag, etags["/apis"]);
}
