//! Who sends a request to a Kubernetes API server, and whether they may.
//!
//! A [`User`] sends a request with [`Attributes`], and an authorizer makes a [`Decision`]. Nothing here knows HTTP, stores
//! or the current time.

#![expect(
    clippy::result_large_err,
    reason = "a refusal is returned once for each request"
)]

mod attributes;
#[cfg(feature = "tls")]
pub mod certificates;
mod impersonation;
mod rbac;
mod token_file;
pub mod tokens;
mod user;

pub use attributes::{Attributes, Decision};
pub use impersonation::{Impersonation, ImpersonationMode};
pub use rbac::{RBAC_GROUP, RbacPolicy, aggregate_rules};
pub use token_file::{StaticTokens, TokenFileError};
pub use user::User;
