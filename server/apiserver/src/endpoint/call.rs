//! Requests to resources.

use std::sync::Arc;

use fieldmanager_access::User;
use fieldmanager_handlers::Subresource;

use crate::query::Query;
use crate::registry::Served;
use crate::store::Revision;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// The name in discovery.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// One request to a resource.
pub(crate) struct Call<'a> {
    pub(crate) user: &'a User,
    pub(crate) served: &'a Arc<Served>,
    pub(crate) verb: Verb,
    /// Empty: cluster-scoped, or all namespaces.
    pub(crate) namespace: &'a str,
    /// Empty: the collection.
    pub(crate) name: &'a str,
    /// Empty: the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) query: &'a Query,
    pub(crate) content_type: &'a str,
    pub(crate) user_agent: &'a str,
    pub(crate) body: &'a [u8],
    /// The revision of a get or of the first page of a list that a fault makes stale.
    pub(crate) stale: Option<Revision>,
}

impl Call<'_> {
    /// The part of the object; `None` for subresources that the handlers do not know.
    pub(super) fn part(&self) -> Option<Subresource> {
        Subresource::of(self.subresource)
    }
}
