//! What a request wants to do, and whether it may.

use fieldmanager_managedfields::Status;
use fieldmanager_value::internal::go_format::quote;

use crate::User;

/// A request, as an authorizer sees it: what it does with objects or with a path.
///
/// Behaviour: `authorizer.Attributes` of `k8s.io/apiserver/pkg/authorization/authorizer`.
///
/// ```
/// use fieldmanager_access::{Attributes, User};
/// let user = User::new("bob", &[]);
/// let list = Attributes { resource: "pods", namespace: "shop", ..Attributes::new(&user, "list") };
/// let get = Attributes { path: Some("/metrics"), ..Attributes::new(&user, "get") };
/// assert_eq!(get.forbidden("").message, r#"forbidden: User "bob" cannot get path "/metrics""#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who sends it.
    pub user: &'a User,
    /// What it does: for resources `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection` or a
    /// special verb such as `impersonate`; for paths the HTTP method in lower case.
    pub verb: &'a str,
    /// The path, if it is not one of objects, such as `/healthz`. The fields below are for objects.
    pub path: Option<&'a str>,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version of the group, or `*`.
    pub version: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace; empty for objects of cluster scope, and for all namespaces.
    pub namespace: &'a str,
    /// The name; empty for collections.
    pub name: &'a str,
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

impl<'a> Attributes<'a> {
    /// What a user does, for literals that add to what: any version, and nothing else.
    pub fn new(user: &'a User, verb: &'a str) -> Self {
        Attributes {
            user,
            verb,
            path: None,
            group: "",
            version: "*",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
        }
    }

    /// The 403 of a request that must not proceed, given the reason of the decision.
    ///
    /// Behaviour: `ForbiddenStatusError` of `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`.
    pub fn forbidden(&self, reason: &str) -> Status {
        let object = (self.group, self.resource, self.name);
        let subject = match object {
            ("", "", _) => String::new(),
            _ => format!("{} is ", describe(object)),
        };
        let colon = if reason.is_empty() { "" } else { ": " };
        let message = format!("{subject}forbidden: {}{colon}{reason}", self.denial());
        Status::about(403, "Forbidden", object, message)
    }

    /// Who cannot do what. It is never HTML.
    fn denial(&self) -> String {
        let (user, verb) = (quote(&self.user.name), self.verb);
        let what = if let Some(path) = self.path {
            format!("path {}", quote(path))
        } else {
            let slash = if self.subresource.is_empty() { "" } else { "/" };
            let resource = quote(&format!("{}{slash}{}", self.resource, self.subresource));
            let place = match self.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", quote(namespace)),
            };
            let group = quote(self.group);
            format!("resource {resource} in API group {group} {place}")
        };
        // Only this part can repeat what a request says.
        format!("User {user} cannot {verb} {what}")
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }
}

/// `deployments.apps "web"`: a resource or kind with its group, and the name of an object unless it is empty.
pub(crate) fn describe((group, kind, name): (&str, &str, &str)) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    match name {
        "" => format!("{kind}{dot}{group}"),
        _ => format!("{kind}{dot}{group} {}", quote(name)),
    }
}
