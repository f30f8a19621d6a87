//! Requests in the name of other users.

use std::collections::BTreeMap;

use fieldmanager_managedfields::Status;
use fieldmanager_structural::internal::subdomain_1123;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::internal::go_format::quote;
use percent_encoding::percent_decode_str;

use crate::user::MASTERS;
use crate::{Attributes, Decision, User};

const AUTHENTICATION: &str = "authentication.k8s.io";

const NO_PREFIXED_PATH: &str = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
const INVALID_PATH: &str =
    r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";

/// The number of groups or values from which on one question asks for all of them first.
const MANY: usize = 4;

/// The user that the headers `Impersonate-*` of a request ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonation(User);

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

const MODES: [ImpersonationMode; 5] = [
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
];

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
        let mut wanted = User::default();
        // The first of several headers counts.
        let (mut name, mut uid) = (None, None);
        for (header, value) in headers {
            match header.strip_prefix("impersonate-") {
                Some("user") => name = name.or(Some(value)),
                Some("uid") => uid = uid.or(Some(value)),
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

        wanted.name = name.unwrap_or_default().to_owned();
        wanted.uid = uid.unwrap_or_default().to_owned();
        if !wanted.name.is_empty() {
            Ok(Some(Impersonation(wanted)))
        } else if wanted == User::default() {
            Ok(None)
        } else {
            let wanted = in_go(&wanted);
            let text = format!("requested {wanted} without impersonating a user name");
            Err(Status::bad_request(text))
        }
    }

    /// The user in whose name a request is answered, and the mode that allows it.
    ///
    /// `last` is the mode that allowed the requestor's last impersonation: it is tried first, as in kube-apiserver, which
    /// decides the text of a refusal. `allows` answers a question about the requestor.
    ///
    /// Behaviour: `WithConstrainedImpersonation`, whose feature gate is on by default since 1.36.
    ///
    /// # Errors
    ///
    /// 403: the first refusal, if no mode allows the impersonation.
    pub fn user(
        &self,
        request: &Attributes<'_>,
        last: Option<ImpersonationMode>,
        mut allows: impl FnMut(&Attributes<'_>) -> Decision,
    ) -> Result<(User, ImpersonationMode), Status> {
        let others = MODES.into_iter().filter(|mode| Some(*mode) != last);
        let mut first_refusal = None;
        for mode in last.into_iter().chain(others) {
            if !mode.applies(&self.0, request.user) {
                continue;
            }
            // The answer must not depend on the node.
            let mut requestor = request.user.clone();
            if mode == AssociatedNode {
                let keys = requestor.extra.into_keys().collect();
                let key = "authentication.kubernetes.io/associated-node-keys".to_owned();
                requestor.extra = BTreeMap::from([(key, keys)]);
            }

            let mut trial = ImpersonationTrial {
                wanted: &self.0,
                mode,
                allows: &mut allows,
            };
            let user = &requestor;
            // The mode that is tried first explains a refusal best.
            match trial.run(&Attributes { user, ..*request }) {
                Ok(user) => return Ok((user, mode)),
                Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
            }
        }

        // The last mode always applies.
        Err(first_refusal.unwrap_or_else(|| request.forbidden("all impersonation modes failed")))
    }
}

/// As Go writes a pointer to `user.DefaultInfo` by `%#v`.
fn in_go(user: &User) -> String {
    let strings = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => strings(groups),
    };
    let extra = user.extra.iter();
    let extra = extra.map(|(key, values)| format!("{}:{}", quote(key), strings(values)));
    let extra = match extra.collect::<Vec<_>>().join(", ").as_str() {
        "" => "(nil)".to_owned(),
        extra => format!("{{{extra}}}"),
    };
    let uid = quote(&user.uid);
    format!(
        r#"&user.DefaultInfo{{Name:"", UID:{uid}, Groups:{groups}, Extra:map[string][]string{extra}}}"#
    )
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

    fn applies(self, wanted: &User, requestor: &User) -> bool {
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
struct ImpersonationTrial<'a> {
    wanted: &'a User,
    mode: ImpersonationMode,
    allows: &'a mut dyn FnMut(&Attributes<'_>) -> Decision,
}

