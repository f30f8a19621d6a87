//! Nobody grants what they do not have.

use fieldmanager_structural::internal::path_segment;
use fieldmanager_value::Value;
use fieldmanager_value::internal::{go_format::quote, level};

use super::cover::{TooManyPermissions, missing};
use super::policy::{RBAC_GROUP, RbacPolicy, RoleError, RoleRef, aggregate};
use super::rule::{PolicyRule, items, quote_all};
use crate::{AccessTarget, Attributes, User};

/// A request that writes a role or a binding.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest<'a> {
    /// Who sends it.
    pub user: &'a User,
    /// The resource: `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub resource: &'a str,
    /// The namespace in the path; empty for objects of cluster scope.
    pub namespace: &'a str,
    /// The name in the path, which is empty when an object is created with POST.
    pub name: &'a str,
}

/// Why a role or binding must not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantError {
    /// 403: the text after `RESOURCE "NAME" is forbidden: `.
    Forbidden(String),
    /// 404: the role of this name, to which a binding refers, does not exist. The `Status` names the resource of the
    /// binding.
    NotFound(String),
    /// 400, with the message.
    BadRequest(String),
    /// 500, with the message and without a reason.
    Internal(String),
}

impl RbacPolicy {
    /// Checks whether a user may write a role, or a binding of one: they have the permissions in it, or may `escalate` roles
    /// or `bind` the role. `old` is the object that is replaced. Both have the defaults of their kind, and were not
    /// validated. An update of owner references, finalizers and managed fields alone grants nothing.
    ///
    /// # Errors
    ///
    /// [`GrantError`], whose text is that of kube-apiserver.
    ///
    /// Behaviour: `pkg/registry/rbac/*/policybased`.
    pub fn check_grant(
        &self,
        request: &GrantRequest<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), GrantError> {
        if request.user.is_master() || old.is_some_and(|old| changes_only_bookkeeping(object, old))
        {
            return Ok(());
        }
        match request.resource {
            "clusterroles" | "roles" => self.check_role(request, object, old),
            "clusterrolebindings" | "rolebindings" => self.check_binding(request, object),
            _ => Ok(()),
        }
    }

    fn check_role(
        &self,
        request: &GrantRequest<'_>,
        role: &Value,
        old: Option<&Value>,
    ) -> Result<(), GrantError> {
        if self.may(
            request,
            "escalate",
            RBAC_GROUP,
            request.resource,
            request.name,
        ) {
            return Ok(());
        }

        self.check_rules(request, &PolicyRule::all(role))?;
        // An aggregated role can gather any rule.
        let is_aggregated = has_selectors(role) || old.is_some_and(has_selectors);
        if request.resource == "clusterroles" && is_aggregated {
            let all = || vec!["*".to_owned()];
            let everything = [
                PolicyRule {
                    verbs: all(),
                    groups: all(),
                    resources: all(),
                    ..PolicyRule::default()
                },
                PolicyRule {
                    verbs: all(),
                    paths: all(),
                    ..PolicyRule::default()
                },
            ];
            self.check_rules(request, &everything).map_err(|_| {
                let words = "must have cluster-admin privileges to use the aggregationRule";
                GrantError::Forbidden(words.to_owned())
            })?;
        }
        Ok(())
    }

    fn check_binding(&self, request: &GrantRequest<'_>, binding: &Value) -> Result<(), GrantError> {
        let role = RoleRef::read(binding);
        let resource = match role.kind.as_str() {
            "ClusterRole" => Some("clusterroles"),
            "Role" => Some("roles"),
            _ => None,
        };
        if resource
            .is_some_and(|resource| self.may(request, "bind", &role.group, resource, &role.name))
        {
            return Ok(());
        }

        if resource.is_some() {
            check_reference(&role, request.namespace).map_err(GrantError::BadRequest)?;
        }
        // These errors are not about permissions, so they are not 403.
        let rules = self.rules(&role, request.namespace);
        let rules = rules.map_err(|error| match error {
            RoleError::Missing { name, .. } => GrantError::NotFound(name),
            RoleError::Kind(_) => GrantError::Internal(error.message(None)),
        })?;
        self.check_rules(request, rules)
    }

