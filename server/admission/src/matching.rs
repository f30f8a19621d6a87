//! Which requests webhooks and policies are about.

use fieldmanager_managedfields::Status;
use fieldmanager_structural::internal::{ObjectExt, selects};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use crate::{AdmissionOperation, AdmissionRequest, Cluster, Denial, Equivalent};

/// The rules and the selectors of a webhook, of a policy, or of a binding.
#[derive(Debug)]
pub(crate) struct Constraints {
    rules: Value,
    excluded: Value,
    /// Whether all requests are selected if there are no rules.
    selects_without_rules: bool,
    matches_equivalents: bool,
    namespaces: Value,
    objects: Value,
}

impl Constraints {
    /// Those of a webhook.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Constraints::read(webhook, "rules")
    }

    /// Those of a policy or a binding, `MatchResources`.
    pub(crate) fn of_policy(resources: &Value) -> Self {
        Constraints {
            selects_without_rules: true,
            ..Constraints::read(resources, "resourceRules")
        }
    }

    fn read(from: &Value, rules: &str) -> Self {
        let field = |name: &str| from.get(name).cloned().unwrap_or_default();
        Constraints {
            rules: field(rules),
            excluded: field("excludeResourceRules"),
            selects_without_rules: false,
            matches_equivalents: from.string("matchPolicy") != "Exact",
            namespaces: field("namespaceSelector"),
            objects: field("objectSelector"),
        }
    }

    /// As what a webhook or a policy sees a request; `None` if the rules or the selectors do not select it.
    ///
    /// # Errors
    ///
    /// The namespace of the request, whose labels a selector needs, does not exist.
    ///
    /// Behaviour: `Webhook.ShouldCallHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/generic`, and `Matcher.Matches` of
    /// `k8s.io/apiserver/pkg/admission/plugin/policy/matching`.
    pub(crate) async fn select(
        &self,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Result<Option<Equivalent>, Denial> {
        let is_excluded = || {
            let excluded = self.select_resource(&self.excluded, request, cluster);
            excluded.is_some()
        };
        let selected = match &self.rules {
            Value::List(rules) if !rules.is_empty() => {
                self.select_resource(&self.rules, request, cluster)
            }
            _ => self.selects_without_rules.then(|| own(request)),
        };
        let Some(selected) = selected.filter(|_| !is_excluded()) else {
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
        rules: &Value,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Option<Equivalent> {
        let rules = rules.as_list()?;
        let own = own(request);
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
        match cluster.namespace_labels(name).await? {
            Some(labels) => Ok(selects(&self.namespaces, Some(&labels))),
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
    // A policy may name objects.
    let mut named = items(rule, "resourceNames").peekable();
    let is_named = named.peek().is_none() || named.any(|name| name.as_str() == Some(request.name));
    in_scope
        && is_named
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

/// The resource of a request.
fn own(request: &AdmissionRequest<'_>) -> Equivalent {
    Equivalent {
        group: request.group.to_owned(),
        version: request.version.to_owned(),
        resource: request.resource.to_owned(),
        kind: request.kind.clone(),
    }
}

/// The items of a list that is a field.
pub(crate) fn items<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    let list = object.get(name).and_then(Value::as_list);
    list.into_iter().flatten()
}

/// 404.
pub(crate) fn not_found(resource: &str, name: &str) -> Denial {
    let message = format!("{resource} {} not found", quote(name));
    Status::about(404, "NotFound", ("", resource, name), message).into()
}
