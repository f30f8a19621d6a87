//! Requests for tokens: `POST serviceaccounts/NAME/token`.

use std::fmt;

use fieldmanager_managedfields::{Status, Time};
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{Map, Value};

use super::claims::{Claims, ObjectLookup, ObjectReference};
use super::issuer::TokenIssuer;
use crate::attributes::describe;

/// The life in seconds of a token of a pod that is extended, and how long it lives then.
const EXTENDED_SECONDS: i64 = 3607;
const YEAR: i64 = 365 * 24 * 60 * 60;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";

/// A checked `TokenRequest` for a service account that exists.
#[derive(Debug)]
pub struct TokenRequest<'a> {
    object: &'a Value,
    account: &'a Value,
    audiences: Vec<String>,
    seconds: i64,
    binding: Option<Binding<'a>>,
}

/// The answer to a `TokenRequest`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenGrant {
    /// The request with its status: it has the token.
    pub answer: Value,
    /// Texts for headers `Warning`.
    pub warnings: Vec<String>,
}

/// The object that a request binds its token to.
#[derive(Debug)]
struct Binding<'a> {
    kind: GroupVersionKind,
    name: &'a str,
    uid: &'a str,
}

impl<'a> TokenRequest<'a> {
    /// Checks the name in a decoded request, before its service account is looked up. The namespace is checked when the
    /// request is decoded.
    ///
    /// # Errors
    ///
    /// 422 if it is not that of the path.
    pub fn check_name(object: &Value, name: &str) -> Result<(), Status> {
        let found = object.metadata_string("name");
        if found.is_empty() || found == name {
            return Ok(());
        }
        let path = FieldPath::root("metadata").child("name");
        let text = "must match the service account name if specified";
        Err(invalid(name, &[FieldError::invalid(path, found, text)]))
    }

    /// Checks a decoded request for a service account.
    ///
    /// Behaviour: `TokenREST.Create` of `k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage`, and
    /// `ValidateTokenRequest`.
    ///
    /// # Errors
    ///
    /// 409 if it names another uid than that of the account, 422 if its `spec` is invalid.
    pub fn new(
        object: &'a Value,
        account: &'a Value,
        issuer: &TokenIssuer,
    ) -> Result<Self, Status> {
        let asked = object.metadata_string("uid");
        let uid = account.metadata_string("uid");
        if !asked.is_empty() && asked != uid {
            let text = format!(
                "the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
            );
            let name = account.metadata_string("name");
            return Err(conflict((GROUP, KIND, name), &text));
        }

        let spec = |name: &str| object.field("spec")?.field(name);
        let list = spec("audiences").and_then(Value::as_list);
        let strings = list.into_iter().flatten().filter_map(Value::as_str);
        let mut audiences: Vec<String> = strings.map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences = issuer.audiences().to_vec();
        }
        // Defaulting has set this, unless the caller has left it out.
        let seconds = spec("expirationSeconds").and_then(Value::as_i64);
        let bound = spec("boundObjectRef").filter(|bound| bound.as_map().is_some());
        let request = TokenRequest {
            object,
            account,
            audiences,
            seconds: seconds.unwrap_or(3600),
            binding: bound.map(Binding::read),
        };
        request.check(spec("attestations").cloned().unwrap_or_default())?;
        Ok(request)
    }

    fn check(&self, attestations: Value) -> Result<(), Status> {
        let mut faults = Vec::new();
        let mut check = |is_fault: bool, field: &str, value: Value, text: &str| {
            if is_fault {
                let path = FieldPath::root("spec").child(field);
                faults.push(FieldError::invalid(path, value, text));
            }
        };
        let (field, seconds) = ("expirationSeconds", self.seconds);
        let is_webhook = self.binding.as_ref().is_some_and(Binding::is_webhook);
        let count = attestations.as_map().map_or(0, Map::len);

        // Only tokens for webhooks attest something, and they are behind a gate that is off.
        if !is_webhook && count != 0 {
            let text = "attestations may only be specified with a webhook bound object reference";
            check(true, "attestations", attestations, text);
        } else {
            let text = "may not specify a duration less than 10 minutes";
            check(seconds < 600, field, seconds.into(), text);
            let text = "may not specify a duration larger than 2^32 seconds";
            check(seconds > 1 << 32, field, seconds.into(), text);
            let is_one = self.audiences.len() == 1;
            let audiences = self.audiences.clone().into();
            let text = "must be length 1 when bound to a webhook config";
            check(is_webhook && !is_one, "audiences", audiences, text);
            let text =
                "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
            check(is_webhook && count != 1, "attestations", attestations, text);
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(invalid("", &faults))
        }
    }

    /// The object that the token is bound to, which the caller has to find; it answers 404 if there is none.
    ///
    /// # Errors
    ///
    /// 400 for objects of other kinds than Pod, Node and Secret.
    pub fn bound(&self) -> Result<Option<ObjectLookup<'a>>, Status> {
        let Some(binding) = &self.binding else {
            return Ok(None);
        };
        let namespace = self.account.metadata_string("namespace");
        let (resource, namespace) = match (&*binding.kind.group, &*binding.kind.kind) {
            ("", "Pod") => ("pods", namespace),
            ("", "Secret") => ("secrets", namespace),
            ("", "Node") => ("nodes", ""),
            _ => {
                let gate = " (feature gate APIServerWebhookAuthenticationToken is disabled)";
                let gate = if binding.is_webhook() { gate } else { "" };
                let kind = &binding.kind;
                let text = format!("cannot bind token to object of type {kind}{gate}");
                return Err(Status::bad_request(text));
            }
        };
        Ok(Some(ObjectLookup {
            resource,
            namespace,
            name: binding.name,
            uid: binding.uid,
        }))
    }
}

