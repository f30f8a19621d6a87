//! `ValidatingAdmissionPolicy`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fieldmanager_cel::{Environment, ExpressionType};
use fieldmanager_managedfields::Cause;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;

use super::source::{Binding, BoundPolicy, Hook, Invocation, Policies, select};
use crate::expressions::{
    AUTHORIZER, BUDGET, Compiled, Decisions, ExpressionFault, Inputs, all_hold, conditions, decide,
    environment_of_policy, evaluate, visible_namespace,
};
use crate::matching::{items, not_found};
use crate::versioned::Versioned;
use crate::{
    Admission, AdmissionAnswer, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial,
};

/// The longest message that an expression makes, and the longest value of an annotation, in bytes.
const MESSAGE: usize = 5 * 1024;
const ANNOTATION: usize = 10 * 1024;
/// The most violations that are logged.
const LOGGED: usize = 50;

/// The reasons of refusals, and their codes.
const REASONS: [(&str, u16); 4] = [
    ("Invalid", 422),
    ("Unauthorized", 401),
    ("Forbidden", 403),
    ("RequestEntityTooLarge", 413),
];

/// The policies of the kind `ValidatingAdmissionPolicy`. Those that nothing binds do nothing.
///
/// Policies, their bindings and reviews of access are not subject to policies.
///
/// Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy/validating`.
pub struct ValidatingPolicies {
    policies: Policies<Validations>,
}

/// The compiled expressions of a policy.
struct Validations {
    environment: Environment,
    conditions: Vec<Compiled>,
    validations: Vec<Validation>,
    /// The keys and values of annotations.
    annotations: Vec<(String, Compiled)>,
}

struct Validation {
    source: String,
    expression: Compiled,
    message: String,
    message_expression: Option<Compiled>,
    reason: (&'static str, u16),
}

/// Why a policy refuses a request.
#[derive(Clone)]
struct Violation {
    message: String,
    reason: (&'static str, u16),
    /// Whether it is a fault that does not matter to the policy.
    is_ignored: bool,
    /// How long the evaluation took.
    took: Duration,
}

/// What a policy makes of a request with one parameter.
#[derive(Default)]
struct PolicyVerdict {
    /// The violations, by the places of the validations.
    violations: Vec<(usize, Violation)>,
    annotations: Vec<(String, String)>,
    /// Annotations that could not be made.
    faults: Vec<String>,
}

/// What all policies make of a request.
#[derive(Default)]
struct Dispatched {
    admitted: Admitted,
    /// The first refusal, with the name of its policy.
    denied: Option<(String, Violation)>,
    /// What is logged of violations, in JSON.
    logged: Vec<String>,
    /// Annotations by policies and keys.
    annotations: BTreeMap<(String, String), Vec<String>>,
}

impl Default for ValidatingPolicies {
    fn default() -> Self {
        let resources = [
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ];
        ValidatingPolicies {
            policies: Policies::new(resources, Validations::compile),
        }
    }
}

impl Admission for ValidatingPolicies {
    fn name(&self) -> &str {
        "ValidatingAdmissionPolicy"
    }

    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        phase == AdmissionPhase::Validate && super::are_subject(request)
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            let hooks = self.policies.hooks(cluster).await?;
            if hooks.is_empty() {
                return Ok(Admitted::default());
            }
            Box::pin(self.dispatch(request, cluster, &hooks)).await
        })
    }
}

impl ValidatingPolicies {
    /// Behaviour: `dispatcher.Dispatch` of `k8s.io/apiserver/pkg/admission/plugin/policy/validating`.
    async fn dispatch(
        &self,
        request: AdmissionRequest<'_>,
        cluster: &dyn Cluster,
        hooks: &[Hook<Validations>],
    ) -> Result<Admitted, Denial> {
        let invocations = select(hooks, &request, cluster).await;
        if invocations.is_empty() {
            return Ok(Admitted::default());
        }
        let namespace = namespace_of(&request, cluster).await?;

        let mut run = Dispatched::default();
        for invocation in invocations {
            // All policies are asked, so that the client gets all warnings with the first refusal.
            let verdicts = judge(&invocation, &request, namespace.as_ref(), cluster).await;
            match (verdicts?, invocation.binding) {
                (Ok(verdicts), Some(binding)) => {
                    for verdict in verdicts {
                        run.add(invocation.policy, binding, verdict, (&request, cluster));
                    }
                }
                (Ok(_), None) => {}
                (Err(text), binding) if !invocation.policy.ignores_failures => {
                    run.misconfigured(&invocation.policy.name, binding, &text);
                }
                (Err(_), _) => {}
            }
        }
        run.finish(&request)
    }
}

