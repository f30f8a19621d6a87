//! Roles and bindings, and what they allow.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{Map, Value};

use super::rule::{PolicyRule, rule_value};
use crate::{Attributes, Decision, User};

/// The API group of roles and bindings.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// The roles and bindings of a server.
///
/// Bindings are found by the users and groups that they name, so the cost of a question does not depend on the number of
/// bindings of others.
///
/// ```
/// use fieldmanager_access::{Attributes, RbacPolicy, User};
/// use fieldmanager_value::Value;
/// let mut policy = RbacPolicy::default();
/// for object in Value::all_from_yaml("
/// apiVersion: rbac.authorization.k8s.io/v1
/// kind: Role
/// metadata: {name: reader, namespace: shop}
/// rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]
/// ---
/// apiVersion: rbac.authorization.k8s.io/v1
/// kind: RoleBinding
/// metadata: {name: readers, namespace: shop}
/// roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
/// subjects: [{kind: User, name: alice}]
/// ")? {
///     assert!(policy.set(&object));
/// }
///
/// let user = User::new("alice", &[]);
/// let list = Attributes { resource: "pods", namespace: "shop", ..Attributes::new(&user, "list") };
/// assert!(policy.authorize(&list).allowed);
/// let delete = Attributes { verb: "deletecollection", ..list };
/// assert!(!policy.authorize(&delete).allowed);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RbacPolicy {
    /// The objects of each namespace; those of the whole cluster have the empty one.
    scopes: HashMap<String, PolicyScope>,
}

/// The roles and bindings of a namespace or of the cluster.
#[derive(Clone, Debug, Default)]
struct PolicyScope {
    roles: HashMap<String, Arc<[PolicyRule]>>,
    bindings: HashMap<String, RoleBinding>,
    users: SubjectIndex,
    groups: SubjectIndex,
}

/// The names of the bindings of each user or group.
type SubjectIndex = HashMap<String, BTreeSet<String>>;

/// A RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug)]
pub(super) struct RoleBinding {
    /// Empty for a ClusterRoleBinding.
    namespace: String,
    name: String,
    role: RoleRef,
    subjects: Vec<BindingSubject>,
}

/// The role that a binding refers to.
#[derive(Clone, Debug)]
pub(super) struct RoleRef {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// Whom a binding gives its role.
#[derive(Clone, Debug)]
struct BindingSubject {
    /// Whether it is a group, and not a user.
    is_group: bool,
    /// The name of the user or group.
    name: String,
    /// What messages call it.
    description: String,
}

/// Why the rules of a role are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RoleError {
    Missing { kind: &'static str, name: String },
    Kind(String),
}

impl RbacPolicy {
    /// Adds or replaces a Role, ClusterRole, RoleBinding or ClusterRoleBinding. Returns whether the object is one.
    pub fn set(&mut self, object: &Value) -> bool {
        let (group, _) = object.api_version().split_once('/').unwrap_or_default();
        let kind = object.string("kind");
        let Some(namespace) = scope(group, kind, object.metadata_string("namespace")) else {
            return false;
        };

        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        if kind.ends_with("Role") {
            let rules = PolicyRule::all(object).into();
            scope
                .roles
                .insert(object.metadata_string("name").to_owned(), rules);
        } else {
            // The subjects may have changed.
            scope.remove_binding(object.metadata_string("name"));
            scope.add_binding(RoleBinding::read(object, namespace));
        }
        true
    }

    /// Removes an object that was set.
    pub fn remove(&mut self, kind: &str, namespace: &str, name: &str) {
        let Some(namespace) = scope(RBAC_GROUP, kind, namespace) else {
            return;
        };
        let Some(scope) = self.scopes.get_mut(namespace) else {
            return;
        };
        if kind.ends_with("Role") {
            scope.roles.remove(name);
        } else {
            scope.remove_binding(name);
        }
        // Namespaces come and go.
        if scope.roles.is_empty() && scope.bindings.is_empty() {
            self.scopes.remove(namespace);
        }
    }

    /// Whether a request may proceed, and why. Bindings of the cluster come before those of the namespace, and each are in
    /// the order of their names, which in kube-apiserver depends on chance.
    ///
    /// Behaviour: the union of `privilegedGroupAuthorizer` and `RBACAuthorizer`. `error` is always empty, since roles that
    /// are missing are a reason, not an error.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        // This is an authorizer of its own, which gives no reason.
        let mut decision = Decision {
            allowed: attributes.user.is_master(),
            ..Decision::default()
        };
        if decision.allowed {
            return decision;
        }

