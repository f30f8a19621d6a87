//! What a token says.

use fieldmanager_managedfields::Time;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::{TokenError, read_object};
use crate::User;

/// Seconds by which clocks may differ, and for which the token of a deleted object is still accepted.
const LEEWAY: i64 = 60;

/// The claims of a token, in the order in which Go writes them.
///
/// Behaviour: `jwt.Claims` and `privateClaims` of `k8s.io/kubernetes/pkg/serviceaccount`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claims {
    /// For whom the token is.
    #[serde(rename = "aud", deserialize_with = "one_or_many")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audiences: Vec<String>,
    /// When it expires, in seconds since 1970.
    #[serde(rename = "exp", deserialize_with = "date")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<i64>,
    /// When it was issued.
    #[serde(rename = "iat", deserialize_with = "date")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<i64>,
    /// Who issued it.
    #[serde(rename = "iss", skip_serializing_if = "String::is_empty")]
    pub issuer: String,
    /// The id of the token.
    #[serde(rename = "jti", skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The objects that the token is bound to.
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: PrivateClaims,
    /// When it begins to be valid.
    #[serde(rename = "nbf", deserialize_with = "date")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<i64>,
    /// The name of the user.
    #[serde(rename = "sub", skip_serializing_if = "String::is_empty")]
    pub subject: String,
}

/// The objects that a token is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrivateClaims {
    #[serde(skip_serializing)]
    mutatingwebhookconfiguration: Option<ObjectReference>,
    /// The namespace of the service account, the pod and the secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The node, or the node of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<ObjectReference>,
    /// The pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<ObjectReference>,
    /// The secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ObjectReference>,
    /// The service account.
    #[serde(rename = "serviceaccount")]
    pub account: ObjectReference,
    #[serde(skip_serializing)]
    validatingwebhookconfiguration: Option<ObjectReference>,
    /// From when on the use of the token is worth a warning.
    #[serde(rename = "warnafter", deserialize_with = "date")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn_after: Option<i64>,
}

/// One object of one time: others of its name have other uids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// An object that must exist for a token to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLookup<'a> {
    /// The plural name of the resource, in the core group.
    pub resource: &'static str,
    /// The namespace; empty for nodes.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
    /// The uid that the token names.
    pub(super) uid: &'a str,
}

impl ObjectReference {
    pub(super) fn new(name: &str, uid: &str) -> Self {
        ObjectReference {
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }
}

impl Claims {
    /// The claims of a token for a service account.
    pub fn of_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut claims = Claims {
            subject: format!("system:serviceaccount:{namespace}:{name}"),
            ..Claims::default()
        };
        claims.kubernetes.namespace = namespace.to_owned();
        claims.kubernetes.account = ObjectReference::new(name, uid);
        claims
    }

    /// The audiences of the token that are among others.
    pub fn audiences_among(&self, others: &[String]) -> Vec<String> {
        let own = self.audiences.iter();
        own.filter(|own| others.contains(own)).cloned().collect()
    }

