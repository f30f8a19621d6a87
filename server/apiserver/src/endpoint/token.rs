//! Tokens: whose they are, and those of service accounts, `serviceaccounts/token`.

use std::sync::Arc;

use fieldmanager_access::User;
use fieldmanager_access::tokens::{LAST_USED, TokenIssuer, TokenRequest, day_of_use};
use fieldmanager_handlers::Resource;
use fieldmanager_value::Value;

use super::admission::refused;
use super::failure::internal;
use super::{Answer, Call, Core, Failure, Verb};
use crate::access::{Peer, admin, bearer};
use crate::object::text;
use crate::query::Query;
use crate::store::Key;

const MERGE_PATCH: &str = "application/merge-patch+json";

/// Who has a token, and the audiences of the server that it is for.
pub(super) struct Holder {
    pub(super) user: User,
    pub(super) audiences: Vec<String>,
}

impl Core {
    /// The user of a request, by the certificate of its client or the token of its header `Authorization`; or 401.
    ///
    /// Behaviour: `k8s.io/apiserver/pkg/authentication/request/union`.
    pub(crate) async fn authenticate(
        &self,
        authorization: Option<&str>,
        peer: Option<&Peer>,
    ) -> Result<Arc<User>, Failure> {
        if let Some(Peer(Some(user))) = peer {
            return Ok(user.clone());
        }
        let token = bearer(authorization);
        if !token.is_empty()
            && let Ok(Some(holder)) = self.holder(token, None).await
        {
            return Ok(Arc::new(holder.user));
        }
        if self.access.is_open() {
            return Ok(admin());
        }

        // Credentials that are wrong are not none.
        let has_none = token.is_empty() && peer.is_none();
        if has_none && self.access.options.allows_anonymous {
            return Ok(Arc::new(User::anonymous()));
        }
        Err(Failure::new(401, "Unauthorized", "Unauthorized"))
    }

    /// Who has a token; `None` if nobody has. `audiences` are those that a review asks for. The error says what is wrong with a
    /// token of a service account.
    pub(super) async fn holder(
        &self,
        token: &str,
        audiences: Option<&[String]>,
    ) -> Result<Option<Holder>, String> {
        let Some(issuer) = &self.access.options.issuer else {
            return Ok(None);
        };
        // That is without a token, as a request without one.
        if token.is_empty() && self.access.options.allows_anonymous {
            let (user, own) = (User::anonymous(), issuer.audiences());
            let audiences = audiences.unwrap_or(own).to_vec();
            return Ok(Some(Holder { user, audiences }));
        }
        if let Some(user) = self.access.user_of(token) {
            // A token of a file is for the server alone.
            let audiences = own_audiences(issuer, audiences);
            return Ok((!audiences.is_empty()).then_some(Holder { user, audiences }));
        }

        let now = self.source.now();
        let claims = issuer.verify(token, now, audiences);
        let Some(claims) = claims.map_err(|error| error.to_string())? else {
            return self.holder_of_secret(issuer, token, audiences).await;
        };
        // A token ends with its service account, and with the object that it is bound to.
        for lookup in claims.lookups() {
            let found = self.stored(lookup.resource, lookup.namespace, lookup.name);
            let found = found.await.map_err(|failure| failure.status.message)?;
            let checked = lookup.check(found.as_ref(), now);
            checked.map_err(|error| error.to_string())?;
        }
        let audiences = claims.audiences_among(audiences.unwrap_or(issuer.audiences()));
        Ok(Some(Holder {
            user: claims.user(),
            audiences,
        }))
    }

    /// The user of a token that a Secret holds; `None` for another token. A label of the Secret notes the day of the use.
    async fn holder_of_secret(
        &self,
        issuer: &TokenIssuer,
        token: &str,
        audiences: Option<&[String]>,
    ) -> Result<Option<Holder>, String> {
        let claims = issuer.verify_of_secret(token, audiences);
        let Some(claims) = claims.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let stored = async |resource, name: &str| {
            let found = self.stored(resource, &claims.namespace, name).await;
            found.map_err(|failure| failure.status.message)
        };
        let secret = stored("secrets", &claims.secret).await?;
        let account = stored("serviceaccounts", &claims.account).await?;
        let checked = claims.check(token, secret.as_ref(), account.as_ref());
        checked.map_err(|error| error.to_string())?;

        if let Some(secret) = &secret {
            // kube-controller-manager deletes generated Secrets whose tokens were not used for a year.
            if let Some(day) = day_of_use(secret, self.source.now()) {
                // A request counts although the label cannot be written, as in Go.
                Box::pin(self.label(secret, (LAST_USED, &day))).await.ok();
            }
            let checked = claims.check_label(secret);
            checked.map_err(|error| error.to_string())?;
        }
        Ok(Some(Holder {
            user: claims.user(),
            audiences: own_audiences(issuer, audiences),
        }))
    }

