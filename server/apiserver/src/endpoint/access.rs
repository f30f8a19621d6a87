//! Whether a user may do what a request asks for.

use fieldmanager_access::{
    AccessTarget, Attributes, Decision, GrantError, GrantRequest, Impersonation, RBAC_GROUP, User,
};
use fieldmanager_value::Value;

use super::{Call, Core, Failure};
use crate::object::{map, text};

impl Core {
    /// What the authorizer says about a request.
    pub(crate) async fn decide(&self, attributes: &Attributes<'_>) -> Result<Decision, Failure> {
        if !self.access.has_rules() {
            return Ok(everything_allowed());
        }
        Ok(self.access.policy(&self.store).await?.authorize(attributes))
    }

    /// Refuses a request that its user may not send with 403.
    pub(crate) async fn check(&self, attributes: &Attributes<'_>) -> Result<(), Failure> {
        let decision = self.decide(attributes).await?;
        if decision.allowed {
            return Ok(());
        }
        Err(forbidden(attributes, &decision.reason))
    }

    /// The user in whose name a request is answered, if its own user may ask for that.
    pub(crate) async fn impersonated(
        &self,
        wanted: &Impersonation,
        request: &Attributes<'_>,
    ) -> Result<User, Failure> {
        let policy = if self.access.has_rules() {
            Some(self.access.policy(&self.store).await?)
        } else {
            None
        };
        let allows = |question: &Attributes<'_>| match &policy {
            Some(policy) => policy.authorize(question),
            None => everything_allowed(),
        };
        let requestor = &request.user.name;
        let last = self.access.last_impersonation(requestor);
        let (user, mode) = wanted.user(request, last, allows, forbidden)?;
        self.access.set_last_impersonation(requestor, mode);
        Ok(user)
    }

    /// The status of a review of rules: what a user may do in a namespace.
    pub(super) async fn rules(&self, user: &User, namespace: &str) -> Result<Value, Failure> {
        if !self.access.has_rules() {
            return Ok(everything());
        }
        let policy = self.access.policy(&self.store).await?;
        Ok(policy.rules_review(user, namespace))
    }

    /// Refuses an update or an apply that creates its object, unless its user may create it.
    pub(super) async fn check_creation(&self, call: &Call<'_>) -> Result<(), Failure> {
        if !self.access.has_rules() {
            return Ok(());
        }
        let facts = &call.served.facts;
        let target = AccessTarget::Resource {
            group: &facts.group,
            version: &facts.version,
            resource: &facts.plural,
            subresource: call.subresource,
            namespace: call.namespace,
            name: call.name,
        };
        self.check(&Attributes {
            user: call.user,
            verb: "create",
            target,
        })
        .await
    }

    /// Refuses a role, or a binding of one, that gives permissions which the user of the request does not have.
    pub(super) async fn check_grant(
        &self,
        call: &Call<'_>,
        object: &Value,
        live: Option<&Value>,
    ) -> Result<(), Failure> {
        let facts = &call.served.facts;
        if !self.access.has_rules() || facts.group != RBAC_GROUP {
            return Ok(());
        }
        let request = GrantRequest {
            user: call.user,
            resource: &facts.plural,
            namespace: call.namespace,
            name: call.name,
        };
        let policy = self.access.policy(&self.store).await?;
        let checked = policy.check_grant(&request, object, live);

        checked.map_err(|error| match error {
            GrantError::Forbidden(reason) => {
                // A name is generated after the check.
                let is_generated = !text(object, &["metadata", "generateName"]).is_empty();
                let name = match text(object, &["metadata", "name"]) {
                    _ if is_generated && live.is_none() => "",
                    name => name,
                };
                let named = Call { name, ..*call };
                Failure::of_object(403, "Forbidden", &named, |resource, quoted| match name {
                    "" => format!("{resource} is forbidden: {reason}"),
                    _ => format!("{resource} {quoted} is forbidden: {reason}"),
                })
            }
            GrantError::NotFound(role) => Failure::not_found(&Call {
                name: &role,
                ..*call
            }),
            GrantError::BadRequest(message) => Failure::bad_request(message),
            GrantError::Internal(message) => Failure::new(500, "", message),
        })
    }
}

/// 403 for a request, with the reason of the authorizer.
fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Failure {
    let about = match attributes.target {
        AccessTarget::Resource {
            group,
            resource,
            name,
            ..
        } => (group, resource, name),
        AccessTarget::Path(_) => ("", "", ""),
    };
    let message = attributes.forbidden_message(reason);
    Failure::about(403, "Forbidden", about, message)
}

/// The decision of a server without authorization.
fn everything_allowed() -> Decision {
    Decision {
        allowed: true,
        reason: "everything is allowed: the server has no authorization".to_owned(),
        ..Decision::default()
    }
}

/// The rules of a user who may do everything.
fn everything() -> Value {
    let list = |item: Value| Value::List([item].into_iter().collect());
    let all = || list("*".into());
    let paths = map([("verbs", all()), ("nonResourceURLs", all())]);
    let resources = map([("verbs", all()), ("apiGroups", all()), ("resources", all())]);
    map([
        ("resourceRules", list(resources)),
        ("nonResourceRules", list(paths)),
        ("incomplete", false.into()),
    ])
}
