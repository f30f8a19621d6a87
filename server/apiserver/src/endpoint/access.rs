//! Whether a user may do what a request asks for.

use fieldmanager_access::{Attributes, Decision, Impersonation, RBAC_GROUP, RbacPolicy, User};
use fieldmanager_value::Value;

use super::{Call, Core, Failure};

/// The rules of a user who may do everything.
const EVERYTHING: &str = r#"{"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": false}"#;

impl Core {
    /// What the authorizer says about a request.
    pub(crate) async fn decide(&self, attributes: &Attributes<'_>) -> Result<Decision, Failure> {
        let policy = self.access.policy(&self.store).await?;
        Ok(authorize(policy.as_deref(), attributes))
    }

    /// Refuses a request that its user may not send with 403.
    pub(crate) async fn check(&self, attributes: &Attributes<'_>) -> Result<(), Failure> {
        let decision = self.decide(attributes).await?;
        if decision.allowed {
            return Ok(());
        }
        Err(attributes.forbidden(&decision.reason).into())
    }

    /// The user in whose name a request is answered, if its own user may ask for that.
    pub(crate) async fn impersonated(
        &self,
        wanted: &Impersonation,
        request: &Attributes<'_>,
    ) -> Result<User, Failure> {
        let policy = self.access.policy(&self.store).await?;
        let allows = |question: &Attributes<'_>| authorize(policy.as_deref(), question);
        let requestor = &request.user.name;
        let last = self.access.last_impersonation(requestor);
        let (user, mode) = wanted.user(request, last, allows)?;
        self.access.set_last_impersonation(requestor, mode);
        Ok(user)
    }

    /// The status of a review of rules: what a user may do in a namespace.
    pub(super) async fn rules(&self, user: &User, namespace: &str) -> Result<Value, Failure> {
        let policy = self.access.policy(&self.store).await?;
        let everything = || Value::from_json(EVERYTHING).unwrap_or_default();
        Ok(policy.map_or_else(everything, |policy| policy.rules_review(user, namespace)))
    }

    /// Refuses an update or an apply that creates its object, unless its user may create it.
    pub(super) async fn check_creation(&self, call: &Call<'_>) -> Result<(), Failure> {
        self.check(&call.attributes("create")).await
    }

    /// Refuses a role, or a binding of one, that gives permissions which the user of the request does not have.
    pub(super) async fn check_grant(
        &self,
        call: &Call<'_>,
        object: &Value,
        live: Option<&Value>,
    ) -> Result<(), Failure> {
        if call.served.facts.group == RBAC_GROUP
            && let Some(policy) = self.access.policy(&self.store).await?
        {
            policy.check_grant(&call.attributes(call.verb.name()), object, live)?;
        }
        Ok(())
    }
}

impl Call<'_> {
    /// What its user does with a verb.
    fn attributes<'a>(&'a self, verb: &'a str) -> Attributes<'a> {
        let facts = &self.served.facts;
        Attributes {
            group: &facts.group,
            version: &facts.version,
            resource: &facts.plural,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            ..Attributes::new(self.user, verb)
        }
    }
}

/// The decision of a policy, or of a server without authorization.
fn authorize(policy: Option<&RbacPolicy>, attributes: &Attributes<'_>) -> Decision {
    let everything_allowed = || Decision {
        allowed: true,
        reason: "everything is allowed: the server has no authorization".to_owned(),
        ..Decision::default()
    };
    policy.map_or_else(everything_allowed, |policy| policy.authorize(attributes))
}