/// What a policy makes of a request with each of its parameters, or why it cannot tell.
async fn judge(
    invocation: &Invocation<'_, Validations>,
    request: &AdmissionRequest<'_>,
    namespace: Option<&Value>,
    cluster: &dyn Cluster,
) -> Result<Result<Vec<PolicyVerdict>, String>, Denial> {
    let (selected, params) = match &invocation.subject {
        Ok(subject) => subject,
        Err(text) => return Ok(Err(text.clone())),
    };
    let objects = Versioned::of(request);
    let converted = objects.convert(request, &selected.kind, false, cluster);
    let objects = match converted.await {
        Ok(objects) => objects,
        Err(denial) => {
            let cause = denial.status.message;
            return Ok(Err(format!("failed to convert object version: {cause}")));
        }
    };

    let mut verdicts = Vec::new();
    for params in params {
        // Conditions see neither the namespace nor the resource that the rules selected.
        let outside = Inputs {
            params: params.as_ref(),
            ..Inputs::of(request, &objects, request.resource_names())
        };
        let inside = Inputs {
            params: params.as_ref(),
            namespace,
            ..Inputs::of(request, &objects, selected.names())
        };

        let verdict = decide(request.user, cluster, |authorizer| {
            let policy = invocation.policy;
            policy
                .evaluator
                .judge(&outside, &inside, authorizer, policy.ignores_failures)
        });
        verdicts.push(verdict.await?);
    }
    Ok(Ok(verdicts))
}

