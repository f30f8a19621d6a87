//! Who sends a request, and whether they may.

mod roles;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

#[cfg(feature = "net")]
use fieldmanager_access::certificates::ClientAuthorities;
use fieldmanager_access::tokens::TokenIssuer;
use fieldmanager_access::{ImpersonationMode, RbacPolicy, StaticTokens, User};

use crate::store::{SharedStore, StoreError};
use roles::Roles;

/// The number of users whose last impersonation is known.
const MOST_IMPERSONATIONS: usize = 10_000;

/// What decides whether a user may do what a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody who is authenticated may do everything.
    #[default]
    Allow,
    /// The roles and bindings that the server stores decide (RBAC).
    Rbac,
}

/// How a server finds out who sends a request. Clones share the keys.
#[derive(Clone, Default)]
pub(crate) struct AccessOptions {
    pub(crate) tokens: StaticTokens,
    pub(crate) authorization: Authorization,
    /// Whether a request without credentials is one of the anonymous user, and not refused.
    pub(crate) allows_anonymous: bool,
    /// What signs the tokens of service accounts; `None` only before a server is built.
    pub(crate) issuer: Option<Arc<TokenIssuer>>,
    /// Whose certificates name users.
    #[cfg(feature = "net")]
    pub(crate) authorities: Option<Arc<ClientAuthorities>>,
}

/// The user of the certificate that a client showed; `None` if it names none. It is an extension of the requests of a
/// connection.
#[derive(Clone)]
pub(crate) struct Peer(pub(crate) Option<Arc<User>>);

/// The users of a server.
pub(crate) struct Access {
    pub(crate) options: AccessOptions,
    /// Users that a test made.
    made: Mutex<StaticTokens>,
    roles: Roles,
    /// What allowed the last impersonation of each user, which is tried first.
    impersonations: Mutex<HashMap<String, ImpersonationMode>>,
}

impl Access {
    pub(crate) fn new(options: AccessOptions) -> Self {
        Access {
            options,
            made: Mutex::default(),
            roles: Roles::default(),
            impersonations: Mutex::default(),
        }
    }

    /// Whether everybody without credentials is admin.
    pub(crate) fn is_open(&self) -> bool {
        let options = &self.options;
        #[cfg(feature = "net")]
        let has_authorities = options.authorities.is_some();
        #[cfg(not(feature = "net"))]
        let has_authorities = false;
        options.tokens.is_empty() && !has_authorities && !self.has_rules()
    }

    /// Whether roles decide what users may do.
    pub(crate) fn has_rules(&self) -> bool {
        self.options.authorization == Authorization::Rbac
    }

    /// The store, which tells of writes that change what users may do.
    pub(crate) fn followed(&self, store: SharedStore) -> SharedStore {
        if self.has_rules() {
            self.roles.counting(store)
        } else {
            store
        }
    }

    /// The roles and bindings of the store, as they are since its last write; nothing if they do not decide.
    pub(crate) async fn policy(
        &self,
        store: &SharedStore,
    ) -> Result<Option<RwLockReadGuard<'_, RbacPolicy>>, StoreError> {
        if !self.has_rules() {
            return Ok(None);
        }
        self.roles.follow(store).await.map(Some)
    }

    /// Whether a user may see the page, which shows all objects.
    pub(crate) fn may_see_page(&self, user: &User) -> bool {
        match self.options.authorization {
            Authorization::Allow => *user != User::anonymous(),
            Authorization::Rbac => user.is_master(),
        }
    }

    /// The user of a token of a file, or of one that a test made.
    pub(crate) fn user_of(&self, token: &str) -> Option<User> {
        let made = lock(&self.made);
        let found = self.options.tokens.user(token).or_else(|| made.user(token));
        found.cloned()
    }

    /// What allowed the last impersonation of a user.
    pub(crate) fn last_impersonation(&self, requestor: &str) -> Option<ImpersonationMode> {
        lock(&self.impersonations).get(requestor).copied()
    }

    pub(crate) fn set_last_impersonation(&self, requestor: &str, mode: ImpersonationMode) {
        let mut all = lock(&self.impersonations);
        // A user who is forgotten is asked more questions the next time.
        if all.len() >= MOST_IMPERSONATIONS {
            all.clear();
        }
        all.insert(requestor.to_owned(), mode);
    }

    /// Accepts a token of a user from now on.
    pub(crate) fn add(&self, token: String, user: User) {
        lock(&self.made).insert(token, user);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The token of a header `Authorization`; empty if it has none.
///
/// Behaviour: the scheme is in any case, the second word is the token, and more words are ignored (`bearertoken.Authenticator`).
pub(crate) fn bearer(authorization: Option<&str>) -> &str {
    let mut words = authorization.unwrap_or_default().trim().split(' ');
    let is_bearer = words
        .next()
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    words.next().filter(|_| is_bearer).unwrap_or_default()
}

/// The user who may do everything, and whom requests of the program itself are of.
pub(crate) fn admin() -> Arc<User> {
    static ADMIN: LazyLock<Arc<User>> = LazyLock::new(|| Arc::new(User::admin()));
    ADMIN.clone()
}