impl ImpersonationTrial<'_> {
    fn run(&mut self, request: &Attributes<'_>) -> Result<User, Status> {
        let wanted = self.wanted;
        let mut groups = wanted.groups.clone();
        // Only the oldest questions are about the core group.
        let (mut verb, mut group) = ("impersonate".to_owned(), "");
        if let Some(mode) = self.mode.constraint() {
            let on = format!("impersonate-on:{mode}:{}", request.verb);
            self.ask(&Attributes {
                verb: &on,
                ..*request
            })?;
            (verb, group) = (format!("{verb}:{mode}"), AUTHENTICATION);
        }
        let question = |group, resource, name| Attributes {
            group,
            version: "v1",
            resource,
            name,
            ..Attributes::new(request.user, &verb)
        };

        // The old mode knows no nodes: for it they are users like others.
        let (mut resource, mut namespace, mut name) = ("users", "", wanted.name.as_str());
        if let Some(node) = node_name(name).filter(|_| self.mode != Legacy) {
            resource = "nodes";
            name = match self.mode {
                AssociatedNode => "*",
                _ => node,
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
        self.ask(&Attributes {
            namespace,
            ..question(group, resource, name)
        })?;
        if !wanted.uid.is_empty() {
            self.ask(&question(AUTHENTICATION, "uids", &wanted.uid))?;
        }
        self.ask_groups(question(group, "groups", ""))?;
        self.ask_extra(question(AUTHENTICATION, "userextras", ""))?;

        // A group that is asked for says whether the user counts as authenticated, otherwise the name does.
        let default = match wanted.name.as_str() {
            "system:anonymous" => "system:unauthenticated",
            _ => "system:authenticated",
        };
        let decides = |group: &String| group == default || group == "system:unauthenticated";
        if !groups.iter().any(decides) {
            groups.push(default.to_owned());
        }
        Ok(User {
            groups,
            ..wanted.clone()
        })
    }

    fn ask_groups(&mut self, question: Attributes<'_>) -> Result<(), Status> {
        let groups = self.wanted.groups.iter().map(String::as_str);
        // Whoever is a master may do everything, so no mode with fewer rights leads there.
        for (name, text) in [("", "empty string"), (MASTERS, MASTERS)] {
            if self.mode != Legacy && groups.clone().any(|group| group == name) {
                let text = format!("impersonating the {text} group is not allowed");
                return Err(Attributes { name, ..question }.forbidden(&text));
            }
        }
        let each = groups.map(|name| ("", name)).collect();
        self.ask_each(question, ("", "*"), each)
    }

    fn ask_extra(&mut self, question: Attributes<'_>) -> Result<(), Status> {
        let extra = &self.wanted.extra;
        if let (true, Err(text)) = (self.mode != Legacy, check_extra(extra)) {
            return Err(question.forbidden(&text));
        }
        let each = extra.iter().flat_map(|(key, values)| {
            let values = values.iter().map(String::as_str);
            values.map(move |value| (key.as_str(), value))
        });
        self.ask_each(question, ("*", "*"), each.collect())
    }

    /// Asks about subresources and names, and rather one question about all than many.
    fn ask_each(
        &mut self,
        question: Attributes<'_>,
        all: (&str, &str),
        each: Vec<(&str, &str)>,
    ) -> Result<(), Status> {
        let is_many = self.mode != Legacy && each.len() >= MANY;
        let mut ask = |(subresource, name)| {
            self.ask(&Attributes {
                subresource,
                name,
                ..question
            })
        };
        if is_many && ask(all).is_ok() {
            return Ok(());
        }
        each.into_iter().try_for_each(ask)
    }

    fn ask(&mut self, question: &Attributes<'_>) -> Result<(), Status> {
        let found = (self.allows)(question);
        if found.allowed {
            return Ok(());
        }
        // Both what went wrong and why, if there are both.
        let texts = [found.error, found.reason];
        let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        Err(question.forbidden(&texts.join(": ")))
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
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    let (value, text) = match key.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            let faults = subdomain_1123(host).into_iter().map(|text| (host, text));
            let of_path = (path, INVALID_PATH.to_owned());
            let of_path = Some(of_path).filter(|_| !path.chars().all(is_path));
            faults.chain(of_path).next()?
        }
        _ => (key, NO_PREFIXED_PATH.to_owned()),
    };
    let field = FieldPath::root("extra").child("key");
    Some(FieldError::invalid(field, value, text).to_string())
}
