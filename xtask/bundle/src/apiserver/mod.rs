//! Records what a kube-apiserver serves, for the crate `fieldmanager-apiserver`.

mod definitions;
mod error;
mod files;
mod objects;
mod resources;
mod server;
mod tables;

use std::path::Path;
use std::time::Duration;

use fieldmanager_comparison::server::{Client, Process};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha512};

pub use error::Error;
pub use files::Files;
use server::{JSON, Server};

/// The time between two lists of all objects; the server is idle if both are equal.
const IDLE: Duration = Duration::from_secs(4);

/// Starts a kube-apiserver of a release, such as `v1.37.1`, from a program file and records what it serves.
/// The folder of the crate has the definitions that tests use.
///
/// # Errors
///
/// [`Error`].
pub fn record(program: &Path, release: &str, out: &Path) -> Result<Files, Error> {
    let process = Process::start(program)?;
    let server = Server {
        client: Client::new(process.url()),
    };
    let mut files = Files::default();
    let (mut resources, discovery) = resources::record(&server)?;
    files.test("discovery.json", &discovery);
    // The objects must be recorded before this program creates any.
    let mut objects = objects::record(&server, &resources, IDLE)?;
    objects.extend(roles(program, &resources)?);
    files.json("objects.json", &Json::Array(objects));
    files.resources("columns.json", &resources::take_columns(&mut resources));
    files.resources("resources.json", &resources);
    let mut version = server.json("/version", JSON)?;

    if let Json::Object(members) = &mut version {
        // A program that is built from modules does not know its version.
        members.insert("gitVersion".to_owned(), Json::from(release));
        members.insert("gitCommit".to_owned(), Json::from(""));
    }

    files.json("version.json", &version);
    openapi(&server, &mut files)?;
    definitions::record(&server, &mut files, out)?;
    // Tables need the definitions of tests, which the step before creates.
    files.sample("tables.json", &tables::record(&server)?);
    Ok(files)
}

/// The default roles and their bindings, which a server creates that checks them.
fn roles(program: &Path, resources: &Json) -> Result<Vec<Json>, Error> {
    // The other server allows everything, and so creates no roles.
    let process = Process::start_with(program, &["-authorization-mode", "RBAC"])?;
    let server = Server {
        client: Client::new(process.url()),
    };
    let group = |resource: &&Json| {
        resource.get("group").and_then(Json::as_str) == Some("rbac.authorization.k8s.io")
    };
    let resources = resources
        .as_array()
        .into_iter()
        .flatten()
        .filter(group)
        .cloned()
        .collect();

    objects::record(&server, &Json::Array(resources), IDLE)
}

/// The OpenAPI documents, byte by byte. The documents of version 3 are compressed one by one, behind each other in one
/// file; another file has their paths, hashes and sizes.
fn openapi(server: &Server, files: &mut Files) -> Result<(), Error> {
    files.bytes("openapi_v2.json", server.bytes("/openapi/v2", JSON)?);
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let bytes = server.bytes("/openapi/v2", protobuf)?;
    files.test(
        "openapi_v2_protobuf.json",
        &json!({ "size": bytes.len(), "hash": hash(&bytes) }),
    );
    let index = server.json("/openapi/v3", JSON)?;
    let paths = index
        .get("paths")
        .and_then(Json::as_object)
        .ok_or_else(|| Error::Document {
            path: "/openapi/v3".to_owned(),
            message: "`paths` is missing".to_owned(),
        })?;

    // Each document is compressed alone, so that one can be read without the others.
    let mut entries = Vec::new();
    for path in paths.keys() {
        let document = server.document(&format!("/openapi/v3/{path}"), JSON)?;
        let size = files.append("openapi_v3.bin", document.bytes);
        entries.push(json!({ "path": path, "hash": document.etag, "size": size }));
    }
    files.json("openapi_v3.json", &Json::Array(entries));

    Ok(())
}

/// SHA-512 in upper case hexadecimal digits, as in headers `ETag` of the server.
fn hash(bytes: &[u8]) -> String {
    Sha512::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}