/// The namespace of the object, as expressions see it; `None` if it is in none.
pub(super) async fn namespace_of(
    request: &AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Option<Value>, Denial> {
    let kind = request.kind;
    let is_namespace = (&*kind.group, &*kind.version, &*kind.kind) == ("", "v1", "Namespace");
    if is_namespace || request.namespace.is_empty() {
        return Ok(None);
    }
    let name = request.namespace;
    let found = cluster.get(("", "namespaces"), "", name).await?;
    let found = found.ok_or_else(|| not_found("namespaces", name))?;
    Ok(Some(visible_namespace(&found)))
}

impl Validations {
    /// Behaviour: `compilePolicy` of `k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go`.
    fn compile(spec: &Value) -> Self {
        let environment = environment_of_policy(spec);
        let bool = [ExpressionType::Bool];
        let validations = items(spec, "validations").map(|validation| {
            let message = Some(validation.string("messageExpression"));
            let message = message.filter(|source| !source.is_empty());
            let reason = validation.string("reason");
            let mut known = REASONS.into_iter();
            Validation {
                source: validation.string("expression").to_owned(),
                expression: environment.compile(validation.string("expression"), &bool),
                message: validation.string("message").trim().to_owned(),
                message_expression: message.map(|source| {
                    environment.compile_without(AUTHORIZER, source, &[ExpressionType::String])
                }),
                reason: known
                    .find(|(name, _)| *name == reason)
                    .unwrap_or(("Invalid", 422)),
            }
        });

        let texts = [ExpressionType::String, ExpressionType::Null];
        let annotations = items(spec, "auditAnnotations").map(|annotation| {
            let value = environment.compile(annotation.string("valueExpression"), &texts);
            (annotation.string("key").to_owned(), value)
        });
        Validations {
            conditions: conditions(&environment, spec),
            validations: validations.collect(),
            annotations: annotations.collect(),
            environment,
        }
    }

    /// Evaluates the policy. `outside` are the inputs of conditions.
    ///
    /// Behaviour: `validator.Validate` of `k8s.io/apiserver/pkg/admission/plugin/policy/validating`.
    fn judge(
        &self,
        outside: &Inputs<'_>,
        inputs: &Inputs<'_>,
        authorizer: &Decisions,
        ignores_failures: bool,
    ) -> PolicyVerdict {
        let failed = |text: String| PolicyVerdict {
            violations: vec![(0, Violation::of_fault(text, ignores_failures))],
            ..PolicyVerdict::default()
        };
        match all_hold(&self.environment, &self.conditions, outside, authorizer) {
            Ok(true) => {}
            Ok(false) => return PolicyVerdict::default(),
            Err(text) => return failed(text),
        }
        let mut verdict = match self.validate(inputs, authorizer, ignores_failures) {
            Ok(violations) => PolicyVerdict {
                violations,
                ..PolicyVerdict::default()
            },
            Err(text) => return failed(text),
        };

        // Annotations have a budget of their own, and no authorizer.
        let mut activation = inputs.activate(&self.environment, None, BUDGET);
        for (key, value) in &self.annotations {
            match evaluate(&mut activation, value) {
                Ok(value) => {
                    let text = value.as_str().unwrap_or_default().trim();
                    if !text.is_empty() {
                        verdict.annotations.push((key.clone(), text.to_owned()));
                    }
                }
                Err(ExpressionFault::Own(_)) if ignores_failures => {}
                Err(ExpressionFault::Own(text)) => verdict.faults.push(text),
                Err(ExpressionFault::Budget(text)) => return failed(text),
            }
        }
        verdict
    }

    /// The violations of the validations, by place. The error is that of the budget.
    fn validate(
        &self,
        inputs: &Inputs<'_>,
        authorizer: &Decisions,
        ignores_failures: bool,
    ) -> Result<Vec<(usize, Violation)>, String> {
        let mut activation = inputs.activate(&self.environment, Some(authorizer), BUDGET);
        let mut outcomes = Vec::new();
        for validation in &self.validations {
            let since = Instant::now();
            let outcome = match evaluate(&mut activation, &validation.expression) {
                Ok(value) => Ok(value.as_bool() == Some(true)),
                Err(ExpressionFault::Own(text)) => Err(text),
                Err(ExpressionFault::Budget(text)) => return Err(text),
            };
            outcomes.push((outcome, since.elapsed()));
        }

        // All messages are made, whether they are needed or not, since their cost counts.
        let mut activation = inputs.activate(&self.environment, None, activation.budget());
        let mut messages = Ok(Vec::new());
        for validation in &self.validations {
            let Ok(made) = &mut messages else { break };
            let source = validation.message_expression.as_ref();
            match source.map(|source| evaluate(&mut activation, source)) {
                Some(Ok(value)) => made.push(value.as_str().map(str::to_owned)),
                Some(Err(ExpressionFault::Budget(text))) => messages = Err(text),
                Some(Err(ExpressionFault::Own(_))) | None => made.push(None),
            }
        }

        let mut violations = Vec::new();
        let outcomes = self.validations.iter().zip(outcomes).enumerate();
        for (at, (validation, (outcome, took))) in outcomes {
            let violation = match (outcome, &messages) {
                (Err(text), _) => Violation::of_fault(text, ignores_failures),
                (Ok(_), Err(text)) => {
                    let text = format!("failed messageExpression: {text}");
                    Violation::of_fault(text, ignores_failures)
                }
                (Ok(true), _) => continue,
                (Ok(false), Ok(messages)) => {
                    let made = messages.get(at).and_then(Option::as_deref);
                    validation.violation(made.unwrap_or_default())
                }
            };
            violations.push((at, Violation { took, ..violation }));
        }
        Ok(violations)
    }
}

impl Validation {
    /// The violation, with the message that an expression made; empty if it made none.
    fn violation(&self, made: &str) -> Violation {
        let made = made.trim();
        let is_usable = !made.is_empty() && made.len() <= MESSAGE && !made.contains('\n');
        let message = match (is_usable, self.message.as_str()) {
            (true, _) => made.to_owned(),
            (false, "") => format!("failed expression: {}", self.source.trim()),
            (false, message) => message.to_owned(),
        };
        Violation {
            reason: self.reason,
            ..Violation::of_fault(message, false)
        }
    }
}

impl Violation {
    fn of_fault(message: String, is_ignored: bool) -> Self {
        let [reason, ..] = REASONS;
        Violation {
            message,
            reason,
            is_ignored,
            took: Duration::ZERO,
        }
    }
}

impl Dispatched {
    fn deny(&mut self, policy: &str, binding: Option<&str>, violation: Violation) {
        let by = binding.map_or_else(String::new, |name| format!(" with binding '{name}'"));
        let message = format!(
            "ValidatingAdmissionPolicy '{policy}'{by} denied request: {}",
            violation.message
        );
        let violation = Violation {
            message,
            ..violation
        };
        self.denied.get_or_insert((policy.to_owned(), violation));
    }

    fn misconfigured(&mut self, policy: &str, binding: Option<&Binding>, cause: &str) {
        let what = binding.map_or("policy", |_| "binding");
        let violation = Violation::of_fault(format!("failed to configure {what}: {cause}"), false);
        self.deny(policy, binding.map(|binding| &*binding.name), violation);
    }

    fn add(
        &mut self,
        policy: &BoundPolicy<Validations>,
        binding: &Binding,
        verdict: PolicyVerdict,
        around: (&AdmissionRequest<'_>, &dyn Cluster),
    ) {
        let observe = |violation: &Violation, action| {
            let names = (&*policy.name, &*binding.name);
            super::observe(around, names, &violation.message, action, violation.took);
        };

        // Each action is counted, so that one violation can count twice.
        for (at, violation) in verdict.violations {
            if violation.is_ignored {
                observe(&violation, "allow");
                continue;
            }
            for action in &binding.actions {
                match action.as_str() {
                    "Deny" => {
                        observe(&violation, "deny");
                        self.deny(&policy.name, Some(&binding.name), violation.clone());
                    }
                    "Audit" => {
                        observe(&violation, "audit");
                        self.log(at, policy, binding, &violation.message);
                    }
                    "Warn" => {
                        observe(&violation, "warn");
                        self.admitted.warnings.push(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                            policy.name, binding.name, violation.message
                        ));
                    }
                    _ => {}
                }
            }
        }

        for (key, mut value) in verdict.annotations {
            let most = ANNOTATION.min(value.len());
            let end = (0..=most).rev().find(|at| value.is_char_boundary(*at));
            value.truncate(end.unwrap_or(0));
            let place = (policy.name.clone(), key);
            let values = self.annotations.entry(place).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        for text in verdict.faults {
            let violation = Violation::of_fault(text, false);
            observe(&violation, "deny");
            self.deny(&policy.name, Some(&binding.name), violation);
        }
    }

    /// Keeps a violation for the log.
    fn log(
        &mut self,
        at: usize,
        policy: &BoundPolicy<Validations>,
        binding: &Binding,
        message: &str,
    ) {
        let json = |text: &str| Value::from(text).to_json();
        let actions = Value::from(binding.actions.clone()).to_json();
        if self.logged.len() < LOGGED {
            self.logged.push(format!(
                r#"{{"message":{},"policy":{},"binding":{},"expressionIndex":{at},"validationActions":{actions}}}"#,
                json(message),
                json(&policy.name),
                json(&binding.name)
            ));
        }
    }

    fn finish(mut self, request: &AdmissionRequest<'_>) -> Result<Admitted, Denial> {
        let annotations = &mut self.admitted.annotations;
        for ((policy, key), values) in self.annotations {
            annotations.push((format!("{policy}/{key}"), values.join(", ")));
        }
        if !self.logged.is_empty() {
            let key = "validation.policy.admission.k8s.io/validation_failure";
            let logged = format!("[{}]", self.logged.join(","));
            annotations.push((key.to_owned(), logged));
        }
        let Some((policy, violation)) = self.denied else {
            return Ok(self.admitted);
        };

        let Violation {
            message, reason, ..
        } = violation;
        let (reason, code) = reason;
        let text = format!("forbidden: {message}");
        let mut denial = request.refused(code, reason, &text);
        if let Some(details) = &mut denial.status.details {
            details.causes = vec![Cause::new("", message, "")];
        }
        denial.by = format!("ValidatingAdmissionPolicy {policy}");
        denial.warnings = self.admitted.warnings;
        denial.annotations = self.admitted.annotations;
        Err(denial)
    }
}
