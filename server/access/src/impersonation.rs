//! Requests in the name of other users.

use std::collections::BTreeMap;

use fieldmanager_managedfields::Status;
use fieldmanager_structural::internal::subdomain_1123;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::internal::go_format::quote;
use percent_encoding::percent_decode_str;

use crate::user::MASTERS;
use crate::{AccessTarget, Attributes, Decision, User};

const AUTHENTICATION: &str = "authentication.k8s.io";

/// The number of groups or values from which on one question asks for all of them first.
const MANY: usize = 4;

/// The user that the headers `Impersonate-*` of a request ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// The ways to allow an impersonation, in the order in which they are tried. All but the last ask first whether the requestor
/// may do what the request does (`impersonate-on:MODE:VERB`), and then for the verb `impersonate:MODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpersonationMode {
    /// A service account of a pod impersonates the pod's node.
    AssociatedNode,
    /// Any node.
    ArbitraryNode,
    /// A service account.
    ServiceAccount,
    /// Another user.
    UserInfo,
    /// Whatever the verb `impersonate` allows.
    Legacy,
}

use ImpersonationMode::{ArbitraryNode, AssociatedNode, Legacy, ServiceAccount, UserInfo};

impl Impersonation {
    /// Reads the headers of a request, whose names are in lower case.
    ///
    /// Behaviour: `processImpersonationHeaders` of `k8s.io/apiserver/pkg/endpoints/filters/impersonation`.
    ///
    /// # Errors
    ///
    /// 400 for a uid, groups or extra values without a name.
    pub fn from_headers<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<Self>, Status> {
        let mut wanted = Impersonation::default();
        let (mut names, mut uids) = (Vec::new(), Vec::new());
        for (header, value) in headers {
            match header.strip_prefix("impersonate-") {
                Some("user") => names.push(value),
                Some("uid") => uids.push(value),
                Some("group") => wanted.groups.push(value.to_owned()),
                Some(other) => {
                    if let Some(key) = other.strip_prefix("extra-") {
                        let values = wanted.extra.entry(extra_key(key));
                        values.or_default().push(value.to_owned());
                    }
                }
                None => {}
            }
        }

        // The first of several headers counts.
        let first = |values: Vec<&str>| values.first().copied().unwrap_or_default().to_owned();
        wanted.name = first(names);
        wanted.uid = first(uids);
        if !wanted.name.is_empty() {
            Ok(Some(wanted))
        } else if wanted == Impersonation::default() {
            Ok(None)
        } else {
            let text = format!(
                "requested {} without impersonating a user name",
                wanted.in_go()
            );
            Err(Status::bad_request(text))
        }
    }

    /// As Go writes a pointer to `user.DefaultInfo` by `%#v`.
    fn in_go(&self) -> String {
        let strings = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| quote(item).to_string()).collect();
            format!("[]string{{{}}}", items.join(", "))
        };
        let groups = match self.groups.as_slice() {
            [] => "[]string(nil)".to_owned(),
            groups => strings(groups),
        };
        let pair =
            |(key, values): (&String, &Vec<String>)| format!("{}:{}", quote(key), strings(values));
        let extra: Vec<String> = self.extra.iter().map(pair).collect();
        let extra = match extra.join(", ").as_str() {
            "" => "(nil)".to_owned(),
            extra => format!("{{{extra}}}"),
        };
        format!(
            r#"&user.DefaultInfo{{Name:"", UID:{}, Groups:{groups}, Extra:map[string][]string{extra}}}"#,
            quote(&self.uid)
        )
    }

    /// The user in whose name a request is answered, and the mode that allows it.
    ///
    /// `last` is the mode that allowed the requestor's last impersonation: it is tried first, as in kube-apiserver, which
    /// decides the text of a refusal. `allows` answers a question about the requestor, and `refuse` makes the 403 of a question
    /// and a reason.
    ///
    /// Behaviour: `WithConstrainedImpersonation`, whose feature gate is on by default since 1.36.
    ///
    /// # Errors
    ///
    /// The first refusal, if no mode allows the impersonation.
    pub fn user<E>(
        &self,
        request: &Attributes<'_>,
        last: Option<ImpersonationMode>,
        mut allows: impl FnMut(&Attributes<'_>) -> Decision,
        refuse: impl Fn(&Attributes<'_>, &str) -> E,
    ) -> Result<(User, ImpersonationMode), E> {
        let all = [
            AssociatedNode,
            ArbitraryNode,
            ServiceAccount,
            UserInfo,
            Legacy,
        ];
        let others = all.into_iter().filter(|mode| Some(*mode) != last);
        let mut first_refusal = None;
        for mode in last.into_iter().chain(others) {
            if !mode.applies(self, request.user) {
                continue;
            }
            // The answer must not depend on the node.
            let mut requestor = request.user.clone();
            if mode == AssociatedNode {
                let keys = requestor.extra.into_keys().collect();
                let key = "authentication.kubernetes.io/associated-node-keys".to_owned();
                requestor.extra = BTreeMap::from([(key, keys)]);
            }

            let mut trial = Trial {
                wanted: self,
                mode,
                requestor: &requestor,
                allows: &mut allows,
                refuse: &refuse,
            };
            // The mode that is tried first explains a refusal best.
            match trial.run(request) {
                Ok(user) => return Ok((user, mode)),
                Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
            }
        }

        // The last mode always applies.
        Err(first_refusal.unwrap_or_else(|| refuse(request, "all impersonation modes failed")))
    }
}

/// The key of a header, which is escaped as in a path; a key that is not is taken as it is.
fn extra_key(text: &str) -> String {
    // The decoder would leave a stray `%`, and decode the rest.
    let is_escaped = text.split('%').skip(1).all(|part| {
        let digits = part.as_bytes().get(..2).unwrap_or_default();
        digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit)
    });
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.ok().filter(|_| is_escaped);
    decoded.map_or_else(|| text.to_owned(), Into::into)
}

