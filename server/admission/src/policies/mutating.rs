//! `MutatingAdmissionPolicy`.

use std::time::Instant;

use fieldmanager_cel::Environment;
use fieldmanager_managedfields::Cause;
use fieldmanager_patch::json_patch;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::mutation::MutationKind;
use super::source::{Hook, Invocation, Policies, field, select};
use super::validating::namespace_of;
use crate::expressions::{
    BUDGET, Compiled, ExpressionFault, Inputs, all_hold, conditions, decide, environment_of_policy,
    evaluate,
};
use crate::matching::items;
use crate::versioned::Versioned;
use crate::{
    Admission, AdmissionAnswer, AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted,
    Cluster, Denial, Equivalent, Round,
};

/// The policies of the kind `MutatingAdmissionPolicy`, one after the other. Those that nothing binds do nothing. No manager
/// owns what they set.
///
/// Policies, their bindings and reviews of access are not subject to policies.
///
/// Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy/mutating`.
pub struct MutatingPolicies {
    policies: Policies<Mutations>,
}

/// How many of the fields that a policy changed are named.
const SHOWN_FIELDS: usize = 10;

/// The compiled expressions of a policy.
struct Mutations {
    environment: Environment,
    conditions: Vec<Compiled>,
    mutations: Vec<(MutationKind, Compiled)>,
    is_reinvocable: bool,
}

/// What policies made of a request so far.
struct Mutation {
    objects: Versioned,
    is_dirty: bool,
    round: Round,
    /// Why policies refuse the request: a message with its reason, and the name of the policy.
    refusals: Vec<(String, &'static str, String)>,
    /// What was done, for people.
    effects: Vec<String>,
}

/// What a policy sees besides the objects.
struct Surroundings<'a> {
    request: AdmissionRequest<'a>,
    cluster: &'a dyn Cluster,
    namespace: Option<Value>,
    /// Whether all policies are asked once more.
    is_second: bool,
}

impl Default for MutatingPolicies {
    fn default() -> Self {
        let resources = [
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ];
        MutatingPolicies {
            policies: Policies::new(resources, Mutations::compile),
        }
    }
}

impl Admission for MutatingPolicies {
    fn name(&self) -> &str {
        "MutatingAdmissionPolicy"
    }

    /// A deletion has no object that could be changed.
    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        phase == AdmissionPhase::Mutate
            && request.operation != AdmissionOperation::Delete
            && super::are_subject(request)
    }

    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        self.mutate_again(request, cluster, None)
    }

    fn mutate_again<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
        first: Option<&'a Round>,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            let hooks = self.policies.hooks(cluster).await?;
            if hooks.is_empty() {
                return Ok(Admitted::default());
            }
            // Most servers have none, and the future of the rest is large.
            Box::pin(self.dispatch(request, cluster, first, &hooks)).await
        })
    }
}

impl MutatingPolicies {
    /// Behaviour: `dispatchInvocations` of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go`. The order
    /// of policies is random there, and that of their names here.
    async fn dispatch(
        &self,
        request: AdmissionRequest<'_>,
        cluster: &dyn Cluster,
        first: Option<&Round>,
        hooks: &[Hook<Mutations>],
    ) -> Result<Admitted, Denial> {
        let invocations = select(hooks, &request, cluster).await;
        if invocations.is_empty() {
            return Ok(Admitted::default());
        }

        // All are selected before the object changes, and those that cannot be used are the first to refuse.
        let mut run = Mutation::new(&request, first);
        let mut usable = Vec::new();
        for invocation in &invocations {
            match &invocation.subject {
                Ok(subject) => usable.push((invocation, subject)),
                Err(cause) => {
                    let what = invocation.binding.map_or("policy", |_| "binding");
                    let text = format!("failed to configure {what}: {cause}");
                    run.fail(invocation, &text, "Forbidden");
                }
            }
        }
        if !usable.is_empty() {
            let around = Surroundings {
                request,
                cluster,
                namespace: namespace_of(&request, cluster).await?,
                is_second: first.is_some(),
            };
            for (invocation, (selected, params)) in usable {
                run.invoke(invocation, (selected, params), &around).await?;
            }
        }

        let mut admitted = Admitted::default();
        if run.is_dirty {
            let objects = run.objects.convert(&request, request.kind, true, cluster);
            let object = objects.await?.object;
            admitted.object = object.filter(|object| Some(object) != request.object);
            run.round.require_called();
            run.round.changed = true;
        }
        run.round.object = admitted.object.as_ref().or(request.object).cloned();
        admitted.effects = std::mem::take(&mut run.effects);
        admitted.round = Some(std::mem::take(&mut run.round));
        run.refusal(&request).map_or(Ok(admitted), Err)
    }
}

