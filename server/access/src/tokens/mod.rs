//! The tokens of service accounts.

mod claims;
mod discovery;
mod error;
mod issuer;
mod keys;
mod request;
mod secret;

pub use claims::{Claims, ObjectLookup, ObjectReference, PrivateClaims};
pub use discovery::{CONFIGURATION_PATH, KEY_SET_PATH};
pub use error::TokenError;
pub use issuer::TokenIssuer;
pub use keys::{KeyError, Keys};
pub use request::{TokenGrant, TokenRequest};
pub use secret::{LAST_USED, SecretClaims, day_of_use};
