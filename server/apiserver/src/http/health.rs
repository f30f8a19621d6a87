//! `/healthz`, `/livez` and `/readyz`.

use http::{HeaderValue, Response, header};

use super::message::{Body, Head, full, response};
use crate::endpoint::Failure;

/// What kube-apiserver starts with, which clients look for in the verbose answer. A server that answers has started all of it.
const STARTED: [&str; 30] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// The names of the checks of an endpoint, in the order of kube-apiserver.
fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let is_ready = endpoint == "readyz";
    let first = if is_ready {
        ["ping", "log", "etcd", "etcd-readiness", "informer-sync"].as_slice()
    } else {
        &["ping", "log", "loopback-serving-certificate", "etcd"]
    };
    let last = is_ready.then_some("shutdown");
    first.iter().copied().chain(STARTED).chain(last)
}

/// The paths of the endpoints and of their checks.
pub(super) fn paths() -> impl Iterator<Item = String> {
    ["healthz", "livez", "readyz"]
        .into_iter()
        .flat_map(|endpoint| {
            let checks = checks(endpoint).map(move |check| format!("/{endpoint}/{check}"));
            checks.chain([format!("/{endpoint}")])
        })
}

/// The answer of an endpoint, or of one of its checks. The parameter `verbose` asks for a line of each check, and `exclude` leaves
/// one out.
///
/// Behaviour: `k8s.io/apiserver/pkg/server/healthz`.
pub(super) fn health(
    head: &Head,
    endpoint: &str,
    check: Option<&str>,
) -> Result<Response<Body>, Failure> {
    let is_verbose = head.query.get("verbose").is_some();
    let text = match check {
        None if is_verbose => {
            let mut excluded: Vec<&str> = head.query.all("exclude").collect();
            let lines = checks(endpoint).map(|check| {
                let before = excluded.len();
                excluded.retain(|name| *name != check);
                let note = if excluded.len() < before {
                    "excluded: "
                } else {
                    ""
                };
                format!("[+]{check} {note}ok\n")
            });
            let lines: String = lines.collect();
            format!("{lines}{}{endpoint} check passed\n", warning(&excluded))
        }
        None => "ok".to_owned(),
        Some(check) if checks(endpoint).any(|one| one == check) => "ok".to_owned(),
        Some(_) => return Err(Failure::path_not_found()),
    };

    let mut answer = response(200, "text/plain; charset=utf-8", full(text));
    let nosniff = HeaderValue::from_static("nosniff");
    answer
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    Ok(answer)
}

/// The line about checks that no endpoint has.
fn warning(unknown: &[&str]) -> String {
    let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            names.join(",")
        ),
    }
}
