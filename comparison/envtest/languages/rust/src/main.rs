//! The crate `envtest` of kube-rs starts the programs of `KUBEBUILDER_ASSETS`, and its client writes.
#![allow(clippy::print_stdout, reason = "a command that reports")]

use std::error::Error;

use envtest::Environment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut environment = Environment::default();
    environment.binary_assets_settings.download_binary_assets = false;
    let server = environment.create().await?;
    let client = server.client()?;

    let version = client.apiserver_version().await?.git_version;
    if !version.ends_with("+fieldmanager") {
        return Err(format!("the server is {version}").into());
    }

    let configuration = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"colour": "green"},
    });
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let params = PatchParams::apply("tests");
    let applied = maps
        .patch("web", &params, &Patch::Apply(&configuration))
        .await?;
    let owners = applied.metadata.managed_fields.unwrap_or_default();
    let manager = owners.first().and_then(|owner| owner.manager.as_deref());
    if manager != Some("tests") {
        return Err(format!("the manager is {manager:?}").into());
    }

    server.destroy().await?;
    println!("envtest of kube-rs: {version}");
    Ok(())
}