impl Mutations {
    /// Behaviour: `compilePolicy` of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go`.
    fn compile(spec: &Value) -> Self {
        let environment = environment_of_policy(spec);
        let mutations = items(spec, "mutations").filter_map(|mutation| {
            let (kind, member) = MutationKind::of(mutation)?;
            let source = field(mutation, member).string("expression");
            Some((kind, environment.compile(source, &[kind.expected()])))
        });
        Mutations {
            mutations: mutations.collect(),
            conditions: conditions(&environment, spec),
            is_reinvocable: spec.string("reinvocationPolicy") == "IfNeeded",
            environment,
        }
    }
}

impl Mutation {
    fn new(request: &AdmissionRequest<'_>, first: Option<&Round>) -> Self {
        Mutation {
            objects: Versioned::of(request),
            is_dirty: false,
            round: Round::begin(first, request.object),
            refusals: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Keeps why a policy cannot do its work, unless that does not matter.
    ///
    /// Behaviour: `PolicyError` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go`.
    fn fail(&mut self, invocation: &Invocation<'_, Mutations>, text: &str, reason: &'static str) {
        let policy = &invocation.policy.name;
        let by = match invocation.binding {
            Some(binding) => format!("policy '{policy}' with binding '{}'", binding.name),
            None => format!("policy {}", quote(policy)),
        };
        if !invocation.policy.ignores_failures {
            let message = format!("{by} denied request: {text}");
            self.refusals.push((message, reason, policy.clone()));
        }
    }

    /// The refusal of the request: the first reason, with all as causes.
    fn refusal(self, request: &AdmissionRequest<'_>) -> Option<Denial> {
        let (message, reason, policy) = self.refusals.first()?.clone();
        let mut denial = request.refused(403, reason, "");
        if let Some(details) = &mut denial.status.details {
            let causes = self.refusals.into_iter();
            details.causes = causes
                .map(|(message, ..)| Cause::new("", message, ""))
                .collect();
        }
        denial.status.message = message;
        denial.by = format!("MutatingAdmissionPolicy {policy}");
        Some(denial)
    }

    /// Lets a policy change the object, with each of its parameters.
    async fn invoke(
        &mut self,
        invocation: &Invocation<'_, Mutations>,
        (selected, params): (&Equivalent, &[Option<Value>]),
        around: &Surroundings<'_>,
    ) -> Result<(), Denial> {
        let (request, cluster) = (&around.request, around.cluster);
        let converted = self
            .objects
            .convert(request, &selected.kind, self.is_dirty, cluster);
        self.objects = converted.await?;
        let evaluator = &invocation.policy.evaluator;

        // Each parameter sees what the one before it made of the object.
        for params in params {
            let before = self.objects.clone();
            let inputs = Inputs {
                params: params.as_ref(),
                ..Inputs::of(request, &before, request.resource_names())
            };
            let holds = decide(request.user, cluster, |authorizer| {
                let conditions = &evaluator.conditions;
                all_hold(&evaluator.environment, conditions, &inputs, authorizer)
            });
            let holds = holds
                .await?
                .map_err(|text| self.fail(invocation, &text, "Invalid"));

            // In the second round, only those are asked that saw another object than the one that is stored.
            let key = key(invocation, params.as_ref());
            let is_due = !around.is_second || self.round.due.contains(&key);
            if holds != Ok(true) || !is_due {
                continue;
            }

            for (kind, compiled) in &evaluator.mutations {
                let mutation = (*kind, compiled);
                self.run(invocation, mutation, selected, params.as_ref(), around)
                    .await?;
            }

            if self.objects.object != before.object {
                self.round.require_called();
                let fields = changed_fields(before.object.as_ref(), self.objects.object.as_ref());
                self.effects.push(format!(
                    "MutatingAdmissionPolicy {} changed the object: {fields}",
                    invocation.policy.name
                ));
            }
            if evaluator.is_reinvocable {
                self.round.called.insert(key);
            }
        }
        Ok(())
    }

    /// Changes the object by a mutation, and tells the server how that went.
    async fn run(
        &mut self,
        invocation: &Invocation<'_, Mutations>,
        mutation: (MutationKind, &Compiled),
        selected: &Equivalent,
        params: Option<&Value>,
        around: &Surroundings<'_>,
    ) -> Result<(), Denial> {
        let since = Instant::now();
        let evaluator = &invocation.policy.evaluator;
        let changed = self.change(evaluator, mutation, selected, params, around);
        let changed = changed.await;
        let text = match &changed {
            Ok(Ok(())) => "",
            Ok(Err(text)) => text,
            Err(denial) => &denial.status.message,
        };
        let binding = invocation.binding.map_or("", |binding| &*binding.name);
        let names = (&*invocation.policy.name, binding);
        let server = (&around.request, around.cluster);
        super::observe(server, names, text, "", since.elapsed());
        if let Err(text) = changed? {
            self.fail(invocation, &text, "Invalid");
        }
        Ok(())
    }

    /// Evaluates a mutation, and changes the object. The inner error is a fault of the policy.
    ///
    /// Behaviour: `dispatchOne` of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go`.
    async fn change(
        &mut self,
        evaluator: &Mutations,
        (kind, compiled): (MutationKind, &Compiled),
        selected: &Equivalent,
        params: Option<&Value>,
        around: &Surroundings<'_>,
    ) -> Result<Result<(), String>, Denial> {
        let Some(object) = &self.objects.object else {
            return Ok(Ok(()));
        };
        if let Err(text) = compiled {
            return Ok(Err(text.clone()));
        }

        let (request, cluster) = (&around.request, around.cluster);
        let inputs = Inputs {
            namespace: around.namespace.as_ref(),
            params,
            ..Inputs::of(request, &self.objects, selected.names())
        };

        // Each mutation has a budget of its own.
        let mutated = decide(request.user, cluster, |authorizer| {
            let mut activation = inputs.activate(&evaluator.environment, Some(authorizer), BUDGET);
            let value = evaluate(&mut activation, compiled);
            let value = value
                .map_err(|(ExpressionFault::Own(text) | ExpressionFault::Budget(text))| text)?;
            let merge = |config: &Value| cluster.merge(&selected.kind, object, config);
            kind.apply(&value, object, &merge)
        });

        let mutated = match mutated.await? {
            Ok(mutated) if kind == MutationKind::Patch => {
                cluster.decoded_strictly(request, &selected.kind, mutated)?
            }
            Ok(mutated) => mutated,
            Err(text) => return Ok(Err(text)),
        };
        self.objects.object = Some(mutated);
        self.is_dirty = true;
        Ok(Ok(()))
    }
}

/// The first fields that differ between two objects, as JSON pointers.
fn changed_fields(before: Option<&Value>, after: Option<&Value>) -> String {
    let objects = before.zip(after);
    let patch = objects.and_then(|(before, after)| json_patch::create(before, after).ok());
    let operations = patch.as_ref().and_then(Value::as_list);
    let paths = operations
        .into_iter()
        .flatten()
        .map(|item| item.string("path"));
    let mut paths: Vec<&str> = paths.take(SHOWN_FIELDS + 1).collect();
    if let Some(more) = paths.get_mut(SHOWN_FIELDS) {
        *more = "...";
    }
    paths.join(", ")
}

/// The name of a policy with a binding and a parameter, for the second round.
fn key(invocation: &Invocation<'_, Mutations>, params: Option<&Value>) -> String {
    let binding = invocation.binding.map_or("", |binding| &*binding.name);
    let of = |name: &'static str| params.map_or("", |params| params.metadata_string(name));
    let policy = &invocation.policy.name;
    format!("{policy}/{binding}/{}/{}", of("namespace"), of("name"))
}
