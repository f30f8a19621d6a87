//! Tokens in Secrets of the type `kubernetes.io/service-account-token`, which kube-controller-manager signs.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_managedfields::Time;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use serde::Deserialize;

use super::claims::Claims;
use super::error::TokenError;
use crate::User;

/// The issuer of these tokens, whatever the issuers of a server are.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";
/// The label of a Secret with the last day on which its token was used.
pub const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// The label of a Secret whose token a cluster accepts no more, with the day from which on.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// What the token of a Secret says. It has no end of its own: it is accepted while its Secret has it.
///
/// Behaviour: `legacyPrivateClaims` and `legacyValidator` of `k8s.io/kubernetes/pkg/serviceaccount`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretClaims {
    #[serde(rename = "sub")]
    subject: String,
    /// The namespace of the service account and of the Secret.
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    pub namespace: String,
    /// The name of the Secret.
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    pub secret: String,
    /// The name of the service account.
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    uid: String,
}

impl SecretClaims {
    /// The user of the token.
    pub fn user(&self) -> User {
        self.claims().user()
    }

    fn claims(&self) -> Claims {
        Claims::of_account(&self.namespace, &self.account, &self.uid)
    }

    /// Whether the claims that every such token has are there.
    pub(super) fn check_names(&self) -> Result<(), TokenError> {
        let needed = [
            ("sub", &self.subject),
            ("namespace", &self.namespace),
            ("secretName", &self.secret),
            ("serviceAccountName", &self.account),
            ("serviceAccountUID", &self.uid),
        ];
        if let Some((name, _)) = needed.iter().find(|(_, claim)| claim.is_empty()) {
            return Err(TokenError::Invalid(format!("{name} claim is missing")));
        }
        if self.subject != self.claims().subject {
            return Err(TokenError::Invalid("sub claim is invalid".to_owned()));
        }
        Ok(())
    }

    /// Whether the Secret that was found, if any, still has the token, and the service account is that of the token.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if one of them is missing, deleted or another one.
    pub fn check(
        &self,
        token: &str,
        secret: Option<&Value>,
        account: Option<&Value>,
    ) -> Result<(), TokenError> {
        let (namespace, name) = (&self.namespace, &self.account);
        let fault = match (secret, account) {
            (None, _) => "Token has been invalidated".to_owned(),
            (Some(secret), _) if is_deleted(secret) => "Token has been invalidated".to_owned(),
            (Some(secret), _) if !has_token(secret, token) => {
                "Token does not match server's copy".to_owned()
            }
            (_, None) => format!("serviceaccounts {} not found", quote(name)),
            (_, Some(account)) if is_deleted(account) => {
                format!("ServiceAccount {namespace}/{name} has been deleted")
            }
            (_, Some(account)) if account.uid().unwrap_or_default() != self.uid => format!(
                "ServiceAccount UID ({}) does not match claim ({})",
                account.uid().unwrap_or_default(),
                self.uid
            ),
            _ => return Ok(()),
        };
        Err(TokenError::Invalid(fault))
    }

    /// Whether no label of the Secret says that its token is invalid. Its use counts nevertheless.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if one does.
    pub fn check_label(&self, secret: &Value) -> Result<(), TokenError> {
        if label(secret, INVALID_SINCE).is_none_or(str::is_empty) {
            return Ok(());
        }
        let (namespace, name, secret) = (&self.namespace, &self.account, &self.secret);
        Err(TokenError::Invalid(format!(
            "the token in secret {namespace}/{secret} for service account {namespace}/{name} has been marked invalid. Use tokens \
             from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the \
             secret to temporarily allow use of this token"
        )))
    }
}

/// The day that the label [`LAST_USED`] of a Secret has to have after its token was used, unless it has that day.
///
/// Behaviour: `patchSecretWithLastUsedDate`; the day of a server whose clock is ahead stays.
pub fn day_of_use(secret: &Value, now: Time) -> Option<String> {
    const SECONDS_OF_DAY: i64 = 86_400;
    let day = |time: Time| time.to_string().get(..10).map(str::to_owned);
    let tomorrow = Time::from_unix_seconds(now.unix_seconds() + SECONDS_OF_DAY).ok();

    let today = day(now)?;
    let last = label(secret, LAST_USED);
    let is_known =
        last == Some(&today) || (last.is_some() && last == tomorrow.and_then(day).as_deref());
    (!is_known).then_some(today)
}

fn is_deleted(object: &Value) -> bool {
    object.metadata_field("deletionTimestamp").is_some()
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.metadata_field("labels")?.get(key)?.as_str()
}

fn has_token(secret: &Value, token: &str) -> bool {
    let stored = secret
        .get("data")
        .and_then(|data| data.get("token")?.as_str());
    let stored = stored.and_then(|text| BASE64_STANDARD.decode(text).ok());
    // The signature is right, so the time of the comparison says nothing that the sender does not know.
    stored.is_some_and(|stored| stored == token.as_bytes())
}
