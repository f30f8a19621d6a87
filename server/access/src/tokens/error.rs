//! Errors of tokens, and JSON that is not trusted.

/// Why a token of one of the issuers is not accepted. The texts are those of kube-apiserver, and name no part of the token
/// but its claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// No key has the id that the token names.
    #[error("invalid signature, no keys found")]
    UnknownKey,
    /// The signature is not that of a key.
    #[error("go-jose/go-jose: error in cryptographic primitive")]
    Signature,
    /// The claims cannot be read.
    #[error("the claims of the token are malformed")]
    Claims,
    /// The token is for others, too old, too young, or one of its objects does not exist as it did.
    #[error("{0}")]
    Invalid(String),
}

/// Reads a JSON object. Serde would also take a list of the fields.
pub(super) fn read_object<T: serde::de::DeserializeOwned>(json: &[u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    serde_json::from_slice(json).ok().filter(|_| is_object)
}
