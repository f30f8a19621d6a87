//! Who sends a request, and whether they may.

mod roles;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

use fieldmanager_access::{RbacPolicy, User};
use fieldmanager_value::Value;

use crate::browser::is_same;
use crate::endpoint::Failure;
use crate::object::map;
use crate::store::{SharedStore, StoreError};
use roles::Roles;

/// What decides whether a user may do what a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody who is authenticated may do everything.
    #[default]
    Allow,
    /// The roles and bindings that the server stores decide (RBAC).
    Rbac,
}

/// How a server finds out who sends a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessOptions {
    /// Users by token.
    pub(crate) tokens: BTreeMap<String, Arc<User>>,
    pub(crate) authorization: Authorization,
    /// Whether a request without credentials is one of the anonymous user, and not refused.
    pub(crate) allows_anonymous: bool,
}

/// The users of a server.
pub(crate) struct Access {
    pub(crate) options: AccessOptions,
    /// Users that a test made, by token.
    made: Mutex<BTreeMap<String, Arc<User>>>,
    roles: Roles,
}

impl Access {
    pub(crate) fn new(options: AccessOptions) -> Self {
        Access {
            options,
            made: Mutex::default(),
            roles: Roles::default(),
        }
    }

    /// Whether everybody is admin.
    pub(crate) fn is_open(&self) -> bool {
        self.options.tokens.is_empty() && self.options.authorization == Authorization::Allow
    }

    /// Whether roles decide what users may do.
    pub(crate) fn has_rules(&self) -> bool {
        self.options.authorization == Authorization::Rbac
    }

    /// Takes over the roles and bindings that were written since the last call.
    pub(crate) async fn follow(&self, store: &SharedStore) -> Result<(), StoreError> {
        self.roles.follow(store).await
    }

    /// The roles and bindings that were taken over.
    pub(crate) fn policy(&self) -> RwLockReadGuard<'_, RbacPolicy> {
        self.roles.policy()
    }

    /// Whether a user may see the page, which shows all objects.
    pub(crate) fn may_see_page(&self, user: &User) -> bool {
        match self.options.authorization {
            Authorization::Allow => *user != User::anonymous(),
            Authorization::Rbac => user.is_master(),
        }
    }

    /// The user of a request with a header `Authorization`, or 401.
    ///
    /// Behaviour: the scheme is in any case, and the second word is the token (`bearertoken.Authenticator`).
    pub(crate) fn authenticate(&self, authorization: Option<&str>) -> Result<Arc<User>, Failure> {
        let mut words = authorization.unwrap_or_default().trim().split(' ');
        let is_bearer = words
            .next()
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        // More words than two are ignored, as in kube-apiserver.
        let token = words.next().filter(|_| is_bearer).unwrap_or_default();

        if let Some(user) = self.user_of(token) {
            return Ok(user);
        }
        if self.is_open() {
            return Ok(admin());
        }
        if token.is_empty() && self.options.allows_anonymous {
            return Ok(Arc::new(User::anonymous()));
        }
        Err(Failure::new(401, "Unauthorized", "Unauthorized"))
    }

    /// The user of a token.
    pub(crate) fn user_of(&self, token: &str) -> Option<Arc<User>> {
        let made = self.made();
        // All tokens are compared, whichever is the right one.
        let known = self.options.tokens.iter().chain(made.iter());
        known.fold(None, |found, (own, user)| {
            if is_same(own, token) {
                Some(user.clone())
            } else {
                found
            }
        })
    }

    /// Accepts a token of a user from now on.
    pub(crate) fn add(&self, token: String, user: User) {
        self.made().insert(token, Arc::new(user));
    }

    fn made(&self) -> MutexGuard<'_, BTreeMap<String, Arc<User>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A user as reviews, webhooks and requests for certificates show it.
///
/// Behaviour: `UserInfo` of `k8s.io/api/authentication/v1`.
pub(crate) fn user_info(user: &User) -> Value {
    let list = |texts: &[String]| {
        let texts = texts.iter().map(|text| Value::from(text.as_str()));
        Value::List(texts.collect())
    };
    let extra = user.extra.iter();
    let extra = map(extra.map(|(key, values)| (key.as_str(), list(values))));
    let fields = [
        ("username", Value::from(user.name.as_str())),
        ("uid", user.uid.as_str().into()),
        ("groups", list(&user.groups)),
        ("extra", extra),
    ];

    let is_empty = |value: &Value| match value {
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        value => value.as_str() == Some(""),
    };
    map(fields.into_iter().filter(|(_, value)| !is_empty(value)))
}

/// The user who may do everything, and whom requests of the program itself are of.
pub(crate) fn admin() -> Arc<User> {
    static ADMIN: LazyLock<Arc<User>> = LazyLock::new(|| {
        Arc::new(User {
            uid: "admin".to_owned(),
            ..User::new("admin", &["system:masters"])
        })
    });
    ADMIN.clone()
}
