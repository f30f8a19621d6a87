//! What `/metrics` shows of requests and objects.

use http::{Method, header};

use super::message::Head;
use super::route::Route;
use super::verb::verb;
use crate::endpoint::{Core, Failure, Verb};
use crate::gate::Gate;
use crate::metrics::{Labels, Metrics};
use crate::store::List;

/// The label of requests to a path that is not one of a resource.
fn path_label(head: &Head, route: &Route) -> String {
    let label = match route {
        Route::Health { endpoint, .. } => return format!("/{endpoint}"),
        Route::Test(_) => "/test",
        Route::Page(_) => "/ui",
        Route::Paths => "/",
        Route::Groups | Route::Group(_) | Route::GroupVersion { .. } => "/apis",
        Route::OpenApiV3(_) => "/openapi/v3",
        Route::Unknown | Route::Resource(_) => "",
        // These have one path.
        _ => head.path.trim_end_matches('/'),
    };
    label.to_owned()
}

/// The labels of a request.
pub(super) fn labels(core: &Core, head: &Head, route: &Route) -> Labels {
    let other = |path: &str| Labels {
        verb: method(&head.method),
        subresource: path.to_owned(),
        ..Labels::default()
    };
    let path = match route {
        Route::Resource(path) => path,
        route => return other(&path_label(head, route)),
    };

    // Requests to resources that are not served have no series of their own.
    let registry = core.registry();
    let Some(served) = registry.get(&path.group, &path.version, &path.plural) else {
        return other("");
    };
    let facts = &served.facts;
    let verb = verb(head, path).ok();
    let is_apply = head
        .header(header::CONTENT_TYPE)
        .is_some_and(|media| media.starts_with("application/apply-patch"));
    let dry_run: Vec<&str> = head
        .query
        .all("dryRun")
        .filter(|value| !value.is_empty())
        .collect();

    Labels {
        verb: match verb {
            Some(Verb::List) => "LIST",
            Some(Verb::Watch) => "WATCH",
            Some(Verb::DeleteCollection) => "DELETECOLLECTION",
            Some(Verb::Patch) if is_apply => "APPLY",
            _ => method(&head.method),
        },
        dry_run: match dry_run.as_slice() {
            [] => "",
            values if values.iter().all(|value| *value == "All") => "All",
            _ => "invalid",
        },
        group: facts.group.to_string(),
        version: facts.version.to_string(),
        resource: facts.plural.to_string(),
        subresource: facts
            .subresource(&path.subresource)
            .map_or_else(String::new, |_| path.subresource.clone()),
        scope: if !path.name.is_empty() || verb == Some(Verb::Create) {
            "resource"
        } else if !path.namespace.is_empty() {
            "namespace"
        } else {
            "cluster"
        },
    }
}

fn method(method: &Method) -> &'static str {
    let known = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT",
    ];
    known
        .into_iter()
        .find(|name| *name == method.as_str())
        .unwrap_or("other")
}

/// Whether a request may end definitions.
pub(super) fn deletes_definitions(head: &Head, route: &Route) -> bool {
    let Route::Resource(path) = route else {
        return false;
    };
    head.method == Method::DELETE && path.plural == "customresourcedefinitions"
}

/// Removes the series of resources that are no longer served.
pub(super) fn retain_served(core: &Core, metrics: &Metrics) {
    let registry = core.registry();
    metrics.retain(|group, version, plural| registry.get(group, version, plural).is_some());
}

/// The text of `/metrics`.
pub(super) async fn text(core: &Core, gate: &Gate) -> Result<String, Failure> {
    let (registry, metrics) = (core.registry(), &gate.metrics);
    retain_served(core, metrics);
    metrics.set_seats(core.nominal_seats(gate.limits.requests).await?);
    metrics.clear_objects();
    for served in registry.stored() {
        let page = core
            .store
            .list(List::new(served.prefix("")?).limit(0))
            .await?;
        let (group, plural) = (served.storage_group(), &served.facts.plural);
        metrics.set_objects(group, plural, &served.group_resource(), page.remaining);
    }

    let failed = |error| Failure::new(500, "InternalError", error);
    let admission = core.admission_metrics.text().map_err(failed)?;
    Ok(metrics.text().map_err(failed)? + &admission)
}
