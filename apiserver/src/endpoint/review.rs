//! Requests that ask a question: reviews of access and of tokens. Their objects are not stored.

use fieldmanager_builtin::Kind;
use fieldmanager_value::{List, Value};

use super::delete::read_body;
use super::{Answer, Call, Content, Failure};
use crate::object::{map, with, with_field};

fn all() -> Value {
    Value::List(List::from_iter([Value::from("*")]))
}

/// `POST` of a review. Everybody may do everything.
pub(super) fn review(call: &Call<'_>) -> Result<Answer, Failure> {
    let body = read_body(call, call.served.kind())?;
    let malformed = |message: String| Failure::new(400, "BadRequest", message);
    let kind = Kind::of(call.served.kind()).ok_or_else(Failure::path_not_found)?;
    let decoded = kind.decode(&body).map_err(|error| malformed(error.message(&kind)))?;
    let user = map([
        ("username", "admin".into()),
        ("uid", "admin".into()),
        ("groups", Value::List(List::from_iter(["system:masters", "system:authenticated"].map(Value::from)))),
    ]);
    let kind = call.served.kind();
    let object = with(&decoded.object, "apiVersion", kind.api_version());
    let object = with(&object, "kind", kind.kind.clone());
    let object = match call.served.facts.kind.as_str() {
        "SelfSubjectRulesReview" => {
            let rules = |name| Value::List(List::from_iter([map([("verbs", all()), (name, all())])]));
            let resources = map([("verbs", all()), ("apiGroups", all()), ("resources", all())]);
            let status = map([
                ("resourceRules", Value::List(List::from_iter([resources]))),
                ("nonResourceRules", rules("nonResourceURLs")),
                ("incomplete", false.into()),
            ]);
            with(&object, "status", status)
        }
        "SelfSubjectReview" => with(&object, "status", map([("userInfo", user)])),
        "TokenReview" => with(&object, "status", map([("authenticated", true.into()), ("user", user)])),
        _ => with_field(&object, "status", "allowed", true.into()),
    };
    Ok(Answer { code: 201, warnings: Vec::new(), content: Content::Object(object) })
}