    /// Whether the user may do something with a role.
    fn may(
        &self,
        request: &GrantRequest<'_>,
        verb: &str,
        group: &str,
        resource: &str,
        name: &str,
    ) -> bool {
        let target = AccessTarget::Resource {
            group,
            version: "*",
            resource,
            subresource: "",
            namespace: request.namespace,
            name,
        };
        let user = request.user;
        self.authorize(&Attributes { user, verb, target }).allowed
    }

    /// Checks that the user has all permissions in rules.
    ///
    /// Behaviour: `ConfirmNoEscalation` of `pkg/registry/rbac/validation`.
    fn check_rules(
        &self,
        request: &GrantRequest<'_>,
        rules: &[PolicyRule],
    ) -> Result<(), GrantError> {
        // What the user has through roles that are missing is not known, which the message says.
        let (held, errors) = self.rules_for(request.user, request.namespace);
        let missing = match missing(&held, rules) {
            Ok(missing) if missing.is_empty() => return Ok(()),
            Ok(missing) => missing.into_iter().collect::<Vec<_>>().join("\n"),
            Err(TooManyPermissions) => "too many permissions to compare".to_owned(),
        };
        let errors = aggregate(&errors, Some(request.resource))
            .map(|errors| format!("; resolution errors: [{errors}]"));

        Err(GrantError::Forbidden(format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{missing}{}",
            quote(&request.user.name),
            quote_all(request.user.groups.iter().map(String::as_str)),
            errors.unwrap_or_default()
        )))
    }
}

/// Checks whether a store can have the role that a binding in a namespace refers to.
fn check_reference(role: &RoleRef, namespace: &str) -> Result<(), String> {
    if role.kind == "Role" && namespace.is_empty() {
        return Err("Namespace parameter required.".to_owned());
    }
    if role.name.is_empty() {
        return Err("Name parameter required.".to_owned());
    }
    let faults = path_segment(&role.name, false);
    if faults.is_empty() {
        return Ok(());
    }
    let (name, faults) = (quote(&role.name), faults.join(";"));
    Err(format!("Name parameter invalid: {name}: {faults}"))
}

fn has_selectors(role: &Value) -> bool {
    let rule = role.get("aggregationRule");
    rule.is_some_and(|rule| items(rule, "clusterRoleSelectors").next().is_some())
}

/// Whether an update changes at most what the garbage collector and field managers write.
///
/// Behaviour: `IsOnlyMutatingGCFields` of `pkg/registry/rbac`.
fn changes_only_bookkeeping(new: &Value, old: &Value) -> bool {
    let compared = |object: &Value| {
        let mut object = object.as_map().cloned().unwrap_or_default();
        let metadata = object.get("metadata").and_then(Value::as_map);
        let mut metadata = metadata.cloned().unwrap_or_default();
        for name in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            metadata.remove(name);
        }
        object.insert("metadata", Value::Map(metadata));
        for name in ["apiVersion", "kind"] {
            object.remove(name);
        }
        without_empty("", &Value::Map(object))
    };
    compared(new) == compared(old)
}

/// A value without fields that are empty, which Go does not distinguish from absent ones.
fn without_empty(name: &str, value: &Value) -> Value {
    let is_present = |name: &str, value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.as_str().is_empty(),
        Value::List(list) => !list.is_empty(),
        // The only pointer in these kinds.
        Value::Map(map) => !map.is_empty() || name == "aggregationRule",
        _ => true,
    };
    level(|| match value {
        // The keys of these are not fields.
        Value::Map(_) if matches!(name, "labels" | "annotations" | "matchLabels") => value.clone(),
        Value::Map(map) => {
            let fields = map.iter().map(|(name, value)| {
                let value = without_empty(name.as_str(), value);
                (name.clone(), value)
            });
            let fields = fields.filter(|(name, value)| is_present(name.as_str(), value));
            Value::Map(fields.collect())
        }
        Value::List(list) => Value::List(list.iter().map(|item| without_empty("", item)).collect()),
        other => other.clone(),
    })
}
