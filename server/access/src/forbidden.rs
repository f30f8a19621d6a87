//! The words with which requests are refused.

use fieldmanager_value::internal::go_format::quote;

use crate::{AccessTarget, Attributes};

impl Attributes<'_> {
    /// The message of the `Status` of a request that must not proceed, given the reason of the decision.
    ///
    /// Behaviour: `ForbiddenStatusError` of `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`.
    ///
    /// ```
    /// use fieldmanager_access::{Attributes, AccessTarget, User};
    /// let user = User::new("bob", &[]);
    /// let request = Attributes { user: &user, verb: "get", target: AccessTarget::Path("/metrics") };
    /// assert_eq!(request.forbidden_message(""), r#"forbidden: User "bob" cannot get path "/metrics""#);
    /// ```
    pub fn forbidden_message(&self, reason: &str) -> String {
        let subject = match self.target {
            AccessTarget::Resource {
                group,
                resource,
                name,
                ..
            } if !group.is_empty() || !resource.is_empty() => {
                let dot = if group.is_empty() { "" } else { "." };
                let name = if name.is_empty() {
                    String::new()
                } else {
                    format!(" {}", quote(name))
                };
                format!("{resource}{dot}{group}{name} is ")
            }
            _ => String::new(),
        };
        let colon = if reason.is_empty() { "" } else { ": " };
        format!("{subject}forbidden: {}{colon}{reason}", self.denial())
    }

    /// Who cannot do what. It is never HTML.
    fn denial(&self) -> String {
        let (user, verb) = (quote(&self.user.name), self.verb);
        let text = match self.target {
            AccessTarget::Path(path) => format!("User {user} cannot {verb} path {}", quote(path)),
            AccessTarget::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                let resource = quote(&format!("{resource}{slash}{subresource}"));
                let place = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {}", quote(namespace))
                };
                let group = quote(group);
                format!(
                    "User {user} cannot {verb} resource {resource} in API group {group} {place}"
                )
            }
        };
        // Only this part can repeat what a request says.
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }
}
