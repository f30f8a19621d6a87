//! The expressions of policies and configurations that are written.

use fieldmanager_cel::{Environment, ExpressionType};
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;

use super::mutation::MutationKind;
use super::source::field;
use crate::expressions::{AUTHORIZER, PARAMS, VARIABLES, environment};
use crate::matching::items;

/// The longest value of an annotation, in bytes.
const ANNOTATION: usize = 5 * 1024;

/// The parts of a policy in the order in which they are checked, each with its fields in that order.
const ORDER: [(&str, &[&str]); 8] = [
    ("failurePolicy", &[]),
    ("paramKind", &[]),
    ("matchConstraints", &[]),
    ("matchConditions", &["expression", "name"]),
    ("variables", &["name", "expression"]),
    (
        "validations",
        &["expression", "messageExpression", "message", "reason"],
    ),
    (
        "mutations",
        &["patchType", "jsonPatch", "applyConfiguration"],
    ),
    ("auditAnnotations", &["key", "valueExpression"]),
];

/// What is found in an object.
struct PolicyCheck {
    environment: Environment,
    errors: Vec<FieldError>,
}

/// Adds the faults of the expressions of a policy or of a configuration of webhooks to the other faults of the object, in
/// the order of kube-apiserver. Other kinds have none. `live` is the object that is updated.
///
/// ```
/// use fieldmanager_admission::policies::check_expressions;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy");
/// let policy = Value::from_yaml("{spec: {validations: [{expression: object.replicas}]}}")?;
/// let errors = check_expressions(&kind, &policy, None, Vec::new());
/// let text = "spec.validations[0].expression: Invalid value: \"object.replicas\": must evaluate to bool but got dyn";
/// assert_eq!(errors[0].to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Behaviour: `k8s.io/kubernetes/pkg/apis/admissionregistration/validation`. In an update, new expressions can use the
/// functions of stored ones.
pub fn check_expressions(
    kind: &GroupVersionKind,
    object: &Value,
    live: Option<&Value>,
    errors: Vec<FieldError>,
) -> Vec<FieldError> {
    let found = match (&*kind.group, &*kind.kind) {
        (super::source::GROUP, "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            of_policy(object, live, &*kind.kind == "MutatingAdmissionPolicy")
        }
        (
            super::source::GROUP,
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => of_webhooks(object, live),
        _ => return errors,
    };
    merged(errors, found)
}

fn of_webhooks(object: &Value, live: Option<&Value>) -> Vec<FieldError> {
    let conditions = |object| -> Vec<&Value> {
        let webhooks = items(object, "webhooks");
        webhooks
            .map(|hook| field(hook, "matchConditions"))
            .collect()
    };
    if live.is_some_and(|live| conditions(live) == conditions(object)) {
        return Vec::new();
    }
    let mut check = PolicyCheck::new(&[AUTHORIZER], live);
    for (at, webhook) in items(object, "webhooks").enumerate() {
        check.conditions(webhook, &FieldPath::root("webhooks").index(at));
    }
    check.errors
}

fn of_policy(object: &Value, live: Option<&Value>, mutates: bool) -> Vec<FieldError> {
    let (spec, path) = (field(object, "spec"), FieldPath::root("spec"));
    let params = Some(PARAMS).filter(|_| !field(spec, "paramKind").is_null());
    let names = [params.unwrap_or_default(), AUTHORIZER];
    let kept =
        |name| live.is_some_and(|live| field(field(live, "spec"), name) == field(spec, name));
    let mut errors = Vec::new();
    if !(kept("matchConditions") && kept("paramKind")) {
        // Conditions are checked without variables, although they can use them.
        let mut check = PolicyCheck::new(&names, live);
        check.conditions(spec, &path);
        errors = check.errors;
    }

    let has_variables = mutates || items(spec, "variables").next().is_some();
    let variables = Some(VARIABLES).filter(|_| has_variables);
    let [params, authorizer] = names;
    let mut check = PolicyCheck::new(&[params, authorizer, variables.unwrap_or_default()], live);
    check.errors = errors;
    for (at, variable) in items(spec, "variables").enumerate() {
        let source = variable.string("expression");
        if !source.trim().is_empty() {
            let path = path.child("variables").index(at).child("expression");
            let added = check
                .environment
                .add_variable(variable.string("name"), source);
            check.add(&path, source, added);
        }
    }
    if mutates {
        check.mutations(spec, &path);
    } else {
        check.validations(spec, &path);
    }
    check.errors
}

impl PolicyCheck {
    fn new(names: &[&str], live: Option<&Value>) -> Self {
        let environment = environment(names);
        let environment = match live {
            Some(_) => environment,
            None => environment.for_new(),
        };
        PolicyCheck {
            environment,
            errors: Vec::new(),
        }
    }

    /// Adds the fault of an expression, which is shown.
    fn add<T>(&mut self, path: &FieldPath, shown: &str, compiled: Result<T, String>) {
        if let Err(text) = compiled {
            let path = path.clone();
            self.errors
                .push(if text.starts_with("program instantiation") {
                    FieldError::internal(path, text)
                } else {
                    FieldError::invalid(path, shown, text)
                });
        }
    }

    fn conditions(&mut self, of: &Value, path: &FieldPath) {
        for (at, condition) in items(of, "matchConditions").enumerate() {
            let source = condition.string("expression").trim();
            let path = path.child("matchConditions").index(at).child("expression");
            self.expression(&path, source, source, &[ExpressionType::Bool]);
        }
    }

    /// Compiles an expression, unless it is empty. It may be shown with white space around it.
    fn expression(
        &mut self,
        path: &FieldPath,
        source: &str,
        shown: &str,
        expected: &[ExpressionType],
    ) {
        if !source.trim().is_empty() {
            let compiled = self.environment.compile(source, expected);
            self.add(path, shown, compiled);
        }
    }

    fn validations(&mut self, spec: &Value, path: &FieldPath) {
        for (at, validation) in items(spec, "validations").enumerate() {
            let path = path.child("validations").index(at);
            let source = validation.string("expression");
            let bool = [ExpressionType::Bool];
            self.expression(&path.child("expression"), source, source, &bool);
            let message = validation.string("messageExpression");
            if !message.trim().is_empty() {
                let text = [ExpressionType::String];
                let compiled = self.environment.compile_without(AUTHORIZER, message, &text);
                self.add(&path.child("messageExpression"), message, compiled);
            }
        }
        for (at, annotation) in items(spec, "auditAnnotations").enumerate() {
            let path = path.child("auditAnnotations").index(at);
            let shown = annotation.string("valueExpression");
            if shown.trim().len() <= ANNOTATION {
                let texts = [ExpressionType::String, ExpressionType::Null];
                self.expression(&path.child("valueExpression"), shown.trim(), shown, &texts);
            }
        }
    }

    fn mutations(&mut self, spec: &Value, path: &FieldPath) {
        for (at, mutation) in items(spec, "mutations").enumerate() {
            let Some((kind, member)) = MutationKind::of(mutation) else {
                continue;
            };
            let path = path.child("mutations").index(at).child(member);
            let path = path.child("expression");
            let source = field(mutation, member).string("expression").trim();
            self.expression(&path, source, source, &[kind.expected()]);
        }
    }
}

/// Both lists in the order in which kube-apiserver finds the faults.
fn merged(errors: Vec<FieldError>, found: Vec<FieldError>) -> Vec<FieldError> {
    let mut out = errors;
    for error in found {
        let place = place_of(&error);
        let at = out.iter().position(|other| place_of(other) > place);
        out.insert(at.unwrap_or(out.len()), error);
    }
    out
}

/// The place of a fault in the order of all: the part, the item and the field. A key that repeats is found after the rest
/// of its item.
fn place_of(error: &FieldError) -> (usize, u64, usize) {
    let path = error.path.to_string();
    if let Some(rest) = path.strip_prefix("webhooks[") {
        let at = rest.split(']').next().unwrap_or_default().parse();
        let is_last = path.contains("].matchConditions");
        return (1, at.unwrap_or(0), usize::from(is_last));
    }
    let path = path.strip_prefix("spec.").unwrap_or_default();
    let mut parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    let part = parts.next().unwrap_or_default();
    let Some((section, (_, fields))) = ORDER
        .iter()
        .enumerate()
        .find(|(_, (name, _))| *name == part)
    else {
        return (0, 0, 0);
    };
    let item = parts.next().and_then(|at| at.parse().ok()).unwrap_or(0);
    let name = parts.next().unwrap_or_default();
    let place = fields.iter().position(|field| *field == name);
    match error.kind {
        FieldErrorKind::Duplicate => (section + 1, item, fields.len()),
        _ => (section + 1, item, place.unwrap_or(0)),
    }
}