    /// Sets a label of a Secret.
    async fn label(&self, secret: &Value, (label, value): (&str, &str)) -> Result<(), Failure> {
        let registry = self.registry();
        let served = registry.stored_as("", "secrets");
        let served = served.ok_or_else(Failure::resource_not_found)?;
        let metadata = serde_json::json!({
            "uid": text(secret, &["metadata", "uid"]),
            "labels": { label: value },
        });
        let patch = serde_json::json!({ "metadata": metadata }).to_string();
        let how = (Verb::Patch, Query::default(), MERGE_PATCH);
        self.write_itself(served, how, "", secret, patch.as_bytes())
            .await
    }

    /// An object of the core group; outside of namespaces if `namespace` is empty.
    async fn stored(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        // A name that no object can have is one of no object.
        let Ok(key) = Key::new("", resource, namespace, name) else {
            return Ok(None);
        };
        let read = self.store.get(&key, None).await?;
        Ok(read.entry.map(|entry| entry.object))
    }

    /// `POST` of `serviceaccounts/NAME/token`.
    pub(super) async fn create_token(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let issuer = self.issuer()?;
        let facts = call.served.facts.subresource("token");
        let kind = facts.ok_or_else(Failure::resource_not_found)?;
        let handlers =
            Resource::builtin(&kind.kind).map_err(|error| internal(error.to_string()))?;
        let outcome = self.question(call, &handlers, |_| Ok(())).await?;
        let warnings = outcome.warnings;
        let granted = self.granted(call, issuer, &outcome.object).await;
        let mut answer = granted.map_err(|failure| refused(&warnings, failure))?;
        answer.warnings.splice(..0, warnings);
        Ok(answer)
    }

    /// The token that the body of a request asks for.
    async fn granted(
        &self,
        call: &Call<'_>,
        issuer: &TokenIssuer,
        body: &Value,
    ) -> Result<Answer, Failure> {
        let namespace = text(body, &["metadata", "namespace"]);
        if !namespace.is_empty() && namespace != call.namespace {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Failure::bad_request(message));
        }
        TokenRequest::check_name(body, call.name)?;
        let stored = self.stored("serviceaccounts", call.namespace, call.name);
        let account = stored.await?.ok_or_else(|| Failure::not_found(call))?;

        // A token that is bound to an object ends with it, and one of a Pod names the node of that.
        let request = TokenRequest::new(body, &account, issuer)?;
        let bound = match request.bound()? {
            None => None,
            Some(lookup) => {
                let (resource, name) = (lookup.resource, lookup.name);
                let missing = || {
                    let message = format!("{resource} {name:?} not found");
                    Failure::about(404, "NotFound", ("", resource, name), message)
                };
                let found = self.stored(resource, lookup.namespace, name).await?;
                Some(found.ok_or_else(missing)?)
            }
        };
        let node = bound.as_ref();
        let node = node.map_or("", |bound| text(bound, &["spec", "nodeName"]));
        let node = self.stored("nodes", "", node).await?;

        let (now, id) = (self.source.now(), self.source.uid());
        let granted = issuer.grant(&request, bound.as_ref(), node.as_ref(), now, &id)?;
        Ok(Answer {
            warnings: granted.warnings,
            ..Answer::object(201, granted.answer)
        })
    }

    /// What signs tokens.
    pub(crate) fn issuer(&self) -> Result<&TokenIssuer, Failure> {
        let issuer = self.access.options.issuer.as_deref();
        issuer.ok_or_else(|| internal("there is no key that signs tokens".to_owned()))
    }
}

/// The audiences of the server among those that are asked for.
fn own_audiences(issuer: &TokenIssuer, asked: Option<&[String]>) -> Vec<String> {
    let is_asked = |own: &&String| asked.is_none_or(|asked| asked.contains(own));
    let own = issuer.audiences().iter();
    own.filter(is_asked).cloned().collect()
}
