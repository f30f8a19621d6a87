//! Files of tokens.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::User;
use crate::user::MASTERS;

/// Users by their tokens.
///
/// ```
/// use fieldmanager_access::StaticTokens;
/// let tokens = StaticTokens::from_csv("t1,alice,u1,\"dev,ops\"\nt2")?;
/// assert_eq!(tokens.user("t1").unwrap().groups, ["dev", "ops", "system:authenticated"]);
/// assert!(tokens.user("t2").unwrap().is_master());
/// assert_eq!(tokens.user("t3"), None);
/// # Ok::<(), fieldmanager_access::TokenFileError>(())
/// ```
#[derive(Clone, Default)]
pub struct StaticTokens(Vec<(String, User)>);

/// What is wrong with a file of tokens. It names no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct TokenFileError {
    /// The line, from 1 on.
    pub line: usize,
    text: &'static str,
}

impl StaticTokens {
    /// Reads lines `TOKEN,USER,UID,"GROUP,GROUP"`, as the flag `--token-auth-file` of kube-apiserver has them.
    ///
    /// A line `TOKEN` is the user `admin` in `system:masters`, and a line `TOKEN,USER` a user without a uid; kube-apiserver
    /// refuses both. Lines that begin with `#` are comments, and spaces around fields without quotes are dropped.
    ///
    /// Behaviour: `NewCSV` of `k8s.io/apiserver/pkg/authentication/token/tokenfile`: of two lines with a token the later one is
    /// used.
    ///
    /// # Errors
    ///
    /// [`TokenFileError`] for quotes that do not pair, tokens that no request can send, and a file without tokens.
    pub fn from_csv(text: &str) -> Result<Self, TokenFileError> {
        let mut tokens = Vec::new();
        let mut rest = text;
        let mut line = 1;
        while !rest.is_empty() {
            let first = line;
            let fail = |text| TokenFileError { line: first, text };
            let (fields, after) = record(rest).map_err(fail)?;
            let read = rest.len() - after.len();
            line += rest.get(..read).unwrap_or_default().matches('\n').count();
            rest = after;
            let mut fields = fields.into_iter();
            let token = fields.next().unwrap_or_default();
            let more = (fields.next(), fields.next(), fields.next());
            if token.is_empty() && more.0.is_none() {
                continue;
            }
            if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) {
                return Err(fail(
                    "expected a token of printable characters in the first column",
                ));
            }
            tokens.push((token, user(more)));
        }

        if tokens.is_empty() {
            let text = "expected at least one token";
            return Err(TokenFileError { line, text });
        }
        Ok(StaticTokens(tokens))
    }

    /// With one more token.
    pub fn insert(&mut self, token: impl Into<String>, user: User) {
        self.0.push((token.into(), user));
    }

    /// The first token, for a client that needs one.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(|(token, _)| token.as_str())
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user of a token. All tokens are compared, and the time does not depend on how many characters are right.
    pub fn user(&self, token: &str) -> Option<&User> {
        let is_same = |own: &str| bool::from(own.as_bytes().ct_eq(token.as_bytes()));
        self.0.iter().fold(
            None,
            |found, (own, user)| if is_same(own) { Some(user) } else { found },
        )
    }
}

impl fmt::Debug for StaticTokens {
    /// The names of the users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(_, user)| &user.name);
        f.debug_list().entries(names).finish()
    }
}

fn user((name, uid, groups): (Option<String>, Option<String>, Option<String>)) -> User {
    let Some(name) = name else {
        return User::new("admin", &[MASTERS]);
    };
    let groups = groups.unwrap_or_default();
    let groups: Vec<&str> = groups
        .split(',')
        .filter(|group| !group.is_empty())
        .collect();
    let mut user = User::new(&name, &groups);
    user.uid = uid.unwrap_or_default();
    user
}

/// The fields of the first record of a text, and what follows it. A quoted field may contain commas, line breaks and, doubled,
/// quotes.
///
/// Behaviour: `encoding/csv` of Go.
fn record(text: &str) -> Result<(Vec<String>, &str), &'static str> {
    if text.starts_with('#') {
        return Ok((
            Vec::new(),
            text.split_once('\n').map_or("", |(_, rest)| rest),
        ));
    }

    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let field = rest.trim_start_matches([' ', '\t']);
        let after;
        if let Some(mut quoted) = field.strip_prefix('"') {
            let mut content = String::new();
            loop {
                let unpaired = "a quoted field without a second quote";
                let (part, tail) = quoted.split_once('"').ok_or(unpaired)?;
                content.push_str(part);
                let Some(tail) = tail.strip_prefix('"') else {
                    after = tail.trim_start_matches([' ', '\t', '\r']);
                    break;
                };
                content.push('"');
                quoted = tail;
            }
            fields.push(content);
        } else {
            let end = field.find([',', '\n']).unwrap_or(field.len());
            let (content, tail) = field.split_at(end);
            if content.contains('"') {
                return Err("a quote in a field without quotes");
            }
            fields.push(content.trim().to_owned());
            after = tail;
        }

        if let Some(next) = after.strip_prefix(',') {
            rest = next;
        } else if after.is_empty() || after.starts_with('\n') {
            return Ok((fields, after.get(1..).unwrap_or_default()));
        } else {
            return Err("text after a quoted field");
        }
    }
}
