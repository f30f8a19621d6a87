//! What a server publishes for CustomResourceDefinitions.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fieldmanager_comparison::server::Request;
use serde_json::{Map, Value as Json, json};

use super::error::Error;
use super::files::Files;
use super::server::{DISCOVERY, JSON, Server};

const RESOURCE: &str = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The time in which documents must have the definitions; it needs some seconds.
const PUBLISHED: Duration = Duration::from_secs(60);

/// Records the documents of two definitions that have all subresources, one of a resource in namespaces and one of a
/// cluster resource. The names in them are replaced to make the documents of any definition. Also records the documents
/// of the definitions that tests use.
pub(super) fn record(server: &Server, files: &mut Files, out: &Path) -> Result<(), Error> {
    // A document of version 2 has all groups, so the part of the definitions is what they add to this one.
    let before = server.json("/openapi/v2", JSON)?;
    let samples = [sample("", "Namespaced"), sample("cluster", "Cluster")];
    let group_versions = ["apis/zqxgroup.zqxtop/v77alpha77"];
    create(server, &samples)?;
    published(
        server,
        &group_versions,
        "zqxtop.zqxgroup.v77alpha77.Zqxkindcluster",
    )?;
    let v3 = server.json(&format!("/openapi/v3/{}", group_versions[0]), JSON)?;
    let v2 = added(&before, &server.json("/openapi/v2", JSON)?);
    files.json("definitions.json", &json!({ "v2": v2, "v3": v3 }));

    // The documents of the second part must not contain the samples.
    for sample in &samples {
        let name = sample
            .pointer("/metadata/name")
            .and_then(Json::as_str)
            .unwrap_or_default();
        let path = format!("{RESOURCE}/{name}");
        server.client.send(&Request {
            method: "DELETE",
            path,
            ..Request::default()
        })?;
    }

    // Tests create the same definitions in their own server, and compare its documents.
    let path = out.join("tests/data/definitions.json");
    let failed = |source| Error::File {
        path: path.clone(),
        source,
    };
    let definitions = fs::read_to_string(&path).map_err(failed)?;
    let definitions: Vec<Json> =
        serde_json::from_str(&definitions).map_err(|error| Error::Document {
            path: path.display().to_string(),
            message: error.to_string(),
        })?;
    let group_versions = [
        "apis/alpha.example.org/v1alpha1",
        "apis/example.com/v1",
        "apis/example.com/v1beta1",
    ];

    create(server, &definitions)?;
    published(server, &group_versions, "org.example.alpha.v1alpha1.Item")?;
    let mut documents = Map::new();
    for path in group_versions {
        documents.insert(
            format!("v3 {path}"),
            server.json(&format!("/openapi/v3/{path}"), JSON)?,
        );
        let mut list = server.json(&format!("/{path}"), JSON)?;
        // The server lists the resources of definitions in any order.
        if let Some(resources) = list.get_mut("resources").and_then(Json::as_array_mut) {
            resources.sort_by_key(|resource| resource.get("name").map(Json::to_string));
        }
        documents.insert(format!("discovery {path}"), Json::from(list.to_string()));
    }

    documents.insert(
        "discovery apis".to_owned(),
        Json::from(server.text("/apis", JSON)?),
    );
    documents.insert(
        "discovery apis aggregated".to_owned(),
        Json::from(server.text("/apis", DISCOVERY)?),
    );

    for group in ["apis/example.com", "apis/alpha.example.org"] {
        documents.insert(
            format!("discovery {group}"),
            Json::from(server.text(&format!("/{group}"), JSON)?),
        );
    }

    documents.insert(
        "v2".to_owned(),
        added(&before, &server.json("/openapi/v2", JSON)?),
    );
    files.test("definitions_published.json", &Json::Object(documents));
    Ok(())
}

/// A definition whose names occur in no document.
fn sample(suffix: &str, scope: &str) -> Json {
    // An embedded resource gets the fields of every object when it is published.
    let embedded = json!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "properties": { "spec": { "type": "object" } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("zqxplurals{suffix}.zqxgroup.zqxtop") },
        "spec": {
            "group": "zqxgroup.zqxtop",
            "scope": scope,
            "names": {
                "plural": format!("zqxplurals{suffix}"),
                "kind": format!("Zqxkind{suffix}"),
                "listKind": format!("Zqxlist{suffix}"),
            },
            "versions": [{
                "name": "v77alpha77",
                "served": true,
                "storage": true,
                "subresources": {
                    "status": {},
                    "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
                },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "embedded": embedded } } },
            }],
        },
    })
}

fn create(server: &Server, definitions: &[Json]) -> Result<(), Error> {
    for definition in definitions {
        let answer = server.client.send(&Request {
            method: "POST",
            path: RESOURCE.to_owned(),
            content_type: JSON.to_owned(),
            body: definition.to_string().into_bytes(),
            ..Request::default()
        })?;

        // A definition that exists already would be an old one, so it is an error too.
        if answer.code != 201 {
            let body = answer.body.to_string();
            return Err(Error::Status {
                path: RESOURCE.to_owned(),
                code: answer.code,
                body,
            });
        }
    }

    Ok(())
}

/// Waits until documents of group versions and a definition of version 2 are published.
fn published(server: &Server, group_versions: &[&str], definition: &str) -> Result<(), Error> {
    let started = Instant::now();
    loop {
        let index = server.json("/openapi/v3", JSON)?;
        let v3 = group_versions.iter().all(|path| {
            index
                .pointer("/paths")
                .is_some_and(|paths| paths.get(path).is_some())
        });
        // Both documents are made some time after a definition is created, and independently of each other.
        let v2 = server.json("/openapi/v2", JSON)?;

        if v3
            && v2
                .pointer("/definitions")
                .is_some_and(|definitions| definitions.get(definition).is_some())
        {
            // The definitions of one group version are published one by one.
            thread::sleep(Duration::from_secs(3));
            return Ok(());
        }

        if started.elapsed() > PUBLISHED {
            let message = format!("`{definition}` is not published");
            return Err(Error::Document {
                path: "/openapi/v2".to_owned(),
                message,
            });
        }
        thread::sleep(Duration::from_millis(500));
    }
}

/// The members of the maps of a version 2 document that an earlier one has not.
fn added(before: &Json, after: &Json) -> Json {
    let maps = ["paths", "definitions", "parameters"].map(|name| {
        let known = before.get(name).and_then(Json::as_object);
        let members = after
            .get(name)
            .and_then(Json::as_object)
            .into_iter()
            .flatten();
        let new = members.filter(|(key, _)| known.is_none_or(|known| !known.contains_key(*key)));

        (
            name.to_owned(),
            Json::Object(
                new.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            ),
        )
    });

    Json::Object(maps.into_iter().collect())
}
