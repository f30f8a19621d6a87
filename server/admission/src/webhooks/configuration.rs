//! Configurations of webhooks, and which requests they select.

use std::collections::HashMap;
use std::time::Duration;

use fieldmanager_cel::Environment;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;

use super::caller::ClientConfig;
use crate::expressions::{Compiled, conditions};
use crate::matching::{Constraints, items};

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
    /// Its conditions.
    pub(super) conditions: Vec<Compiled>,
    /// The requests that it wants.
    pub(super) constraints: Constraints,
}

/// The webhooks of all configurations, which are sorted by their names.
///
/// Behaviour: `getMutatingWebhookConfigurations` of `k8s.io/apiserver/pkg/admission/configuration`.
pub(super) fn read_all(configurations: &[Value], environment: &Environment) -> Vec<Webhook> {
    let mut sorted: Vec<&Value> = configurations.iter().collect();
    sorted.sort_by_key(|configuration| configuration.metadata_string("name"));
    let mut webhooks = Vec::new();
    for configuration in sorted {
        let owner = configuration.metadata_string("name");
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for webhook in items(configuration, "webhooks") {
            // Names may repeat in old configurations, so the id has a number.
            let count = seen.entry(webhook.string("name")).or_default();
            webhooks.push(Webhook::read(owner, webhook, *count, environment));
            *count += 1;
        }
    }
    webhooks
}

impl Webhook {
    fn read(configuration: &str, webhook: &Value, count: usize, environment: &Environment) -> Self {
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
            conditions: conditions(environment, webhook),
            constraints: Constraints::of_webhook(webhook),
        }
    }
}