        // A role that is missing does not end the search, since every role only allows more.
        let mut errors = Vec::new();
        for binding in self.bindings(attributes.user, attributes.namespace) {
            match self.rules(&binding.role, &binding.namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    decision.allowed = true;
                    decision.reason = binding.reason(attributes.user);
                    return decision;
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }

        // A chain of authorizers puts the name of each before its reason.
        if let Some(errors) = aggregate(&errors, None) {
            decision.reason = format!("rbac: RBAC: {errors}");
        }
        decision
    }

    /// The `status` of a SelfSubjectRulesReview or SubjectRulesReview: what a user may do in a namespace. Membership in
    /// `system:masters` is not a rule.
    ///
    /// Behaviour: `RulesFor` of `RBACAuthorizer`.
    pub fn rules_review(&self, user: &User, namespace: &str) -> Value {
        let (rules, errors) = self.rules_for(user, namespace);
        // A rule with resources and paths is in both lists.
        let resources = rules.iter().filter(|rule| !rule.resources.is_empty());
        let resources = resources.map(|rule| {
            let lists = [
                ("apiGroups", &*rule.groups),
                ("resources", &*rule.resources),
                ("resourceNames", &*rule.names),
            ];
            rule_value(&rule.verbs, lists)
        });
        let paths = rules.iter().filter(|rule| !rule.paths.is_empty());
        let paths = paths.map(|rule| rule_value(&rule.verbs, [("nonResourceURLs", &*rule.paths)]));

        let mut status = Map::new();
        status.insert("resourceRules", resources.collect::<Vec<Value>>());
        status.insert("nonResourceRules", paths.collect::<Vec<Value>>());
        status.insert("incomplete", false);
        if let Some(errors) = aggregate(&errors, None) {
            status.insert("evaluationError", errors);
        }
        Value::Map(status)
    }

    /// The rules that a user has in a namespace, and the roles whose rules are not known.
    pub(super) fn rules_for(
        &self,
        user: &User,
        namespace: &str,
    ) -> (Vec<&PolicyRule>, Vec<RoleError>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for binding in self.bindings(user, namespace) {
            match self.rules(&binding.role, &binding.namespace) {
                Ok(found) => rules.extend(found),
                Err(error) => errors.push(error),
            }
        }
        (rules, errors)
    }

    /// The number of bindings that a question about a user in a namespace visits.
    pub fn count_bindings(&self, user: &User, namespace: &str) -> usize {
        self.bindings(user, namespace).count()
    }

    /// The bindings that apply to a user: those of the cluster, and those of a namespace unless it is empty.
    fn bindings(&self, user: &User, namespace: &str) -> impl Iterator<Item = &RoleBinding> {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        std::iter::once("")
            .chain(namespace)
            .filter_map(|scope| self.scopes.get(scope))
            .flat_map(move |scope| {
                let groups = user.groups.iter();
                let groups = groups.filter_map(|group| scope.groups.get(group));
                let of_user = scope.users.get(&user.name).into_iter().chain(groups);
                // A binding that names the user and a group of theirs counts once.
                let named: BTreeSet<&String> = of_user.flatten().collect();
                let bindings = &scope.bindings;
                named.into_iter().filter_map(|name| bindings.get(name))
            })
    }

    /// The rules of a role that a binding in a namespace, or of the cluster, refers to.
    pub(super) fn rules(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<&[PolicyRule], RoleError> {
        let (kind, namespace) = match role.kind.as_str() {
            "ClusterRole" => ("clusterrole", ""),
            // A binding of the cluster has no role of a namespace.
            "Role" if namespace.is_empty() => ("role", "/"),
            "Role" => ("role", namespace),
            other => return Err(RoleError::Kind(other.to_owned())),
        };
        let scope = self.scopes.get(namespace);
        let rules = scope.and_then(|scope| scope.roles.get(&role.name));
        let name = role.name.clone();
        rules
            .map(AsRef::as_ref)
            .ok_or(RoleError::Missing { kind, name })
    }
}

impl PolicyScope {
    fn add_binding(&mut self, binding: RoleBinding) {
        for subject in &binding.subjects {
            let named = self.index(subject).entry(subject.name.clone());
            named.or_default().insert(binding.name.clone());
        }
        self.bindings.insert(binding.name.clone(), binding);
    }

