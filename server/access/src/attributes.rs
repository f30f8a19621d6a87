//! What a request wants to do, and whether it may.

use crate::User;

/// A request, as an authorizer sees it.
///
/// Behaviour: `authorizer.Attributes` of `k8s.io/apiserver/pkg/authorization/authorizer`.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who sends it.
    pub user: &'a User,
    /// What it does: for resources `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection` or a
    /// special verb such as `impersonate`; for paths the HTTP method in lower case.
    pub verb: &'a str,
    /// What it is about.
    pub target: AccessTarget<'a>,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTarget<'a> {
    /// Objects.
    Resource {
        /// The API group; empty for the core group.
        group: &'a str,
        /// The version of the group.
        version: &'a str,
        /// The plural name of the resource.
        resource: &'a str,
        /// The subresource; empty for the object itself.
        subresource: &'a str,
        /// The namespace; empty for objects of cluster scope, and for all namespaces.
        namespace: &'a str,
        /// The name; empty for collections.
        name: &'a str,
    },
    /// A path that is not one of objects, such as `/healthz`.
    Path(&'a str),
}

/// The answer of an authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may proceed.
    pub allowed: bool,
    /// Why; empty if there is nothing to say.
    pub reason: String,
    /// What went wrong on the way, such as a binding of a missing role; empty if nothing did.
    pub error: String,
}