    /// The user of the token.
    ///
    /// Behaviour: `ServiceAccountInfo.UserInfo` of `k8s.io/apiserver/pkg/authentication/serviceaccount`.
    pub fn user(&self) -> User {
        let own = &self.kubernetes;
        let (namespace, account) = (&own.namespace, &own.account.name);
        let name = format!("system:serviceaccount:{namespace}:{account}");
        let group = format!("system:serviceaccounts:{namespace}");
        let mut user = User::new(&name, &["system:serviceaccounts", &group]);
        user.uid.clone_from(&own.account.uid);

        // Policies and logs find the object and the token by these.
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                let key = format!("authentication.kubernetes.io/{key}");
                user.extra.insert(key, vec![value.to_owned()]);
            }
        };
        if let Some(ObjectReference { name, uid }) = &own.pod
            && !name.is_empty()
            && !uid.is_empty()
        {
            add("pod-name", name);
            add("pod-uid", uid);
        }
        if let Some(ObjectReference { name, uid }) = &own.node
            && !name.is_empty()
        {
            add("node-name", name);
            // A node that did not exist when the token was made has none.
            add("node-uid", uid);
        }
        if !self.id.is_empty() {
            add("credential-id", &format!("JTI={}", self.id));
        }
        user
    }

    /// The objects that must exist, in the order in which they are checked with [`ObjectLookup::check`].
    ///
    /// Behaviour: `validator.Validate`; the node of a pod is not looked up.
    pub fn lookups(&self) -> impl Iterator<Item = ObjectLookup<'_>> {
        let own = &self.kubernetes;
        // The token of a pod only names its node: it ends with the pod.
        let node = own.node.as_ref().filter(|_| own.pod.is_none());
        let objects = [
            ("serviceaccounts", &*own.namespace, Some(&own.account)),
            ("secrets", &own.namespace, own.secret.as_ref()),
            ("pods", &own.namespace, own.pod.as_ref()),
            ("nodes", "", node),
        ];
        objects
            .into_iter()
            .filter_map(|(resource, namespace, object)| {
                Some(ObjectLookup {
                    resource,
                    namespace,
                    name: &object?.name,
                    uid: &object?.uid,
                })
            })
    }

    /// Behaviour: `jwt.Claims.Validate`, and the gate `APIServerWebhookAuthenticationToken`, which is off.
    pub(super) fn check_times(&self, now: i64) -> Result<(), TokenError> {
        let own = &self.kubernetes;
        let is_later = |time: Option<i64>| time.is_some_and(|time| now + LEEWAY < time);
        // Such a token is for a webhook, and must not work here.
        let is_webhook = own.validatingwebhookconfiguration.is_some()
            || own.mutatingwebhookconfiguration.is_some();
        let fault = if is_later(self.not_before) {
            "service account token is not valid yet"
        } else if self.expiration.is_some_and(|time| time < now - LEEWAY) {
            "service account token has expired"
        } else if is_later(self.issued_at) {
            "service account token is issued in the future"
        } else if is_webhook {
            r#"feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound"#
        } else {
            return Ok(());
        };
        Err(TokenError::Invalid(fault.to_owned()))
    }
}

impl<'a> ObjectLookup<'a> {
    /// Whether the object that was found, if any, is that of the token.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it is missing, has another uid, or has been deleted for more than a minute.
    pub fn check(&self, found: Option<&Value>, now: Time) -> Result<(), TokenError> {
        let is_account = self.resource == "serviceaccounts";
        let (own, noun) = (self.uid, self.resource.trim_end_matches('s'));
        let uid = found.and_then(ObjectExt::uid).unwrap_or_default();
        let deleted =
            found.and_then(|found| found.metadata_string("deletionTimestamp").parse().ok());
        let is_deleted =
            deleted.is_some_and(|time: Time| time.unix_seconds() < now.unix_seconds() - LEEWAY);

        // The uid counts before the deletion, as in Go.
        let fault = if found.is_some() && uid != own {
            if is_account {
                format!("service account UID ({uid}) does not match claim ({own})")
            } else {
                format!(
                    "{noun} UID ({uid}) does not match service account {noun} ref claim ({own})"
                )
            }
        } else if found.is_some() && !is_deleted {
            return Ok(());
        } else if !is_account {
            "service account token has been invalidated".to_owned()
        } else if is_deleted {
            format!(
                "service account {}/{} has been deleted",
                self.namespace, self.name
            )
        } else {
            format!("serviceaccounts {} not found", quote(self.name))
        };
        Err(TokenError::Invalid(fault))
    }
}

/// The issuer that claims name, before their signature is verified.
pub(super) fn unverified_issuer(payload: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct UnverifiedClaims {
        iss: String,
    }
    read_object(payload).map(|claims: UnverifiedClaims| claims.iss)
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audience::deserialize(from)? {
        Audience::One(one) => vec![one],
        Audience::Many(many) => many,
    })
}

/// A time in seconds, whose fraction is dropped.
fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "times beyond the range are those of its ends"
    )]
    let seconds = |date: f64| date as i64;
    Ok(Option::<f64>::deserialize(from)?.map(seconds))
}
