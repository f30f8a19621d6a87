//! Who sends a request to a Kubernetes API server, and whether they may.
//!
//! A [`User`] sends a request with [`Attributes`], and an authorizer makes a [`Decision`]. Nothing here knows HTTP, stores
//! or the current time.

mod attributes;
mod forbidden;
mod rbac;
mod user;

pub use attributes::{Attributes, Decision, Target};
pub use rbac::{GrantError, GrantRequest, RbacPolicy, aggregate_rules};
pub use user::User;
