//! The status of ValidatingAdmissionPolicies: the warnings about the types of their expressions.
//!
//! Behaviour: `k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus`, which runs in kube-controller-manager.

use std::sync::Arc;

use fieldmanager_admission::Cluster;
use fieldmanager_admission::policies::{ServedKinds, check_types};
use fieldmanager_handlers::Action;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::{Call, Core, Failure, Verb};
use crate::object::{map, with};
use crate::query::Query;
use crate::registry::Served;

/// The resource whose objects have such a status.
const POLICIES: (&str, &str) = (
    "admissionregistration.k8s.io",
    "validatingadmissionpolicies",
);

/// The manager of the status, and how it applies.
const QUERY: &str = "fieldManager=validatingadmissionpolicy-status&force=true";

impl Core {
    /// Checks the types of a policy after a write of it, and writes its status. The answer has the object from before.
    pub(super) async fn check_types_after(
        &self,
        call: &Call<'_>,
        action: Action,
        policy: &Value,
    ) -> Result<(), Failure> {
        let facts = &call.served.facts;
        let is_policy = (&*facts.group, &*facts.plural) == POLICIES;
        let is_written = matches!(action, Action::Create | Action::Update);
        if !(is_policy && is_written && call.subresource.is_empty() && self.checks_types) {
            return Ok(());
        }
        match check_types(policy, self) {
            Some(status) => self.write_checked_types(call.served, policy, status).await,
            None => Ok(()),
        }
    }

    /// Checks the policies that the store has from an earlier run, whose status is not of their generation.
    pub(crate) async fn check_stored_types(&self) {
        let registry = self.registry();
        let Some(served) = registry.stored_as(POLICIES.0, POLICIES.1) else {
            return;
        };
        let policies = Cluster::list(self, POLICIES, "").await.unwrap_or_default();

        for policy in policies.iter().filter(|_| self.checks_types) {
            let Some(status) = check_types(policy, self) else {
                continue;
            };
            if let Err(failure) = self.write_checked_types(served, policy, status).await {
                let (name, reason) = (policy.name().unwrap_or_default(), failure.status.message);
                tracing::warn!(name, reason, "the types of a policy are not checked");
            }
        }
    }

    /// Applies the status of a policy. It is boxed, because a write of a policy comes here.
    fn write_checked_types<'c>(
        &'c self,
        served: &'c Arc<Served>,
        policy: &Value,
        status: Value,
    ) -> BoxFuture<'c, Result<(), Failure>> {
        let kind = served.kind();
        let name = policy.metadata_field("name").cloned().unwrap_or_default();
        let object = map([
            ("apiVersion", Value::from(kind.api_version())),
            ("kind", Value::from(&kind.kind)),
            ("metadata", map([("name", name)])),
        ]);
        let object = with(&object, "status", status);
        let how = (
            Verb::Patch,
            Query::of(Some(QUERY)),
            "application/apply-patch+yaml",
        );

        Box::pin(async move {
            match self.write_status(served, how, &object).await {
                // The policy was deleted.
                Err(failure) if failure.status.code == 404 => Ok(()),
                written => written,
            }
        })
    }
}

impl ServedKinds for Core {
    fn kinds(&self, group: &str, version: &str, resource: &str) -> Vec<GroupVersionKind> {
        let registry = self.registry();
        let found = registry.all().filter(|served| {
            let facts = &served.facts;
            (group.is_empty() || facts.group == group)
                && facts.version == version
                && (facts.plural == resource || facts.singular == resource)
        });
        found.map(|served| served.kind().clone()).collect()
    }

    fn document(&self, group: &str, version: &str) -> Option<Value> {
        let path = match group {
            "" => format!("api/{version}"),
            group => format!("apis/{group}/{version}"),
        };
        let document = self.documents().openapi().v3(&path)?;
        Value::from_json_slice(&document.body).ok()
    }
}