impl fmt::Debug for TokenGrant {
    /// Without the answer, since it has the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenGrant").field(&self.warnings).finish()
    }
}

impl<'a> Binding<'a> {
    fn read(object: &'a Value) -> Self {
        let api_version = object.api_version();
        // Versions with several slashes are of no group, which Go takes for the core group.
        let api_version = Some(api_version).filter(|text| text.matches('/').count() < 2);
        let api_version = api_version.unwrap_or_default();
        Binding {
            kind: GroupVersionKind::from_api_version_kind(api_version, object.string("kind")),
            name: object.string("name"),
            uid: object.string("uid"),
        }
    }

    fn is_webhook(&self) -> bool {
        let is_kind = matches!(
            &*self.kind.kind,
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration"
        );
        is_kind && &*self.kind.api_version() == "admissionregistration.k8s.io/v1"
    }
}

impl TokenIssuer {
    /// The answer to a request: with the object of [`TokenRequest::bound`], the node of `spec.nodeName` if that object is a pod
    /// and the node exists, and a new uid for the token.
    ///
    /// # Errors
    ///
    /// 400 for a pod of another service account, 409 if the object has another uid than the request names, 500 if there is no
    /// key.
    pub fn grant(
        &self,
        request: &TokenRequest<'_>,
        bound: Option<&Value>,
        node: Option<&Value>,
        now: Time,
        id: &str,
    ) -> Result<TokenGrant, Status> {
        let own = |name: &str| request.account.metadata_string(name);
        let mut claims = Claims::of_account(own("namespace"), own("name"), own("uid"));
        let is_pod = bind(&mut claims, request, bound, node)?;

        // The answer has the shortened life, and the claims may have a longer one than the answer.
        let mut seconds = request.seconds;
        let mut warnings = Vec::new();
        if let Some(max) = self.max_seconds.filter(|max| seconds > *max) {
            warnings.push(format!(
                "requested expiration of {seconds} seconds shortened to {max} seconds"
            ));
            seconds = max;
        }

        // Clients that read a projected token only once work for a year, and are warned about from the end of its life on.
        let is_for_server = request
            .audiences
            .iter()
            .all(|own| self.audiences.contains(own));
        let start = now.unix_seconds();
        let mut life = seconds;
        if self.extends_expiration && is_pod && seconds == EXTENDED_SECONDS && is_for_server {
            claims.kubernetes.warn_after = Some(start.saturating_add(seconds));
            life = YEAR;
        }

        claims.audiences.clone_from(&request.audiences);
        claims.expiration = Some(start.saturating_add(life));
        claims.issued_at = Some(start);
        claims.not_before = Some(start);
        id.clone_into(&mut claims.id);

        let token = self.sign(claims).map_err(failed)?;
        let expiration = Time::from_unix_seconds(start.saturating_add(seconds));
        let expiration = expiration.map_err(failed)?;
        let status = [
            ("expirationTimestamp", expiration.to_string()),
            ("token", token),
        ];
        let answer = answer(request, seconds, now, status);
        Ok(TokenGrant { answer, warnings })
    }
}

