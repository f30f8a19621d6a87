//! Policies, their bindings and their parameters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::{ObjectExt, selects};
use fieldmanager_value::Value;

use crate::matching::{Constraints, items};
use crate::{AdmissionRequest, Cluster, Denial, Equivalent};

pub(super) const GROUP: &str = "admissionregistration.k8s.io";

/// The policies of a kind that have bindings, compiled.
pub(crate) struct Policies<E> {
    /// The resources of the policies and of their bindings.
    resources: [&'static str; 2],
    compile: fn(&Value) -> E,
    known: Mutex<Option<ReadPolicies<E>>>,
}

/// What was made of lists of policies and bindings.
struct ReadPolicies<E> {
    lists: [Arc<Vec<Value>>; 2],
    hooks: Arc<Vec<Hook<E>>>,
}

/// A policy with its bindings.
pub(crate) struct Hook<E> {
    pub(crate) policy: Arc<BoundPolicy<E>>,
    bindings: Vec<Binding>,
}

/// A policy.
pub(crate) struct BoundPolicy<E> {
    pub(crate) name: String,
    spec: Value,
    constraints: Constraints,
    param_kind: Option<GroupVersionKind>,
    /// Whether it does not matter that the policy cannot be evaluated.
    pub(crate) ignores_failures: bool,
    /// What the expressions are compiled to.
    pub(crate) evaluator: E,
}

/// A binding of a policy.
pub(crate) struct Binding {
    pub(crate) name: String,
    constraints: Option<Constraints>,
    params: Value,
    /// `Deny`, `Warn` and `Audit`.
    pub(crate) actions: Vec<String>,
}

/// A policy that a request has to pass, by a binding.
pub(crate) struct Invocation<'h, E> {
    pub(crate) policy: &'h BoundPolicy<E>,
    /// `None` if the policy itself cannot be used.
    pub(crate) binding: Option<&'h Binding>,
    /// What the policy sees and its parameters, or why it cannot be evaluated.
    pub(crate) subject: Result<(Equivalent, Vec<Option<Value>>), String>,
}

impl<E> Policies<E> {
    pub(crate) fn new(resources: [&'static str; 2], compile: fn(&Value) -> E) -> Self {
        Policies {
            resources,
            compile,
            known: Mutex::default(),
        }
    }

    /// The policies that there are now, by name. They are compiled again only if their text changed.
    ///
    /// Behaviour: `calculatePolicyData` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go`, whose order
    /// is random.
    pub(crate) async fn hooks(&self, cluster: &dyn Cluster) -> Result<Arc<Vec<Hook<E>>>, Denial> {
        let [policies, bindings] = self.resources;
        let bindings = cluster.list((GROUP, bindings), "").await?;
        // Without a binding, policies are not even listed.
        if bindings.is_empty() {
            return Ok(Arc::default());
        }
        let lists = [cluster.list((GROUP, policies), "").await?, bindings];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known
                .lists
                .iter()
                .zip(&lists)
                .all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return Ok(known.hooks.clone());
        }

        let before = known.as_ref().map(|known| known.hooks.clone());
        let hooks = Arc::new(self.read(&lists, before.as_deref().map_or(&[], Vec::as_slice)));
        *known = Some(ReadPolicies {
            lists,
            hooks: hooks.clone(),
        });
        Ok(hooks)
    }

    fn read(
        &self,
        [policies, bindings]: &[Arc<Vec<Value>>; 2],
        before: &[Hook<E>],
    ) -> Vec<Hook<E>> {
        let before = before.iter().map(|hook| (&*hook.policy.name, &hook.policy));
        let before: BTreeMap<&str, &Arc<BoundPolicy<E>>> = before.collect();
        let mut bound: BTreeMap<&str, Vec<Binding>> = BTreeMap::new();
        for binding in bindings.iter() {
            let policy = field(binding, "spec").string("policyName");
            bound
                .entry(policy)
                .or_default()
                .push(Binding::read(binding));
        }

        // A policy whose text is the same is not compiled again, since that takes longer than all else.
        let mut hooks = Vec::new();
        for policy in policies.iter() {
            let name = policy.metadata_string("name");
            let Some(mut bindings) = bound.remove(name) else {
                continue;
            };
            bindings.sort_by(|a, b| a.name.cmp(&b.name));
            let spec = field(policy, "spec");
            let policy = match before.get(name) {
                Some(known) if known.spec == *spec => (*known).clone(),
                _ => Arc::new(BoundPolicy::read(name, spec, (self.compile)(spec))),
            };
            hooks.push(Hook { policy, bindings });
        }
        hooks.sort_by(|a, b| a.policy.name.cmp(&b.policy.name));
        hooks
    }
}

