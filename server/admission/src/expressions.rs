//! Expressions in CEL about requests.
//!
//! Behaviour: `k8s.io/apiserver/pkg/admission/plugin/cel`.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use fieldmanager_access::{Attributes, User};
use fieldmanager_cel::{
    AccessDecision, AccessQuestion, Activation, Authorizer, Environment, EvaluationError,
    Expression, ExpressionInput, ExpressionType, ExpressionValue, InputType,
};
use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::{Map, Value};

use crate::matching::items;
use crate::request::{access_question, describe_for_expressions};
use crate::versioned::Versioned;
use crate::{AdmissionRequest, Cluster, Denial};

/// The cost of all expressions of a kind of a policy.
///
/// Behaviour: `k8s.io/apiserver/pkg/apis/cel/config.go`.
pub(crate) const BUDGET: u64 = 10_000_000;
/// The cost of all conditions.
const CONDITIONS_BUDGET: u64 = 2_500_000;

/// What an expression gets if the budget does not last.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The names that only some expressions have.
pub(crate) const PARAMS: &str = "params";
pub(crate) const AUTHORIZER: &str = "authorizer";
pub(crate) const VARIABLES: &str = "variables";
const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The types of `request` and `namespaceObject`. Those of their parts are the titles. What is an int or a string has no type.
const TYPES_TEXT: [&str; 2] = [
    include_str!("expressions/request.yaml"),
    include_str!("expressions/namespace.yaml"),
];

/// The schemas of the two types. The texts are constant, so that reading them cannot fail.
static TYPES: LazyLock<[Structural; 2]> = LazyLock::new(|| {
    TYPES_TEXT.map(|text| {
        let schema = Value::from_yaml(text).unwrap_or_default();
        Structural::from_value(&schema).unwrap_or_default()
    })
});

/// The environment of expressions, with some of `params`, `authorizer` and `variables`.
pub fn environment(optional: &[&str]) -> Environment {
    let mut environment = environment_of(InputType::Dynamic);
    if optional.contains(&PARAMS) {
        environment = environment.with_input(PARAMS, InputType::Dynamic);
    }
    if optional.contains(&AUTHORIZER) {
        environment = environment
            .with_input(AUTHORIZER, InputType::Authorizer)
            .with_input(REQUEST_RESOURCE, InputType::ResourceCheck);
    }
    if optional.contains(&VARIABLES) {
        environment = environment.with_input(VARIABLES, InputType::Variables);
    }
    environment
}

/// The environment in which the types of the expressions of a policy are checked. It does not have
/// `authorizer.requestResource`.
///
/// Behaviour: `buildEnvSet` of `k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go`.
pub(crate) fn typed_environment(object: InputType, params: Option<InputType>) -> Environment {
    let environment = environment_of(object)
        .with_input(AUTHORIZER, InputType::Authorizer)
        .with_input(VARIABLES, InputType::Variables);
    match params {
        Some(params) => environment.with_input(PARAMS, params),
        None => environment,
    }
}

fn environment_of(object: InputType) -> Environment {
    let [request, namespace] = &*TYPES;
    let request = InputType::Typed("kubernetes.AdmissionRequest".into(), request.clone());
    let namespace = InputType::Typed("kubernetes.Namespace".into(), namespace.clone());
    Environment::new()
        .with_input("object", object.clone())
        .with_input("oldObject", object)
        .with_input("request", request)
        .with_input("namespaceObject", namespace)
}

/// The environment of the expressions of a policy.
pub(crate) fn environment_of_policy(spec: &Value) -> Environment {
    let params = spec.get("paramKind").filter(|kind| !kind.is_null());
    let params = params.map_or("", |_| PARAMS);
    with_variables(environment(&[params, AUTHORIZER, VARIABLES]), spec)
}

