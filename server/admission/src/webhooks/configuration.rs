//! Configurations of webhooks, and which requests they select.

use std::collections::HashMap;
use std::time::Duration;

use fieldmanager_managedfields::{Details, Status};
use fieldmanager_structural::internal::{ObjectExt, selects};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::caller::ClientConfig;
use crate::{AdmissionOperation, AdmissionRequest, Cluster, Denial, Equivalent};

/// A webhook of a configuration. What a field is by default is what it is without it.
#[derive(Debug)]
pub(super) struct Webhook {
    /// The name of the configuration.
    pub(super) configuration: String,
    /// The name of the webhook.
    pub(super) name: String,
    /// What tells it from all others.
    pub(super) id: String,
    /// Where it is.
    pub(super) client: Result<ClientConfig, String>,
    /// The first version of reviews in its list that is known; empty if none is.
    pub(super) review_version: &'static str,
    /// Whether a call that fails does not matter.
    pub(super) ignores_failures: bool,
    /// Whether it may be called for requests that store nothing; `None` if it does not say.
    pub(super) supports_dry_run: Option<bool>,
    /// Whether it may be called once more.
    pub(super) is_reinvocable: bool,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// The list of its conditions; null if there is none.
    pub(super) conditions: Value,
    rules: Value,
    matches_equivalents: bool,
    namespaces: Value,
    objects: Value,
}

/// The webhooks of all configurations, which are sorted by their names.
///
/// Behaviour: `getMutatingWebhookConfigurations` of `k8s.io/apiserver/pkg/admission/configuration`.
pub(super) fn read_all(configurations: &[Value]) -> Vec<Webhook> {
    let mut sorted: Vec<&Value> = configurations.iter().collect();
    sorted.sort_by_key(|configuration| configuration.metadata_string("name"));
    let mut webhooks = Vec::new();
    for configuration in sorted {
        let owner = configuration.metadata_string("name");
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for webhook in items(configuration, "webhooks") {
            // Names may repeat in old configurations, so the id has a number.
            let count = seen.entry(webhook.string("name")).or_default();
            webhooks.push(Webhook::read(owner, webhook, *count));
            *count += 1;
        }
    }
    webhooks
}

impl Webhook {
    fn read(configuration: &str, webhook: &Value, count: usize) -> Self {
        let name = webhook.string("name");
        let field = |name: &str| webhook.get(name).cloned().unwrap_or_default();
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_i64);
        let versions = items(webhook, "admissionReviewVersions").filter_map(Value::as_str);
        let mut versions = versions.filter_map(|version| {
            ["v1", "v1beta1"]
                .into_iter()
                .find(|known| *known == version)
        });
        Webhook {
            configuration: configuration.to_owned(),
            name: name.to_owned(),
            id: format!("{configuration}/{name}/{count}"),
            client: ClientConfig::read(&field("clientConfig")),
            review_version: versions.next().unwrap_or_default(),
            ignores_failures: webhook.string("failurePolicy") == "Ignore",
            supports_dry_run: match webhook.string("sideEffects") {
                "" => None,
                effects => Some(matches!(effects, "None" | "NoneOnDryRun")),
            },
            is_reinvocable: webhook.string("reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(seconds.map_or(10, i64::unsigned_abs)),
            conditions: field("matchConditions"),
            rules: field("rules"),
            matches_equivalents: webhook.string("matchPolicy") != "Exact",
            namespaces: field("namespaceSelector"),
            objects: field("objectSelector"),
        }
    }

