//! Configurations of webhooks, and which requests they select.

use std::collections::HashMap;
use std::time::Duration;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::{ObjectExt, selects};
use fieldmanager_value::Value;

use super::caller::ClientConfig;
use crate::{AdmissionRequest, Cluster, Denial, Operation};

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
    rules: Vec<Rule>,
    matches_equivalents: bool,
    namespaces: Value,
    objects: Value,
}

#[derive(Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: String,
}

/// What a webhook is asked about: the resource and the kind of the request, or others that have the same objects.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) kind: GroupVersionKind,
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
        let versions = strings(webhook, "admissionReviewVersions");
        let known = |version: String| {
            ["v1", "v1beta1"]
                .into_iter()
                .find(|known| *known == version)
        };
        Webhook {
            configuration: configuration.to_owned(),
            name: name.to_owned(),
            id: format!("{configuration}/{name}/{count}"),
            client: ClientConfig::read(&field("clientConfig")),
            review_version: versions.into_iter().find_map(known).unwrap_or_default(),
            ignores_failures: webhook.string("failurePolicy") == "Ignore",
            supports_dry_run: match webhook.string("sideEffects") {
                "" => None,
                effects => Some(matches!(effects, "None" | "NoneOnDryRun")),
            },
            is_reinvocable: webhook.string("reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(seconds.map_or(10, i64::unsigned_abs)),
            conditions: field("matchConditions"),
            rules: items(webhook, "rules").map(Rule::read).collect(),
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
    ) -> Result<Option<Selected>, Denial> {
        let Some(selected) = self.select_resource(request, cluster) else {
            return Ok(None);
        };
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
    ) -> Option<Selected> {
        let own = [request.group, request.version, request.resource];
        let matches = |rule: &Rule, names: [&str; 3]| rule.matches(request, names);
        if self.rules.iter().any(|rule| matches(rule, own)) {
            return Some(Selected {
                group: request.group.to_owned(),
                version: request.version.to_owned(),
                resource: request.resource.to_owned(),
                kind: request.kind.clone(),
            });
        }
        if !self.matches_equivalents || self.rules.is_empty() {
            return None;
        }

        let equivalents = cluster.equivalents(request);
        let found = self.rules.iter().find_map(|rule| {
            equivalents.iter().find(|other| {
                let names = [&*other.group, &*other.version, &*other.resource];
                names != own && matches(rule, names)
            })
        })?;
        Some(Selected {
            group: found.group.clone(),
            version: found.version.clone(),
            resource: found.resource.clone(),
            kind: found.kind.clone(),
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

        let is_written = matches!(request.operation, Operation::Create | Operation::Update);
        if is_namespace && request.subresource.is_empty() && is_written {
            let labels = request
                .object
                .and_then(|object| object.metadata_field("labels"));
            return Ok(selects(&self.namespaces, labels));
        }
        let name = request.namespace;
        match cluster.get(("", "namespaces"), "", name).await? {
            Some(found) => Ok(selects(&self.namespaces, found.metadata_field("labels"))),
            None => Err(super::not_found("namespaces", name)),
        }
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        Rule {
            operations: strings(rule, "operations"),
            groups: strings(rule, "apiGroups"),
            versions: strings(rule, "apiVersions"),
            resources: strings(rule, "resources"),
            scope: rule.string("scope").to_owned(),
        }
    }

    /// Whether the rule selects a request, as one for a group, a version and a resource.
    ///
    /// Behaviour: `Matcher.Matches` of `k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules`.
    fn matches(&self, request: &AdmissionRequest<'_>, names: [&str; 3]) -> bool {
        let [group, version, resource] = names;
        let has = |list: &[String], name: &str| list.iter().any(|item| item == "*" || item == name);
        let is_cluster = names == ["", "v1", "namespaces"] || request.namespace.is_empty();
        let in_scope = match self.scope.as_str() {
            "" | "*" => true,
            "Namespaced" => !is_cluster,
            "Cluster" => is_cluster,
            _ => false,
        };
        in_scope
            && has(&self.operations, request.operation.name())
            && has(&self.groups, group)
            && has(&self.versions, version)
            && self.resources.iter().any(|item| {
                let (name, part) = item.split_once('/').unwrap_or((item, ""));
                (name == "*" || name == resource) && (part == "*" || part == request.subresource)
            })
    }
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

fn strings(object: &Value, name: &str) -> Vec<String> {
    let texts = items(object, name).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
