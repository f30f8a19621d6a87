//! Signing and verifying tokens.

use fieldmanager_managedfields::Time;

use super::claims::{Claims, unverified_issuer};
use super::error::{TokenError, read_object};
use super::keys::{KeyError, Keys, SignedParts};
use super::secret::{self, SecretClaims};
use crate::rbac::quote_all;

/// Signs and verifies the tokens of service accounts.
///
/// Behaviour: `JWTTokenGenerator` and `JWTTokenAuthenticator` of `k8s.io/kubernetes/pkg/serviceaccount`.
///
/// ```
/// use fieldmanager_access::tokens::{Claims, Keys, TokenIssuer};
/// use fieldmanager_managedfields::Time;
///
/// let issuer = TokenIssuer::new("https://cluster", Keys::generate()?.0);
/// let now = Time::from_unix_seconds(1_800_000_000)?;
/// let mut claims = Claims::of_account("default", "robot", "uid-1");
/// claims.audiences = vec!["https://cluster".to_owned()];
/// let token = issuer.sign(claims)?;
/// let claims = issuer.verify(&token, now, None)?.unwrap();
/// assert_eq!(claims.user().name, "system:serviceaccount:default:robot");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenIssuer {
    pub(super) keys: Keys,
    /// The first is that of new tokens; tokens of all are accepted.
    pub(super) issuers: Vec<String>,
    /// The audiences of the API server: those of tokens that are requested without any.
    pub(super) audiences: Vec<String>,
    /// The longest life of a token in seconds, if it is bounded.
    pub max_seconds: Option<i64>,
    /// Whether tokens of 3607 seconds for pods live a year.
    pub extends_expiration: bool,
}

impl TokenIssuer {
    /// An issuer whose API server has the issuer as its only audience.
    pub fn new(issuer: impl Into<String>, keys: Keys) -> Self {
        let issuer = issuer.into();
        TokenIssuer {
            keys,
            audiences: vec![issuer.clone()],
            issuers: vec![issuer],
            max_seconds: None,
            extends_expiration: true,
        }
    }

    /// With more issuers whose tokens are accepted (`--service-account-issuer` given again), and with audiences
    /// (`--api-audiences`), if there are any.
    #[must_use]
    pub fn with(mut self, issuers: Vec<String>, audiences: Vec<String>) -> Self {
        self.issuers.extend(issuers);
        if !audiences.is_empty() {
            self.audiences = audiences;
        }
        self
    }

    /// The audiences of the API server.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The token with these claims, and with the name of this issuer.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if there is no private key.
    pub fn sign(&self, mut claims: Claims) -> Result<String, KeyError> {
        claims.issuer = self.issuers.first().cloned().unwrap_or_default();
        let payload = serde_json::to_vec(&claims).map_err(|_| KeyError::Unsigned)?;
        self.keys.sign(&payload)
    }

    /// The claims of a token, or nothing if it is not a token of these issuers. Whether their objects exist is left to the
    /// caller, see [`Claims::lookups`].
    ///
    /// `audiences` are those that a `TokenReview` asks for; without, the token must be for the API server.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if the signature, the audience or a time is wrong.
    pub fn verify(
        &self,
        token: &str,
        now: Time,
        audiences: Option<&[String]>,
    ) -> Result<Option<Claims>, TokenError> {
        let Some(parts) = self.verified(token, &self.issuers)? else {
            return Ok(None);
        };
        let mut claims: Claims = read_object(&parts.payload).ok_or(TokenError::Claims)?;
        // Tokens without audiences are for the API server.
        if claims.audiences.is_empty() {
            claims.audiences.clone_from(&self.audiences);
        }
        self.check_audiences(&claims.audiences, audiences)?;

        claims.check_times(now.unix_seconds())?;
        Ok(Some(claims))
    }

    /// The claims of the token of a Secret, or nothing if it is none. Whether its objects have it is left to the caller, see
    /// [`SecretClaims::check`]. Such a token is for the API server: `audiences` that a `TokenReview` asks for have to name it.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if the signature or the audience is wrong, or a claim is missing.
    pub fn verify_of_secret(
        &self,
        token: &str,
        audiences: Option<&[String]>,
    ) -> Result<Option<SecretClaims>, TokenError> {
        let Some(parts) = self.verified(token, &[secret::ISSUER.to_owned()])? else {
            return Ok(None);
        };
        let claims: SecretClaims = read_object(&parts.payload).ok_or(TokenError::Claims)?;
        self.check_audiences(&self.audiences, audiences)?;
        claims.check_names()?;
        Ok(Some(claims))
    }

    /// The parts of a token of some issuers, whose signature is right; nothing if it is none of theirs.
    fn verified<'a>(
        &self,
        token: &'a str,
        issuers: &[String],
    ) -> Result<Option<SignedParts<'a>>, TokenError> {
        // What is not a token of these issuers may be one that another authenticator knows.
        let Some(parts) = SignedParts::of(token) else {
            return Ok(None);
        };
        let issuer = unverified_issuer(&parts.payload);
        if !issuer.is_some_and(|issuer| issuers.contains(&issuer)) {
            return Ok(None);
        }

        // Nothing of the claims is used before their signature is right.
        self.keys.verify(&parts)?;
        Ok(Some(parts))
    }

    /// Whether the audiences of a token are among those that are asked for, or among those of the API server.
    fn check_audiences(&self, own: &[String], asked: Option<&[String]>) -> Result<(), TokenError> {
        let target = asked.unwrap_or(&self.audiences);
        if own.iter().any(|own| target.contains(own)) {
            return Ok(());
        }
        Err(TokenError::Invalid(format!(
            "token audiences {} is invalid for the target audiences {}",
            quote_all(own),
            quote_all(target)
        )))
    }
}