/// An environment with the variables of a policy. One that does not compile is an error of what uses it.
pub(crate) fn with_variables(mut environment: Environment, spec: &Value) -> Environment {
    for variable in items(spec, "variables") {
        let _ = environment.add_variable(variable.string("name"), variable.string("expression"));
    }
    environment
}

/// What expressions are evaluated with. What is `None` is null.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// The object that the request makes.
    pub object: Option<&'a Value>,
    /// The object before the request.
    pub old: Option<&'a Value>,
    /// The request, as [`describe_for_expressions`](crate::internal::describe_for_expressions) makes it.
    pub request: Value,
    /// The namespace of the object.
    pub namespace: Option<&'a Value>,
    /// The parameters of the binding.
    pub params: Option<&'a Value>,
    /// The objects of the request, for the authorizer.
    pub resource: AccessQuestion,
}

impl<'i> Inputs<'i> {
    /// Those of a request with its objects at a version, described as one for a resource: a group, a version and a name.
    pub(crate) fn of(
        request: &AdmissionRequest<'_>,
        objects: &'i Versioned,
        resource: [&str; 3],
    ) -> Self {
        Inputs {
            object: objects.object.as_ref(),
            old: objects.old.as_ref(),
            request: describe_for_expressions(request, &objects.kind, resource),
            resource: access_question(request),
            ..Inputs::default()
        }
    }

    /// Begins evaluations. Without an authorizer, expressions that use it fail.
    pub fn activate<'a>(
        &'a self,
        environment: &'a Environment,
        authorizer: Option<&'a dyn Authorizer>,
        budget: u64,
    ) -> Activation<'a> {
        static NULL: Value = Value::Null;
        let value = |of: Option<&'a Value>| ExpressionInput::Value(of.unwrap_or(&NULL));
        let mut inputs = vec![
            ("object", value(self.object)),
            ("oldObject", value(self.old)),
            ("request", value(Some(&self.request))),
            ("namespaceObject", value(self.namespace)),
            (PARAMS, value(self.params)),
        ];
        if authorizer.is_some() {
            let any = ExpressionInput::Authorizer(AccessQuestion::default());
            let own = ExpressionInput::ResourceCheck(self.resource.clone());
            inputs.extend([(AUTHORIZER, any), (REQUEST_RESOURCE, own)]);
        }
        environment.activate(&inputs, authorizer, budget)
    }
}

/// What expressions can see of a namespace.
///
/// Behaviour: `CreateNamespaceObject` of `k8s.io/apiserver/pkg/admission/plugin/cel/condition.go`.
pub fn visible_namespace(namespace: &Value) -> Value {
    let without = |value: Option<&Value>, names: &[&str]| {
        let fields = value.and_then(Value::as_map).into_iter().flatten();
        let kept = fields.filter(|(name, _)| !names.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map>()
    };
    let mut out = without(Some(namespace), &["apiVersion", "kind"]);
    let metadata = without(
        namespace.get("metadata"),
        &["managedFields", "ownerReferences"],
    );
    out.insert("metadata", Value::Map(metadata));
    Value::Map(out)
}

/// An expression, or why it does not compile.
pub(crate) type Compiled = Result<Expression, String>;

/// Why an expression of several has no value.
#[derive(Clone, Debug)]
pub(crate) enum ExpressionFault {
    /// It failed.
    Own(String),
    /// The budget does not last, so that none of them counts.
    Budget(String),
}

/// The value of an expression.
///
/// Behaviour: `evaluationActivation.Evaluate` of `k8s.io/apiserver/pkg/admission/plugin/cel/activation.go`.
pub(crate) fn evaluate<'a>(
    activation: &mut Activation<'a>,
    compiled: &Compiled,
) -> Result<ExpressionValue<'a>, ExpressionFault> {
    let expression = compiled
        .as_ref()
        .map_err(|fault| ExpressionFault::Own(format!("compilation error: {fault}")))?;
    activation
        .evaluate(expression)
        .map_err(|error| match error {
            EvaluationError::Failed(text) => ExpressionFault::Own(text),
            // Who asks repeats the evaluation if a decision was missing.
            EvaluationError::OutOfBudget | EvaluationError::Undecided => {
                ExpressionFault::Budget(OUT_OF_BUDGET.to_owned())
            }
        })
}

