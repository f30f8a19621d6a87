//! Roles and bindings: who may do what, with the authorizer, the stores and the controller of Kubernetes.

mod generate;

use fieldmanager_access::{Attributes, RbacPolicy, User, aggregate_rules};
use fieldmanager_managedfields::Status;
use fieldmanager_value::Value as Own;
use serde_json::{Value, json};

use crate::builtin::BuiltInSuite;
use crate::json::{back, each, flag, items, member, own, same_value, set, strings, text};
use crate::shrink::Cut;
use crate::suite::caught;
use crate::{Difference, Error, Verdict};

/// The suite.
pub struct Access;

impl BuiltInSuite for Access {
    const NAME: &'static str = "access";
    const ORACLE: &'static str = "server/cmd/access";

    fn generate(seed: u64) -> Value {
        generate::case(seed)
    }

    fn judge(case: &Value, answer: &Value) -> Result<Verdict, Error> {
        let (questions, answers) = (items(case, "questions"), items(answer, "answers"));
        if questions.len() != answers.len() {
            return Err(Error::Request(format!("{case}: {answer}")));
        }
        let objects: Vec<Own> = items(case, "objects").iter().map(own).collect();
        let mut policy = RbacPolicy::default();
        for object in &objects {
            policy.set(object);
        }

        let mut out = Verdict::default();
        for (question, reference) in questions.iter().zip(answers) {
            let reference = normal(reference);
            let candidate = normal(&caught(|| respond(&policy, &objects, question)));
            let op = text(question, "op");
            let kind = format!("{op}: {}", outcome(&reference));
            out.tally.count("requests by op", kind);
            if !same_value(&reference, &candidate) {
                out.difference = Some(Difference::of(op, &reference, &candidate));
                break;
            }
        }
        Ok(out)
    }

    fn is_sound(case: &Value) -> bool {
        items(case, "objects").iter().all(|object| {
            let name = text(member(object, "metadata"), "name");
            !text(object, "apiVersion").is_empty() && !name.is_empty()
        })
    }

    fn cuts() -> Vec<Cut> {
        let lists = ["/questions", "/objects"].map(Cut::children);
        lists.into_iter().chain([Cut::names("/objects")]).collect()
    }
}

/// An answer without what Go leaves out: empty lists and strings.
fn normal(answer: &Value) -> Value {
    let mut out = answer.clone();
    let is_applied = out.get("rules").is_some_and(Value::is_array);
    let is_empty = |value: &Value| *value == json!([]) || *value == json!("") || value.is_null();
    each(&mut out, &mut |value| {
        if let Value::Object(members) = value {
            members.retain(|_, value| !is_empty(value));
        }
    });
    // That no rules are applied differs from nothing that is applied.
    set(&mut out, "applied", is_applied);
    out
}

/// What kind of answer it is.
fn outcome(answer: &Value) -> &'static str {
    match answer {
        _ if flag(answer, "allowed") => "allowed",
        _ if answer.get("code") == Some(&json!(403)) => "forbidden",
        _ if answer.get("code").is_some() => "other error",
        _ if text(answer, "reason").is_empty() && answer.get("message").is_some() => "denied",
        _ if answer.get("message").is_some() => "denied with errors",
        _ if flag(answer, "applied") => "applied",
        _ if answer.pointer("/status/evaluationError").is_some() => "incomplete",
        _ => "plain",
    }
}

fn respond(policy: &RbacPolicy, objects: &[Own], question: &Value) -> Value {
    let [namespace, name] = ["namespace", "name"].map(|part| text(question, part));
    let user = User {
        name: text(question, "user").to_owned(),
        groups: strings(question, "groups").map(str::to_owned).collect(),
        ..User::default()
    };
    match text(question, "op") {
        "authorize" => authorize(policy, &user, question),
        "rules" => json!({"status": back(&policy.rules_review(&user, namespace))}),
        "grant" => grant(policy, &user, question),
        _ => {
            let rules = aggregate(objects, name);
            json!({"rules": rules.map(|rules| back(&Own::from(rules)))})
        }
    }
}

fn grant(policy: &RbacPolicy, user: &User, question: &Value) -> Value {
    let object = member(question, "object");
    let resource = text(object, "kind").to_lowercase() + "s";
    let is_cluster = resource.starts_with("cluster");
    let request = Attributes {
        group: "rbac.authorization.k8s.io",
        resource: &resource,
        namespace: if is_cluster {
            ""
        } else {
            text(question, "namespace")
        },
        name: text(question, "name"),
        ..Attributes::new(user, "update")
    };
    let old = question.get("old").map(own);
    let result = policy.check_grant(&request, &own(object), old.as_ref());
    result.map_or_else(|refused| refusal(&refused), |()| json!({}))
}

fn aggregate(objects: &[Own], name: &str) -> Option<Vec<Own>> {
    let name_of = |object: &Own| {
        object
            .get("metadata")?
            .get("name")?
            .as_str()
            .map(str::to_owned)
    };
    let cluster_roles = objects
        .iter()
        .filter(|object| object.get("kind").and_then(Own::as_str) == Some("ClusterRole"));
    let mut named = cluster_roles.clone();
    let role = named.find(|object| name_of(object).as_deref() == Some(name))?;
    aggregate_rules(role, cluster_roles)
}

fn authorize(policy: &RbacPolicy, user: &User, question: &Value) -> Value {
    let part = |name: &str| text(question, name);
    let attributes = Attributes {
        path: Some(part("path")).filter(|path| !path.is_empty()),
        group: part("group"),
        resource: part("resource"),
        subresource: part("subresource"),
        namespace: part("namespace"),
        name: part("name"),
        ..Attributes::new(user, part("verb"))
    };
    let decision = policy.authorize(&attributes);
    let message = attributes.forbidden(&decision.reason).message;

    if decision.allowed {
        json!({"allowed": true, "reason": decision.reason})
    } else {
        json!({"reason": decision.reason, "message": message})
    }
}

fn refusal(refused: &Status) -> Value {
    json!({"code": refused.code, "message": refused.message})
}
