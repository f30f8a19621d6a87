//! A custom resource with two unions. Two managers apply it and conflict about one of them.

use std::io::Write;

use fieldmanager::managedfields::ObjectError;
use fieldmanager::unions::KubeUnion;
use fieldmanager::{ApplyRequest, FieldManager, GroupVersionKind, Time, Types, Value};
use fieldmanager_kube::{ApplyObject, CrdWithUnions};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An application with a source and an exposed address.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "App", namespaced)]
struct AppSpec {
    /// The source of the application: a sum type, whose discriminator is respected.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expose: Option<Expose>,
}

#[derive(Clone, Debug, KubeUnion)]
enum Source {
    /// A repository with the source code.
    Git(Git),
    /// A prebuilt image.
    Image(Image),
    /// The application has no source yet.
    None,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Git {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Image {
    name: String,
}

/// The address of the application: the members are fields, and the discriminator follows them.
#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", deducing)]
#[schemars(transform = Expose::kube_union)]
#[serde(rename_all = "camelCase")]
struct Expose {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<ExposeType>,
    #[kube_union(member)]
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<i32>,
    #[kube_union(member)]
    #[serde(skip_serializing_if = "Option::is_none")]
    host_name: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
enum ExposeType {
    Port,
    HostName,
}

fn app(spec: AppSpec) -> App {
    App::new("web", spec)
}

fn run(out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    // Both the cluster and the field manager read this definition.
    let crd = Value::from_json(&App::crd_with_unions()?.to_string())?;
    writeln!(out, "{}", crd.to_yaml().trim_end())?;
    let kind = GroupVersionKind::new("example.com", "v1", "App");
    let manager = FieldManager::builder(kind)
        .types(Types::load(&crd)?)
        .build()?;
    let noon: Time = "2026-01-31T12:00:00Z".parse()?;

    let repository = Git {
        url: "https://example.org/web".into(),
        branch: Some("main".into()),
    };
    let expose = Expose {
        r#type: None,
        port: Some(8080),
        host_name: None,
    };
    let config = app(AppSpec {
        source: Some(Source::Git(repository)),
        expose: Some(expose),
    });
    let live = manager
        .apply_to(
            ApplyRequest::for_objects(None, &config)
                .manager("developer")
                .at(noon),
        )?
        .object;
    writeln!(out, "---\n# developer applies a repository and a port")?;
    show(out, &live)?;

    // The pipeline has built an image.
    let image = Image {
        name: "example.org/web:1".into(),
    };
    let built = app(AppSpec {
        source: Some(Source::Image(image)),
        expose: None,
    });
    writeln!(out, "---\n# pipeline applies an image")?;
    match manager.apply_to(
        ApplyRequest::for_objects(Some(&live), &built)
            .manager("pipeline")
            .at(noon),
    ) {
        Err(ObjectError::Operation(refused)) => writeln!(out, "error: {refused}")?,
        other => return Err(format!("expected a conflict, got {other:?}").into()),
    }
    let forced = manager
        .apply_to(
            ApplyRequest::for_objects(Some(&live), &built)
                .manager("pipeline")
                .force()
                .at(noon),
        )?
        .object;
    writeln!(
        out,
        "---\n# pipeline applies it by force, which clears the repository"
    )?;
    show(out, &forced)?;

    // Sets a member of the other union. The configuration does not contain the discriminator, which changes
    // nevertheless.
    let expose = Expose {
        r#type: None,
        port: None,
        host_name: Some("web.example.org".into()),
    };
    let named = app(AppSpec {
        source: None,
        expose: Some(expose),
    });
    writeln!(out, "---\n# network applies a host name")?;
    match manager.apply_to(
        ApplyRequest::for_objects(Some(&forced), &named)
            .manager("network")
            .at(noon),
    ) {
        Err(ObjectError::Operation(refused)) => writeln!(out, "error: {refused}")?,
        other => return Err(format!("expected a conflict, got {other:?}").into()),
    }
    Ok(())
}

/// Prints the object without the fields that the API server adds.
fn show(out: &mut impl Write, app: &App) -> Result<(), Box<dyn std::error::Error>> {
    let spec = Value::from_json(&serde_json::to_string(&app.spec)?)?;
    writeln!(out, "{}", spec.to_yaml().trim_end())?;
    for entry in app.metadata.managed_fields.iter().flatten() {
        let name = entry.manager.as_deref().unwrap_or_default();
        let fields = entry
            .fields_v1
            .as_ref()
            .map(serde_json::to_string)
            .transpose()?
            .unwrap_or_default();
        writeln!(out, "# {name} owns {fields}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&mut std::io::stdout().lock())
}