impl ImpersonationMode {
    fn constraint(self) -> Option<&'static str> {
        match self {
            AssociatedNode => Some("associated-node"),
            ArbitraryNode => Some("arbitrary-node"),
            ServiceAccount => Some("serviceaccount"),
            UserInfo => Some("user-info"),
            Legacy => None,
        }
    }

    fn applies(self, wanted: &Impersonation, requestor: &User) -> bool {
        let has_only_name =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let is_account = service_account(&wanted.name).is_some();
        match self {
            AssociatedNode => {
                let own = &requestor.extra;
                let own = own.get("authentication.kubernetes.io/node-name");
                // The node is that of the pod to which the requestor's token is bound.
                let own = own.filter(|_| service_account(&requestor.name).is_some());
                has_only_name && node.is_some_and(|node| own.is_some_and(|own| *own == [node]))
            }
            ArbitraryNode => has_only_name && node.is_some(),
            ServiceAccount => has_only_name && is_account,
            UserInfo => node.is_none() && !is_account,
            Legacy => true,
        }
    }
}

/// The name of the node whose user has a name.
fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    subdomain_1123(name).is_empty().then_some(name)
}

/// The namespace and the name of the service account whose user has a name.
///
/// Behaviour: `SplitUsername` of `k8s.io/apiserver/pkg/authentication/serviceaccount`.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let account = user.strip_prefix("system:serviceaccount:")?;
    let (namespace, name) = account.split_once(':')?;
    let is_label =
        namespace.len() <= 63 && !namespace.contains('.') && subdomain_1123(namespace).is_empty();
    (is_label && subdomain_1123(name).is_empty()).then_some((namespace, name))
}

/// The questions of one mode.
struct Trial<'a, A, R> {
    wanted: &'a Impersonation,
    mode: ImpersonationMode,
    requestor: &'a User,
    allows: &'a mut A,
    refuse: &'a R,
}