    fn remove_binding(&mut self, name: &str) {
        let subjects = self.bindings.remove(name).map(|binding| binding.subjects);
        for subject in subjects.into_iter().flatten() {
            let index = self.index(&subject);
            if let Some(named) = index.get_mut(&subject.name) {
                named.remove(name);
                if named.is_empty() {
                    index.remove(&subject.name);
                }
            }
        }
    }

    fn index(&mut self, subject: &BindingSubject) -> &mut SubjectIndex {
        if subject.is_group {
            &mut self.groups
        } else {
            &mut self.users
        }
    }
}

impl RoleBinding {
    fn read(object: &Value, namespace: &str) -> Self {
        let subjects = object.items("subjects");
        RoleBinding {
            namespace: namespace.to_owned(),
            name: object.metadata_string("name").to_owned(),
            role: RoleRef::read(object),
            subjects: subjects
                .filter_map(|subject| BindingSubject::read(subject, namespace))
                .collect(),
        }
    }

    /// Why a request of a user may proceed.
    fn reason(&self, user: &User) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", self.name.clone())
        } else {
            // kube-apiserver writes the name before the namespace.
            ("RoleBinding", format!("{}/{}", self.name, self.namespace))
        };
        let mut subjects = self.subjects.iter();
        let subject = subjects.find(|subject| subject.is(user));
        let role = &self.role;
        format!(
            "RBAC: allowed by {kind} {} of {} {} to {}",
            quote(&name),
            role.kind,
            quote(&role.name),
            subject.map_or("", |subject| &subject.description)
        )
    }
}

impl RoleRef {
    /// The `roleRef` of a binding.
    pub(super) fn read(binding: &Value) -> Self {
        let part = |name: &str| {
            let role = binding.get("roleRef");
            role.map_or("", |role| role.string(name)).to_owned()
        };
        RoleRef {
            group: part("apiGroup"),
            kind: part("kind"),
            name: part("name"),
        }
    }
}

impl BindingSubject {
    /// Reads a subject of a binding in a namespace; `None` if it names no one, or is of an unknown kind.
    fn read(subject: &Value, namespace: &str) -> Option<Self> {
        let (kind, name) = (subject.string("kind"), subject.string("name"));
        // That of the binding, if the subject has none.
        let namespace = match subject.string("namespace") {
            "" => namespace,
            own => own,
        };
        let (user, shown) = match kind {
            "User" | "Group" => (name.to_owned(), name.to_owned()),
            "ServiceAccount" if !namespace.is_empty() => (
                format!("system:serviceaccount:{namespace}:{name}"),
                format!("{name}/{namespace}"),
            ),
            _ => return None,
        };
        Some(BindingSubject {
            is_group: kind == "Group",
            name: user,
            description: format!("{kind} {}", quote(&shown)),
        })
    }

    fn is(&self, user: &User) -> bool {
        if self.is_group {
            user.groups.contains(&self.name)
        } else {
            user.name == self.name
        }
    }
}

impl RoleError {
    /// The message. While kube-apiserver checks a write, it names the resource that is written instead of that of the role.
    pub(super) fn message(&self, written: Option<&str>) -> String {
        match self {
            RoleError::Missing { kind, name } => {
                let resource = written.unwrap_or(kind);
                format!("{resource}.{RBAC_GROUP} {} not found", quote(name))
            }
            RoleError::Kind(kind) => {
                format!("unsupported role reference kind: {}", quote(kind))
            }
        }
    }
}

/// The namespace of an object of RBAC, which is empty for one of the cluster; `None` for other objects.
fn scope<'n>(group: &str, kind: &str, namespace: &'n str) -> Option<&'n str> {
    match kind {
        _ if group != RBAC_GROUP => None,
        "ClusterRole" | "ClusterRoleBinding" => Some(""),
        "Role" | "RoleBinding" if !namespace.is_empty() => Some(namespace),
        _ => None,
    }
}

/// The messages of errors as one: each once, in brackets if there are several.
///
/// Behaviour: `Aggregate` of `k8s.io/apimachinery/pkg/util/errors`.
pub(super) fn aggregate(errors: &[RoleError], written: Option<&str>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let messages = errors.iter().map(|error| error.message(written));
    let messages: Vec<String> = messages.filter(|text| seen.insert(text.clone())).collect();
    match messages.as_slice() {
        [] => None,
        [message] => Some(message.clone()),
        messages => Some(format!("[{}]", messages.join(", "))),
    }
}
