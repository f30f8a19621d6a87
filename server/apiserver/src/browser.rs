//! How a browser is let in to the page of a server with tokens: by a link that works once, and then by a cookie. A token
//! is never a part of a URL or of a page.

use std::io;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

/// 32 random bytes of the system, in characters that URLs, cookies and headers take.
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether two secrets are the same; the time that it takes does not say where they differ.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// The browsers that may show the page.
#[derive(Default)]
pub(crate) struct Browsers(Mutex<Secrets>);

#[derive(Default)]
struct Secrets {
    /// The code of the last link, until it is used.
    code: Option<String>,
    /// The name and value of the cookie that browsers get for a code; made with the first link.
    cookie: Option<String>,
}

impl Browsers {
    /// The code of a new link. That of an earlier link is no longer accepted.
    pub(crate) fn new_code(&self) -> io::Result<String> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let code = secret()?;
        if secrets.cookie.is_none() {
            // Browsers send cookies to all ports of a host, so each server has a name of its own.
            secrets.cookie = Some(format!(
                "fieldmanager-{:08x}={}",
                fastrand::u32(..),
                secret()?
            ));
        }
        secrets.code = Some(code.clone());

        Ok(code)
    }

    /// The cookie for a code, which is not accepted again.
    pub(crate) fn redeem(&self, code: &str) -> Option<String> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.code.take_if(|own| is_same(own, code))?;
        secrets.cookie.clone()
    }

    /// Whether a cookie, as `NAME=VALUE`, is that of the browsers.
    pub(crate) fn has(&self, cookie: &str) -> bool {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets
            .cookie
            .as_deref()
            .is_some_and(|own| is_same(own, cookie))
    }
}