/// The conditions of a webhook or a policy.
pub(crate) fn conditions(environment: &Environment, of: &Value) -> Vec<Compiled> {
    let conditions = items(of, "matchConditions");
    conditions
        .map(|condition| {
            environment.compile(condition.string("expression"), &[ExpressionType::Bool])
        })
        .collect()
}

/// Whether all conditions hold. One that is false outweighs errors.
///
/// # Errors
///
/// A condition cannot be evaluated, and none is false.
///
/// Behaviour: `matcher.Match` of `k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions`.
pub(crate) fn all_hold(
    environment: &Environment,
    conditions: &[Compiled],
    inputs: &Inputs<'_>,
    authorizer: &Decisions,
) -> Result<bool, String> {
    if conditions.is_empty() {
        return Ok(true);
    }
    let mut activation = inputs.activate(environment, Some(authorizer), CONDITIONS_BUDGET);
    let mut faults: Vec<String> = Vec::new();
    let mut has_false = false;
    // All are evaluated, since the budget is for all of them.
    for condition in conditions {
        match evaluate(&mut activation, condition) {
            Ok(value) => has_false |= value.as_bool() == Some(false),
            Err(ExpressionFault::Own(text)) => faults.push(text),
            Err(ExpressionFault::Budget(text)) => return Err(text),
        }
    }

    if has_false {
        return Ok(false);
    }
    let mut known = std::collections::BTreeSet::new();
    faults.retain(|fault| known.insert(fault.clone()));
    match faults.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// The answers of an authorizer that are known, and the question that is not.
#[derive(Default)]
pub(crate) struct Decisions {
    known: BTreeMap<AccessQuestion, AccessDecision>,
    missing: Mutex<Option<AccessQuestion>>,
}

impl Authorizer for Decisions {
    fn decide(&self, question: &AccessQuestion) -> Option<AccessDecision> {
        let known = self.known.get(question).cloned();
        if known.is_none() {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            *missing = Some(question.clone());
        }
        known
    }
}

/// Evaluates something until all decisions that it needs are known. Each evaluation adds one, and costs limit their number.
///
/// # Errors
///
/// The cluster fails to authorize.
pub(crate) async fn decide<T>(
    user: &User,
    cluster: &dyn Cluster,
    evaluate: impl Fn(&Decisions) -> T,
) -> Result<T, Denial> {
    let mut decisions = Decisions::default();
    loop {
        let out = evaluate(&decisions);
        let missing = decisions.missing.get_mut();
        let Some(question) = missing.unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(out);
        };
        let answer = ask(user, cluster, &question).await?;
        decisions.known.insert(question, answer);
    }
}

/// Asks the cluster. Selectors are not looked at, as RBAC does not.
async fn ask(
    user: &User,
    cluster: &dyn Cluster,
    question: &AccessQuestion,
) -> Result<AccessDecision, Denial> {
    let account = question.service_account.as_ref().map(|(namespace, name)| {
        let group = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", &group];
        User::new(
            &format!("system:serviceaccount:{namespace}:{name}"),
            &groups,
        )
    });

    // A question about objects has no path.
    let path = Some(question.path.as_str()).filter(|path| !path.is_empty());
    let attributes = Attributes {
        path,
        group: &question.group,
        resource: &question.resource,
        subresource: &question.subresource,
        namespace: &question.namespace,
        name: &question.name,
        ..Attributes::new(account.as_ref().unwrap_or(user), &question.verb)
    };
    let answer = cluster.authorize(attributes).await?;
    Ok(AccessDecision {
        allowed: answer.allowed,
        reason: answer.reason,
        error: answer.error,
    })
}
