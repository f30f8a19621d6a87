//! Requests for tokens: `POST serviceaccounts/NAME/token`.

use std::fmt;

use fieldmanager_managedfields::{Details, Status, Time};
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{List, Map, Value};

use super::claims::{Claims, ObjectLookup, ObjectReference};
use super::issuer::TokenIssuer;

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
struct Binding<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
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
        let found = object.name().unwrap_or_default();
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
        let (asked, uid) = (uid_of(object), uid_of(account));
        if !asked.is_empty() && asked != uid {
            let name = account.name().unwrap_or_default();
            let text = format!(
                "the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
            );
            return Err(conflict(GROUP, KIND, name, &text));
        }

        let spec = object.field("spec");
        let audiences = spec.and_then(|spec| spec.field("audiences")?.as_list());
        let strings = audiences
            .into_iter()
            .flat_map(List::iter)
            .filter_map(Value::as_str);
        let mut audiences: Vec<String> = strings.map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences = issuer.audiences().to_vec();
        }
        // Defaulting has set this, unless the caller has left it out.
        let seconds = spec.and_then(|spec| spec.field("expirationSeconds")?.as_i64());
        let request = TokenRequest {
            object,
            account,
            audiences,
            seconds: seconds.unwrap_or(3600),
        };
        request.check().map(|()| request)
    }

    fn check(&self) -> Result<(), Status> {
        let mut faults = Vec::new();
        let fault = |field: &str, value: Value, text: &str| {
            FieldError::invalid(FieldPath::root("spec").child(field), value, text)
        };
        let (field, seconds) = ("expirationSeconds", self.seconds);
        if seconds < 600 {
            faults.push(fault(
                field,
                seconds.into(),
                "may not specify a duration less than 10 minutes",
            ));
        }
        if seconds > 1 << 32 {
            faults.push(fault(
                field,
                seconds.into(),
                "may not specify a duration larger than 2^32 seconds",
            ));
        }

        // Only tokens for webhooks attest something, and they are behind a gate that is off.
        let attestations = self
            .object
            .field("spec")
            .and_then(|spec| spec.field("attestations"));
        let attestations = attestations.cloned().unwrap_or_default();
        let count = attestations.as_map().map_or(0, Map::len);
        if self.binding().is_some_and(|binding| binding.is_webhook()) {
            if self.audiences.len() != 1 {
                let text = "must be length 1 when bound to a webhook config";
                faults.push(fault("audiences", strings(&self.audiences), text));
            }
            if count != 1 {
                let text = "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
                faults.push(fault("attestations", attestations, text));
            }
        } else if count != 0 {
            let text = "attestations may only be specified with a webhook bound object reference";
            faults = vec![fault("attestations", attestations, text)];
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(invalid("", &faults))
        }
    }

    fn binding(&self) -> Option<Binding<'a>> {
        let object = self.object.field("spec")?.field("boundObjectRef")?;
        object.as_map()?;
        let api_version = object.string("apiVersion");
        // Versions with several slashes are of no group, which Go takes for the core group.
        let (group, version) = match api_version.split_once('/') {
            None => ("", api_version),
            Some((_, rest)) if rest.contains('/') => ("", ""),
            Some(parts) => parts,
        };
        Some(Binding {
            group,
            version,
            kind: object.string("kind"),
            name: object.string("name"),
            uid: object.string("uid"),
        })
    }

    /// The object that the token is bound to, which the caller has to find; it answers 404 if there is none.
    ///
    /// # Errors
    ///
    /// 400 for objects of other kinds than Pod, Node and Secret.
    pub fn bound(&self) -> Result<Option<ObjectLookup<'a>>, Status> {
        let Some(binding) = self.binding() else {
            return Ok(None);
        };
        let resource = match (binding.group, binding.kind) {
            ("", "Pod") => "pods",
            ("", "Secret") => "secrets",
            ("", "Node") => "nodes",
            (group, kind) => {
                let gate = " (feature gate APIServerWebhookAuthenticationToken is disabled)";
                let gate = if binding.is_webhook() { gate } else { "" };
                let kind = format!("{group}/{}, Kind={kind}", binding.version);
                let text = format!("cannot bind token to object of type {kind}{gate}");
                return Err(Status::bad_request(text));
            }
        };
        let namespace = self.account.namespace().unwrap_or_default();
        Ok(Some(ObjectLookup::new(
            resource,
            namespace,
            binding.name,
            binding.uid,
        )))
    }
}

