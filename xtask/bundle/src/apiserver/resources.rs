//! Resources: discovery documents, columns and field selectors.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::error::Error;
use super::server::{DISCOVERY, JSON, Server};

/// The labels of field selectors that are tried with every resource.
const LABELS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "name",
    "type",
    "reason",
    "source",
    "message",
    "reportingComponent",
    "reportingController",
    "reportingInstance",
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "spec.nodeName",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "spec.unschedulable",
    "spec.clusterIP",
    "spec.type",
    "spec.signerName",
    "spec.podName",
    "spec.driver",
    "spec.pool.name",
    "spec.replicas",
    "spec.storageClassName",
    "spec.volumeName",
    "spec.provisioner",
    "spec.leaseName",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.hostIP",
    "status.nominatedNodeName",
    "status.replicas",
    "status.successful",
    "status.succeeded",
];

/// The resources with their columns and labels, and all discovery documents by path.
pub(super) fn record(server: &Server) -> Result<(Json, Json), Error> {
    let mut documents = Map::new();
    let mut resources = Vec::new();
    let mut etags = Map::new();
    for root in ["/api", "/apis"] {
        // Clients ask for discovery in two forms, and tests compare both.
        let old: Json = document(server, &mut documents, root, root, JSON)?;
        let aggregated: Json = document(
            server,
            &mut documents,
            &format!("{root} aggregated"),
            root,
            DISCOVERY,
        )?;
        etags.insert(
            root.to_owned(),
            Json::from(server.document(root, DISCOVERY)?.etag),
        );

        // `/api` has no groups, so only those of `/apis` have a document.
        for group in items(&old, "groups") {
            let path = format!("{root}/{}", string(group, "name"));
            document(server, &mut documents, &path, &path, JSON)?;
        }
        for group in items(&aggregated, "items") {
            let name = group
                .pointer("/metadata/name")
                .and_then(Json::as_str)
                .unwrap_or_default();
            for version in items(group, "versions") {
                let group_version = (name, string(version, "version"));
                let path = match name {
                    "" => format!("/api/{}", group_version.1),
                    _ => format!("/apis/{name}/{}", group_version.1),
                };
                // The aggregated form lacks the hashes of storage versions, which the list of the version has.
                let list = document(server, &mut documents, &path, &path, JSON)?;
                for resource in items(version, "resources") {
                    resources.push(entry(server, group_version, &path, resource, &list)?);
                }
            }
        }
    }
    documents.insert("etags".to_owned(), Json::Object(etags));

    Ok((Json::Array(resources), Json::Object(documents)))
}

fn document(
    server: &Server,
    documents: &mut Map<String, Json>,
    name: &str,
    path: &str,
    accept: &str,
) -> Result<Json, Error> {
    // The port of the server differs from start to start.
    let text = server.text(path, accept)?;
    let address = text
        .split("\"serverAddress\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let text = address.map_or(text.clone(), |address| {
        text.replace(address, "127.0.0.1:6443")
    });
    let json = serde_json::from_str(&text).map_err(|error| Error::Document {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    documents.insert(name.to_owned(), Json::from(text));

    Ok(json)
}

fn entry(
    server: &Server,
    (group, version): (&str, &str),
    path: &str,
    resource: &Json,
    list: &Json,
) -> Result<Json, Error> {
    let plural = string(resource, "resource");
    let listed =
        |name: &str| items(list, "resources").find(|resource| string(resource, "name") == name);
    let mut out = json!({
        "group": group,
        "version": version,
        "plural": plural,
        "singular": string(resource, "singularResource"),
        "kind": resource.pointer("/responseKind/kind").cloned().unwrap_or(Json::from("")),
        "namespaced": string(resource, "scope") == "Namespaced",
        "shortNames": resource.get("shortNames").cloned().unwrap_or(json!([])),
        "categories": resource.get("categories").cloned().unwrap_or(json!([])),
        "verbs": resource.get("verbs").cloned().unwrap_or(json!([])),
        "storageVersionHash": listed(plural).map_or("", |listed| string(listed, "storageVersionHash")),
    });

    // A subresource can have a kind of another group, as `scale` has.
    let subresources: Vec<Json> = items(resource, "subresources")
        .map(|subresource| {
            let name = string(subresource, "subresource");
            let kind = |part: &str| {
                subresource
                    .pointer(&format!("/responseKind/{part}"))
                    .cloned()
            };
            json!({
                "name": name,
                "group": kind("group"),
                "version": kind("version"),
                "kind": kind("kind"),
                "verbs": subresource.get("verbs"),
            })
        })
        .collect();

    let mut add = |name: &str, value: Json| {
        if let Json::Object(members) = &mut out {
            members.insert(name.to_owned(), value);
        }
    };
    add("subresources", Json::Array(subresources));

    // No discovery document has the columns, the kind of lists or the labels of selectors, so lists are requested.
    if items(resource, "verbs").any(|verb| verb == "list") {
        let url = format!("{path}/{plural}?limit=1");
        let list = server.json(&url, JSON)?;
        add("listKind", Json::from(string(&list, "kind")));
        let table = server.json(&url, "application/json;as=Table;v=v1;g=meta.k8s.io")?;
        add(
            "columns",
            table.get("columnDefinitions").cloned().unwrap_or(json!([])),
        );
        add("labels", labels(server, &format!("{path}/{plural}"))?);
    }

    Ok(out)
}

/// Takes the columns away from the resources, and returns them by `GROUP/VERSION/KIND`.
pub(super) fn take_columns(resources: &mut Json) -> Json {
    let mut columns = Map::new();
    let resources = resources.as_array_mut().into_iter().flatten();
    for resource in resources.filter_map(Json::as_object_mut) {
        let Some(own) = resource.remove("columns") else {
            continue;
        };
        let part = |name: &str| {
            resource
                .get(name)
                .and_then(Json::as_str)
                .unwrap_or_default()
        };
        let kind = ["group", "version", "kind"].map(part).join("/");
        columns.insert(kind, own);
    }
    Json::Object(columns)
}

/// The labels that selectors on a resource can have.
fn labels(server: &Server, path: &str) -> Result<Json, Error> {
    let mut out = BTreeSet::new();
    for label in LABELS {
        let document = server
            .client
            .document(&format!("{path}?limit=1&fieldSelector={label}%3Dx"), JSON)?;
        if document.code == 200 {
            out.insert(label);
        }
    }
    Ok(json!(out))
}

fn items<'j>(json: &'j Json, name: &str) -> impl Iterator<Item = &'j Json> {
    json.get(name)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
}

fn string<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}