/// The policies that a request has to pass, in order.
///
/// Behaviour: `Dispatch` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go`.
pub(crate) async fn select<'h, E>(
    hooks: &'h [Hook<E>],
    request: &AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Vec<Invocation<'h, E>> {
    let mut out = Vec::new();
    for Hook { policy, bindings } in hooks {
        let mut add = |binding, subject| {
            out.push(Invocation {
                policy: &**policy,
                binding,
                subject,
            });
        };
        // What is wrong with a policy or a binding matters only to the requests that it selects.
        let selected = match policy.constraints.select(request, cluster).await {
            Ok(Some(selected)) => selected,
            Ok(None) => continue,
            Err(denial) => {
                add(None, Err(denial.status.message));
                continue;
            }
        };
        if let Some(kind) = &policy.param_kind
            && cluster.resource_of(kind).is_none()
        {
            let api_version = kind.api_version();
            let shown = format!("{api_version}, Kind={}", kind.kind.as_str());
            let text = format!("failed to find resource referenced by paramKind: '{shown}'");
            add(None, Err(text));
            continue;
        }

        for binding in bindings {
            let is_bound = match &binding.constraints {
                Some(constraints) => constraints.select(request, cluster).await,
                None => Ok(Some(selected.clone())),
            };
            match is_bound {
                Ok(None) => continue,
                Err(denial) => add(Some(binding), Err(denial.status.message)),
                Ok(Some(_)) => {
                    let params = policy.params(binding, request, cluster).await;
                    add(
                        Some(binding),
                        params.map(|params| (selected.clone(), params)),
                    );
                }
            }
        }
    }
    out
}

impl<E> BoundPolicy<E> {
    fn read(name: &str, spec: &Value, evaluator: E) -> Self {
        let param_kind = spec.get("paramKind").filter(|kind| !kind.is_null());
        BoundPolicy {
            name: name.to_owned(),
            constraints: Constraints::of_policy(field(spec, "matchConstraints")),
            param_kind: param_kind.map(|kind| {
                let version = kind.string("apiVersion");
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                GroupVersionKind::new(group, version, kind.string("kind"))
            }),
            ignores_failures: spec.string("failurePolicy") == "Ignore",
            evaluator,
            spec: spec.clone(),
        }
    }

    /// The parameters of a binding: one without a value if the policy or the binding has none.
    ///
    /// Behaviour: `CollectParams` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go`.
    async fn params(
        &self,
        binding: &Binding,
        request: &AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Result<Vec<Option<Value>>, String> {
        let reference = &binding.params;
        let Some(kind) = self.param_kind.as_ref().filter(|_| !reference.is_null()) else {
            return Ok(vec![None]);
        };
        let fault = |denial: Denial| denial.status.message;
        let Some((resource, is_namespaced)) = cluster.resource_of(kind) else {
            return Err(format!("paramKind kind `{}` not known", kind.kind.as_str()));
        };
        // Without a namespace, parameters are in that of the request.
        let given = reference.string("namespace");
        let namespace = match (is_namespaced, given) {
            (true, "") if request.namespace.is_empty() => {
                let text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
                return Err(text.to_owned());
            }
            (true, "") => request.namespace,
            (true, given) => given,
            (false, "") => "",
            (false, _) => {
                let text =
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
                return Err(text.to_owned());
            }
        };

        let resource = (kind.group.as_str(), resource.as_str());
        let selector = field(reference, "selector");
        let found = match reference.string("name") {
            "" if selector.is_null() => {
                return Err("one of name or selector must be provided".to_owned());
            }
            "" => {
                let list = cluster.list(resource, namespace).await.map_err(fault)?;
                let selected = list
                    .iter()
                    .filter(|object| selects(selector, object.metadata_field("labels")));
                selected.cloned().collect()
            }
            name => {
                let found = cluster.get(resource, namespace, name).await;
                Vec::from_iter(found.map_err(fault)?)
            }
        };
        if found.is_empty() && reference.string("parameterNotFoundAction") == "Deny" {
            let text = "no params found for policy binding with `Deny` parameterNotFoundAction";
            return Err(text.to_owned());
        }
        let mut params = Vec::new();
        for object in found {
            let object = cluster.convert(object, kind).await.map_err(fault)?;
            params.push(Some(object));
        }
        Ok(params)
    }
}

impl Binding {
    fn read(binding: &Value) -> Self {
        let spec = field(binding, "spec");
        let constraints = spec.get("matchResources").filter(|value| !value.is_null());
        let actions = items(spec, "validationActions").filter_map(Value::as_str);
        Binding {
            name: binding.metadata_string("name").to_owned(),
            constraints: constraints.map(Constraints::of_policy),
            params: field(spec, "paramRef").clone(),
            actions: actions.map(str::to_owned).collect(),
        }
    }
}

pub(super) fn field<'v>(value: &'v Value, name: &'v str) -> &'v Value {
    crate::request::field(Some(value), &[name])
}
