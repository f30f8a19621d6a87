//! Requests that ask a question: reviews of access and of tokens. Their objects are not stored.

use fieldmanager_access::{Attributes, User};
use fieldmanager_builtin::Review;
use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;

use super::failure::internal;
use super::token::Holder;
use super::{Answer, Call, Core, Failure};
use crate::access::user_info;
use crate::object::{map, text, with};

impl Core {
    /// `POST` of a review.
    pub(super) async fn review(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let handlers = call.served.handlers().map_err(internal)?;
        let outcome = self.question(call, handlers).await?;
        let object = &outcome.object;

        let review = call.served.description().and_then(|kind| kind.review);
        let object = match review {
            // These answers have nothing of the question.
            Some(Review::Rules) => {
                let namespace = text(object, &["spec", "namespace"]);
                if namespace.is_empty() {
                    return Err(Failure::bad_request("no namespace on request"));
                }
                let status = self.rules(call.user, namespace).await?;
                let object = with(object, "metadata", map([]));
                with(&with(&object, "spec", map([])), "status", status)
            }
            Some(Review::User) => {
                let created = self.source.now().to_string().into();
                let object = with(object, "metadata", map([("creationTimestamp", created)]));
                let status = map([("userInfo", user_info(call.user))]);
                with(&object, "status", status)
            }
            Some(Review::Token) => {
                let token = text(object, &["spec", "token"]);
                if token.is_empty() {
                    let message = "token is required for TokenReview in authentication";
                    return Err(Failure::bad_request(message));
                }
                with(object, "status", self.token_status(object, token).await)
            }
            Some(Review::Access) | None => {
                check_access(call, object)?;
                with(object, "status", self.access_status(call, object).await?)
            }
        };

        Ok(Answer {
            warnings: outcome.warnings,
            ..Answer::object(201, object)
        })
    }

    /// The status of a review of a token: whose it is.
    async fn token_status(&self, review: &Value, token: &str) -> Value {
        let asked = review.get("spec").and_then(|spec| spec.get("audiences"));
        let asked = texts(asked);
        let audiences = Some(asked.as_slice()).filter(|asked| !asked.is_empty());
        match self.holder(token, audiences).await {
            Ok(Some(Holder { user, audiences })) => {
                let audiences = audiences.into_iter().map(Value::from);
                map([
                    ("authenticated", true.into()),
                    ("user", user_info(&user)),
                    ("audiences", Value::List(audiences.collect())),
                ])
            }
            Ok(None) => refused_token("invalid bearer token"),
            Err(text) => refused_token(&format!("[invalid bearer token, {text}]")),
        }
    }

    /// The status of a review of access: what the authorizer says of the attributes.
    async fn access_status(&self, call: &Call<'_>, review: &Value) -> Result<Value, Failure> {
        let given = asked_user(review);
        let user = match &*call.served.facts.kind {
            "SelfSubjectAccessReview" => call.user,
            _ => &given,
        };
        // The two forms exclude each other, which was checked.
        let (resource, other) = forms(review);
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

        let texts = [
            ("reason", decision.reason),
            ("evaluationError", decision.error),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(name, text)| (name, Value::from(text)));
        let allowed = ("allowed", decision.allowed.into());
        Ok(map([allowed].into_iter().chain(texts)))
    }
}

/// The status of a review of a token that is of nobody.
fn refused_token(error: &str) -> Value {
    map([("user", map([])), ("error", error.into())])
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_list).into_iter().flatten();
    let texts = items.filter_map(Value::as_str).map(str::to_owned);
    texts.collect()
}

/// What a review asks about: resources, or a path.
fn forms(review: &Value) -> (Option<&Value>, Option<&Value>) {
    let given = |name: &str| given(review.get("spec")?, name);
    (given("resourceAttributes"), given("nonResourceAttributes"))
}

/// A field, unless it is null.
fn given<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|value| !value.is_null())
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

/// The faults of a question about access.
///
/// Behaviour: `pkg/apis/authorization/validation` of Kubernetes.
fn check_access(call: &Call<'_>, review: &Value) -> Result<(), Failure> {
    let is_local = call.served.facts.namespaced;
    let is_self = call.served.facts.kind == "SelfSubjectAccessReview";
    let (resource, other) = forms(review);
    let spec = FieldPath::root("spec");
    let at_resource = spec.child("resourceAttributes");
    let mut errors = Vec::new();

    // Go shows a struct without tags for JSON.
    let shown = other.map_or(Value::Null, |other| {
        let shown = [("Path", "path"), ("Verb", "verb")];
        map(shown.map(|(name, field)| (name, text(other, &[field]).into())))
    });
    if resource.is_some() == other.is_some() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(spec.clone(), shown.clone(), detail));
    }
    let user = asked_user(review);
    if !is_self && user.name.is_empty() && user.groups.is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(spec.child("user"), "", detail));
    }
    for name in ["fieldSelector", "labelSelector"] {
        let selector = resource.and_then(|resource| given(resource, name));
        errors.extend(selector.and_then(|one| selector_fault(one, &at_resource.child(name))));
    }

    errors.extend(metadata_fault(review, is_local));
    if is_local {
        let namespace = text(review, &["metadata", "namespace"]);
        let asked = resource.map(|resource| text(resource, &["namespace"]));
        if let Some(asked) = asked.filter(|asked| *asked != namespace) {
            let detail = "must match metadata.namespace";
            let at = at_resource.child("namespace");
            errors.push(FieldError::invalid(at, asked, detail));
        }
        if other.is_some() {
            let detail = "disallowed on this kind of request";
            let at = spec.child("nonResourceAttributes");
            errors.push(FieldError::invalid(at, shown, detail));
        }
    }

    if errors.is_empty() {
        return Ok(());
    }
    // The decoded object has no kind by which the answer could name it.
    let kind = GroupVersionKind::new(call.served.facts.group.clone(), "", "");
    Err(Status::invalid(&kind, "", &errors).into())
}

/// The fault of a review with metadata, which has no meaning there.
fn metadata_fault(review: &Value, is_local: bool) -> Option<FieldError> {
    let (kept, detail): (&[&str], _) = if is_local {
        (
            &["managedFields", "namespace"],
            "must be empty except for namespace",
        )
    } else {
        (&["managedFields"], "must be empty")
    };
    let own = review.get("metadata")?.as_map()?.clone();
    let is_kept = own.iter().all(|(name, _)| kept.contains(&name.as_str()));

    let error = || FieldError::invalid(FieldPath::root("metadata"), Value::Map(own), detail);
    (!is_kept).then(error)
}

/// The fault of a selector with both forms, or with none.
fn selector_fault(selector: &Value, path: &FieldPath) -> Option<FieldError> {
    let raw = text(selector, &["rawSelector"]);
    let list = selector.get("requirements").and_then(Value::as_list);
    let has_list = list.is_some_and(|list| !list.is_empty());
    match (raw, has_list) {
        ("", false) => {
            let detail =
                format!("when {path} is specified, requirements or rawSelector is required");
            Some(FieldError::required(path.child("requirements"), detail))
        }
        ("", true) | (_, false) => None,
        (raw, true) => {
            let detail = "may not specified at the same time as requirements";
            Some(FieldError::invalid(path.child("rawSelector"), raw, detail))
        }
    }
}