    /// As what the webhook has to see a request; `None` if its rules or selectors do not select it.
    ///
    /// Behaviour: `Webhook.ShouldCallHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/generic`.
    pub(super) async fn select(
        &self,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Result<Option<Equivalent>, Denial> {
        let Some(selected) = self.select_resource(request, cluster) else {
            return Ok(None);
        };
        // The old object counts too: removing a label must not hide a change from its webhook.
        let has_labels = |object: Option<&Value>| {
            object.is_some_and(|object| selects(&self.objects, object.metadata_field("labels")))
        };
        let is_selected =
            is_everything(&self.objects) || has_labels(request.object) || has_labels(request.old);
        let is_selected = is_selected && self.selects_namespace(request, cluster).await?;
        Ok(is_selected.then_some(selected))
    }

    fn select_resource(
        &self,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Option<Equivalent> {
        let rules = self.rules.as_list()?;
        let own = Equivalent {
            group: request.group.to_owned(),
            version: request.version.to_owned(),
            resource: request.resource.to_owned(),
            kind: request.kind.clone(),
        };
        // The version of the request goes first, since it needs no conversion.
        if rules.iter().any(|rule| matches(rule, request, &own)) {
            return Some(own);
        }
        if !self.matches_equivalents || rules.is_empty() {
            return None;
        }
        let equivalents = cluster.equivalents(request);
        rules.iter().find_map(|rule| {
            let mut others = equivalents.iter();
            others
                .find(|other| **other != own && matches(rule, request, other))
                .cloned()
        })
    }

    /// Behaviour: `Matcher.MatchNamespaceSelector` of `k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace`.
    async fn selects_namespace(
        &self,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Result<bool, Denial> {
        let is_namespace = request.resource == "namespaces";
        if is_everything(&self.namespaces) || (request.namespace.is_empty() && !is_namespace) {
            return Ok(true);
        }

        let is_written = matches!(
            request.operation,
            AdmissionOperation::Create | AdmissionOperation::Update
        );
        // A namespace is selected by its labels to be: it is not stored yet, or has others.
        if is_namespace && request.subresource.is_empty() && is_written {
            let labels = request
                .object
                .and_then(|object| object.metadata_field("labels"));
            return Ok(selects(&self.namespaces, labels));
        }
        let name = request.namespace;
        match cluster.get(("", "namespaces"), "", name).await? {
            Some(found) => Ok(selects(&self.namespaces, found.metadata_field("labels"))),
            None => Err(not_found("namespaces", name)),
        }
    }
}

/// Whether a rule selects a request, as one for a resource.
///
/// Behaviour: `Matcher.Matches` of `k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules`.
fn matches(rule: &Value, request: &AdmissionRequest<'_>, of: &Equivalent) -> bool {
    let has = |list: &str, name: &str| {
        let mut names = items(rule, list).filter_map(Value::as_str);
        names.any(|item| item == "*" || item == name)
    };
    // A Namespace has its own name as its namespace, but is an object of the cluster.
    let names = (&*of.group, &*of.version, &*of.resource);
    let is_cluster = names == ("", "v1", "namespaces") || request.namespace.is_empty();
    let in_scope = match rule.string("scope") {
        "" | "*" => true,
        "Namespaced" => !is_cluster,
        "Cluster" => is_cluster,
        _ => false,
    };
    in_scope
        && has("operations", request.operation.name())
        && has("apiGroups", &of.group)
        && has("apiVersions", &of.version)
        && items(rule, "resources")
            .filter_map(Value::as_str)
            .any(|item| {
                let (name, part) = item.split_once('/').unwrap_or((item, ""));
                (name == "*" || name == of.resource) && (part == "*" || part == request.subresource)
            })
}

/// Whether a selector has no terms.
fn is_everything(selector: &Value) -> bool {
    let is_empty = |name: &str| match selector.get(name) {
        Some(Value::Map(terms)) => terms.is_empty(),
        Some(Value::List(terms)) => terms.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

fn items<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    let list = object.get(name).and_then(Value::as_list);
    list.into_iter().flatten()
}

/// 404.
fn not_found(resource: &str, name: &str) -> Denial {
    let mut details = Details::default();
    (details.kind, details.name) = (resource.to_owned(), name.to_owned());
    let message = format!("{resource} {} not found", quote(name));
    Status::failure(404, "NotFound", message, Some(details)).into()
}
