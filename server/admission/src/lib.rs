//! What the plugins and webhooks of a Kubernetes API server make of a request: they change its object, refuse it, or warn
//! of it.
//!
//! An [`AdmissionRequest`] goes through everything that implements [`Admission`]: first all of them may change the object,
//! then all may refuse what was made of it. What they have to know of other objects they ask a [`Cluster`].

mod admission;
mod chain;
mod closure;
pub mod conversion;
mod denial;
mod expressions;
mod matching;
mod meter;
mod observation;
mod patch;
pub mod plugins;
mod pod_security;
pub mod policies;
mod request;
mod versioned;
pub mod webhooks;

pub use admission::{
    Admission, AdmissionAnswer, AdmissionPhase, Admitted, Cluster, Equivalent, ResourceName, Round,
};
pub use chain::{mutate, validate};
pub use closure::{mutating, validating};
pub use denial::Denial;
pub use observation::{Observation, Observed};
pub use request::{AdmissionOperation, AdmissionRequest};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::expressions::{Inputs, environment, visible_namespace};
    pub use crate::policies::mutation::MutationKind;
    pub use crate::request::{access_question, describe_for_expressions};
    #[cfg(feature = "net")]
    pub use crate::webhooks::net::probe;
}
