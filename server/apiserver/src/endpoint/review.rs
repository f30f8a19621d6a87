//! Requests that ask a question: reviews of access and of tokens. Their objects are not stored.

use fieldmanager_access::{Attributes, User};
use fieldmanager_builtin::{Review, validate_create};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::failure::internal;
use super::token::Holder;
use super::{Answer, Call, Core, Failure};
use crate::access::bearer;
use crate::object::{map, text, with};
use crate::selector::{FieldSelector, LabelSelector};

impl Core {
    /// `POST` of a review.
    pub(super) async fn review(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let handlers = call.served.handlers().map_err(internal)?;
        let review = call.served.description().and_then(|kind| kind.review);
        let check = |object: &Value| check_review(call, review, object);
        let outcome = self.question(call, handlers, check).await?;
        let object = &outcome.object;

        let object = match review {
            // These answers have nothing of the question.
            Some(Review::Rules) => {
                let namespace = text(object, &["spec", "namespace"]);
                let status = self.rules(call.user, namespace).await?;
                let object = with(object, "metadata", map([]));
                with(&with(&object, "spec", map([])), "status", status)
            }
            Some(Review::User) => {
                let created = self.source.now().to_string().into();
                let object = with(object, "metadata", map([("creationTimestamp", created)]));
                let status = map([("userInfo", call.user.into())]);
                with(&object, "status", status)
            }
            Some(Review::Token) => {
                let token = text(object, &["spec", "token"]);
                with(object, "status", self.token_status(object, token).await)
            }
            Some(Review::Access) | None => {
                with(object, "status", self.access_status(call, object).await?)
            }
        };

        Ok(Answer {
            warnings: outcome.warnings,
            ..Answer::object(201, object)
        })
    }

    /// The status of a review of a token: whose it is. What the request says of it stays unless the answer has that too.
    ///
    /// Behaviour: `pkg/registry/authentication/tokenreview` of Kubernetes.
    async fn token_status(&self, review: &Value, token: &str) -> Value {
        let asked = texts(review.get("spec").and_then(|spec| spec.get("audiences")));
        let audiences = Some(asked.as_slice()).filter(|asked| !asked.is_empty());
        // It is read as that of a header.
        let header = format!("Bearer {token}");
        let token = bearer(Some(&header));

        let given = review.get("status").and_then(Value::as_map);
        let mut status = given.cloned().unwrap_or_default();
        status.remove("authenticated");
        if status.get("user").is_none() {
            status.insert("user", map([]));
        }
        let error = match self.holder(token, audiences).await {
            Ok(Some(Holder { user, audiences })) => {
                status.insert("authenticated", true);
                status.insert("user", &user);
                status.insert("audiences", audiences);
                String::new()
            }
            Ok(None) if token.is_empty() => String::new(),
            Ok(None) => "invalid bearer token".to_owned(),
            Err(text) => format!("[invalid bearer token, {text}]"),
        };
        if !error.is_empty() {
            status.insert("error", error);
        }
        Value::Map(status)
    }

    /// The status of a review of access: what the authorizer says of the attributes.
    async fn access_status(&self, call: &Call<'_>, review: &Value) -> Result<Value, Failure> {
        let given = asked_user(review);
        let user = match &*call.served.facts.kind {
            "SelfSubjectAccessReview" => call.user,
            _ => &given,
        };
        // The two forms exclude each other, which was checked.
        let given = |name: &str| review.get("spec")?.get(name).filter(|form| !form.is_null());
        let (resource, other) = (given("resourceAttributes"), given("nonResourceAttributes"));
        let of = |name| resource.or(other).map_or("", |form| text(form, &[name]));
        let question = Attributes {
            path: other.map(|_| of("path")),
            group: of("group"),
            version: of("version"),
            resource: of("resource"),
            subresource: of("subresource"),
            namespace: of("namespace"),
            name: of("name"),
            ..Attributes::new(user, of("verb"))
        };
        let decision = self.decide(&question).await?;

        let mut errors = vec![decision.error];
        errors.extend(["fieldSelector", "labelSelector"].map(|name| {
            let selector = resource.and_then(|resource| resource.get(name));
            selector.map_or_else(String::new, |selector| ignored(name, selector))
        }));
        errors.retain(|error| !error.is_empty());
        let texts = [
            ("reason", decision.reason),
            ("evaluationError", errors.join("; ")),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(name, text)| (name, Value::from(text)));
        let allowed = ("allowed", decision.allowed.into());
        Ok(map([allowed].into_iter().chain(texts)))
    }
}

/// Checks an object that asks a question.
fn check_review(call: &Call<'_>, review: Option<Review>, object: &Value) -> Result<(), Failure> {
    match review {
        Some(Review::Rules) if text(object, &["spec", "namespace"]).is_empty() => {
            Err(Failure::bad_request("no namespace on request"))
        }
        Some(Review::Token) if text(object, &["spec", "token"]).is_empty() => {
            let message = "token is required for TokenReview in authentication";
            Err(Failure::bad_request(message))
        }
        Some(Review::Access) | None => {
            let faults = validate_create(call.served.kind(), object);
            if faults.is_empty() {
                return Ok(());
            }
            // The decoded object has no kind by which the answer could name it.
            let kind = GroupVersionKind::new(call.served.facts.group.clone(), "", "");
            Err(Status::invalid(&kind, "", &faults).into())
        }
        Some(_) => Ok(()),
    }
}

/// What an authorizer does not use of a selector; empty if there is nothing.
///
/// Behaviour: `BuildEvaluationError` of `pkg/registry/authorization/util` of Kubernetes.
fn ignored(name: &str, selector: &Value) -> String {
    let is_of_fields = name == "fieldSelector";
    let raw = text(selector, &["rawSelector"]);
    let is_malformed = if is_of_fields {
        FieldSelector::parse(raw).is_err()
    } else {
        LabelSelector::parse(raw).is_err()
    };
    let requirements = selector.get("requirements").and_then(Value::as_list);
    let is_used = |one: &Value| match text(one, &["operator"]) {
        // A field is compared with one value.
        "In" | "NotIn" => !is_of_fields || texts(one.get("values")).len() == 1,
        "Exists" | "DoesNotExist" => !is_of_fields,
        _ => false,
    };
    let (used, unused): (Vec<_>, Vec<_>) = requirements
        .into_iter()
        .flatten()
        .map(is_used)
        .partition(|used| *used);

    let extent = match (used.as_slice(), unused.as_slice()) {
        (_, []) if !is_malformed => return String::new(),
        ([], _) => "ignored",
        _ => "partially ignored",
    };
    format!("spec.resourceAttributes.{name} {extent} due to parse error")
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_list).into_iter().flatten();
    let texts = items.filter_map(Value::as_str).map(str::to_owned);
    texts.collect()
}

/// The user that a review asks about.
fn asked_user(review: &Value) -> User {
    let spec = |name: &str| review.get("spec").and_then(|spec| spec.get(name));
    let extra = spec("extra")
        .and_then(Value::as_map)
        .into_iter()
        .flatten()
        .map(|(key, values)| (key.to_string(), texts(Some(values))));

    User {
        name: text(review, &["spec", "user"]).to_owned(),
        uid: text(review, &["spec", "uid"]).to_owned(),
        groups: texts(spec("groups")),
        extra: extra.collect(),
    }
}
