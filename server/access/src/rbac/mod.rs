//! Role-based access control.
//!
//! Behaviour: `plugin/pkg/auth/authorizer/rbac`, `pkg/registry/rbac` and `pkg/controller/clusterroleaggregation` of
//! Kubernetes.

mod aggregation;
mod cover;
mod escalation;
mod policy;
mod rule;

pub use aggregation::aggregate_rules;
pub use policy::{RBAC_GROUP, RbacPolicy};
pub(crate) use rule::quote_all;
