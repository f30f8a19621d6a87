//! Users.

use std::collections::BTreeMap;

use fieldmanager_value::Value;

/// The group of users to whom everything is allowed.
pub(crate) const MASTERS: &str = "system:masters";

/// Who sends a request.
///
/// Behaviour: `user.DefaultInfo` of `k8s.io/apiserver/pkg/authentication/user`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name, such as `alice` or `system:serviceaccount:default:robot`.
    pub name: String,
    /// What distinguishes the user from others that had the name before; empty if nothing is known.
    pub uid: String,
    /// The groups, in the order in which they were given.
    pub groups: Vec<String>,
    /// More that was found out about the user: keys in lower case, and their values.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user in groups, and in the group of all who were authenticated.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        let everybody = "system:authenticated";
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        User {
            name: name.to_owned(),
            groups,
            ..User::default()
        }
    }

    /// The administrator, who may do everything.
    pub fn admin() -> Self {
        User {
            uid: "admin".to_owned(),
            ..User::new("admin", &[MASTERS])
        }
    }

    /// The user of a request without credentials.
    pub fn anonymous() -> Self {
        User {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..User::default()
        }
    }

    /// Whether everything is allowed to the user, whatever roles say.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// The `UserInfo` of `authentication.k8s.io/v1`, as reviews, webhooks and requests for certificates show it.
impl From<&User> for Value {
    fn from(user: &User) -> Self {
        let text = |name, text: &str| (!text.is_empty()).then(|| (name, Value::from(text)));
        let extra = user.extra.iter();
        let extra = extra.map(|(key, values)| (key.as_str(), Value::from(values.clone())));
        let fields = [
            text("username", &user.name),
            text("uid", &user.uid),
            (!user.groups.is_empty()).then(|| ("groups", user.groups.clone().into())),
            (!user.extra.is_empty()).then(|| ("extra", Value::Map(extra.collect()))),
        ];
        Value::Map(fields.into_iter().flatten().collect())
    }
}
