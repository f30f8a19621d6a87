//! Nobody grants what they do not have.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::path_segment;
use fieldmanager_value::internal::{go_format::quote, level};
use fieldmanager_value::{Map, Value};

use super::cover::{TooManyPermissions, missing};
use super::policy::{GROUP, RbacPolicy, RoleError, RoleRef, aggregate};
use super::rule::{PolicyRule, items, quote_all, string};
use crate::{Attributes, Target, User};

/// A request that writes a role or a binding.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest<'a> {
    /// Who sends it.
    pub user: &'a User,
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
    /// 404: the role that a binding refers to does not exist.
    NotFound {
        /// The resource, such as `clusterroles`.
        resource: String,
        /// The name of the role.
        name: String,
    },
    /// 400, with the message.
    BadRequest(String),
    /// 500: the text after `Internal error occurred: `.
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
        let kind = string(object, "kind");
        let namespace = if kind.starts_with("Cluster") {
            ""
        } else {
            request.namespace
        };
        let request = &GrantRequest {
            namespace,
            ..*request
        };

        if request.user.is_master() || old.is_some_and(|old| changes_only_bookkeeping(object, old))
        {
            return Ok(());
        }
        match kind {
            "ClusterRole" | "Role" => self.check_role(request, object, old),
            "ClusterRoleBinding" | "RoleBinding" => self.check_binding(request, object),
            _ => Ok(()),
        }
    }

    fn check_role(
        &self,
        request: &GrantRequest<'_>,
        role: &Value,
        old: Option<&Value>,
    ) -> Result<(), GrantError> {
        let is_cluster_role = request.namespace.is_empty();
        let resource = if is_cluster_role {
            "clusterroles"
        } else {
            "roles"
        };
        if self.may(request, "escalate", GROUP, resource, request.name) {
            return Ok(());
        }

        self.check_rules(request, &PolicyRule::all(role))?;
        // An aggregated role can gather any rule.
        let is_aggregated = has_selectors(role) || old.is_some_and(has_selectors);
        if is_cluster_role && is_aggregated {
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
        let rules = self
            .rules(&role, request.namespace)
            .map_err(|error| match error {
                RoleError::Missing { kind, name } => GrantError::NotFound {
                    resource: format!("{kind}s"),
                    name,
                },
                RoleError::Kind(_) => GrantError::Internal(error.message(true)),
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
        let target = Target::Resource {
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
        let (held, errors) = self.rules_for(request.user, request.namespace);
        let missing = match missing(&held, rules) {
            Ok(missing) if missing.is_empty() => return Ok(()),
            Ok(missing) => missing.into_iter().collect::<Vec<_>>().join("\n"),
            Err(TooManyPermissions) => "too many permissions to compare".to_owned(),
        };
        let errors =
            aggregate(&errors, true).map(|errors| format!("; resolution errors: [{errors}]"));

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
    let without = |object: &Value, names: &[&str]| {
        let mut map = object.as_map().cloned().unwrap_or_default();
        for name in names {
            map.remove(name);
        }
        map
    };
    let metadata = |object: &Value| {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        let names = ["ownerReferences", "finalizers", "selfLink", "managedFields"];
        without(metadata, &names)
    };
    let rest = |object: &Value| without(object, &["apiVersion", "kind", "metadata"]);

    same_fields(&metadata(new), &metadata(old)) && same_fields(&rest(new), &rest(old))
}

/// Whether two values are equal in Go: empty lists, maps and strings are absent.
fn same(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Map(new), Value::Map(old)) => level(|| same_fields(new, old)),
        (Value::List(new), Value::List(old)) => {
            level(|| new.len() == old.len() && new.iter().zip(old).all(|(new, old)| same(new, old)))
        }
        _ => new == old,
    }
}

fn same_fields(new: &Map, old: &Map) -> bool {
    let is_present = |name: &str, value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.as_str().is_empty(),
        Value::List(list) => !list.is_empty(),
        // The only pointer in these kinds.
        Value::Map(map) => !map.is_empty() || name == "aggregationRule",
        _ => true,
    };
    let names: BTreeSet<&str> = new
        .iter()
        .chain(old)
        .map(|(name, _)| name.as_str())
        .collect();
    names.into_iter().all(|name| {
        let part = |map: &'_ Map| {
            map.get(name)
                .filter(|value| is_present(name, value))
                .cloned()
        };
        match (part(new), part(old)) {
            (Some(new), Some(old)) => same(&new, &old),
            (new, old) => new.is_none() && old.is_none(),
        }
    })
}