/// Adds the bound object to claims, and returns whether it is a pod.
fn bind(
    claims: &mut Claims,
    request: &TokenRequest<'_>,
    bound: Option<&Value>,
    node: Option<&Value>,
) -> Result<bool, Status> {
    let (Some(binding), Some(bound)) = (&request.binding, bound) else {
        return Ok(false);
    };
    let own = &mut claims.kubernetes;
    let (name, uid) = (binding.name, bound.metadata_string("uid"));
    // A pod is refused for its account before its uid is compared.
    let object = Some(ObjectReference::new(name, uid));
    let kind = &*binding.kind.kind;
    match kind {
        "Pod" => {
            let string = |name: &str| bound.field("spec").map_or("", |spec| spec.string(name));
            if string("serviceAccountName") != own.account.name {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    quote(&own.account.name)
                )));
            }
            own.pod = object;
            // A missing node is named without its uid.
            let node_uid = node.map_or("", |node| node.metadata_string("uid"));
            let node = ObjectReference::new(string("nodeName"), node_uid);
            own.node = Some(node).filter(|node| !node.name.is_empty());
        }
        // Other kinds were refused when the object was looked up.
        "Secret" => own.secret = object,
        _ => own.node = object,
    }

    if !binding.uid.is_empty() && binding.uid != uid {
        let text = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted \
             and then recreated",
            binding.uid
        );
        return Err(conflict(("", kind, name), &text));
    }
    Ok(kind == "Pod")
}

/// The request with what it left open, and the status.
fn answer(
    request: &TokenRequest<'_>,
    seconds: i64,
    now: Time,
    status: [(&str, String); 2],
) -> Value {
    let own = |name: &str| Value::from(request.account.metadata_string(name));
    let metadata = [
        ("creationTimestamp", now.to_string().into()),
        ("name", own("name")),
        ("namespace", own("namespace")),
        ("uid", own("uid")),
    ];
    let field = |name| request.object.field(name);
    // Go writes an empty pointer here.
    let bound = field("spec").and_then(|spec| spec.field("boundObjectRef"));
    let spec = [
        ("audiences", request.audiences.clone().into()),
        ("boundObjectRef", bound.cloned().unwrap_or_default()),
        ("expirationSeconds", seconds.into()),
    ];
    let status = status.map(|(name, text)| (name, text.into()));
    let parts = [
        ("apiVersion", format!("{GROUP}/v1").into()),
        ("kind", KIND.into()),
        ("metadata", with(field("metadata"), metadata)),
        ("spec", with(field("spec"), spec)),
        ("status", with(None, status)),
    ];
    with(Some(request.object), parts)
}

/// A map with some fields set. What else it has stays, such as labels.
fn with<const N: usize>(value: Option<&Value>, fields: [(&str, Value); N]) -> Value {
    let mut map = value.and_then(Value::as_map).cloned().unwrap_or_default();
    for (name, value) in fields {
        map.insert(name, value);
    }
    map.into()
}

fn invalid(name: &str, faults: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new(GROUP, "v1", KIND), name, faults)
}

fn failed(error: impl fmt::Display) -> Status {
    let text = format!("Internal error occurred: failed to generate token: {error}");
    Status::internal(text)
}

fn conflict(about: (&str, &str, &str), text: &str) -> Status {
    let message = format!(
        "Operation cannot be fulfilled on {}: {text}",
        describe(about)
    );
    Status::about(409, "Conflict", about, message)
}