impl<E, A: FnMut(&Attributes<'_>) -> Decision, R: Fn(&Attributes<'_>, &str) -> E> Trial<'_, A, R> {
    fn run(&mut self, request: &Attributes<'_>) -> Result<User, E> {
        let wanted = self.wanted;
        let mut groups = wanted.groups.clone();
        let mut verb = "impersonate".to_owned();
        // Only the oldest questions are about the core group.
        let mut group = "";
        if let Some(mode) = self.mode.constraint() {
            let on = format!("impersonate-on:{mode}:{}", request.verb);
            self.ask(&on, request.target)?;
            verb = format!("{verb}:{mode}");
            group = AUTHENTICATION;
        }
        let is_constrained = self.mode != Legacy;

        // The old mode knows no nodes: for it they are users like others.
        let (mut resource, mut namespace, mut name) = ("users", "", wanted.name.as_str());
        if let Some(node) = node_name(name).filter(|_| is_constrained) {
            resource = "nodes";
            name = if self.mode == AssociatedNode {
                "*"
            } else {
                node
            };
            groups = vec!["system:nodes".to_owned()];
        } else if let Some(account) = service_account(name) {
            (namespace, name) = account;
            resource = "serviceaccounts";
            if groups.is_empty() {
                groups.push("system:serviceaccounts".to_owned());
                groups.push(format!("system:serviceaccounts:{namespace}"));
            }
        }
        self.ask(&verb, question(group, resource, "", namespace, name))?;

        if !wanted.uid.is_empty() {
            self.ask(&verb, question(AUTHENTICATION, "uids", "", "", &wanted.uid))?;
        }
        self.ask_groups(&verb, group)?;
        self.ask_extra(&verb)?;

        // A group that is asked for says whether the user counts as authenticated, otherwise the name does.
        let unauthenticated = "system:unauthenticated";
        let is_anonymous = wanted.name == "system:anonymous";
        let default = if is_anonymous {
            unauthenticated
        } else {
            "system:authenticated"
        };
        if !groups
            .iter()
            .any(|group| group == default || group == unauthenticated)
        {
            groups.push(default.to_owned());
        }
        Ok(User {
            name: wanted.name.clone(),
            uid: wanted.uid.clone(),
            groups,
            extra: wanted.extra.clone(),
        })
    }

    fn ask_groups(&mut self, verb: &str, group: &str) -> Result<(), E> {
        let groups = &self.wanted.groups;
        let question = |name| question(group, "groups", "", "", name);
        if self.mode != Legacy {
            if groups.iter().any(String::is_empty) {
                let text = "impersonating the empty string group is not allowed";
                return Err(self.refuse(verb, question(""), text));
            }
            // Whoever is a master may do everything, so no mode with fewer rights leads there.
            if groups.iter().any(|group| group == MASTERS) {
                let text = "impersonating the system:masters group is not allowed";
                return Err(self.refuse(verb, question(MASTERS), text));
            }
            if groups.len() >= MANY && self.ask(verb, question("*")).is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|name| self.ask(verb, question(name)))
    }

    fn ask_extra(&mut self, verb: &str) -> Result<(), E> {
        let extra = &self.wanted.extra;
        let question = |key, value| question(AUTHENTICATION, "userextras", key, "", value);
        if self.mode != Legacy && !extra.is_empty() {
            if let Err(text) = check_extra(extra) {
                return Err(self.refuse(verb, question("", ""), &text));
            }
            // Rather one question than many.
            let count: usize = extra.values().map(Vec::len).sum();
            if count >= MANY && self.ask(verb, question("*", "*")).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask(verb, question(key, value))?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, verb: &str, target: AccessTarget<'_>) -> Result<(), E> {
        let user = self.requestor;
        let found = (self.allows)(&Attributes { user, verb, target });
        if found.allowed {
            return Ok(());
        }
        // Both what went wrong and why, if there are both.
        let texts = [found.error, found.reason]
            .into_iter()
            .filter(|text| !text.is_empty());
        let texts: Vec<String> = texts.collect();
        Err(self.refuse(verb, target, &texts.join(": ")))
    }

    fn refuse(&self, verb: &str, target: AccessTarget<'_>, reason: &str) -> E {
        let user = self.requestor;
        (self.refuse)(&Attributes { user, verb, target }, reason)
    }
}

fn question<'a>(
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
) -> AccessTarget<'a> {
    AccessTarget::Resource {
        group,
        version: "v1",
        resource,
        subresource,
        namespace,
        name,
    }
}

/// Behaviour: `validateExtra`.
fn check_extra(extra: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    for (key, values) in extra {
        let wrong = if key.is_empty() {
            "the empty string key in extra is not allowed".to_owned()
        } else if let Some(fault) = prefixed_path_fault(key) {
            format!("an invalid key in extra is not allowed: {fault}")
        } else if key.chars().any(char::is_uppercase) {
            let key = quote(key);
            format!("a non-lowercase key in extra is not allowed: {key}")
        } else if values.iter().any(String::is_empty) {
            "the empty string value in extra is not allowed".to_owned()
        } else {
            continue;
        };
        return Err(format!("impersonating {wrong}"));
    }
    Ok(())
}

/// Behaviour: `IsDomainPrefixedPath`.
fn prefixed_path_fault(key: &str) -> Option<String> {
    let parts = key.split_once('/');
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    let (value, text) = match parts.filter(|(host, path)| !host.is_empty() && !path.is_empty()) {
        None => (
            key,
            r#"must be a domain-prefixed path (such as "acme.io/foo")"#.to_owned(),
        ),
        Some((host, path)) => match subdomain_1123(host).into_iter().next() {
            Some(text) => (host, text),
            None if path.chars().all(is_path) => return None,
            None => {
                let syntax = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
                (
                    path,
                    format!("Invalid path (regex used for validation is '{syntax}')"),
                )
            }
        },
    };
    let field = FieldPath::root("extra").child("key");
    Some(FieldError::invalid(field, value, text).to_string())
}
