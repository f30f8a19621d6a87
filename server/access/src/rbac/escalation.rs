//! Nobody grants what they do not have.

use fieldmanager_managedfields::Status;
use fieldmanager_structural::internal::{ObjectExt, path_segment};
use fieldmanager_value::Value;
use fieldmanager_value::internal::{go_format::quote, level};

use super::cover::{TooManyPermissions, missing};
use super::policy::{RBAC_GROUP, RbacPolicy, RoleError, RoleRef, aggregate};
use super::rule::{PolicyRule, quote_all};
use crate::Attributes;
use crate::attributes::describe;

impl RbacPolicy {
    /// Checks whether the user of a request that writes a role or a binding may do so: they have the permissions in it, or may
    /// `escalate` roles or `bind` the role. `old` is the object that is replaced. Both have the defaults of their kind, and were
    /// not validated. An update of owner references, finalizers and managed fields alone grants nothing.
    ///
    /// Behaviour: `pkg/registry/rbac/*/policybased`.
    ///
    /// # Errors
    ///
    /// 403; for a binding also 404, 400 and 500 if the role to which it refers is not known. The 404 names the resource of the
    /// binding.
    pub fn check_grant(
        &self,
        request: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let is_harmless = old.is_some_and(|old| changes_only_bookkeeping(object, old));
        if request.user.is_master() || is_harmless {
            return Ok(());
        }
        let checked = match request.resource {
            "clusterroles" | "roles" => self.check_role(request, object, old),
            "clusterrolebindings" | "rolebindings" => {
                self.check_rules(request, self.bound_rules(request, object)?)
            }
            _ => return Ok(()),
        };

        checked.map_err(|reason| {
            // A name is generated after the check.
            let is_generated = !object.metadata_string("generateName").is_empty();
            let name = match object.metadata_string("name") {
                _ if is_generated && old.is_none() => "",
                name => name,
            };
            let about = (RBAC_GROUP, request.resource, name);
            let message = format!("{} is forbidden: {reason}", describe(about));
            Status::about(403, "Forbidden", about, message)
        })
    }

    fn check_role(
        &self,
        request: &Attributes<'_>,
        role: &Value,
        old: Option<&Value>,
    ) -> Result<(), String> {
        let verb = "escalate";
        if self.authorize(&Attributes { verb, ..*request }).allowed {
            return Ok(());
        }

        self.check_rules(request, &PolicyRule::all(role))?;
        // An aggregated role can gather any rule.
        let is_aggregated = has_selectors(role) || old.is_some_and(has_selectors);
        if request.resource == "clusterroles" && is_aggregated {
            let all = || vec!["*".to_owned()];
            let everything = PolicyRule {
                verbs: all(),
                groups: all(),
                resources: all(),
                paths: all(),
                names: Vec::new(),
            };
            self.check_rules(request, &[everything]).map_err(|_| {
                "must have cluster-admin privileges to use the aggregationRule".to_owned()
            })?;
        }
        Ok(())
    }

    /// The rules that a binding gives, or none if the user may bind its role, whatever it allows.
    fn bound_rules(
        &self,
        request: &Attributes<'_>,
        binding: &Value,
    ) -> Result<&[PolicyRule], Status> {
        let role = RoleRef::read(binding);
        let resource = match role.kind.as_str() {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            _ => "",
        };
        if !resource.is_empty() {
            let bind = Attributes {
                verb: "bind",
                group: &role.group,
                resource,
                name: &role.name,
                ..*request
            };
            if self.authorize(&bind).allowed {
                return Ok(&[]);
            }
            check_reference(&role, request.namespace).map_err(Status::bad_request)?;
        }

        // These errors are not about permissions, so they are not 403.
        let rules = self.rules(&role, request.namespace);
        rules.map_err(|error| match error {
            RoleError::Missing { name, .. } => {
                let about = (RBAC_GROUP, request.resource, name.as_str());
                let message = format!("{} not found", describe(about));
                Status::about(404, "NotFound", about, message)
            }
            RoleError::Kind(_) => Status::failure(500, "", error.message(None), None),
        })
    }

    /// Checks that the user has all permissions in rules.
    ///
    /// Behaviour: `ConfirmNoEscalation` of `pkg/registry/rbac/validation`.
    fn check_rules(&self, request: &Attributes<'_>, rules: &[PolicyRule]) -> Result<(), String> {
        // What the user has through roles that are missing is not known, which the message says.
        let (held, errors) = self.rules_for(request.user, request.namespace);
        let missing = match missing(&held, rules) {
            Ok(missing) if missing.is_empty() => return Ok(()),
            Ok(missing) => missing.into_iter().collect::<Vec<_>>().join("\n"),
            Err(TooManyPermissions) => "too many permissions to compare".to_owned(),
        };
        let errors = aggregate(&errors, Some(request.resource))
            .map(|errors| format!("; resolution errors: [{errors}]"));

        Err(format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{missing}{}",
            quote(&request.user.name),
            quote_all(&request.user.groups),
            errors.unwrap_or_default()
        ))
    }
}

/// Checks whether a store can have the role that a binding in a namespace refers to.
fn check_reference(role: &RoleRef, namespace: &str) -> Result<(), String> {
    let faults = path_segment(&role.name, false);
    if role.kind == "Role" && namespace.is_empty() {
        Err("Namespace parameter required.".to_owned())
    } else if role.name.is_empty() {
        Err("Name parameter required.".to_owned())
    } else if faults.is_empty() {
        Ok(())
    } else {
        let (name, faults) = (quote(&role.name), faults.join(";"));
        Err(format!("Name parameter invalid: {name}: {faults}"))
    }
}

fn has_selectors(role: &Value) -> bool {
    let rule = role.get("aggregationRule");
    rule.is_some_and(|rule| rule.items("clusterRoleSelectors").next().is_some())
}

/// Whether an update changes at most what the garbage collector and field managers write.
///
/// Behaviour: `IsOnlyMutatingGCFields` of `pkg/registry/rbac`.
fn changes_only_bookkeeping(new: &Value, old: &Value) -> bool {
    let compared = |object: &Value| {
        let mut metadata = object.metadata().cloned().unwrap_or_default();
        let mut object = object.as_map().cloned().unwrap_or_default();
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