impl fmt::Debug for TokenGrant {
    /// Without the answer, since it has the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenGrant").field(&self.warnings).finish()
    }
}

impl Binding<'_> {
    fn is_webhook(&self) -> bool {
        let is_kind = matches!(
            self.kind,
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration"
        );
        is_kind && (self.group, self.version) == ("admissionregistration.k8s.io", "v1")
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
        let account = request.account;
        let (namespace, name) = (
            account.namespace().unwrap_or_default(),
            account.name().unwrap_or_default(),
        );
        let mut claims = Claims::of_account(namespace, name, uid_of(account));
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

        let failed = |error: String| {
            Status::internal(format!(
                "Internal error occurred: failed to generate token: {error}"
            ))
        };
        let token = self
            .sign(claims)
            .map_err(|error| failed(error.to_string()))?;
        let expiration = Time::from_unix_seconds(start.saturating_add(seconds));
        let expiration = expiration.map_err(|error| failed(error.to_string()))?;
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
    let (Some(binding), Some(bound)) = (request.binding(), bound) else {
        return Ok(false);
    };
    let own = &mut claims.kubernetes;
    let reference = |name: &str, object: Option<&Value>| ObjectReference {
        name: name.to_owned(),
        uid: object.map(uid_of).unwrap_or_default().to_owned(),
    };
    // A pod is refused for its account before its uid is compared.
    let object = Some(reference(binding.name, Some(bound)));
    match binding.kind {
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
            let node_name = string("nodeName");
            own.node = (!node_name.is_empty()).then(|| reference(node_name, node));
        }
        // Other kinds were refused when the object was looked up.
        "Secret" => own.secret = object,
        _ => own.node = object,
    }

    if !binding.uid.is_empty() && binding.uid != uid_of(bound) {
        let text = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted \
             and then recreated",
            binding.uid
        );
        return Err(conflict("", binding.kind, binding.name, &text));
    }
    Ok(binding.kind == "Pod")
}

/// The request with what it left open, and the status.
fn answer(
    request: &TokenRequest<'_>,
    seconds: i64,
    now: Time,
    status: [(&str, String); 2],
) -> Value {
    let account = request.account;
    let metadata = [
        ("creationTimestamp", now.to_string().into()),
        ("name", account.name().unwrap_or_default().into()),
        ("namespace", account.namespace().unwrap_or_default().into()),
        ("uid", uid_of(account).into()),
    ];
    let field = |name| request.object.field(name);
    // Go writes an empty pointer here.
    let bound = field("spec").and_then(|spec| spec.field("boundObjectRef"));
    let spec = [
        ("audiences", strings(&request.audiences)),
        ("boundObjectRef", bound.cloned().unwrap_or_default()),
        ("expirationSeconds", seconds.into()),
    ];
    // What else the request says stays, such as labels.
    let with = |value: Option<&Value>, fields: &[(&str, Value)]| -> Value {
        let mut map = value.and_then(Value::as_map).cloned().unwrap_or_default();
        for (name, value) in fields {
            map.insert(*name, value.clone());
        }
        map.into()
    };
    let status = status.map(|(name, text)| (name, text.into()));
    let parts = [
        ("apiVersion", format!("{GROUP}/v1").into()),
        ("kind", KIND.into()),
        ("metadata", with(field("metadata"), &metadata)),
        ("spec", with(field("spec"), &spec)),
        ("status", with(None, &status)),
    ];
    with(Some(request.object), &parts)
}

fn strings(items: &[String]) -> Value {
    let items = items.iter().map(|item| Value::from(item.as_str()));
    items.collect::<List>().into()
}

fn uid_of(object: &Value) -> &str {
    object.uid().unwrap_or_default()
}

fn invalid(name: &str, faults: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new(GROUP, "v1", KIND), name, faults)
}

fn conflict(group: &str, kind: &str, name: &str, text: &str) -> Status {
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!(
        "Operation cannot be fulfilled on {kind}{dot}{group} {}: {text}",
        quote(name)
    );
    let mut details = Details::default();
    details.name = name.to_owned();
    details.group = group.to_owned();
    details.kind = kind.to_owned();
    Status::failure(409, "Conflict", message, Some(details))
}
